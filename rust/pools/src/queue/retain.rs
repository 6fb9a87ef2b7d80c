//! `retain` and `retain_mut` of a queue. Each exists once for each layout: a closure that takes `L::Mut<'_>` of any
//! layout would require `T: 'static`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::Queue;
use crate::columnar::Columnar;
use crate::field_layout::{Columns, FieldLayout, Rows};
use toft::Memory;

impl<T, M: Memory> Queue<T, Rows, M> {
    /// Keeps the values for which `keep` returns true, in their order, and drops the others. O(n).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2, 3, 4]);
    /// queue.retain(|&value| value % 2 == 0);
    /// assert_eq!(queue, [2, 4]);
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.retain_mut(|value| keep(value));
    }

    /// As `retain`; the function may change the values.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2, 3, 4]);
    /// queue.retain_mut(|value| {
    ///     *value += 1;
    ///     *value % 2 == 0
    /// });
    /// assert_eq!(queue, [2, 4]);
    /// ```
    pub fn retain_mut(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        // SAFETY: the slot has a value.
        self.filter(|raw, i| keep(unsafe { <Rows as FieldLayout<T>>::get_mut(raw, i) }));
    }
}

impl<T: Columnar, M: Memory> Queue<T, Columns, M> {
    /// Keeps the values for which `keep` returns true, in their order, and drops the others. O(n).
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use toft_pools::{Queue, Columns};
    ///
    /// #[derive(toft_pools::Columnar)]
    /// struct Item {
    ///     number: u32,
    /// }
    ///
    /// let mut queue: Queue<Item, Columns> = (1..5).map(|number| Item { number }).collect();
    /// queue.retain(|item| item.number % 2 == 0);
    /// assert_eq!(queue.len(), 2);
    /// # }
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(T::Ref<'_>) -> bool) {
        // SAFETY: the slot has a value.
        self.filter(|raw, i| keep(unsafe { T::get(raw.0, i) }));
    }

    /// As `retain`; the function may change the values.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use toft_pools::{Queue, Columns};
    ///
    /// #[derive(toft_pools::Columnar)]
    /// struct Item {
    ///     number: u32,
    /// }
    ///
    /// let mut queue: Queue<Item, Columns> = (1..5).map(|number| Item { number }).collect();
    /// queue.retain_mut(|item| {
    ///     *item.number += 1;
    ///     *item.number > 2
    /// });
    /// assert_eq!(queue.len(), 3);
    /// # }
    /// ```
    pub fn retain_mut(&mut self, mut keep: impl FnMut(T::Mut<'_>) -> bool) {
        // SAFETY: the slot has a value.
        self.filter(|raw, i| keep(unsafe { T::get_mut(raw.0, i) }));
    }
}

impl<T, L: FieldLayout<T>, M: Memory> Queue<T, L, M> {
    fn filter(&mut self, mut keep: impl FnMut(L::Raw<()>, usize) -> bool) {
        /// A queue during `retain`: `kept` of the `seen` values are kept, and are in front. When it is dropped, at the
        /// end or after a panic of the function or a destructor, the rest is kept.
        struct Hole<'a, T, L: FieldLayout<T>, M: Memory>(&'a mut Queue<T, L, M>, usize, usize, usize);

        impl<T, L: FieldLayout<T>, M: Memory> Drop for Hole<'_, T, L, M> {
            fn drop(&mut self) {
                let (kept, seen, len) = (self.1, self.2, self.3);
                let begin = self.0.head;
                // SAFETY: the rest has values, and those from `kept` on to it have none.
                unsafe { self.0.shift(begin.wrapping_add(seen), begin.wrapping_add(kept), len - seen) }
                self.0.tail = begin.wrapping_add(kept + len - seen);
            }
        }

        let len = self.len();
        self.tail = self.head;
        let mut hole = Hole(self, 0, 0, len);
        while hole.2 < len {
            let (raw, slot, to) = (hole.0.slots.raw(), hole.0.slot_at(hole.2), hole.0.slot_at(hole.1));
            let keep = keep(raw, slot);
            hole.2 += 1; // it counts as seen before it is dropped
                         // SAFETY: the slot has a value, and those from `kept` on to it have none.
            unsafe {
                if !keep {
                    L::drop_in_place(raw, slot);
                } else {
                    if to != slot {
                        L::copy(raw, slot, raw, to, 1);
                    }
                    hole.1 += 1;
                }
            }
        }
    }
}
