//! Where an allocation goes when the inline path has no answer. Fit is decided against the block's true end, never
//! against `limit` (M3): a budget or a claim does not move anything.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

use super::instruments::Caller;
use super::state::*;
use crate::abi::round8;
use crate::hook::held;
use crate::policy::{self, pad, HEADER, HOME};

impl ArenaPtr {
    /// After a reset that found home too small: home is full, and `first` says how large the next block is.
    pub fn home_idles(self) -> bool {
        self.is(IDLE) && self.slow().current.get() == self.home()
    }

    fn room(self) -> usize {
        self.end.get().addr() - self.head.cursor.get().addr()
    }

    fn fits_here(self, size: usize, align: usize) -> bool {
        let (pad, room) = (pad(self.head.cursor.get().addr(), align), self.room());
        pad <= room && round8(size) <= room - pad
    }

    /// P4: in the current block; `None` if it does not fit or is not affordable.
    pub fn place_here(self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let at = self.head.cursor.get().addr();
        let (pad, size) = (pad(at, align), round8(size));
        if !self.fits_here(size, align) || !self.affords(pad + size) {
            return None;
        }
        self.head.cursor.set(self.in_current(at + pad + size));
        self.sync();
        NonNull::new(self.in_current(at + pad))
    }

    /// P7: a block of its own; the current one stays.
    fn place_alone(self, size: usize, align: usize, kind: Kind) -> Option<NonNull<u8>> {
        let need = policy::need(size, align);
        if !self.affords(need) || (self.is(WATCHED) && !self.apart_room()) {
            return None;
        }
        let b = self.take(policy::oneoff_size(need))?;
        self.push(b, kind);
        let p = b.base().wrapping_add(HEADER);
        let p = p.wrapping_add(pad(p.addr(), align));
        b.left.set(p.wrapping_add(round8(size)));
        b.charge.set(need);
        let slow = self.slow();
        slow.live.set(slow.live.get() + need as u64);
        slow.allocated.set(slow.allocated.get() + need as u64);
        if self.is(WATCHED) {
            self.add_apart(b, need);
        }
        NonNull::new(p)
    }

    /// The current block grows where it stands, when its source can do that.
    pub fn extend_here(self, size: usize, align: usize) -> bool {
        let cursor = self.head.cursor.get().addr();
        self.is(EXTENDS) && !self.home_idles() && self.grow_to(cursor + pad(cursor, align) + round8(size))
    }

    /// The end of the current block goes up to this address at least: by half the block, as reallocs do, or by what is
    /// needed. A scope's first block grows with the block that it lies in.
    fn grow_to(self, end: usize) -> bool {
        let b = self.slow().current.get();
        if b == self.home() && self.is(BORROWED) {
            let Some(parent) = self.parent.get().filter(|p| p.grow_to(end)) else { return false };
            let size = parent.end.get().addr() - self.base().addr();
            self.resized(b, size);
            return true;
        }
        let Some(source) = self.source.get() else { return false };
        // SAFETY: not null.
        let base = unsafe { NonNull::new_unchecked(self.base_of(b)) };
        let least = policy::round(end - base.addr().get(), HOME);
        let roomy = policy::round(b.size.get() + b.size.get() / 2, HOME);
        // SAFETY: the block is this source's and has that size; a source outlives its arenas.
        let extend = |want| unsafe { held(|| source.as_ref().extend(base, b.size.get(), want)) };
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

    /// A block, or what a scope has of one, has another size now.
    pub fn resized(self, b: Block, size: usize) {
        b.size.set(size);
        let end = self.base_of(b).wrapping_add(size);
        if b == self.home() {
            self.home_end.set(end);
            self.home_size.set(size);
        }
        self.end.set(end);
    }

    /// P8: a further regular block, which becomes current.
    fn place_regular(self, size: usize, align: usize, block_size: usize) -> Option<NonNull<u8>> {
        let slow = self.slow();
        // P9: the budget is asked before the source; where the base decides the padding, bases are taken as pages.
        let start = policy::stagger(block_size, slow.newest.get().index.get() + 1);
        if !self.affords((pad(start, align) & (HOME - 1)) + round8(size)) {
            return None;
        }
        let b = self.take(block_size)?;
        slow.current.get().left.set(self.head.cursor.get());
        self.push(b, Kind::Regular);
        self.make_current(b, self.start_of(b));
        let p = self.place_here(size, align);
        if p.is_none() {
            let b = self.pop(); // the base was no page, and the padding above the budget
            self.drop_block(b);
        }
        p
    }

    fn place_further(self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let slow = self.slow();
        let need = policy::need(size, align);
        let idle = self.home_idles();
        let next = if idle { slow.first.get() } else { policy::next_size(slow.current.get().size.get()) };
        let mut block_size = policy::regular_size(need, next, idle);
        if block_size.is_none() && self.is(EXTENDS) {
            block_size = Some(policy::oneoff_size(need)); // one block for good
        }
        // P10: what the block that is too small would have had to hold
        let wanted = slow.live.get() + (pad(self.head.cursor.get().addr(), align) + round8(size)) as u64;
        let p = match block_size {
            Some(block_size) => self.place_regular(size, align, block_size),
            None => self.place_alone(size, align, Kind::OneOff),
        }?;
        self.note_peak(wanted.max(slow.live.get()));
        Some(p)
    }

    /// P14: while a range is claimed the others are served outside it, and outside the blocks it may grow into.
    fn place_aside(self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let slow = self.slow();
        if let Some(b) = slow.aside.get() {
            let left = b.left.get();
            let (pad, room) = (pad(left.addr(), align), self.end_of(b).addr() - left.addr());
            let take = pad + round8(size);
            if pad <= room && round8(size) <= room - pad {
                if !self.affords(take) || (self.is(WATCHED) && !self.apart_room()) {
                    return None;
                }
                b.left.set(left.wrapping_add(take));
                b.charge.set(b.charge.get() + take);
                slow.live.set(slow.live.get() + take as u64);
                slow.allocated.set(slow.allocated.get() + take as u64);
                if self.is(WATCHED) {
                    self.add_apart(b, take);
                }
                return NonNull::new(left.wrapping_add(pad));
            }
        }
        let p = self.place_alone(size, align, Kind::Aside)?;
        slow.aside.set(Some(slow.newest.get()));
        self.note_peak(slow.live.get());
        Some(p)
    }

    /// As [`place`](ArenaPtr::place), for a caller that those who watch want to know.
    #[inline]
    pub fn place_for(self, size: usize, align: usize, caller: Caller) -> Option<NonNull<u8>> {
        if self.is(WATCHED) {
            self.place_watched(size, align, caller)
        } else {
            self.place(size, align)
        }
    }

    /// The whole rule: a request by [`policy::is_request`], in an arena that is not busy. `None`: nothing changed.
    pub fn place(self, size: usize, align: usize) -> Option<NonNull<u8>> {
        if self.is(CLAIMED) {
            self.place_aside(size, align)
        } else if self.fits_here(size, align) {
            self.place_here(size, align)
        } else if !self.affords(round8(size)) {
            None
        } else if self.extend_here(size, align) {
            self.place_here(size, align)
        } else {
            self.place_further(size, align)
        }
    }
}
