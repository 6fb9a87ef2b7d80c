//! Changes of a stack at other positions than its end.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::Stack;
use crate::capacity_error::{unwrap_capacity, CapacityError};
use crate::field_layout::FieldLayout;
use toft::Memory;

impl<T, L: FieldLayout<T>, M: Memory> Stack<T, L, M> {
    /// Inserts a value at an index; those after it move. O(n).
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(3);
    /// stack.extend(['a', 'c']);
    /// stack.insert(1, 'b');
    /// assert_eq!(stack, ['a', 'b', 'c']);
    /// ```
    ///
    /// # Panics
    /// The index is past the end, the stack is fixed and full, or there is no memory.
    #[track_caller]
    pub fn insert(&mut self, i: usize, value: T) {
        unwrap_capacity(self.try_insert(i, value))
    }

    /// As [`insert`](Stack::insert), with an error instead of a panic.
    ///
    /// ```
    /// use toft_pools::{CapacityError, Stack};
    /// assert_eq!(Stack::fixed(0).try_insert(0, 'a'), Err(CapacityError('a')));
    /// ```
    ///
    /// # Errors
    /// The value is returned in the error: the stack is fixed and full, or there is no memory.
    ///
    /// # Panics
    /// The index is past the end.
    #[track_caller]
    pub fn try_insert(&mut self, i: usize, value: T) -> Result<(), CapacityError<T>> {
        let len = self.len;
        assert!(i <= len, "toft: index {i} is past the end of {len} values");
        if self.try_reserve(1).is_err() {
            return Err(CapacityError(value));
        }
        // SAFETY: there is a free slot; the value of the slot that is written has been moved.
        unsafe {
            L::shift(self.slots.raw(), i, i + 1, len - i);
            L::write(self.slots.raw(), i, value);
        }
        self.len += 1;
        Ok(())
    }

    /// Removes and returns the value at an index; those after it move. O(n).
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(3);
    /// stack.extend(['a', 'b', 'c']);
    /// assert_eq!((stack.remove(1), stack.len()), ('b', 2));
    /// ```
    ///
    /// # Panics
    /// The index has no value.
    #[track_caller]
    pub fn remove(&mut self, i: usize) -> T {
        match self.try_remove(i) {
            Some(value) => value,
            None => no_value(i, self.len),
        }
    }

    /// As [`remove`](Stack::remove); returns `None` if the index has no value.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(1);
    /// stack.extend(['a']);
    /// assert_eq!((stack.try_remove(0), stack.try_remove(0)), (Some('a'), None));
    /// ```
    pub fn try_remove(&mut self, i: usize) -> Option<T> {
        if i >= self.len {
            return None;
        }
        self.len -= 1;
        // SAFETY: the slot has a value, which the caller owns; those after it have values.
        unsafe {
            let value = L::read(self.slots.raw(), i);
            L::shift(self.slots.raw(), i + 1, i, self.len - i);
            Some(value)
        }
    }

    /// Removes and returns the value at an index, and moves the last value there. O(1).
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(3);
    /// stack.extend(['a', 'b', 'c']);
    /// assert_eq!(stack.swap_remove(0), 'a');
    /// assert_eq!(stack, ['c', 'b']);
    /// ```
    ///
    /// # Panics
    /// The index has no value.
    #[inline]
    #[track_caller]
    pub fn swap_remove(&mut self, i: usize) -> T {
        if i >= self.len {
            no_value(i, self.len)
        }
        self.len -= 1;
        // SAFETY: the slot has a value, which the caller owns; the last one has a value, and is another slot if it is copied.
        unsafe {
            let value = L::read(self.slots.raw(), i);
            if i != self.len {
                L::copy(self.slots.raw(), self.len, self.slots.raw(), i, 1);
            }
            value
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn no_value(i: usize, len: usize) -> ! {
    panic!("toft: index {i} of {len} values")
}
