//! The block list, its accounting by subtraction, and `set_limit`, the one function that computes `limit`. Every
//! operation begins with `sync_in` and ends with `end_op`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

use super::state::*;
use crate::base::policy::{self, SPARE};
use crate::base::source::{Portion, Source};
use crate::system::heap;
use crate::system::hook::call_source;

impl RawArena {
    // ---- accounting ----

    pub fn update_peak(self) {
        let slow = self.slow();
        if slow.live.get() > slow.peak.get() {
            slow.peak.set(slow.live.get());
        }
    }

    /// M4: brings live up to the cursor. `allocated` misses what was allocated and rewound inline since.
    pub fn sync(self) {
        let slow = self.slow();
        let moved = self.head.cursor.get().addr().wrapping_sub(self.synced.get().addr()) as isize;
        if moved > 0 {
            slow.allocated.set(slow.allocated.get() + moved as u64);
        }
        let steady_start = slow.steady_start.get();
        if steady_start.is_null() {
            slow.live.set(slow.live.get().wrapping_add_signed(moved as i64));
        } else {
            slow.live.set((self.head.cursor.get().addr() - steady_start.addr()) as u64);
            self.steady_top.set(0); // the next reset must count the bytes up to here
        }
        self.synced.set(self.head.cursor.get());
        self.update_peak();
    }

    pub fn sync_in(self) {
        if self.is(PRISTINE) {
            self.complete_state();
        }
        self.sync();
    }

    /// M2: sets limit to the lowest of block end, budget and the instruments' limit, or to the cursor if every
    /// allocation must take the slow path; sets bit 0 of the epoch if rewinds must call ops too.
    pub fn set_limit(self) {
        let cursor = self.head.cursor.get();
        let mut remaining = (self.end.get().addr() - cursor.addr()) as u64;
        let closed = self.is(CLAIMED | BUSY);
        let mut instrumented = closed;
        if let Some(portion) = self.portion() {
            portion.update(self.live_and_claimed());
            instrumented = true; // bytes that are freed go back to it
        }
        if self.is_limited() {
            let left = self.remaining_budget();
            instrumented |= left.is_none(); // above the budget an inline free would expose bytes beyond it (M12)
            remaining = remaining.min(left.unwrap_or(0) & !7);
            if self.shares_budget() {
                remaining = 0;
            }
            self.set_scope_limits();
        }
        if self.is(INSTRUMENTED) {
            instrumented = true;
            remaining = self.instrumented_limit(remaining);
        }
        if closed {
            remaining = 0;
        }
        self.head.limit.set(cursor.wrapping_add(remaining as usize));
        self.head.epoch.set(self.epoch() | instrumented as usize);
    }

    /// Ends an operation: delivers its findings, then calls [`set_limit`](RawArena::set_limit).
    pub fn end_op(self) {
        #[cfg(all(feature = "std", feature = "diagnostics"))]
        if self.is(INSTRUMENTED) && crate::system::hook::is_due() {
            self.deliver();
        }
        self.set_limit();
        debug_assert!(self.verify());
    }

    pub fn epoch(self) -> usize {
        self.head.epoch.get() & !1
    }

    /// M11: makes older marks take the slow path.
    pub fn next_epoch(self) {
        self.leave_steady();
        self.head.epoch.set(self.head.epoch.get().wrapping_add(2));
    }

    /// P10: updates the peak of this round.
    pub fn update_round_peak(self, live: u64) {
        let slow = self.slow();
        if live > slow.round_peak.get() {
            slow.round_peak.set(live);
        }
    }

    // ---- budgets ----

    /// Live bytes of the arena and its open scopes.
    pub fn live_with_scopes(self) -> u64 {
        let mut live = self.slow().live.get();
        self.each_scope(|scope| {
            scope.sync_in();
            live += scope.live_with_scopes();
        });
        live
    }

    /// Live bytes of the arena and its open scopes, with the claimed ranges counted as used.
    pub fn live_and_claimed(self) -> u64 {
        let mut live = self.slow().live.get() + self.claimed_bytes() as u64;
        self.each_scope(|scope| {
            scope.sync_in();
            live += scope.live_and_claimed();
        });
        live
    }

