//! The draining iterator of a queue.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::RangeBounds;

use super::Queue;
use crate::contiguous::{debug_remaining, draining_iterator, drop_all, resolve_range, SlotRanges};
use crate::field_layout::{FieldLayout, Rows};
use toft::{Heap, Memory};

/// The removed values of a range of a [`Queue`]: [`Queue::drain`].
pub struct Drain<'a, T, L: FieldLayout<T> = Rows, M: Memory = Heap> {
    queue: &'a mut Queue<T, L, M>,
    at: SlotRanges,
    /// The length of the range, and the length of the queue before.
    gap: usize,
    len: usize,
}

impl<T, L: FieldLayout<T>, M: Memory> Queue<T, L, M> {
    /// Removes the values of a range and returns them one by one. Dropping the iterator drops the remaining ones, and
    /// the shorter side moves.
    ///
    /// If the iterator is leaked, so are the values from the start of the range on.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from(['a', 'b', 'c', 'd']);
    /// assert!(queue.drain(1..3).eq(['b', 'c']));
    /// assert_eq!(queue, ['a', 'd']);
    /// ```
    ///
    /// # Panics
    /// The range is not within the queue.
    #[track_caller]
    pub fn drain(&mut self, range: impl RangeBounds<usize>) -> Drain<'_, T, L, M> {
        let len = self.len();
        let range = resolve_range(range, len);
        let (at, gap) = (self.slot_ranges_of(range.clone()), range.len());
        // Until the iterator is dropped, the queue has only the values before the range: if it is leaked, so are the
        // others.
        self.tail = self.head.wrapping_add(range.start);
        Drain { queue: self, at, gap, len }
    }
}

impl<T, L: FieldLayout<T>, M: Memory> Drop for Drain<'_, T, L, M> {
    fn drop(&mut self) {
        /// Closes the gap, also if a destructor panics.
        struct Close<'b, T, L: FieldLayout<T>, M: Memory>(&'b mut Queue<T, L, M>, usize, usize);

        impl<T, L: FieldLayout<T>, M: Memory> Drop for Close<'_, T, L, M> {
            fn drop(&mut self) {
                // SAFETY: the positions after the gap have values, and the queue has those before it.
                unsafe { self.0.close(self.0.len(), self.1, self.2) }
            }
        }

        let close = Close(self.queue, self.gap, self.len);
        // SAFETY: these slots have values and are not read again.
        unsafe { drop_all::<T, L, ()>(close.0.slots.raw(), self.at.clone()) }
    }
}

draining_iterator!(
    ['a, T, L: FieldLayout<T>, M: Memory] Drain<'a, T, L, M>, T, |this, i| L::read(this.queue.slots.raw(), i)
);

debug_remaining! {
    [T, L: FieldLayout<T>, M: Memory] Drain<'_, T, L, M>, "Drain";
}
