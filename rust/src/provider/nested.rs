//! Scopes: an arena in the free part of another arena's current block. While the scope exists the outer arena is
//! claimed, so that its other allocations (by a collection that grows) are served from a side block and survive the
//! scope. Blocks of the scope become spares of the outer arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

use super::state::*;
use crate::base::abi_types::Range;
use crate::base::policy::{pad, BLOCK_MIN, INITIAL_START};

/// A scope with fewer bytes than this in the current block gets a block of its own.
const SCOPE_MIN: usize = INITIAL_START + 512;

impl RawArena {
    /// Begins a scope. `None`: no memory, or a cleanup is running.
    #[inline]
    pub fn begin_scope(self) -> Option<RawArena> {
        let cursor = self.head.cursor.get();
        let skip = pad(cursor.addr(), 64);
        let remaining = self.end.get().addr() - cursor.addr();
        let usual = !self.is(PRISTINE
            | BUSY
            | CLAIMED
            | BUDGETED
            | EXTENDS
            | SHARES_LIMIT
            | FIXED
            | INSTRUMENTED
            | COUNTS_LIVE)
            && self.budget.get() == u64::MAX;
        if !usual || remaining < SCOPE_MIN + 64 {
            return self.begin_scope_slow();
        }
        // SAFETY: the free part of the current block, which is claimed until the scope ends.
        let scope = unsafe {
            let base = NonNull::new_unchecked(self.in_current(cursor.addr() + skip));
            RawArena::write(base, remaining - skip, self.source.get(), BORROWED, Some(self), 2)
        };
        self.slow().scopes.set(Some(scope));
        self.claim_for_scope(scope);
        // As `set_limit`.
        self.head.limit.set(cursor);
        self.head.epoch.set(self.head.epoch.get().wrapping_add(1));
        Some(scope)
    }

    /// Set and clear `CLAIMED`, as bit 0 of the epoch is set and cleared. By addition, since compilers turn setting a
    /// bit into a store of one byte, and a load of the whole word must then wait until that byte is in the cache.
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

    /// Claims the free part of the block until the scopes end. No client's range matches this claim.
    pub fn claim_for_scope(self, scope: RawArena) {
        let (slow, cursor) = (self.slow(), self.head.cursor.get());
        self.set_claimed();
        slow.claim_id.set(scope.base().addr()); // no client's range has this id
        slow.claim_start.set(cursor);
        slow.claim_limit.set(cursor);
        slow.side_block.set(None);
    }

    #[cold]
    #[inline(never)]
    fn begin_scope_slow(self) -> Option<RawArena> {
        self.sync_in();
        if self.is(BUSY) {
            return None;
        }
        if self.is(EXTENDS)
            && !self.is(CLAIMED)
            && self.end.get().addr() - self.head.cursor.get().addr() < SCOPE_MIN + 64
        {
            self.extend_current(SCOPE_MIN + 64, 64); // the only block of the source
        }
        let cursor = self.head.cursor.get();
        let skip = pad(cursor.addr(), 64);
        let remaining = self.end.get().addr() - cursor.addr();
        let kept = (EXTENDS | FIXED | SHARES_LIMIT) & self.flags.get();
        let flags = kept | if self.is_limited() { BUDGETED } else { 0 };
        let slow = self.slow();
        let scope = if remaining >= SCOPE_MIN + 64 && !self.is(CLAIMED) {
            if self.is(INSTRUMENTED) {
                self.drop_block_log(slow.current.get());
            }
            // SAFETY: the free part of the current block, which is claimed until the scope ends.
            unsafe {
                let base = NonNull::new_unchecked(self.in_current(cursor.addr() + skip));
                RawArena::write(base, remaining - skip, self.source.get(), flags | BORROWED, Some(self), 2)
            }
        } else {
            let block = match self.take(BLOCK_MIN) {
                None if self.return_idle() => self.take(BLOCK_MIN)?,
                block => block?,
            };
            // SAFETY: a block taken for the scope; its header is not needed before the scope's end.
            unsafe {
                let base = NonNull::new_unchecked(block.base());
                RawArena::write(base, BLOCK_MIN, self.source.get(), flags, Some(self), 2)
            }
        };
        scope.sibling.set(slow.scopes.get());
        slow.scopes.set(Some(scope));
        if !self.is(CLAIMED) {
            self.claim_for_scope(scope);
        }
        if !scope.inherit_instruments(self) {
            // SAFETY: it was just created, and is not returned.
            unsafe { scope.end_scope(self) };
            return None;
        }
        self.end_op(); // with a budget, also the limit of the scope
        if flags & BUDGETED != 0 || scope.is(INSTRUMENTED) {
            scope.sync_in();
            scope.set_limit();
        }
        Some(scope)
    }

    /// Ends a scope without a slow call, if it is the only one of its arena. Returns whether it was done.
    ///
    /// # Safety
    /// The scope is not used any more if it returns true.
    #[inline]
    pub unsafe fn end_pristine_scope(self) -> bool {
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
        // As `set_limit`: there is no budget, or the scope would be BUDGETED.
        parent.head.limit.set(parent.end.get());
        parent.head.epoch.set(parent.head.epoch.get().wrapping_sub(1));
        true
    }