    /// The bytes that the budgets of this arena and its outer ones leave; `None`: the use exceeds a budget. A claimed
    /// range counts as used until it is returned.
    fn remaining_budget(self) -> Option<u64> {
        let mut left = u64::MAX;
        let mut at = Some(self);
        while let Some(a) = at {
            if a.budget.get() != u64::MAX {
                left = left.min(a.budget.get().checked_sub(a.live_and_claimed())?);
            }
            if let Some(portion) = a.portion() {
                left = left.min(portion.granted().checked_sub(a.live_and_claimed())?);
            }
            at = a.parent.get();
        }
        Some(left)
    }

    /// Whether the live bytes have a limit.
    pub fn is_limited(self) -> bool {
        self.budget.get() != u64::MAX || self.is(BUDGETED | COUNTS_LIVE)
    }

    /// Of an arena whose live bytes a shared limit counts.
    pub fn portion<'a>(self) -> Option<&'a dyn Portion> {
        if !self.is(COUNTS_LIVE) {
            return None;
        }
        // SAFETY: a part of the source, which outlives the arena.
        self.slow().portion.get().map(|portion| unsafe { portion.as_ref() })
    }

    /// The arena that this is a scope of, at any depth, or itself.
    pub fn outermost(self) -> RawArena {
        core::iter::successors(Some(self), |a| a.parent.get()).last().unwrap_or(self)
    }

    /// Makes the portion of the outermost arena larger. `false`: there is none, or the shared limit refuses.
    #[cold]
    fn grow_portion(self, charge: usize) -> bool {
        let root = self.outermost();
        root.portion().is_some_and(|portion| portion.grow(root.live_and_claimed() + charge as u64))
    }

    /// Whether `charge` more bytes fit the budgets. 0 always fits.
    pub fn fits_budget(self, charge: usize) -> bool {
        if charge == 0 || (self.is(INSTRUMENTED) && !self.fits_tag_budget(charge)) {
            return charge == 0;
        }
        if !self.is_limited() {
            return true;
        }
        let fits = || self.remaining_budget().is_some_and(|left| left >= charge as u64);
        fits() || (self.grow_portion(charge) && fits())
    }

    /// Unused bytes of the claimed range. A range may be claimed while scopes are open that began after it.
    pub fn claimed_bytes(self) -> usize {
        if self.is(CLAIMED) && !self.is_claimed_by_scopes() {
            self.slow().claim_limit.get().addr() - self.head.cursor.get().addr()
        } else {
            0
        }
    }

    /// Whether two scopes share a budget: then each allocation takes the slow path, or both scopes could use the same
    /// bytes. The same holds for the scopes in them.
    fn shares_budget(self) -> bool {
        let mut at = self;
        while let (true, Some(parent)) = (at.is(BUDGETED), at.parent.get()) {
            if parent.slow().scopes.get() != Some(at) || at.sibling.get().is_some() {
                return true;
            }
            at = parent;
        }
        false
    }

    fn set_scope_limits(self) {
        self.each_scope(|scope| {
            scope.sync_in();
            scope.set_limit();
        });
    }

    pub fn each_scope(self, mut f: impl FnMut(RawArena)) {
        let mut at = self.slow().scopes.get();
        while let Some(scope) = at {
            at = scope.sibling.get();
            f(scope);
        }
    }

    // ---- geometry ----

    /// A source that extends blocks in place provides one block only; a stagger would depend on its size.
    fn offset(self, b: Block) -> usize {
        if b.kind.get() == Kind::Regular && !self.is(EXTENDS) {
            policy::stagger(b.size.get(), b.index.get())
        } else {
            policy::HEADER
        }
    }

    pub fn start_of(self, b: Block) -> *mut u8 {
        if b == self.initial() {
            self.initial_start()
        } else {
            b.base().wrapping_add(self.offset(b))
        }
    }

    pub fn end_of(self, b: Block) -> *mut u8 {
        if b == self.initial() {
            self.initial_end.get()
        } else if b.kind.get() == Kind::Regular && !self.is(EXTENDS) {
            b.base().wrapping_add(self.offset(b) + policy::usable(b.size.get()))
        } else {
            b.base().wrapping_add(b.size.get())
        }
    }

    pub fn used_end_of(self, b: Block) -> *mut u8 {
        if b == self.slow().current.get() {
            self.head.cursor.get()
        } else {
            b.used_end.get()
        }
    }

    /// The first byte of the block's memory; for the initial block the arena's state.
    pub fn base_of(self, b: Block) -> *mut u8 {
        if b == self.initial() {
            self.base()
        } else {
            b.base()
        }
    }

    /// A pointer into the current block for an address (M22: the cursor may have a client's provenance).
    pub fn in_current(self, address: usize) -> *mut u8 {
        self.base_of(self.slow().current.get()).with_addr(address)
    }

