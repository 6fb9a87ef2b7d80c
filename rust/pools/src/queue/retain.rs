//! `retain` and `retain_mut` of a queue.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::Queue;

crate::sequence::retain!(Queue);

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