    /// Ends a scope whose cleanups have run, or which is pristine.
    ///
    /// # Safety
    /// The scope is not used any more; `parent` is the arena that it began in.
    pub unsafe fn end_scope(self, parent: RawArena) {
        #[cfg(all(feature = "std", feature = "diagnostics"))]
        let instrumented = self.is(INSTRUMENTED);
        parent.sync_in();
        debug_assert!(self.parent.get() == Some(parent) && parent.is(CLAIMED));
        let outer = parent.slow();
        // Unlinks the scope, which is the first one unless guards are dropped in another order.
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
            let calls = slow.source_calls.get() - !self.is(BORROWED) as u64; // the outer arena took the initial block
            outer.source_calls.set(outer.source_calls.get() + calls);
            // Oldest last, so that of the spares the largest blocks are found first and kept longest.
            self.poison_all();
            self.release_instruments();
            let mut lists = [Some(slow.newest.get()), slow.spares.get()];
            for list in &mut lists {
                while let Some(b) = list.filter(|b| *b != initial) {
                    *list = b.next.get();
                    // SAFETY: of the scope, which has ended; out of its list.
                    unsafe { parent.drop_block(b) };
                }
            }
        }
        if !self.is(BORROWED) {
            // SAFETY: the whole block that was the initial block; the scope has ended.
            let block = unsafe { Block::write(NonNull::new_unchecked(self.base()), BLOCK_MIN) };
            // SAFETY: as above.
            unsafe { parent.drop_block(block) };
        }
        if outer.scopes.get().is_none() && parent.is_claimed_by_scopes() {
            parent.lower(CLAIMED);
            outer.side_block.set(None);
        }
        #[cfg(all(feature = "std", feature = "diagnostics"))]
        if instrumented && crate::system::hook::is_due() {
            parent.deliver(); // also if the outer arena is not instrumented
        }
        parent.set_limit();
        debug_assert!(parent.verify());
    }

    /// Whether the claim is a scope's. The id of a range is a multiple of 64 only if it is the arena's base.
    pub fn is_claimed_by_scopes(self) -> bool {
        let id = self.slow().claim_id.get();
        id & 63 == 0 && id != self.base().addr()
    }

    /// Claims the free part of the block as `ops->claim` would, for an arena without a budget, a claim or instruments.
    /// `None`: call `ops->claim`.
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

    /// The id of the next range; the low bits make stale ranges detectable.
    pub fn next_claim(self) -> usize {
        self.base().addr() | (self.slow().claim_id.get().wrapping_add(1) & 63)
    }

    /// Returns a range as `ops->give` would, under the same conditions. `false`: call `ops->give`.
    ///
    /// # Safety
    /// The range is that of its holder, and is not used any more if it returns true.
    #[inline]
    pub unsafe fn unclaim_fast(self, range: &Range) -> bool {
        if self.is(PRISTINE | BUSY | BUDGETED | INSTRUMENTED) || !self.is(CLAIMED) || self.budget.get() != u64::MAX {
            return false;
        }
        let slow = self.slow();
        if slow.claim_id.get() != range.claim || slow.scopes.get().is_some() {
            return false;
        }
        // The holder's cursor is within the claim, and has the block's provenance.
        self.head.cursor.set(range.cursor.with_addr(crate::base::policy::round8(range.cursor.addr())));
        self.clear_claimed();
        slow.side_block.set(None);
        self.head.limit.set(self.end.get());
        self.head.epoch.set(self.head.epoch.get().wrapping_sub(1));
        true
    }

    /// Ends leaked scopes and a leaked range. The bytes of a leaked range stay allocated.
    ///
    /// # Safety
    /// The caller has exclusive access: no scope, cursor or allocation of the arena is used any more.
    #[cold]
    pub unsafe fn end_leaked(self) {
        self.sync_in();
        while let Some(scope) = self.slow().scopes.get() {
            scope.raise(LEAKED);
            // SAFETY: it is leaked, so no code uses it, nor scopes of it.
            unsafe {
                scope.end_leaked();
                scope.release();
            }
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

    /// Whether this is a scope that [`end_leaked`](RawArena::end_leaked) ends.
    pub fn is_leaked(self) -> bool {
        self.is(LEAKED)
    }

    /// Whether leaking the arena leaks its memory. Not for an arena in a caller's buffer or on a borrowed source.
    pub fn leaks_whole(self) -> bool {
        match self.parent.get() {
            Some(parent) => parent.leaks_whole(),
            None => !self.is(BORROWED) && (self.source.get().is_none() || self.is(OWNS_SOURCE)),
        }
    }

    /// Whether a scope or range is open. With exclusive access, only leaked ones are.
    #[inline]
    pub fn has_leaked(self) -> bool {
        self.is(CLAIMED)
    }
}
