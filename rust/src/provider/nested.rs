//! Scopes: an arena in the rest of another arena's current block. While it lives, the arena around it is claimed, so
//! whoever allocates there (a collection that grows) is served elsewhere, and keeps what it got when the scope ends.
//! Its blocks come from the arena around it, whose spares they become.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

use super::state::*;
use crate::abi::Range;
use crate::policy::{pad, BLOCK_MIN, INITIAL_START};

/// With less room than this in the current block a scope begins in a block of its own.
const SCOPE_MIN: usize = INITIAL_START + 512;

impl ArenaPtr {
    /// `None`: no memory, or a cleanup is running.
    #[inline]
    pub fn begin_scope(self) -> Option<ArenaPtr> {
        let cursor = self.head.cursor.get();
        let skip = pad(cursor.addr(), 64);
        let remaining = self.end.get().addr() - cursor.addr();
        let usual = !self.is(PRISTINE | BUSY | CLAIMED | BUDGETED | EXTENDS | FIXED | INSTRUMENTED)
            && self.budget.get() == u64::MAX;
        if !usual || remaining < SCOPE_MIN + 64 {
            return self.begin_scope_slow();
        }
        // SAFETY: the room of the current block, which is claimed until the scope ends.
        let scope = unsafe {
            let base = NonNull::new_unchecked(self.in_current(cursor.addr() + skip));
            ArenaPtr::write(base, remaining - skip, self.source.get(), BORROWED, Some(self), 2)
        };
        self.slow().scopes.set(Some(scope));
        self.claim_for_scope(scope);
        // As `set_limit` would.
        self.head.limit.set(cursor);
        self.head.epoch.set(self.head.epoch.get().wrapping_add(1));
        Some(scope)
    }

    /// Raises and lowers `CLAIMED`; bit 0 of the epoch goes the same way. By sums, since compilers make of setting a bit
    /// the store of one byte, after which processors wait with a load of the whole word until that byte is in the cache.
    #[inline(always)]
    fn set_claimed(self) {
        debug_assert!(!self.is(CLAIMED));
        self.flags.set(self.flags.get().wrapping_add(CLAIMED));
    }

    #[inline(always)]
    fn clear_claimed(self) {
        debug_assert!(self.is(CLAIMED) && self.head.epoch.get() & 1 != 0);
        self.flags.set(self.flags.get().wrapping_sub(CLAIMED));
    }

    /// The room is claimed, and by nobody who could give it: until the scopes end.
    pub fn claim_for_scope(self, scope: ArenaPtr) {
        let (slow, cursor) = (self.slow(), self.head.cursor.get());
        self.set_claimed();
        slow.claim_id.set(scope.base().addr()); // no range that anyone holds says this
        slow.claim_start.set(cursor);
        slow.claim_limit.set(cursor);
        slow.side_block.set(None);
    }

    #[cold]
    #[inline(never)]
    fn begin_scope_slow(self) -> Option<ArenaPtr> {
        self.sync_in();
        if self.is(BUSY) {
            return None;
        }
        if self.is(EXTENDS)
            && !self.is(CLAIMED)
            && self.end.get().addr() - self.head.cursor.get().addr() < SCOPE_MIN + 64
        {
            self.extend_current(SCOPE_MIN + 64, 64); // the source has this one block only
        }
        let cursor = self.head.cursor.get();
        let skip = pad(cursor.addr(), 64);
        let remaining = self.end.get().addr() - cursor.addr();
        let kept = (EXTENDS | FIXED) & self.flags.get();
        let flags = kept | if self.budget.get() != u64::MAX || self.is(BUDGETED) { BUDGETED } else { 0 };
        let slow = self.slow();
        let scope = if remaining >= SCOPE_MIN + 64 && !self.is(CLAIMED) {
            if self.is(INSTRUMENTED) {
                self.drop_block_log(slow.current.get());
            }
            // SAFETY: the room of the current block, which is claimed until the scope ends.
            unsafe {
                let base = NonNull::new_unchecked(self.in_current(cursor.addr() + skip));
                ArenaPtr::write(base, remaining - skip, self.source.get(), flags | BORROWED, Some(self), 2)
            }
        } else {
            let block = self.take(BLOCK_MIN)?;
            // SAFETY: a block that was taken for this; its header is not needed before the scope's end.
            unsafe {
                let base = NonNull::new_unchecked(block.base());
                ArenaPtr::write(base, BLOCK_MIN, self.source.get(), flags, Some(self), 2)
            }
        };
        scope.sibling.set(slow.scopes.get());
        slow.scopes.set(Some(scope));
        if !self.is(CLAIMED) {
            self.claim_for_scope(scope);
        }
        if !scope.inherit_instruments(self) {
            scope.end_scope(self);
            return None;
        }
        self.end_op(); // and, under a budget, that of the scope
        if flags & BUDGETED != 0 || scope.is(INSTRUMENTED) {
            scope.sync_in();
            scope.set_limit();
        }
        Some(scope)
    }

    /// The end of a scope that never saw a slow call, in an arena that has no other: as it began.
    #[inline]
    pub fn end_pristine_scope(self) -> bool {
        if self.flags.get() != PRISTINE | BORROWED {
            return false;
        }
        let Some(parent) = self.parent.get() else { return false };
        let outer = parent.slow();
        if outer.scopes.get() != Some(self) || self.sibling.get().is_some() || parent.is(INSTRUMENTED) {
            return false;
        }
        outer.scopes.set(None);
        outer.side_block.set(None);
        parent.clear_claimed();
        // As `set_limit` would: there is no budget, or the scope would say so.
        parent.head.limit.set(parent.end.get());
        parent.head.epoch.set(parent.head.epoch.get().wrapping_sub(1));
        true
    }

