//! Length, capacity and growth of a queue.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::Queue;
use crate::field_layout::FieldLayout;
use toft::__buffer::{grow_amortised, least_capacity};
use toft::AllocError;
use toft::Memory;

impl<T, L: FieldLayout<T>, M: Memory> Queue<T, L, M> {
    /// The number of values.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(3);
    /// queue.extend([1, 2]);
    /// assert_eq!(queue.len(), 2);
    /// ```
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// The number of values that fit without growth; of a fixed queue, the largest number of values.
    ///
    /// ```
    /// assert_eq!(toft_pools::Queue::<u8>::fixed(3).capacity(), 3);
    /// ```
    pub fn capacity(&self) -> usize {
        self.limit
    }

    /// See `assertions.rs` of the crate `toft`.
    pub(super) fn verify(&self) -> bool {
        let slots = self.slots.capacity();
        debug_assert!(slots == 0 || slots.is_power_of_two());
        debug_assert!(self.len() <= self.limit && self.limit <= slots);
        debug_assert!(self.fixed || self.limit == slots);
        true
    }

    pub(super) fn fix(&mut self, n: usize) -> Result<(), AllocError> {
        if n > 0 {
            self.allocate(n)?;
        }
        (self.limit, self.fixed) = (n, true);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    pub(super) fn grow(&mut self, more: usize) -> Result<(), AllocError> {
        if self.fixed {
            return Err(AllocError);
        }
        let needed = self.len().checked_add(more).and_then(usize::checked_next_power_of_two);
        grow_amortised(self.slots.capacity(), needed, least_capacity(size_of::<T>()), usize::MAX, |n| self.allocate(n))
    }

    /// Moves the values to memory for `n` of them at least.
    pub(super) fn allocate(&mut self, n: usize) -> Result<(), AllocError> {
        let new = n.checked_next_power_of_two().ok_or(AllocError)?;
        self.replace(new)?;
        self.limit = new;
        debug_assert!(self.verify());
        Ok(())
    }

    /// Moves the values to other memory. The capacity is 0 or a power of two, and not less than the length.
    fn replace(&mut self, capacity: usize) -> Result<(), AllocError> {
        let (old, mut head, tail) = (self.slots.capacity(), self.head, self.tail);
        debug_assert!(self.len() <= capacity && (capacity == 0 || capacity.is_power_of_two()));
        self.slots.replace(capacity, |from, to| {
            while head != tail {
                let (at, to_slot) = (head & (old - 1), head & (capacity - 1));
                let n = tail.wrapping_sub(head).min(old - at).min(capacity - to_slot);
                // SAFETY: both ranges are within the capacities.
                unsafe { L::copy(from, at, to, to_slot, n) }
                head = head.wrapping_add(n);
            }
        })
    }

    /// As [`shrink_to_fit`](Self::shrink_to_fit), but keeps memory for `least` values.
    pub fn shrink_to(&mut self, least: usize) {
        let n = match self.len().max(least) {
            0 => 0,
            n if n > self.slots.capacity() => return,
            n => n.next_power_of_two(),
        };
        if !self.fixed && n < self.slots.capacity() && self.replace(n).is_ok() {
            self.limit = n;
        }
        debug_assert!(self.verify());
    }
}
