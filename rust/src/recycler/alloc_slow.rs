//! Blocks with frees, and the slow path of allocation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::{null_mut, NonNull};

use super::block::{self, Block, ListName, Segment, NO_HOLE, UNIT};
use super::class::{self, Kind};
use super::range::{List, Range};
use super::state::{State, Units, SHARED};
use super::supply::Supply;
use crate::memory::CallSite;
use crate::policy::{is_request, CAP};

/// Blocks of a list tested for a fit.
const PROBES_MAX: usize = 16;
/// Sparse blocks swept before a new one is used.
const SWEEPS_MAX: usize = 4;

impl State {
    /// Makes a piece a hole of its block.
    ///
    /// # Safety
    /// `bytes` at `at` are in a block of this state that is in `units`, and are not used any more.
    pub(super) unsafe fn give(&self, units: &Units, at: usize, bytes: usize) {
        // SAFETY: the caller's contract: the block is in the directory, alive and this thread's; the piece is not used.
        unsafe {
            let b = units.find(block::unit_of(at)).as_ptr();
            let live = (*b).live - bytes as i32;
            (*b).live = live;
            Block::mark(b, at - (*b).base.addr(), bytes, true);
            if live <= (*b).threshold {
                self.update_block(b);
            }
        }
    }
}

// ---- blocks with frees ----

impl State {
    /// The next update is due when another eighth is free, or everything.
    unsafe fn set_threshold(b: *mut Block) {
        // SAFETY: the caller's contract: a block of this state.
        unsafe {
            let eighth = ((*b).capacity / 8) as i32;
            (*b).threshold = ((*b).live - eighth).max(0);
        }
    }

    unsafe fn sparse_list(&self, b: *mut Block) -> &List {
        // SAFETY: the caller's contract: a block of this state.
        &self.class(unsafe { (*b).class } as usize).range.sparse
    }

    #[cold]
    #[inline(never)]
    unsafe fn update_block(&self, b: *mut Block) {
        // SAFETY: as above.
        unsafe {
            let listed = (*b).list == ListName::Sparse;
            if (*b).live != 0 {
                Self::set_threshold(b);
                if !listed {
                    self.sparse_list(b).push(b, ListName::Sparse);
                }
                return;
            }
            if listed {
                self.sparse_list(b).unlink(b);
            }
            self.block_emptied(b);
        }
    }

    pub(super) unsafe fn block_emptied(&self, b: *mut Block) {
        // SAFETY: as above; its segment is alive.
        unsafe { (*(*b).segment).busy -= 1 };
        self.empty.push(b, ListName::Empty);
    }

    /// Ends the use of a range's block. A block with a quarter free is listed for a sweep, at the end of the list: a
    /// sweep may have left holes that were too narrow.
    pub(super) fn close(&self, units: &Units, range: &Range) {
        let b = range.block.replace(null_mut());
        self.drop_span(units, range);
        if b.is_null() {
            return;
        }
        // SAFETY: a range's block is of this state.
        unsafe {
            (*b).list = ListName::Full;
            (*b).threshold = ((*b).capacity - (*b).capacity / 4) as i32;
            if (*b).live == 0 {
                self.block_emptied(b);
            } else if (*b).live <= (*b).threshold {
                Self::set_threshold(b);
                self.sparse_list(b).append(b, ListName::Sparse);
            }
        }
    }

    /// Passes the rest of a span to its block.
    pub(super) fn drop_span(&self, units: &Units, range: &Range) {
        let (at, left) = (range.cursor.get().addr(), range.left());
        range.set_span(null_mut(), 0);
        if left != 0 {
            // SAFETY: a span is in a block of this state, and not used.
            unsafe { self.give(units, at, left) };
        }
    }

    /// Begins to fill an empty block with a range that has no block.
    fn open(&self, range: &Range, k: usize, b: *mut Block) {
        // SAFETY: the block is empty, and of this state.
        unsafe {
            (*b).live = (*b).capacity as i32;
            (*b).threshold = i32::MIN; // never reached while it is filled
            Block::mark(b, 0, UNIT, false);
            (*b).list = ListName::Open;
            (*b).class = k as u8;
            (*b).sweep = 0; // what is freed while it is filled is used once more
            range.block.set(b);
            range.set_span((*b).base, (*b).capacity as usize);
        }
    }

    /// Allocates in the span, if the request fits.
    pub(super) fn alloc_in_span(&self, units: &Units, range: &Range, size: usize, align: usize) -> Option<NonNull<u8>> {
        let p = range.cursor.get();
        let pad = block::fit(p.addr(), range.left(), size, align)?;
        // SAFETY: it fits, so the span is in a block of this state; the padding is not used.
        unsafe {
            range.cursor.set(p.add(pad + size));
            if pad != 0 {
                self.give(units, p.addr(), pad);
            }
            NonNull::new(p.add(pad))
        }
    }

    /// Allocates in the next hole of the block that fits, which becomes the span; a later sweep may use smaller ones.
    pub(super) fn alloc_in_hole(&self, units: &Units, range: &Range, size: usize, align: usize) -> Option<NonNull<u8>> {
        let b = range.block.get();
        // SAFETY: a range's block is alive, and of this state; the hole is in it.
        unsafe {
            if b.is_null() || (*b).sweep == NO_HOLE {
                return None;
            }
            self.drop_span(units, range);
            let mut from = (*b).sweep as usize;
            while let Some((at, wide)) = Block::hole(b, from, size) {
                from = at + wide;
                if block::fit((*b).base.addr() + at, wide, size, align).is_some() {
                    Block::mark(b, at, wide, false);
                    (*b).live += wide as i32;
                    (*b).sweep = from as u32;
                    range.set_span((*b).base.add(at), wide);
                    return self.alloc_in_span(units, range, size, align);
                }
            }
            (*b).sweep = NO_HOLE;
        }
        None
    }
}