    // ---- taking blocks ----

    /// Takes a block of exactly `size` bytes: a spare of this or an outer arena, or a new one from the source.
    pub fn take(self, size: usize) -> Option<Block> {
        if let Some(b) = self.take_spare(size) {
            return Some(b);
        }
        if self.is(FIXED) {
            return None;
        }
        let slow = self.slow();
        slow.source_calls.set(slow.source_calls.get() + 1);
        let base = match self.source.get() {
            None => heap::take(size),
            // SAFETY: a source outlives its arenas.
            Some(source) => unsafe { call_source(|| source.as_ref().take(size)) },
        };
        let mut at = Some(self);
        while let Some(a) = at {
            if base.is_none() {
                a.raise(ROUND_REFUSED | KEEPS_BLOCKS);
            } else if !a.is(ROUND_REFUSED) {
                a.lower(KEEPS_BLOCKS);
            }
            at = a.parent.get(); // which the next reset is of
        }
        let Some(base) = base else {
            self.leave_steady(); // the next reset decides anew which blocks stay
            self.raise(REFUSED);
            return None;
        };
        if base.addr().get() & 63 != 0 {
            // SAFETY: just taken.
            unsafe { put(self.source.get(), base, size) }; // violates the source's contract
            return None;
        }
        // SAFETY: a block of the source, owned by this arena.
        Some(unsafe { Block::write(base, size) })
    }

    fn take_spare(self, size: usize) -> Option<Block> {
        let slow = self.slow();
        let mut before: Option<Block> = None;
        let mut at = slow.spares.get();
        while let Some(b) = at {
            if b.size.get() == size {
                match before {
                    None => slow.spares.set(b.next.get()),
                    Some(before) => before.next.set(b.next.get()),
                }
                slow.spare_bytes.set(slow.spare_bytes.get() - size);
                if self.is(INSTRUMENTED) {
                    self.drop_block_log(b); // a scope may use it as its initial block, which has no records
                }
                return Some(b);
            }
            before = at;
            at = b.next.get();
        }
        self.parent.get()?.take_spare(size)
    }

    /// The size of the largest spare of this and the outer arenas; 0: there is none.
    pub fn largest_spare(self) -> usize {
        let mut largest = self.parent.get().map_or(0, RawArena::largest_spare);
        let mut at = self.slow().spares.get();
        while let Some(b) = at {
            largest = largest.max(b.size.get());
            at = b.next.get();
        }
        largest
    }

    /// Pushes a taken block onto the list.
    pub fn push(self, b: Block, kind: Kind) {
        let slow = self.slow();
        self.next_epoch();
        b.kind.set(kind);
        b.index.set(slow.newest.get().index.get() + 1);
        b.epoch.set(self.epoch());
        b.charge.set(0);
        b.next.set(Some(slow.newest.get()));
        b.below.set(Some(slow.current.get()));
        slow.newest.set(b);
    }

    pub fn make_current(self, b: Block, cursor: *mut u8) {
        self.slow().current.set(b);
        self.head.cursor.set(cursor);
        self.synced.set(cursor);
        self.end.set(self.end_of(b));
        debug_assert!(self.start_of(b).addr() <= cursor.addr() && cursor.addr() <= self.end.get().addr());
    }

    // ---- returning blocks ----

    /// # Safety
    /// The block is of this arena's source and not in its list, and no allocation in it is used any more.
    pub unsafe fn put(self, b: Block) {
        if self.is(INSTRUMENTED) && self.quarantine_block(b) {
            return;
        }
        // SAFETY: a block of this arena's source, which is no longer used.
        unsafe { put(self.source.get(), NonNull::new_unchecked(b.base()), b.size.get()) }
    }

    /// P12: makes a block a spare, and returns the oldest spares above the bound. Spares would be refused to the other
    /// arenas of a limit.
    ///
    /// # Safety
    /// The block is this arena's and not in its list, and no allocation in it is used any more.
    pub unsafe fn drop_block(self, b: Block) {
        let slow = self.slow();
        debug_assert!(b != slow.newest.get() && b != slow.current.get());
        self.leave_steady(); // the outer arena has not counted the scope's blocks: the next reset must be a full one
        if self.is(SHARES_LIMIT) {
            // SAFETY: the caller's contract.
            return unsafe { self.put(b) };
        }
        let bound = SPARE.max(slow.spare_keep.get()).max(slow.first_size.get()) as u64;
        let bound = bound.max(slow.round_peak.get().saturating_mul(2));
        b.kind.set(Kind::Spare);
        b.next.set(slow.spares.get());
        slow.spares.set(Some(b));
        slow.spare_bytes.set(slow.spare_bytes.get() + b.size.get());
        while slow.spare_bytes.get() as u64 > bound {
            self.put_last_spare();
        }
    }

