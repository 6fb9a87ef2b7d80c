//! `retain` and `retain_mut` of a stack.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::Stack;

crate::sequence::retain!(Stack);

impl<T, L: FieldLayout<T>, M: Memory> Stack<T, L, M> {
    fn filter(&mut self, mut keep: impl FnMut(L::Raw<()>, usize) -> bool) {
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
                debug_assert!(self.kept <= self.seen && self.stack.len <= self.len);
            }
        }

        let (len, raw) = (core::mem::take(&mut self.len), self.slots.raw());
        let mut hole = Hole { stack: self, kept: 0, seen: 0, len };
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
}
