//! The slow path of allocation. Whether a request fits is decided against the block's true end, never against `limit`
//! (M3), so that budgets and claims do not move a placement.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

use super::caller::Caller;
use super::state::*;
use crate::base::policy::{self, pad, round8, BLOCK_MIN, HEADER};
use crate::base::source::Portion;
use crate::system::hook::call_source;

impl RawArena {
    /// After a reset found the initial block too small: it counts as full, and the next block has `first_size`.
    pub fn initial_is_idle(self) -> bool {
        self.is(INITIAL_IDLE) && self.slow().current.get() == self.initial()
    }

    fn remaining(self) -> usize {
        self.end.get().addr() - self.head.cursor.get().addr()
    }

    fn fits_current(self, size: usize, align: usize) -> bool {
        let (pad, remaining) = (pad(self.head.cursor.get().addr(), align), self.remaining());
        pad <= remaining && round8(size) <= remaining - pad
    }

    /// P4: allocates in the current block; `None`: it does not fit, or exceeds the budget.
    pub fn alloc_in_current(self, size: usize, align: usize) -> Start {
        let at = self.head.cursor.get().addr();
        let (pad, size) = (pad(at, align), round8(size));
        if !self.fits_current(size, align) || !self.fits_budget(pad + size) {
            return None;
        }
        self.head.cursor.set(self.in_current(at + pad + size));
        self.sync();
        NonNull::new(self.in_current(at + pad))
    }

    /// P7: allocates in a dedicated or side block; the current block stays.
    fn alloc_detached(self, size: usize, align: usize, kind: Kind) -> Start {
        let need = policy::need(size, align);
        self.lower(REFUSED);
        if !self.fits_budget(need) || (self.is(INSTRUMENTED) && !self.reserve_detached()) {
            return None;
        }
        let b = self.take(policy::dedicated_size(need))?;
        self.push(b, kind);
        let p = b.base().wrapping_add(HEADER);
        let p = p.wrapping_add(pad(p.addr(), align));
        b.used_end.set(p.wrapping_add(round8(size)));
        b.charge.set(need);
        let slow = self.slow();
        slow.live.set(slow.live.get() + need as u64);
        slow.allocated.set(slow.allocated.get() + need as u64);
        self.update_peak();
        if self.is(INSTRUMENTED) {
            self.detached_add(b, need);
        }
        NonNull::new(p)
    }

    /// Extends the current block in place, if its source can extend it.
    pub fn extend_current(self, size: usize, align: usize) -> bool {
        let cursor = self.head.cursor.get().addr();
        self.is(EXTENDS) && !self.initial_is_idle() && self.grow_to(cursor + pad(cursor, align) + round8(size))
    }

    /// Extends the current block to at least this end: by half its size, or by as much as needed. The initial block of
    /// a scope is extended with the outer block that contains it.
    fn grow_to(self, end: usize) -> bool {
        let b = self.slow().current.get();
        if b == self.initial() && self.is(BORROWED) {
            let Some(parent) = self.parent.get().filter(|p| p.grow_to(end)) else { return false };
            let size = parent.end.get().addr() - self.base().addr();
            self.resized(b, size);
            return true;
        }
        let Some(source) = self.source.get() else { return false };
        // SAFETY: not null.
        let base = unsafe { NonNull::new_unchecked(self.base_of(b)) };
        let least = policy::round(end - base.addr().get(), BLOCK_MIN);
        let roomy = policy::round(b.size.get() + b.size.get() / 2, BLOCK_MIN);
        // SAFETY: the block is this source's and has that size; a source outlives its arenas.
        let extend = |want| unsafe { call_source(|| source.as_ref().extend(base, b.size.get(), want)) };
        let size = if least < roomy && extend(roomy) {
            roomy
        } else if extend(least) {
            least
        } else {
            return false;
        };
        self.resized(b, size);
        true
    }

