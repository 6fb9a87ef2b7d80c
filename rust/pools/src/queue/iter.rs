//! The iterators over all values of a queue, or a range of them.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::RangeBounds;

use super::Queue;
use crate::contiguous::{resolve_range, SlotRanges};

crate::sequence::slot_iterators!(Queue, "queue", SlotRanges);

impl<T, L: FieldLayout<T>, M: Memory> Queue<T, L, M> {
    /// The values of a range of positions.
    ///
    /// ```
    /// let queue = toft_pools::Queue::from([1, 2, 3]);
    /// assert!(queue.range(1..).eq(&[2, 3]));
    /// ```
    ///
    /// # Panics
    /// The range is not within the queue.
    #[track_caller]
    pub fn range(&self, range: impl RangeBounds<usize>) -> Iter<'_, T, L> {
        let at = self.slot_ranges_of(resolve_range(range, self.len()));
        // SAFETY: see get.
        unsafe { Iter::new(self.slots.raw(), at) }
    }

    /// The values of a range of positions, mutable.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2, 3]);
    /// queue.range_mut(1..).for_each(|value| *value = 0);
    /// assert_eq!(queue, [1, 0, 0]);
    /// ```
    ///
    /// # Panics
    /// The range is not within the queue.
    #[track_caller]
    pub fn range_mut(&mut self, range: impl RangeBounds<usize>) -> IterMut<'_, T, L> {
        let at = self.slot_ranges_of(resolve_range(range, self.len()));
        // SAFETY: see get.
        unsafe { IterMut::new(self.slots.raw(), at) }
    }
}