    /// The end of a scope whose cleanups have run, or which is fresh.
    pub fn end_scope(self, parent: ArenaPtr) {
        #[cfg(feature = "std")]
        let instrumented = self.is(INSTRUMENTED);
        parent.sync_in();
        let outer = parent.slow();
        // Off the list: the last one is the first there, unless guards were dropped in another order.
        if outer.scopes.get() == Some(self) {
            outer.scopes.set(self.sibling.get());
        } else {
            parent.each_scope(|other| {
                if other.sibling.get() == Some(self) {
                    other.sibling.set(self.sibling.get());
                }
            });
        }
        if !self.is(PRISTINE) {
            let slow = self.slow();
            let initial = self.initial();
            parent.update_scope_peak(outer.live.get() + slow.round_peak.get().max(slow.live.get()));
            outer.peak.set(outer.peak.get().max(outer.live.get() + slow.peak.get()));
            let calls = slow.source_calls.get() - !self.is(BORROWED) as u64; // home was taken by the parent
            outer.source_calls.set(outer.source_calls.get() + calls);
            // Oldest first, so that the largest blocks are met first, and stay longest.
            self.poison_all();
            self.release_instruments();
            let mut lists = [Some(slow.newest.get()), slow.spares.get()];
            for list in &mut lists {
                while let Some(b) = list.filter(|b| *b != initial) {
                    *list = b.next.get();
                    parent.drop_block(b);
                }
            }
        }
        if !self.is(BORROWED) {
            // SAFETY: the block that home was, whole; the scope is over.
            let block = unsafe { Block::write(NonNull::new_unchecked(self.base()), BLOCK_MIN) };
            parent.drop_block(block);
        }
        if outer.scopes.get().is_none() && parent.is_claimed_by_scopes() {
            parent.lower(CLAIMED);
            outer.side_block.set(None);
        }
        #[cfg(feature = "std")]
        if instrumented && crate::hook::is_due() {
            parent.deliver(); // also where the arena around is not watched
        }
        parent.set_limit();
    }

    /// Is it for scopes that the room is claimed? No range has a multiple of 64 that is not the arena's own base.
    pub fn is_claimed_by_scopes(self) -> bool {
        let id = self.slow().claim_id.get();
        id & 63 == 0 && id != self.base().addr()
    }

    /// A first claim of the whole room, as `ops->claim` would answer it, of an arena that has neither budget nor anything
    /// open; `None`: ask that.
    #[inline]
    pub fn claim_fast(self) -> Option<Range> {
        if self.is(PRISTINE | CLAIMED | BUSY | BUDGETED | INSTRUMENTED) || self.budget.get() != u64::MAX {
            return None;
        }
        let (slow, cursor, limit) = (self.slow(), self.head.cursor.get(), self.end.get());
        self.set_claimed();
        slow.claim_start.set(cursor);
        slow.claim_limit.set(limit);
        slow.claim_id.set(self.next_claim());
        slow.side_block.set(None);
        self.head.limit.set(cursor);
        self.head.epoch.set(self.head.epoch.get().wrapping_add(1));
        Some(Range { cursor, limit, claim: slow.claim_id.get() })
    }

    /// What a range is told by; the low bits tell a stale one from the present one.
    pub fn next_claim(self) -> usize {
        self.base().addr() | (self.slow().claim_id.get().wrapping_add(1) & 63)
    }

    /// Takes a range back, as `ops->give` would, of such an arena. `false`: ask that.
    #[inline]
    pub fn unclaim_fast(self, range: &Range) -> bool {
        if self.is(PRISTINE | BUSY | BUDGETED | INSTRUMENTED) || !self.is(CLAIMED) || self.budget.get() != u64::MAX {
            return false;
        }
        let slow = self.slow();
        if slow.claim_id.get() != range.claim || slow.scopes.get().is_some() {
            return false;
        }
        // As the holder moved it: within the claim, and of the current block.
        self.head.cursor.set(range.cursor.with_addr(crate::abi::round8(range.cursor.addr())));
        self.clear_claimed();
        slow.side_block.set(None);
        self.head.limit.set(self.end.get());
        self.head.epoch.set(self.head.epoch.get().wrapping_sub(1));
        true
    }

    /// Ends what was forgotten: scopes whose guards were leaked, and a range that nobody will give. What a leaked range's
    /// holder wrote stays allocated.
    ///
    /// The caller has the arena exclusively: no scope, cursor or allocation of it is in use.
    #[cold]
    pub fn end_leaked(self) {
        self.sync_in();
        while let Some(scope) = self.slow().scopes.get() {
            scope.raise(LEAKED);
            scope.end_leaked();
            scope.release();
        }
        if self.is(CLAIMED) {
            let slow = self.slow();
            let tag = if self.is(INSTRUMENTED) { self.enter_claim_tag() } else { None };
            self.head.cursor.set(slow.claim_limit.get());
            self.lower(CLAIMED);
            slow.side_block.set(None);
            self.sync();
            if let Some(present) = tag {
                self.leave_claim_tag(present);
            }
        }
        self.end_op();
    }

    /// Is this a scope that [`end_leaked`](ArenaPtr::end_leaked) ends?
    pub fn is_leaked(self) -> bool {
        self.is(LEAKED)
    }

    /// If the arena is leaked, is its memory too? Not if it is a caller's buffer, or of a source that it borrows.
    pub fn leaks_whole(self) -> bool {
        match self.parent.get() {
            Some(parent) => parent.leaks_whole(),
            None => !self.is(BORROWED) && (self.source.get().is_none() || self.is(OWNS_SOURCE)),
        }
    }

    /// Is a scope or a range still out? Of those that the borrow checker knows ended, only leaked ones are.
    #[inline]
    pub fn has_leaked(self) -> bool {
        self.is(CLAIMED)
    }
}