    /// Updates the size of a block, or of a scope's part of one.
    pub fn resized(self, b: Block, size: usize) {
        debug_assert!(b == self.slow().current.get());
        b.size.set(size);
        let end = self.base_of(b).wrapping_add(size);
        debug_assert!(self.head.cursor.get().addr() <= end.addr());
        if b == self.initial() {
            self.initial_end.set(end);
            self.initial_size.set(size);
        }
        self.end.set(end);
    }

    /// P8: allocates in a new regular block, which becomes current.
    fn alloc_regular(self, size: usize, align: usize, block_size: usize) -> Start {
        let slow = self.slow();
        // P9: the budget is checked before the source is called, with the padding of a page-aligned base.
        let start = policy::stagger(block_size, slow.newest.get().index.get() + 1);
        self.lower(REFUSED);
        if !self.fits_budget((pad(start, align) & (BLOCK_MIN - 1)) + round8(size)) {
            return None;
        }
        let b = self.take(block_size)?;
        slow.current.get().used_end.set(self.head.cursor.get());
        self.push(b, Kind::Regular);
        self.make_current(b, self.start_of(b));
        let p = self.alloc_in_current(size, align);
        if p.is_none() {
            let b = self.pop(); // the base was not page-aligned, and the padding exceeded the budget
                                // SAFETY: unlinked; nothing was allocated in it.
            unsafe { self.drop_block(b) };
        }
        p
    }

    /// Makes a new block current that has room for `bytes`; false: the source refuses.
    fn reserve_block(self, bytes: usize) -> bool {
        let need = policy::need(bytes, 8);
        let grown = self.new_block_size(need).filter(|size| policy::usable(*size) >= need);
        let Some(b) = self.take(grown.unwrap_or_else(|| policy::least_size(need))) else { return false };
        self.slow().current.get().used_end.set(self.head.cursor.get());
        self.push(b, Kind::Regular);
        self.make_current(b, self.start_of(b));
        true
    }

    /// Makes room for `bytes`, without an allocation. False: the source refuses, or the budget.
    pub fn reserve_room(self, bytes: usize) -> bool {
        if bytes > policy::MAX_REQUEST || !self.fits_budget(round8(bytes)) {
            return false;
        }
        self.fits_current(bytes, 8)
            || self.extend_current(bytes, 8)
            || self.reserve_block(bytes)
            || (self.return_idle() && (self.fits_current(bytes, 8) || self.reserve_block(bytes)))
    }

    /// `None`: a dedicated block.
    fn new_block_size(self, need: usize) -> Option<usize> {
        let slow = self.slow();
        let idle = self.initial_is_idle();
        let next = if idle { slow.first_size.get() } else { policy::next_size(slow.current.get().size.get()) };
        policy::regular_size(need, next, idle).or_else(|| self.is(EXTENDS).then(|| policy::dedicated_size(need)))
        // the only block
    }

    fn alloc_in_new_block(self, size: usize, align: usize) -> Start {
        let slow = self.slow();
        let need = policy::need(size, align);
        let block_size = self.new_block_size(need);
        // P10: what the current block would have needed
        let wanted = slow.live.get() + (pad(self.head.cursor.get().addr(), align) + round8(size)) as u64;
        let mut p = match block_size {
            Some(block_size) => self.alloc_regular(size, align, block_size),
            None => self.alloc_detached(size, align, Kind::Dedicated),
        };
        if p.is_none() && self.is(REFUSED) {
            let spare = self.largest_spare();
            if spare != 0 && need <= policy::usable(spare) {
                p = self.alloc_regular(size, align, spare);
            } else if self.return_idle() {
                return if self.fits_current(size, align) {
                    self.alloc_in_current(size, align)
                } else {
                    self.alloc_in_new_block(size, align)
                };
            } else if let Some(refused) = block_size {
                p = self.alloc_in_smaller_block(size, align, refused);
            }
        }
        if p.is_some() {
            self.update_round_peak(wanted.max(slow.live.get()));
        }
        p
    }

