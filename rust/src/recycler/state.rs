//! What a recycler, or a shard of one, keeps: the ranges that are filled, the blocks that wait, and what is worth doing
//! before the source is asked.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::ptr::{null_mut, NonNull};

use super::block::{self, Block, ListName, Segment, DIRECT, UNIT};
#[cfg(feature = "std")]
use super::checked::Checked;
use super::large::Larges;
use super::range::{List, Range};
use super::supply::{Supply, Units};
use crate::construct::CallSite;
use crate::policy::{is_request, CAP};

/// Blocks of a list that are looked at, for one in which a request fits.
const PROBES_MAX: usize = 16;
/// Sparse blocks that are looked at before another is filled.
const SWEEPS_MAX: usize = 4;
/// Requests up to this go into holes first; larger ones rarely find room there.
const SMALL_MAX: usize = 512;
/// Larger requests are served aside.
const MEDIUM_MAX: usize = 4096;

/// No unit.
const NO_UNIT: usize = usize::MAX;

/// What was freed last: one piece, or neighbours freed one after the other. Its block knows nothing of it yet. Addresses;
/// none: both are 0, where no allocation ends or starts.
pub struct Pending {
    pub first: Cell<usize>,
    pub end: Cell<usize>,
}

pub struct State {
    pub main: Range,
    pub pending: Pending,
    pub medium: Range,
    /// The block that was looked for last, and its unit.
    pub last_block: Cell<(usize, *mut Block)>,
    /// Blocks worth a sweep.
    pub sparse: List,
    pub empty: List,
    /// The newest first: that one may have blocks that were never used.
    pub segments: Cell<*mut Segment>,
    pub segment_bytes: Cell<usize>,
    pub larges: Larges,
    pub reserved: Cell<usize>,
    pub peak: Cell<usize>,
    pub source_calls: Cell<u64>,
    /// See `checked.rs`: a box, or null.
    #[cfg(feature = "std")]
    pub checked: Cell<*const Checked>,
    #[cfg(feature = "std")]
    pub is_decided: Cell<bool>,
}

// ---- the fast paths ----

impl State {
    pub const fn new() -> State {
        State {
            main: Range::new(),
            pending: Pending { first: Cell::new(0), end: Cell::new(0) },
            medium: Range::new(),
            last_block: Cell::new((NO_UNIT, null_mut())),
            sparse: List::new(),
            empty: List::new(),
            segments: Cell::new(null_mut()),
            segment_bytes: Cell::new(UNIT),
            larges: Larges::new(),
            reserved: Cell::new(0),
            peak: Cell::new(0),
            source_calls: Cell::new(0),
            #[cfg(feature = "std")]
            checked: Cell::new(core::ptr::null()),
            #[cfg(feature = "std")]
            is_decided: Cell::new(false),
        }
    }

    /// One that is not checked, whatever the process is.
    #[cfg(feature = "std")]
    pub fn plain() -> State {
        let state = State::new();
        state.is_decided.set(true);
        state
    }

    /// What needs no slow call; `None` where one is needed: so does 0, which counts as 1. `align` is a power of two.
    #[inline(always)]
    pub fn bump(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let p = self.main.cursor.get();
        let mut slow = size.wrapping_sub(1) >= self.main.limit.get() - p.addr();
        // What has a block of its own must not come in here, though there may be room: a free would not find it.
        slow |= !block::is_direct(size, align);
        if align > 8 {
            slow |= p.addr() & (align - 1) != 0;
        }
        if slow {
            return None;
        }
        self.main.cursor.set(p.wrapping_add((size + 7) & !7));
        // SAFETY: where there is room there is a block.
        Some(unsafe { NonNull::new_unchecked(p) })
    }

    /// Containers free in the order of addresses, or against it. Neighbours are joined before their block hears of them;
    /// and where an allocation ended at the cursor, that goes back. No block starts where another ends.
    ///
    /// # Safety
    /// `bytes` at `at` are an allocation, or the end of one, in a block that `units` knows to be of this state, and are
    /// used no more.
    #[inline(always)]
    pub unsafe fn free(&self, units: &Units, at: usize, bytes: usize) {
        let cursor = self.main.cursor.get();
        if at + bytes == cursor.addr() {
            // The newest, or next to a range in the midst of a block: as good.
            self.main.cursor.set(cursor.wrapping_sub(bytes));
            return;
        }
        let (first, end) = (self.pending.first.get(), self.pending.end.get());
        if at + bytes == first {
            self.pending.first.set(at);
            return;
        }
        if at == end {
            self.pending.end.set(at + bytes);
            return;
        }
        self.pending.first.set(at);
        self.pending.end.set(at + bytes);
        if first != end {
            // SAFETY: it was freed, in a block of this state.
            unsafe { self.give(units, first, end - first) };
        }
    }

