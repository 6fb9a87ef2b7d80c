//! `retain` and `retain_mut` of a list.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::List;
use crate::linked_slots::{Link, NONE};

crate::sequence::retain!(List);

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
        debug_assert!(self.verify());
    }
}