    /// P9: halves the size that the source refused, down to what the request needs.
    fn alloc_in_smaller_block(self, size: usize, align: usize, mut refused: usize) -> Start {
        let least = policy::least_size(policy::need(size, align));
        let mut p = None;
        while p.is_none() && self.is(REFUSED) && refused > least {
            refused = policy::round(refused / 2, BLOCK_MIN).max(least);
            p = self.alloc_regular(size, align, refused);
        }
        p
    }

    /// P14: while a range is claimed, other requests are served from a block that it cannot grow into.
    fn alloc_in_side_block(self, size: usize, align: usize) -> Start {
        let slow = self.slow();
        if let Some(b) = slow.side_block.get() {
            let left = b.used_end.get();
            let (pad, remaining) = (pad(left.addr(), align), self.end_of(b).addr() - left.addr());
            let take = pad + round8(size);
            if pad <= remaining && round8(size) <= remaining - pad {
                if !self.fits_budget(take) || (self.is(INSTRUMENTED) && !self.reserve_detached()) {
                    return None;
                }
                b.used_end.set(left.wrapping_add(take));
                b.charge.set(b.charge.get() + take);
                slow.live.set(slow.live.get() + take as u64);
                slow.allocated.set(slow.allocated.get() + take as u64);
                self.update_peak();
                if self.is(INSTRUMENTED) {
                    self.detached_add(b, take);
                }
                return NonNull::new(left.wrapping_add(pad));
            }
        }
        let mut p = self.alloc_detached(size, align, Kind::Side);
        if p.is_none() && self.is(REFUSED) && self.return_idle() {
            p = self.alloc_detached(size, align, Kind::Side);
        }
        let p = p?;
        slow.side_block.set(Some(slow.newest.get()));
        self.update_round_peak(slow.live.get());
        Some(p)
    }

    /// As [`alloc_slow`](RawArena::alloc_slow), for a caller that instruments record.
    #[inline]
    pub fn alloc_slow_for(self, size: usize, align: usize, caller: Caller) -> Start {
        self.lower(REFUSED);
        let p = self.alloc_slow_once(size, align, caller);
        if p.is_none() && self.may_try_again(size, align) {
            return self.alloc_slow_once(size, align, caller);
        }
        p
    }

    #[inline]
    fn alloc_slow_once(self, size: usize, align: usize, caller: Caller) -> Start {
        if self.is(INSTRUMENTED) {
            self.alloc_instrumented(size, align, caller)
        } else {
            self.alloc_slow(size, align)
        }
    }

    /// After a refusal: whether the source, or a shared limit on live bytes, may have memory now. The arena is busy
    /// during the call.
    #[cold]
    fn may_try_again(self, size: usize, align: usize) -> bool {
        let portion = self.outermost().portion();
        let source = self.source.get().filter(|_| self.is(REFUSED));
        if portion.is_none() && source.is_none() {
            return false;
        }
        let busy = self.is(BUSY);
        self.raise(BUSY);
        let least = policy::least_size(policy::need(size, align));
        let again = call_source(|| {
            // SAFETY: a source outlives its arenas.
            portion.is_some_and(Portion::may_retry)
                || source.is_some_and(|source| unsafe { source.as_ref().refused(least) })
        });
        if !busy {
            self.lower(BUSY);
        }
        again
    }

    /// Precondition: [`policy::is_request`] holds, and the arena is not busy. `None`: nothing changed.
    pub fn alloc_slow(self, size: usize, align: usize) -> Start {
        debug_assert!(policy::is_request(size, align) && !self.is(BUSY));
        if self.is(CLAIMED) {
            self.alloc_in_side_block(size, align)
        } else if self.fits_current(size, align) {
            self.alloc_in_current(size, align)
        } else if !self.fits_budget(round8(size)) {
            None
        } else if self.extend_current(size, align) {
            self.alloc_in_current(size, align)
        } else {
            self.alloc_in_new_block(size, align)
        }
    }
}