// ---- the slow path of allocation ----

impl State {
    /// Allocates in the holes of the first blocks of a list.
    fn alloc_from(&self, list: &List, units: &Units, range: &Range, size: usize, align: usize) -> Option<NonNull<u8>> {
        for _ in 0..SWEEPS_MAX {
            let b = NonNull::new(list.first.get())?.as_ptr();
            // SAFETY: a listed block is alive and of this state.
            unsafe {
                list.unlink(b);
                self.close(units, range);
                (*b).threshold = i32::MIN;
                (*b).sweep = 0;
                range.block.set(b);
                if let Some(p) = self.alloc_in_hole(units, range, size, align) {
                    return Some(p);
                }
                self.close(units, range);
            }
        }
        None
    }

    /// Unlinks an empty block that fits the request.
    fn find(&self, supply: &Supply<'_>, size: usize, align: usize) -> Option<*mut Block> {
        let fits = |b: *mut Block| {
            // SAFETY: a listed block is alive and of this state, and so is one that was just initialised.
            unsafe { block::fit((*b).base.addr(), (*b).capacity as usize, size, align).is_some() }
        };
        let (mut b, mut probes) = (self.empty.first.get(), PROBES_MAX);
        while !b.is_null() && probes != 0 {
            probes -= 1;
            if fits(b) {
                self.empty.unlink(b);
                // SAFETY: as above; its segment is alive.
                unsafe { (*(*b).segment).busy += 1 };
                return Some(b);
            }
            // SAFETY: as above.
            b = unsafe { (*b).next };
        }
        let s = self.segments.get();
        // SAFETY: the segments are alive.
        while !s.is_null() && unsafe { (*s).cut < (*s).count } {
            // SAFETY: it has a block that was never used.
            let b = unsafe { Segment::cut(s, supply.owner) };
            if fits(b) {
                return Some(b);
            }
            // SAFETY: it was just made.
            unsafe { self.block_emptied(b) };
        }
        None
    }

    /// Takes a segment with at least one block that fits any request, if the source has one.
    #[cold]
    fn take_segment(&self, supply: &Supply<'_>) {
        let mut size = self.segment_bytes.get();
        // One unit suffices if the memory is aligned to it, as the heap's is; other sources may return any address.
        let mut rising = size == UNIT;
        let s = loop {
            match supply.take_segment(self, size) {
                Some(s) => break s,
                None if rising && size == UNIT => size = 2 * UNIT,
                None if self.trim_after_refusal(supply) => {}
                None if rising || size == UNIT => return,
                None => size /= 2,
            }
            rising &= size > UNIT;
        };
        if self.segment_bytes.get() < CAP {
            self.segment_bytes.set(2 * size);
        }
        // SAFETY: it was just made, for this state.
        unsafe { (*s).next = self.segments.get() };
        self.segments.set(s);
    }

    /// Allocates in the holes of sparse blocks: the range's own, then those that all classes share.
    fn alloc_from_sparse(&self, units: &Units, k: usize, size: usize, align: usize) -> Option<NonNull<u8>> {
        let (range, shared) = (&self.class(k).range, &self.class(SHARED).range);
        let own = self.alloc_from(&range.sparse, units, range, size, align);
        own.or_else(|| self.alloc_from(&shared.sparse, units, range, size, align))
    }

    /// Allocates in the span of a range, holes, an empty block, or a new segment, in this order.
    pub(super) fn fill(&self, supply: &Supply<'_>, k: usize, size: usize, align: usize) -> Option<NonNull<u8>> {
        let (range, units) = (&self.class(k).range, &supply.index.units);
        self.activate(k);
        let p = self.alloc_in_span(units, range, size, align).or_else(|| self.alloc_in_hole(units, range, size, align));
        if let Some(p) = p.or_else(|| self.alloc_from_sparse(units, k, size, align)) {
            return Some(p);
        }
        self.close(units, range);
        self.open(range, k, self.take_block(supply, size, align)?);
        self.alloc_in_span(units, range, size, align)
    }

    /// Unlinks an empty block that fits the request; takes it from the source only if no block gets empty by a flush.
    pub(super) fn take_block(&self, supply: &Supply<'_>, size: usize, align: usize) -> Option<*mut Block> {
        self.find(supply, size, align).or_else(|| {
            self.flush(&supply.index.units);
            let b = self.find(supply, size, align);
            b.or_else(|| {
                self.take_segment(supply); // if refused, a trim may have emptied a block that was open
                self.find(supply, size, align)
            })
        })
    }

    #[cold]
    #[inline(never)]
    pub(super) fn alloc_slow(
        &self,
        supply: &Supply<'_>,
        size: usize,
        align: usize,
        site: CallSite,
    ) -> Option<NonNull<u8>> {
        if !is_request(size, align) {
            return None;
        }
        #[cfg(feature = "std")]
        if let Some(checked) = self.decide_checked().ok()? {
            let p = checked.alloc(supply, size, align, site);
            crate::hook::deliver();
            return p;
        }
        let _ = site;
        let align = align.max(8);
        match class::kind(size, align) {
            Kind::Class(k, bytes) => self.alloc_in_class(supply, k, bytes, align),
            Kind::Medium(bytes) => self.alloc_medium(supply, bytes, align),
            Kind::Large(bytes) => self.larges.alloc(self, supply, bytes, align),
        }
    }
}
