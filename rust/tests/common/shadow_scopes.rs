//! The steps of a `World` on what has a lifetime: scopes, cursors and packs.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::mem::{forget, transmute};

use toft::{Arena, Cursor, Keep, Pack, Scope};

use super::{Node, World};

impl World<'_> {
    // ---- scopes ----

    pub(super) fn open(&mut self, i: usize) {
        if self.chain(i).len() > 4 || self.nodes.iter().filter(|n| n.open).count() > 8 {
            return;
        }
        let one_only = i == 0 && self.rules.is_foreign && self.is_busy(0);
        // SAFETY: extends the lifetime only; whatever surrounds the scope outlives it, by the order enforced here.
        let scope = self.arena(i).try_scope_guard().map(|s| unsafe { transmute::<Scope<'_>, Scope<'static>>(s) });
        let Ok(scope) = scope else {
            assert!(self.rules.may_refuse || one_only, "a scope was refused");
            return;
        };
        if i == 0 && self.rules.is_foreign {
            self.nodes[0].exact = false;
        }
        self.nodes.push(Node::new(Some(scope), i, true));
    }

    /// Ends a scope without scopes in it, or leaks it.
    pub(super) fn close(&mut self, size: usize, pick: u8) {
        let leaf = |i: &usize| self.nodes[*i].open && !self.nodes[*i].leaked && self.live_children(*i).is_empty();
        let leaves: Vec<usize> = (1..self.nodes.len()).filter(leaf).collect();
        if leaves.is_empty() {
            return;
        }
        let i = leaves[size % leaves.len()];
        // A scope that is leaked directly in a foreign arena cannot be ended.
        let may_leak = !(self.rules.is_foreign && self.nodes[i].parent == 0);
        if pick % 16 == 0 && may_leak {
            self.end_cursors(i, true);
            self.nodes[i].leaked = true;
            return;
        }
        self.end_cursors(i, pick % 5 == 0);
        self.verify_before_end(i);
        let scope = self.nodes[i].scope.take();
        drop(scope);
        self.check_drops_of(i);
        let parent = self.nodes[i].parent;
        if parent == 0 && self.rules.is_foreign {
            self.resync(0);
        }
    }

    pub(super) fn live_children(&self, i: usize) -> Vec<usize> {
        self.children(i).filter(|c| !self.nodes[*c].leaked).collect()
    }

    /// Verifies the contents of a scope, and of leaked scopes in it, before they end.
    pub(super) fn verify_before_end(&mut self, i: usize) {
        let children: Vec<usize> = self.children(i).collect();
        for child in children {
            self.verify_before_end(child);
            forget(self.nodes[child].scope.take());
        }
        self.forget_since(i, 0);
        self.nodes[i].open = i == 0;
        self.nodes[i].pack = None;
    }

    /// Values of leaked scopes are dropped in a different order.
    pub(super) fn check_drops_of(&mut self, i: usize) {
        let mut all: Vec<u32> = vec![];
        let ended: Vec<usize> = (0..self.nodes.len()).filter(|k| *k == i || !self.nodes[*k].open).collect();
        for k in ended {
            all.extend(self.nodes[k].drops.drain(..).map(|(id, _)| id));
        }
        let mut got = std::mem::take(&mut *self.log.lock().unwrap());
        got.sort_unstable();
        all.sort_unstable();
        assert_eq!(got, all, "values dropped");
    }

    /// Ends everything in it, for exclusive access. Leaked scopes remain.
    pub(super) fn empty(&mut self, i: usize) {
        for child in self.live_children(i) {
            self.empty(child);
            self.verify_before_end(child);
            let scope = self.nodes[child].scope.take();
            drop(scope);
            self.check_drops_of(child);
        }
        self.end_cursors(i, false);
    }

    pub(super) fn exclusive(&mut self, i: usize, keep: Keep) {
        self.verify_before_end(i);
        self.nodes[i].open = true;
        match &mut self.nodes[i].scope {
            Some(scope) => scope.reset_with(keep),
            None => self.test_arena.reset_with(keep),
        }
        let node = &mut self.nodes[i];
        node.stale = node.marks.drain(..).map(|m| m.mark).collect();
        node.leaked_cursor = false;
        (node.live, node.exact) = (0, !(i == 0 && self.rules.is_foreign));
        self.check_drops_of(i);
        assert_eq!(self.arena(i).stats().live, 0);
    }

    pub(super) fn trim(&mut self, i: usize, size: usize) {
        self.empty(i);
        self.nodes[i].pack = None;
        match &mut self.nodes[i].scope {
            Some(scope) => scope.trim(size * 3),
            None => self.test_arena.trim(size * 3),
        }
    }

    pub(super) fn scope_mut(&mut self, i: usize, size: usize) {
        if self.is_busy(i) {
            return; // of leaked scopes, for example
        }
        self.nodes[i].cursors.clear();
        self.nodes[i].pack = None;
        let mut f = |a: &Arena| {
            let mut all = vec![];
            for k in 0..size % 13 {
                if let Ok(v) = a.try_alloc_slice_fill(size % 500, k as u8) {
                    all.push((k as u8, v));
                }
                if k == 5 {
                    let _ = a.try_scope(|inner| inner.try_alloc_slice_fill(size % 3000, 9u8).is_ok());
                }
            }
            assert!(all.iter().all(|(k, v)| v.iter().all(|b| b == k)));
        };
        match &mut self.nodes[i].scope {
            Some(scope) => scope.scope_mut(f),
            None => self.test_arena.scope_mut(&mut f),
        }
        if let (Some(total), false) = (self.total(i), i == 0 && self.rules.is_foreign) {
            assert_eq!(self.arena(i).stats().live, total, "after a scope_mut");
        }
        self.resync(i);
    }

    // ---- cursors and packs ----

    pub(super) fn open_cursor(&mut self, i: usize) {
        if self.nodes[i].cursors.len() < 2 {
            let claims = !self.is_busy(i) || (i == 0 && self.rules.is_foreign);
            // SAFETY: extends the lifetime only; the cursor ends before its arena is emptied, by the order enforced
            // here.
            let cursor = unsafe { transmute::<Cursor<'_>, Cursor<'static>>(self.arena(i).cursor()) };
            self.nodes[i].cursors.push((cursor, claims));
            self.nodes[i].exact = false;
        }
    }

    pub(super) fn use_cursor(&mut self, i: usize, size: usize, pick: u8) {
        for k in 0..size % 20 {
            let Some((cursor, _)) = self.nodes[i].cursors.get_mut(pick as usize % 2) else { break };
            #[repr(align(64))]
            struct Line(#[allow(dead_code)] [u8; 100]);
            #[repr(align(16))]
            struct Pair(#[allow(dead_code)] [u8; 16]);
            let got = match (size + k) % 6 {
                0 => cursor.try_alloc_uninit::<[u8; 9]>().map(|v| (v.as_mut_ptr().cast::<u8>(), 9, 1)),
                1 => cursor.try_alloc_uninit::<Line>().map(|v| (v.as_mut_ptr().cast(), 128, 64)),
                2 => cursor.try_alloc_uninit::<[u16; 700]>().map(|v| (v.as_mut_ptr().cast(), 1400, 2)),
                3 => cursor.try_alloc_uninit::<Pair>().map(|v| (v.as_mut_ptr().cast(), 16, 16)),
                4 => cursor.try_alloc(()).map(|v| ((&raw mut *v).cast(), 0, 1)),
                _ => cursor.try_alloc(k as u64).map(|v| (std::ptr::from_mut(v).cast(), 8, 8)),
            };
            match got {
                Ok((p, n, align)) => self.enter(i, p, n, align, false),
                Err(_) => {
                    assert!(self.rules.may_refuse || self.chain(i).iter().any(|a| self.nodes[*a].budget.is_some()))
                }
            }
        }
        self.nodes[i].exact = false;
        self.resync(i);
    }

    pub(super) fn close_cursor(&mut self, i: usize, pick: u8) {
        if self.nodes[i].cursors.is_empty() {
            return;
        }
        let k = pick as usize % self.nodes[i].cursors.len();
        let (cursor, claims) = self.nodes[i].cursors.swap_remove(k);
        if pick % 16 == 1 && !(self.rules.is_foreign && i == 0) {
            forget(cursor);
            self.nodes[i].leaked_cursor |= claims;
        } else {
            drop(cursor);
        }
        self.resync(i);
    }

    pub(super) fn end_cursors(&mut self, i: usize, leak: bool) {
        for (cursor, claims) in std::mem::take(&mut self.nodes[i].cursors) {
            if leak {
                forget(cursor);
                self.nodes[i].leaked_cursor |= claims;
            }
        }
    }

    pub(super) fn pack(&mut self, i: usize, size: usize) {
        if self.nodes[i].pack.is_none() {
            // SAFETY: extends the lifetime only. A pack refers to the guard, which must not move.
            self.nodes[i].pack = match &self.nodes[i].scope {
                // A scope's guard moves with the list, so its pack is made for each call.
                Some(_) => None,
                None => Some(unsafe { transmute::<Pack<'_>, Pack<'static>>(self.test_arena.arena().pack()) }),
            };
        }
        let text = "words and words and words and words, some of them long enough for a chunk of their own";
        for k in 0..size % 9 {
            let bytes = &text.as_bytes()[..(size * 7 + k * 5) % text.len()];
            let temporary;
            let pack = match &self.nodes[i].pack {
                Some(pack) => pack,
                None => {
                    temporary = self.arena(i).pack();
                    &temporary
                }
            };
            let got = pack.try_alloc_bytes(bytes).map(|v| {
                assert_eq!(v, bytes);
                v.as_mut_ptr()
            });
            match got {
                Ok(p) => self.enter(i, p, bytes.len(), 1, false),
                Err(_) => {
                    assert!(self.rules.may_refuse || self.chain(i).iter().any(|a| self.nodes[*a].budget.is_some()))
                }
            }
        }
        self.nodes[i].exact = false;
        self.resync(i);
    }
}
