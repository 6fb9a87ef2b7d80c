//! A stack, or vector: contiguous values that are added and removed at the end.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::Range;

use super::capacity_error::{capacity_panic, CapacityError};
use super::contiguous::{drop_all, fill};
use super::field_layout::{CloneIn, FieldLayout, Rows};
use super::slots::Slots;
use toft::__buffer::{grow_amortised, least_capacity};
use toft::AllocError;
use toft::{Heap, Memory};

mod edit;
mod iter;
mod retain;
mod traits;

pub use iter::{Drain, IntoIter, Iter, IterMut};

/// A vector in any [`Memory`], growing or fixed: contiguous values. With rows it dereferences to a slice. `push` is O(1)
/// amortised, `pop` and access by index are O(1). Values are dropped with the stack, the oldest first. Growing rows at the
/// end of an arena are better in a [`toft::collections::Vec`], which grows in place.
///
/// ```
/// use toft_pools::Stack;
///
/// let mut open = Stack::fixed(10);
/// for c in "(a[b]{c})".chars() {
///     match c {
///         '(' | '[' | '{' => open.push(c),
///         ')' | ']' | '}' => assert!(open.pop().is_some()),
///         _ => assert!(!open.is_empty()),
///     }
/// }
/// assert!(open.is_empty());
/// ```
pub struct Stack<T, L: FieldLayout<T> = Rows, M: Memory = Heap> {
    slots: Slots<T, L, (), M>,
    len: usize,
    fixed: bool,
}

impl<T, L: FieldLayout<T>, M: Memory> Stack<T, L, M> {
    /// An empty stack that grows, of the layout of its type.
    ///
    /// ```
    /// let mut values: toft_pools::Stack<u8> = toft_pools::Stack::any_in(toft::Heap);
    /// values.push(1);
    /// ```
    pub fn any_in(memory: M) -> Self {
        Stack { slots: Slots::new_in(memory), len: 0, fixed: false }
    }

    /// Allocates memory for `n` values; there are none yet.
    fn allocate(&mut self, n: usize) -> Result<(), AllocError> {
        if n == 0 {
            Ok(())
        } else {
            self.slots.resize(n, 0)
        }
    }

    pub(crate) fn fix(&mut self, n: usize) -> Result<(), AllocError> {
        self.allocate(n)?;
        self.fixed = true;
        Ok(())
    }

    pub(crate) fn raw(&self) -> L::Raw<()> {
        self.slots.raw()
    }

    /// The slots of the values, in their order.
    #[inline]
    fn in_order(&self) -> Range<usize> {
        0..self.len
    }

