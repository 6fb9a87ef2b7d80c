//! `retain` and `retain_mut` of a stack. Each exists once for each layout: a closure that takes `L::Mut<'_>` of any
//! layout would require `T: 'static`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::Stack;
use crate::columnar::Columnar;
use crate::field_layout::{Columns, FieldLayout, Rows};
use toft::Memory;

impl<T, M: Memory> Stack<T, Rows, M> {
    /// Keeps the values for which `keep` returns true, in their order, and drops the others. O(n).
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::from([1, 2, 3, 4]);
    /// stack.retain(|&value| value % 2 == 0);
    /// assert_eq!(stack, [2, 4]);
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.retain_mut(|value| keep(value));
    }

    /// As `retain`; the function may change the values.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::from([1, 2, 3, 4]);
    /// stack.retain_mut(|value| {
    ///     *value += 1;
    ///     *value % 2 == 0
    /// });
    /// assert_eq!(stack, [2, 4]);
    /// ```
    pub fn retain_mut(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        // SAFETY: the slot has a value.
        filter(self, |raw, i| keep(unsafe { <Rows as FieldLayout<T>>::get_mut(raw, i) }));
    }
}

impl<T: Columnar, M: Memory> Stack<T, Columns, M> {
    /// Keeps the values for which `keep` returns true, in their order, and drops the others. O(n).
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use toft_pools::{Stack, Columns};
    ///
    /// #[derive(toft_pools::Columnar)]
    /// struct Item {
    ///     number: u32,
    /// }
    ///
    /// let mut stack: Stack<Item, Columns> = (1..5).map(|number| Item { number }).collect();
    /// stack.retain(|item| item.number % 2 == 0);
    /// assert_eq!(stack.len(), 2);
    /// # }
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(T::Ref<'_>) -> bool) {
        // SAFETY: the slot has a value.
        filter(self, |raw, i| keep(unsafe { T::get(raw.0, i) }));
    }

    /// As `retain`; the function may change the values.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use toft_pools::{Stack, Columns};
    ///
    /// #[derive(toft_pools::Columnar)]
    /// struct Item {
    ///     number: u32,
    /// }
    ///
    /// let mut stack: Stack<Item, Columns> = (1..5).map(|number| Item { number }).collect();
    /// stack.retain_mut(|item| {
    ///     *item.number += 1;
    ///     *item.number > 2
    /// });
    /// assert_eq!(stack.len(), 3);
    /// # }
    /// ```
    pub fn retain_mut(&mut self, mut keep: impl FnMut(T::Mut<'_>) -> bool) {
        // SAFETY: the slot has a value.
        filter(self, |raw, i| keep(unsafe { T::get_mut(raw.0, i) }));
    }
}

/// Keeps the values for which `keep` returns true.
fn filter<T, L: FieldLayout<T>, M: Memory>(
    stack: &mut Stack<T, L, M>,
    mut keep: impl FnMut(L::Raw<()>, usize) -> bool,
) {
    /// A stack during `retain`: `kept` of the `seen` values are kept, and are in front. When it is dropped, at the end
    /// or after a panic of the function or a destructor, the rest is kept.
    struct Hole<'a, T, L: FieldLayout<T>, M: Memory> {
        stack: &'a mut Stack<T, L, M>,
        kept: usize,
        seen: usize,
        len: usize,
    }

    impl<T, L: FieldLayout<T>, M: Memory> Drop for Hole<'_, T, L, M> {
        fn drop(&mut self) {
            let rest = self.len - self.seen;
            // SAFETY: the rest has values, and those from `kept` on to it have none.
            unsafe { L::shift(self.stack.slots.raw(), self.seen, self.kept, rest) }
            self.stack.len = self.kept + rest;
        }
    }

    let (len, raw) = (core::mem::take(&mut stack.len), stack.slots.raw());
    let mut hole = Hole { stack, kept: 0, seen: 0, len };
    while hole.seen < len {
        let i = hole.seen;
        let keep = keep(raw, i);
        hole.seen += 1; // before it is dropped
                        // SAFETY: the slot has a value, and those from `kept` on to it have none.
        unsafe {
            if !keep {
                L::drop_in_place(raw, i);
            } else {
                if hole.kept < i {
                    L::copy(raw, i, raw, hole.kept, 1);
                }
                hole.kept += 1;
            }
        }
    }
}
