//! `retain` and `retain_mut` of a list. Each exists once for each layout: a closure that takes `L::Mut<'_>` of any
//! layout would require `T: 'static`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::List;
use crate::columnar::Columnar;
use crate::field_layout::{Columns, FieldLayout, Rows};
use crate::linked_slots::{Link, NONE};
use toft::Memory;

impl<T, M: Memory> List<T, Rows, M> {
    /// Keeps the values for which `keep` returns true, in their order, and drops the others. O(n).
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2, 3, 4]);
    /// list.retain(|&value| value % 2 == 0);
    /// assert!(list.iter().eq(&[2, 4]));
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.retain_mut(|value| keep(value));
    }

    /// As `retain`; the function may change the values.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2, 3, 4]);
    /// list.retain_mut(|value| {
    ///     *value += 1;
    ///     *value % 2 == 0
    /// });
    /// assert!(list.iter().eq(&[2, 4]));
    /// ```
    pub fn retain_mut(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        // SAFETY: the slot has a value.
        self.filter(|raw, i| keep(unsafe { <Rows as FieldLayout<T>>::get_mut(raw, i) }));
    }
}

impl<T: Columnar, M: Memory> List<T, Columns, M> {
    /// Keeps the values for which `keep` returns true, in their order, and drops the others. O(n).
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use toft_pools::{List, Columns};
    ///
    /// #[derive(toft_pools::Columnar)]
    /// struct Item {
    ///     number: u32,
    /// }
    ///
    /// let mut list: List<Item, Columns> = (1..5).map(|number| Item { number }).collect();
    /// list.retain(|item| item.number % 2 == 0);
    /// assert_eq!(list.len(), 2);
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
    /// use toft_pools::{List, Columns};
    ///
    /// #[derive(toft_pools::Columnar)]
    /// struct Item {
    ///     number: u32,
    /// }
    ///
    /// let mut list: List<Item, Columns> = (1..5).map(|number| Item { number }).collect();
    /// list.retain_mut(|item| {
    ///     *item.number += 1;
    ///     *item.number > 2
    /// });
    /// assert_eq!(list.len(), 3);
    /// # }
    /// ```
    pub fn retain_mut(&mut self, mut keep: impl FnMut(T::Mut<'_>) -> bool) {
        // SAFETY: the slot has a value.
        self.filter(|raw, i| keep(unsafe { T::get_mut(raw.0, i) }));
    }
}

impl<T, L: FieldLayout<T>, M: Memory> List<T, L, M> {
    fn filter(&mut self, mut keep: impl FnMut(L::Raw<Link>, usize) -> bool) {
        let mut next = self.front;
        while next != NONE {
            let (i, raw) = (next, self.slots.raw());
            // SAFETY: a slot of the list.
            next = unsafe { (*self.slots.link(i)).next };
            if !keep(raw, i as usize) {
                // SAFETY: a slot of the list. It is free before its value is dropped, so if that panics the list is
                // whole.
                unsafe {
                    self.unlink(i);
                    self.slots.free_slot(i);
                    L::drop_in_place(raw, i as usize);
                }
            }
        }
    }
}