    /// The number of values.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(3);
    /// stack.extend([1, 2]);
    /// assert_eq!(stack.len(), 2);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of values that fit without growth; of a fixed stack, the largest number of values.
    ///
    /// ```
    /// assert_eq!(toft_pools::Stack::<u8>::fixed(3).capacity(), 3);
    /// ```
    #[inline]
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) -> Result<(), AllocError> {
        if self.fixed {
            return Err(AllocError);
        }
        let (capacity, len) = (self.capacity(), self.len);
        let grow = |n| self.slots.resize(n, len);
        grow_amortised(capacity, len.checked_add(more), least_capacity(size_of::<T>()), usize::MAX, grow)
    }

    /// As [`shrink_to_fit`](Self::shrink_to_fit), but keeps memory for `least` values.
    pub fn shrink_to(&mut self, least: usize) {
        let (len, capacity) = (self.len, self.len.max(least));
        if !self.fixed && capacity < self.capacity() {
            let _ = self.slots.resize(capacity, len);
        }
    }

    /// Adds a value at the end. O(1) amortised.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(2);
    /// stack.push("below");
    /// stack.push("on top");
    /// assert_eq!(stack, ["below", "on top"]);
    /// ```
    ///
    /// # Panics
    /// The stack is fixed and full, or there is no memory.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, value: T) {
        if self.len == self.slots.capacity() && self.grow(1).is_err() {
            capacity_panic()
        }
        // SAFETY: there is a free slot.
        unsafe { self.put(value) }
    }

    /// As [`push`](Stack::push), with an error instead of a panic.
    ///
    /// ```
    /// use toft_pools::CapacityError;
    /// let mut stack = toft_pools::Stack::fixed(0);
    /// assert_eq!(stack.try_push('a'), Err(CapacityError('a')));
    /// ```
    ///
    /// # Errors
    /// The value is returned in the error: the stack is fixed and full, or there is no memory.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), CapacityError<T>> {
        if self.len == self.slots.capacity() && self.grow(1).is_err() {
            return Err(CapacityError(value));
        }
        // SAFETY: there is a free slot.
        unsafe { self.put(value) }
        Ok(())
    }

    /// # Safety
    /// There is a free slot.
    #[inline(always)]
    pub(crate) unsafe fn put(&mut self, value: T) {
        let len = self.len;
        debug_assert!(len < self.capacity());
        // SAFETY: the slot is within the capacity and has no value.
        unsafe { L::write(self.slots.raw(), len, value) }
        self.len = len + 1;
    }

    /// Appends values while there are free slots, and returns the next one.
    #[inline(always)]
    fn fill(&mut self, values: &mut impl Iterator<Item = T>) -> Option<T> {
        // SAFETY: these slots have no values.
        unsafe { fill::<T, L>(self.slots.raw(), self.len..self.slots.capacity(), &mut self.len, values) }
    }

    /// Removes and returns the last value. O(1).
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(2);
    /// stack.extend([1, 2]);
    /// assert_eq!((stack.pop(), stack.pop(), stack.pop()), (Some(2), Some(1), None));
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        // SAFETY: the slot had a value and is outside the range of values now.
        unsafe {
            // The compiler can then omit the capacity check of a following push.
            core::hint::assert_unchecked(self.len < self.slots.capacity());
            Some(L::read(self.slots.raw(), self.len))
        }
    }

    /// The last value.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(2);
    /// stack.extend([1, 2]);
    /// assert_eq!(stack.last(), Some(&2));
    /// ```
    #[inline]
    pub fn last(&self) -> Option<L::Ref<'_>> {
        self.get(self.len.wrapping_sub(1))
    }

    /// The last value, mutable.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(2);
    /// stack.extend([1, 2]);
    /// *stack.last_mut().unwrap() += 5;
    /// assert_eq!(stack, [1, 7]);
    /// ```
    #[inline]
    pub fn last_mut(&mut self) -> Option<L::Mut<'_>> {
        self.get_mut(self.len.wrapping_sub(1))
    }

    /// The value at index `i`; the oldest is at index 0.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(2);
    /// stack.extend(['a', 'b']);
    /// assert_eq!((stack.get(0), stack.get(2)), (Some(&'a'), None));
    /// ```
    #[inline]
    pub fn get(&self, i: usize) -> Option<L::Ref<'_>> {
        // SAFETY: below `len` slots have values, borrowed with the stack; here and below.
        (i < self.len).then(|| unsafe { L::get(self.slots.raw(), i) })
    }

    /// The value at index `i`, mutable.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(2);
    /// stack.extend(['a', 'b']);
    /// *stack.get_mut(0).unwrap() = 'c';
    /// assert_eq!(stack, ['c', 'b']);
    /// ```
    #[inline]
    pub fn get_mut(&mut self, i: usize) -> Option<L::Mut<'_>> {
        // SAFETY: see get.
        (i < self.len).then(|| unsafe { L::get_mut(self.slots.raw(), i) })
    }

    /// All values: a slice, or a slice of each column. The oldest is first.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(2);
    /// stack.extend([1, 2]);
    /// assert_eq!(stack.as_slice(), [1, 2]);
    /// ```
    #[inline]
    pub fn as_slice(&self) -> L::Slices<'_> {
        // SAFETY: see get.
        unsafe { L::slices(self.slots.raw(), 0, self.len) }
    }

    /// All values, mutable.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(2);
    /// stack.extend([1, 2]);
    /// stack.as_mut_slice().reverse();
    /// assert_eq!(stack, [2, 1]);
    /// ```
    #[inline]
    pub fn as_mut_slice(&mut self) -> L::SlicesMut<'_> {
        // SAFETY: see get.
        unsafe { L::slices_mut(self.slots.raw(), 0, self.len) }
    }

    /// Drops all but the first `len` values.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(3);
    /// stack.extend([1, 2, 3]);
    /// stack.truncate(1);
    /// assert_eq!(stack, [1]);
    /// ```
    pub fn truncate(&mut self, len: usize) {
        if len < self.len {
            let removed = len..self.len;
            self.len = len;
            // SAFETY: they had values and are outside the range of values now.
            unsafe { drop_all::<T, L, ()>(self.slots.raw(), removed) }
        }
    }

    /// Moves all values of another stack to the end, in their order.
    ///
    /// ```
    /// let (mut stack, mut other) = (toft_pools::Stack::fixed(2), toft_pools::Stack::fixed(2));
    /// other.extend([2, 3]);
    /// stack.append(&mut other);
    /// assert_eq!((stack.len(), other.len()), (2, 0));
    /// ```
    ///
    /// # Panics
    /// The stack is fixed and its capacity is too small, or there is no memory.
    #[track_caller]
    pub fn append<N: Memory>(&mut self, other: &mut Stack<T, L, N>) {
        self.reserve(other.len);
        // SAFETY: there is memory for them; the other stack has no values afterwards.
        unsafe { L::copy(other.slots.raw(), 0, self.slots.raw(), self.len, other.len) }
        self.len += core::mem::take(&mut other.len);
        debug_assert!(self.len <= self.capacity());
    }
}

impl<T, L: CloneIn<T>, M: Memory + Clone> Clone for Stack<T, L, M> {
    /// # Panics
    /// There is no memory.
    fn clone(&self) -> Self {
        let capacity = if self.fixed { self.capacity() } else { self.len };
        let mut clone = Self::any_in(self.memory().clone());
        if clone.allocate(capacity).is_err() {
            capacity_panic()
        }
        clone.fixed = self.fixed;
        // SAFETY: the slots have values.
        clone.fill(&mut (0..self.len).map(|i| unsafe { L::clone_at(self.slots.raw(), i) }));
        clone
    }
}

impl<T, L: FieldLayout<T>, M: Memory> Drop for Stack<T, L, M> {
    fn drop(&mut self) {
        self.clear();
    }
}
