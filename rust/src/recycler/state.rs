//! The state of a recycler, or of a shard: the ranges that are filled, the lists of blocks, and the slow path.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::ptr::{null_mut, NonNull};

use super::block::{self, Block, ListName, Segment, DIRECT, UNIT};
#[cfg(feature = "std")]
use super::checked::Checked;
use super::large::Larges;
use super::range::{List, Range};
use super::supply::{Supply, Units};
use crate::memory::CallSite;
use crate::policy::{is_request, CAP};

/// Blocks of a list tested for a fit.
const PROBES_MAX: usize = 16;
/// Sparse blocks swept before a new one is used.
const SWEEPS_MAX: usize = 4;
/// Requests up to this use holes first; larger ones rarely fit.
const SMALL_MAX: usize = 512;
/// Larger requests use the range `medium`.
const MEDIUM_MAX: usize = 4096;

const NO_UNIT: usize = usize::MAX;

/// The last frees: one piece, or adjacent ones. The block's counters do not include it yet. Addresses; empty: both are
/// 0, where no allocation starts or ends.
pub struct Pending {
    pub first: Cell<usize>,
    pub end: Cell<usize>,
}

pub struct State {
    pub main: Range,
    pub pending: Pending,
    pub medium: Range,
    /// The unit and the block of the last lookup.
    pub last_block: Cell<(usize, *mut Block)>,
    /// Blocks with enough free bytes for a sweep.
    pub sparse: List,
    pub empty: List,
    /// Newest first; only that one may have unused blocks.
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

    /// A state that is not checked in a checked process.
    #[cfg(feature = "std")]
    pub fn plain() -> State {
        let state = State::new();
        state.is_decided.set(true);
        state
    }

    /// Allocates inline; `None`: the slow path is needed, as for a size of 0. `align` is a power of two.
    #[inline(always)]
    pub fn bump(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let p = self.main.cursor.get();
        let mut slow = size.wrapping_sub(1) >= self.main.limit.get() - p.addr();
        // A request with a block of its own must not be served here even if it fits: a free would not find it.
        slow |= !block::is_direct(size, align);
        if align > 8 {
            slow |= p.addr() & (align - 1) != 0;
        }
        if slow {
            return None;
        }
        self.main.cursor.set(p.wrapping_add((size + 7) & !7));
        // SAFETY: bytes remain, so there is a block.
        Some(unsafe { NonNull::new_unchecked(p) })
    }

    /// Frees an allocation. Containers free in ascending or descending order of addresses, so adjacent pieces are
    /// joined before their block is updated; an allocation that ends at the cursor moves the cursor back. No block
    /// starts where another ends.
    ///
    /// # Safety
    /// `bytes` at `at` are an allocation, or the end of one, in a block of this state that is in `units`, and are not
    /// used any more.
    #[inline(always)]
    pub unsafe fn free(&self, units: &Units, at: usize, bytes: usize) {
        let cursor = self.main.cursor.get();
        if at + bytes == cursor.addr() {
            // The newest allocation, or one in front of a hole that is filled: the range may begin earlier.
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

    #[inline(always)]
    unsafe fn give(&self, units: &Units, at: usize, bytes: usize) {
        // SAFETY: the caller's contract: the block is in the directory, alive and this thread's; the piece is not used.
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
        // SAFETY: the caller's contract: the block of this unit is in the directory.
        let b = unsafe { units.find(unit) }.as_ptr();
        self.last_block.set((unit, b));
        b
    }
}

impl State {
    /// Called when a unit may become another block's.
    pub fn forget_last_block(&self) {
        self.last_block.set((NO_UNIT, null_mut()));
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

    /// Updates the block of the pending frees.
    pub unsafe fn flush_pending(&self, units: &Units) {
        let (first, end) = (self.pending.first.replace(0), self.pending.end.replace(0));
        if first != end {
            // SAFETY: it was freed, in a block of this state.
            unsafe { self.give(units, first, end - first) };
        }
    }

    /// Ends the use of a range's block. A block with a quarter free is listed for a sweep; if a sweep left that much,
    /// its holes were too narrow, and it is appended to the list, for smaller requests.
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

    /// Begins to fill the holes of an unlisted block. `false`: none fits, and the block is closed.
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

// ---- the slow path of allocation ----

impl State {
    /// Allocates in the holes of the first sparse blocks.
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
                    continue; // known to be too narrow
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

    /// Unlinks an empty block that fits the request.
    fn find(&self, supply: &Supply<'_>, size: usize, align: usize) -> Option<*mut Block> {
        let fits = |b: *mut Block| {
            // SAFETY: a listed block is alive and of this state, and so is one that was just initialised.
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

    /// Takes a segment with at least one block that fits any request.
    #[cold]
    fn take_segment(&self, supply: &Supply<'_>) -> bool {
        let mut size = self.segment_bytes.get();
        // One unit suffices if the memory is aligned to it, as the heap's is; other sources may return any address.
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

    /// Allocates in the range, holes, an empty block, or a new segment, in this order.
    fn fill(&self, supply: &Supply<'_>, range: &Range, size: usize, align: usize) -> Option<NonNull<u8>> {
        let holes_first = size <= SMALL_MAX;
        if let Some(p) = range.alloc(size, align) {
            return Some(p);
        }
        if range.next_hole(size, align) {
            return range.alloc(size, align);
        }
        if range.is_idle() {
            // All of it was freed.
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
            // The block that was filled may have enough holes by now.
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

    /// Large requests use `medium`, as do those that are not small while `main` fills holes.
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
        // SAFETY: the pending piece is of this state, and its block in the directory.
        unsafe { self.flush_pending(&supply.index.units) };
        if align > 8 {
            // It may fit with padding.
            if let Some(p) = self.main.alloc(bytes, align) {
                return Some(p);
            }
        }
        self.fill(supply, self.range_for(bytes), bytes, align)
    }

    /// Resizes an allocation of shared blocks in place. `false`: impossible.
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