    /// A piece of a block is free.
    #[inline(always)]
    unsafe fn give(&self, units: &Units, at: usize, bytes: usize) {
        // SAFETY: the caller's contract: the block is known, alive and this thread's; what is free is nobody's.
        unsafe {
            let b = self.block_of(units, at);
            let live = (*b).live - bytes as i32;
            (*b).live = live;
            Block::free(b, at - (*b).base.addr(), bytes);
            if live <= (*b).threshold {
                self.update_block(b);
            }
        }
    }

    #[inline(always)]
    pub unsafe fn block_of(&self, units: &Units, address: usize) -> *mut Block {
        let unit = block::unit_of(address);
        let (seen, b) = self.last_block.get();
        if unit == seen {
            return b;
        }
        // SAFETY: the caller's contract: a block of this unit is known.
        let b = unsafe { units.find(unit) }.as_ptr();
        self.last_block.set((unit, b));
        b
    }
}

impl State {
    /// A unit may be another block's from now on.
    pub fn forget_last_block(&self) {
        self.last_block.set((NO_UNIT, null_mut()));
    }
}

// ---- blocks that others were freed in ----

impl State {
    /// To be noticed again when an eighth more is free, or all.
    unsafe fn set_threshold(b: *mut Block) {
        // SAFETY: the caller's contract: a block of this state.
        unsafe {
            let eighth = ((*b).capacity / 8) as i32;
            (*b).threshold = ((*b).live - eighth).max(0);
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn update_block(&self, b: *mut Block) {
        #[cfg(feature = "std")]
        if let Some(checked) = self.checked() {
            return self.update_block_checked(checked);
        }
        // SAFETY: as above.
        unsafe {
            let listed = (*b).list == ListName::Sparse;
            if (*b).live == 0 {
                if listed {
                    self.sparse.unlink(b);
                }
                self.block_emptied(b);
                return;
            }
            (*b).widest = 0;
            Self::set_threshold(b);
            if !listed {
                self.sparse.push(b, ListName::Sparse);
            }
        }
    }

    unsafe fn block_emptied(&self, b: *mut Block) {
        // SAFETY: as above; its segment is alive.
        unsafe { (*(*b).segment).busy -= 1 };
        self.empty.push(b, ListName::Empty);
    }

    /// What was freed last reaches its block.
    pub unsafe fn flush_pending(&self, units: &Units) {
        let (first, end) = (self.pending.first.replace(0), self.pending.end.replace(0));
        if first != end {
            // SAFETY: it was freed, in a block of this state.
            unsafe { self.give(units, first, end - first) };
        }
    }

    /// A range is done with; its block joins those that count down. It is worth a sweep when a quarter of it is free; if
    /// a sweep left as much, that was too narrow for what was asked for, and it waits at the end of the list for
    /// something smaller.
    pub fn close(&self, range: &Range) {
        let b = range.block.get();
        if b.is_null() {
            return;
        }
        range.drop_rest();
        // SAFETY: a range's block is of this state.
        unsafe {
            range.clear();
            (*b).list = ListName::Full;
            (*b).threshold = ((*b).capacity - (*b).capacity / 4) as i32;
            if (*b).live > (*b).threshold {
                return;
            }
            if (*b).swept && (*b).live != 0 {
                Self::set_threshold(b);
                self.sparse.append(b, ListName::Sparse);
            } else {
                self.update_block(b);
            }
        }
    }

    /// Makes a block that is in no list the one that is filled, at a hole that has room. `false`: it has none, and waits
    /// for more frees.
    unsafe fn sweep(&self, range: &Range, b: *mut Block, size: usize, align: usize) -> bool {
        // SAFETY: the caller's contract: a block of this state.
        unsafe {
            (*b).threshold = i32::MIN;
            (*b).swept = true;
        }
        range.sweep(b);
        let fits = range.next_hole(size, align);
        if !fits {
            self.close(range);
        }
        fits
    }
}

// ---- allocation that the fast path has no answer to ----

impl State {
    /// From the holes of sparse blocks, a few of which are looked at.
    fn alloc_from_sparse(&self, range: &Range, size: usize, align: usize) -> Option<NonNull<u8>> {
        for _ in 0..SWEEPS_MAX {
            let b = self.sparse.first.get();
            if b.is_null() {
                return None;
            }
            // SAFETY: a listed block is alive and of this state.
            unsafe {
                let widest = (*b).widest as usize;
                if widest != 0 && size + align - 8 >= widest {
                    self.sparse.unlink(b);
                    self.sparse.append(b, ListName::Sparse);
                    continue; // seen, and too narrow
                }
                self.close(range);
                self.sparse.unlink(b);
                if self.sweep(range, b, size, align) {
                    return range.alloc(size, align);
                }
            }
        }
        None
    }

    /// An empty block in which the request fits, off its list.
    fn find(&self, supply: &Supply<'_>, size: usize, align: usize) -> Option<*mut Block> {
        let fits = |b: *mut Block| {
            // SAFETY: a listed block is alive and of this state, and so is one that was just cut.
            unsafe { block::fit((*b).base.addr(), (*b).capacity as usize, size, align).is_some() }
        };
        let mut b = self.empty.first.get();
        for _ in 0..PROBES_MAX {
            if b.is_null() {
                break;
            }
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

    /// One that has at least one block in which any request fits. The blocks of the newest one were used up.
    #[cold]
    fn take_segment(&self, supply: &Supply<'_>) -> bool {
        let mut size = self.segment_bytes.get();
        // One unit is enough where it begins with one, as the heap's do; other sources give any address.
        let mut rising = size == UNIT;
        let s = loop {
            match supply.take_segment(self, size) {
                Some(s) => break s,
                None if rising && size == UNIT => size = 2 * UNIT,
                None if rising || size == UNIT => return false,
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
        true
    }

    /// Where it goes if not behind the cursor: into holes or into an empty block, and the source is asked last.
    fn fill(&self, supply: &Supply<'_>, range: &Range, size: usize, align: usize) -> Option<NonNull<u8>> {
        let holes_first = size <= SMALL_MAX;
        if let Some(p) = range.alloc(size, align) {
            return Some(p);
        }
        if range.next_hole(size, align) {
            return range.alloc(size, align);
        }
        if range.is_idle() {
            // All of it was freed meanwhile.
            range.open(range.block.get());
            if let Some(p) = range.alloc(size, align) {
                return Some(p);
            }
        }
        if holes_first {
            if let Some(p) = self.alloc_from_sparse(range, size, align) {
                return Some(p);
            }
        }
        let mut b = self.find(supply, size, align);
        if b.is_none() && !holes_first {
            if let Some(p) = self.alloc_from_sparse(range, size, align) {
                return Some(p);
            }
        }
        if b.is_none() {
            // The block that was filled may itself be worth a sweep by now.
            self.close(range);
            if let Some(p) = self.alloc_from_sparse(range, size, align) {
                return Some(p);
            }
            if self.take_segment(supply) {
                b = self.find(supply, size, align);
            }
        }
        let b = b?;
        self.close(range);
        range.open(b);
        range.alloc(size, align)
    }

    /// Large ones have a range of their own, and those that are not small while holes are filled.
    fn range_for(&self, size: usize) -> &Range {
        if size > MEDIUM_MAX || (size > SMALL_MAX && self.main.is_sweeping()) {
            &self.medium
        } else {
            &self.main
        }
    }

    #[cold]
    #[inline(never)]
    pub fn alloc_slow(&self, supply: &Supply<'_>, size: usize, align: usize, site: CallSite) -> Option<NonNull<u8>> {
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
        let bytes = block::rounded_size(size);
        let align = align.max(8);
        if !block::is_direct(size, align) {
            return self.larges.alloc(self, supply, bytes, align);
        }
        // SAFETY: what was freed is of this state, and `supply` knows its blocks.
        unsafe { self.flush_pending(&supply.index.units) };
        if align > 8 {
            // With some bytes cut off it may fit.
            if let Some(p) = self.main.alloc(bytes, align) {
                return Some(p);
            }
        }
        self.fill(supply, self.range_for(bytes), bytes, align)
    }

    /// Makes an allocation of shared blocks larger or smaller where it stands. `false`: it cannot be.
    ///
    /// # Safety
    /// As for [`free`](State::free), of the bytes behind `now`.
    #[inline]
    pub unsafe fn resize(&self, units: &Units, at: usize, was: usize, now: usize) -> bool {
        let cursor = self.main.cursor.get();
        if now <= was {
            if now < was {
                // SAFETY: the caller's contract.
                unsafe { self.free(units, at + now, was - now) };
            }
            return true;
        }
        let fits = at + was == cursor.addr() && self.main.left() >= now - was;
        if fits {
            self.main.cursor.set(cursor.wrapping_add(now - was));
        }
        fits
    }
}

const _: () = assert!(DIRECT > MEDIUM_MAX && MEDIUM_MAX > SMALL_MAX);
