//! Changes within a queue, by the names of `VecDeque`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::mem::MaybeUninit;

use super::Queue;
use crate::capacity_error::{unwrap_capacity, CapacityError};

crate::sequence::retain!(Queue);

impl<T, L: FieldLayout<T>, M: Memory> Queue<T, L, M> {
    /// Swaps two values.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::new();
    /// queue.extend([1, 2, 3]);
    /// queue.swap(0, 2);
    /// assert_eq!(queue, [3, 2, 1]);
    /// ```
    ///
    /// # Panics
    /// There is no value at a position.
    #[track_caller]
    pub fn swap(&mut self, i: usize, j: usize) {
        assert!(i.max(j) < self.len(), "toft: no value at position {} of {}", i.max(j), self.len());
        if i == j {
            return;
        }
        let (raw, i, j) = (self.slots.raw(), self.slot_at(i), self.slot_at(j));
        // SAFETY: both slots have values, which are written back.
        unsafe {
            let (a, b) = (L::read(raw, i), L::read(raw, j));
            L::write(raw, i, b);
            L::write(raw, j, a);
        }
    }

    /// Inserts a value before the one at position `i`, or at the back. The values of the shorter side move.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::new();
    /// queue.extend(['a', 'c']);
    /// queue.insert(1, 'b');
    /// assert_eq!(queue, ['a', 'b', 'c']);
    /// ```
    ///
    /// # Panics
    /// The position is past the end, the queue is fixed and full, or there is no memory.
    #[track_caller]
    pub fn insert(&mut self, i: usize, value: T) {
        unwrap_capacity(self.try_insert(i, value))
    }

    /// As [`insert`](Queue::insert), with an error instead of a panic.
    ///
    /// # Errors
    /// The value is returned in the error: the queue is fixed and full, or there is no memory.
    ///
    /// # Panics
    /// The position is past the end.
    #[track_caller]
    pub fn try_insert(&mut self, i: usize, value: T) -> Result<(), CapacityError<T>> {
        let len = self.len();
        assert!(i <= len, "toft: position {i} is past the end of {len} values");
        if i < len / 2 {
            self.try_push_front(value)?;
            (0..i).for_each(|k| self.swap(k, k + 1));
        } else {
            self.try_push_back(value)?;
            (i..len).rev().for_each(|k| self.swap(k, k + 1));
        }
        Ok(())
    }

    /// Removes and returns the value at position `i`, or `None` if there is none. The values of the shorter side move.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::new();
    /// queue.extend(['a', 'b', 'c']);
    /// assert_eq!((queue.remove(1), queue.remove(9)), (Some('b'), None));
    /// assert_eq!(queue, ['a', 'c']);
    /// ```
    pub fn remove(&mut self, i: usize) -> Option<T> {
        let len = self.len();
        if i >= len {
            return None;
        }
        if i < len / 2 {
            (0..i).rev().for_each(|k| self.swap(k, k + 1));
            self.pop_front()
        } else {
            (i..len - 1).for_each(|k| self.swap(k, k + 1));
            self.pop_back()
        }
    }

    /// Moves the first `n` values to the back. O(min(n, len - n)).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::new();
    /// queue.extend([1, 2, 3]);
    /// queue.rotate_left(1);
    /// assert_eq!(queue, [2, 3, 1]);
    /// queue.rotate_right(1);
    /// assert_eq!(queue, [1, 2, 3]);
    /// ```
    ///
    /// # Panics
    /// There are not so many values.
    #[track_caller]
    pub fn rotate_left(&mut self, n: usize) {
        let len = self.len();
        assert!(n <= len, "toft: {n} of {len} values");
        if n > len / 2 {
            return self.turn(len - n, Self::pop_back, Self::push_front);
        }
        self.turn(n, Self::pop_front, Self::push_back);
    }

    /// Moves the last `n` values to the front. O(min(n, len - n)).
    ///
    /// # Panics
    /// There are not so many values.
    #[track_caller]
    pub fn rotate_right(&mut self, n: usize) {
        let len = self.len();
        assert!(n <= len, "toft: {n} of {len} values");
        self.rotate_left(len - n);
    }

    fn turn(&mut self, n: usize, pop: fn(&mut Self) -> Option<T>, push: fn(&mut Self, T)) {
        for _ in 0..n {
            if let Some(value) = pop(self) {
                push(self, value);
            }
        }
    }

    /// Kept values move to the front one by one. If the function panics, all values are there, in any order.
    fn filter(&mut self, mut keep: impl FnMut(L::Raw<()>, usize) -> bool) {
        let mut kept = 0;
        for i in 0..self.len() {
            if keep(self.slots.raw(), self.slot_at(i)) {
                if kept < i {
                    self.swap(kept, i);
                }
                kept += 1;
            }
        }
        self.truncate(kept);
    }
}

impl<T, M: Memory> Queue<T, Rows, M> {
    /// Moves the values so that they are one slice. O(n).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::new();
    /// queue.extend([3, 1]);
    /// queue.push_front(2);
    /// queue.make_contiguous().sort();
    /// assert_eq!(queue.as_slices(), (&[1, 2, 3][..], &[][..]));
    /// ```
    pub fn make_contiguous(&mut self) -> &mut [T] {
        let (front, back) = (self.as_slices().0.len(), self.as_slices().1.len());
        if back > 0 {
            let (raw, n) = (self.slots.raw(), self.slots.capacity());
            if front <= n - front - back {
                // SAFETY: the slots from `back` to `back + front` are free; then those from 0 to `front` are.
                unsafe {
                    Rows::shift(raw, 0, front, back);
                    Rows::copy(raw, n - front, raw, 0, front);
                }
            } else {
                let slots = raw.cast::<MaybeUninit<T>>().as_ptr();
                // SAFETY: all slots, which are adjacent rows without data beside the values; more than a third are used.
                unsafe { core::slice::from_raw_parts_mut(slots, n) }.rotate_left(n - front);
            }
            (self.head, self.tail) = (0, front + back);
        }
        self.as_mut_slices().0
    }

    /// Whether a value is equal. O(n).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::new();
    /// queue.push_back(1);
    /// assert!(queue.contains(&1) && !queue.contains(&2));
    /// ```
    pub fn contains(&self, value: &T) -> bool
    where
        T: PartialEq,
    {
        self.iter().any(|other| other == value)
    }
}