    fn put_last_spare(self) {
        let slow = self.slow();
        let Some(mut last) = slow.spares.get() else { return };
        let mut before: Option<Block> = None;
        while let Some(next) = last.next.get() {
            before = Some(last);
            last = next;
        }
        match before {
            None => slow.spares.set(None),
            Some(before) => before.next.set(None),
        }
        slow.spare_bytes.set(slow.spare_bytes.get() - last.size.get());
        // SAFETY: a spare, unlinked.
        unsafe { self.put(last) };
    }

    /// P13: returns spares until `keep` bytes are left, the one kept last first.
    pub fn put_spares(self, keep: usize) {
        let slow = self.slow();
        while slow.spare_bytes.get() > keep {
            let Some(b) = slow.spares.get() else { return };
            slow.spares.set(b.next.get());
            slow.spare_bytes.set(slow.spare_bytes.get() - b.size.get());
            // SAFETY: a spare, unlinked.
            unsafe { self.put(b) };
        }
    }

    // ---- what is kept and not in use ----

    /// P13: whether the current block is the only one beside the initial block, and nothing is in it.
    pub fn current_is_unused(self) -> bool {
        let (slow, initial) = (self.slow(), self.initial());
        let b = slow.current.get();
        slow.live.get() == 0
            && b != initial
            && b == slow.newest.get()
            && b.next.get() == Some(initial)
            && self.head.cursor.get() == self.start_of(b)
    }

    /// P13. Precondition: [`current_is_unused`](RawArena::current_is_unused).
    pub fn put_current(self) {
        debug_assert!(self.current_is_unused());
        let b = self.slow().current.get();
        self.slow().newest.set(self.initial());
        // SAFETY: the arena is empty, and continues in its initial block.
        unsafe { self.put(b) };
        self.restart_in_initial();
    }

    /// P13: makes the empty initial block current and not idle. Older marks mean its first byte from then on.
    fn restart_in_initial(self) {
        let (slow, initial) = (self.slow(), self.initial());
        slow.first_size.set(0);
        self.lower(INITIAL_IDLE);
        self.make_current(initial, self.initial_start());
        initial.used_end.set(self.head.cursor.get());
        self.next_epoch();
        slow.trim_epoch.set(self.epoch());
        self.after_trim(); // the round continues
    }

    /// P9: returns what the arena keeps and does not use: its spares and those of outer arenas, an unused current
    /// block, the idleness of the initial block. `false`: there is no such thing.
    pub fn return_idle(self) -> bool {
        let any = self.largest_spare() != 0;
        let mut at = Some(self);
        while let Some(a) = at {
            a.put_spares(0);
            at = a.parent.get();
        }
        if self.is(CLAIMED | RANGE_GROWS) {
            return any;
        }
        if self.current_is_unused() {
            self.put_current();
            return true;
        }
        if self.initial_is_idle() {
            self.restart_in_initial();
            return true;
        }
        any
    }

    /// Removes the newest block from the list and from live. Precondition: not the initial block.
    pub fn pop(self) -> Block {
        let slow = self.slow();
        let b = slow.newest.get();
        debug_assert!(b != self.initial());
        let below = b.next.get().unwrap_or(b);
        slow.newest.set(below);
        if b.kind.get() == Kind::Regular {
            b.used_end.set(self.head.cursor.get());
            let used = b.used_end.get().addr() - self.start_of(b).addr();
            slow.live.set(slow.live.get() - used as u64);
            let below = b.below.get().unwrap_or(below);
            self.make_current(below, below.used_end.get());
        } else {
            slow.live.set(slow.live.get() - b.charge.get() as u64);
            if self.is(INSTRUMENTED) {
                self.detached_remove(b);
            }
        }
        b
    }
}

/// Returns a block to its source.
///
/// # Safety
/// As for [`Source::put`].
pub unsafe fn put(source: Option<NonNull<dyn Source>>, base: NonNull<u8>, size: usize) {
    // SAFETY: the caller's contract; a source outlives its arenas.
    unsafe {
        match source {
            None => heap::put(base, size),
            Some(source) => call_source(|| source.as_ref().put(base, size)),
        }
    }
}
