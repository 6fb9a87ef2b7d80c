//! The memory of slabs: segments, which are blocks of the source, units of 32 KiB at multiples of it, and pages.
//!
//! A slab is a run of pages of a unit. The last 512 bytes of a unit are its zone: one cache line for each page describes
//! the slab that starts there. The unit's address rotates the lines, so that those of many units do not fall into one
//! cache set. A segment's header is at its front; its first unit may begin below it: only the pages behind the header
//! are used.
//!
//! Blocks are exposed, so that a free finds the line by the address.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::{null_mut, with_exposed_provenance_mut, NonNull};

use crate::base::policy::MIB;
pub use crate::system::heap::UNIT;

pub const PAGE: usize = 4096;
/// The least part of a page that is used.
pub const PAGE_MIN: usize = 2048;
pub const PAGES: usize = UNIT / PAGE;
/// A cache line of the processor; alignment of a source's blocks.
pub const LINE: usize = 64;
const ZONE: usize = PAGES * LINE;
/// Of these, with at most 64 units, a segment has a bit for each unit.
pub const SEGMENT_MAX: usize = 2 * MIB;
/// Where the source has a limit: a smaller one returns sooner.
pub const SEGMENT_LIMITED: usize = MIB;

/// Lengths of a run of free pages, which is aligned to its length: `RUN_1` + n is 2^n pages.
pub const RUN_NONE: usize = 0;
pub const RUN_1: usize = 1;
pub const RUN_ALL: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Current,
    Full,
    /// In the list that begins behind the current slab of its class.
    Partial,
}

/// A line of a zone, accessed by raw pointers, one field at a time: other threads may read the unit's `owner`.
#[repr(C, align(64))]
pub struct Slab {
    /// Freed objects, newest first; each starts with the address of the next.
    pub free: *mut u8,
    /// The first object that was never allocated, and the bytes from there on, whole objects.
    pub cursor: *mut u8,
    pub next: *mut Slab,
    pub previous: *mut Slab,
    pub left: u32,
    /// Of an object.
    pub bytes: u16,
    /// The allocated objects above the threshold: `State::slab_freed` is called when there are none.
    pub above: i16,
    pub threshold: i16,
    pub class: u8,
    pub state: Use,
    /// The first page in its unit, and their number.
    pub page: u8,
    pub pages: u8,
    /// This and what follows is of the unit, in the line of page 0 only. One bit each.
    pub free_pages: u8,
    /// The longest free run; `RUN_NONE` too if the unit is free.
    pub gap: u8,
    pub index: u8,
    /// The shard of a synchronized recycler. Written before other threads can find an object.
    pub owner: u8,
    /// From unit 0 to the segment, in lines.
    segment: i16,
    /// Of a page: the line of its slab, from the end of the zone.
    map: [u8; PAGES],
}

const _: () = assert!(size_of::<Slab>() == LINE);

/// A slab that is full. It is never written.
pub const NO_SLAB: Slab = Slab {
    free: null_mut(),
    cursor: null_mut(),
    next: null_mut(),
    previous: null_mut(),
    left: 0,
    bytes: 0,
    above: 0,
    threshold: 0,
    class: 0,
    state: Use::Current,
    page: 0,
    pages: 0,
    free_pages: 0,
    gap: 0,
    index: 0,
    owner: 0,
    segment: 0,
    map: [0; PAGES],
};

/// A line of the unit that contains an address.
#[inline(always)]
fn line(at: usize, line: usize) -> *mut Slab {
    with_exposed_provenance_mut((at | (UNIT - 1)) + 1 - LINE - line * LINE)
}

/// The number of the line of a page.
#[inline(always)]
fn line_of(at: usize, page: usize) -> usize {
    (at / UNIT + page) % PAGES
}

impl Slab {
    /// The line of page 0 of the unit that contains an address.
    #[inline(always)]
    pub fn unit_of(at: usize) -> *mut Slab {
        line(at, line_of(at, 0))
    }

    /// The slab that contains an address.
    ///
    /// # Safety
    /// For each function here: a segment in use contains the address, or the line is in it.
    #[inline(always)]
    pub unsafe fn of(at: usize) -> *mut Slab {
        // SAFETY: the caller's contract.
        unsafe { line(at, (*Slab::unit_of(at)).map[at / PAGE % PAGES] as usize) }
    }

    /// The number of allocated objects.
    pub unsafe fn used(d: *mut Slab) -> i16 {
        // SAFETY: the caller's contract.
        unsafe { (*d).above + (*d).threshold }
    }

    pub unsafe fn set_threshold(d: *mut Slab, threshold: i16) {
        // SAFETY: the caller's contract.
        unsafe { ((*d).above, (*d).threshold) = (Slab::used(d) - threshold, threshold) };
    }

    /// The unit of a line.
    pub fn unit(d: *mut Slab) -> *mut Slab {
        Slab::unit_of(d.addr())
    }

    /// The segment of a unit.
    pub unsafe fn segment(u: *mut Slab) -> *mut Segment {
        // SAFETY: the caller's contract.
        let (index, distance) = unsafe { ((*u).index as usize, (*u).segment as isize) };
        let unit = u.addr() & !(UNIT - 1);
        with_exposed_provenance_mut((unit - index * UNIT).wrapping_add_signed(distance * LINE as isize))
    }

    /// The line for a slab of these pages, which the map then names.
    pub unsafe fn begin(u: *mut Slab, page: usize, pages: usize) -> *mut Slab {
        let i = line_of(u.addr(), page);
        // SAFETY: the caller's contract.
        unsafe { (page..page + pages).for_each(|page| (*u).map[page] = i as u8) };
        line(u.addr(), i)
    }
}

/// A segment's header, at the front of its memory. In masks bit i is unit i.
#[repr(C, align(64))]
pub struct Segment {
    pub next: *mut Segment,
    pub previous: *mut Segment,
    pub size: usize,
    /// Address of unit 0, which may lie below the segment, and of its first byte that is used.
    first: usize,
    start: usize,
    pub count: u32,
    /// The pages of unit 0 that are used, one bit each.
    first_pages: u8,
    /// Units without a slab.
    pub free: u64,
    /// Units with a slab by their longest free run; [0] is not used.
    pub gaps: [u64; RUN_ALL],
}

impl Segment {
    /// Initialises a segment of `size` bytes. `None`: it would have no unit with all pages.
    ///
    /// # Safety
    /// The memory is the caller's, at a multiple of 64.
    pub unsafe fn make(memory: NonNull<u8>, size: usize) -> Option<*mut Segment> {
        let made = Segment::at(memory.as_ptr().expose_provenance(), size)?;
        let s = memory.cast::<Segment>().as_ptr();
        // SAFETY: the caller's contract: the header fits.
        unsafe { s.write(made) };
        Some(s)
    }

    /// The header of a segment at an address.
    fn at(at: usize, size: usize) -> Option<Segment> {
        let start = at + size_of::<Segment>();
        let (first, end, front) = (start / UNIT, (at + size) / UNIT, start % UNIT);
        let is_used = |page: usize| page_end(page) >= front.max(page * PAGE) + PAGE_MIN;
        let skipped = (0..PAGES).find(|page| is_used(*page)).unwrap_or(PAGES);
        if first + (skipped != 0) as usize >= end {
            return None;
        }
        let mut made = Segment {
            next: null_mut(),
            previous: null_mut(),
            size,
            first: first * UNIT,
            start,
            count: (end - first).min(64) as u32,
            first_pages: (0xff << skipped & 0xff) as u8,
            free: 0,
            gaps: [0; RUN_ALL],
        };
        made.free = made.all();
        Some(made)
    }

    /// All units with a page.
    pub fn all(&self) -> u64 {
        u64::MAX >> (64 - self.count) & !((self.first_pages == 0) as u64)
    }

    pub fn is_free(&self) -> bool {
        self.free == self.all()
    }

    /// All pages of a unit, one bit each.
    pub fn pages(&self, i: usize) -> u8 {
        if i == 0 {
            self.first_pages
        } else {
            0xff
        }
    }

    /// Addresses of the first usable byte of a page, and of the end of the usable ones before a page.
    pub fn page(&self, i: usize, page: usize) -> usize {
        (self.first + i * UNIT + page * PAGE).max(self.start)
    }
    pub fn end(&self, i: usize, page: usize) -> usize {
        self.first + i * UNIT + page_end(page - 1)
    }

    /// Bytes of all pages.
    pub fn bytes(&self) -> usize {
        let skipped = self.first_pages.trailing_zeros() as usize;
        let first = if skipped == PAGES { 0 } else { self.end(0, PAGES) - self.page(0, skipped) };
        first + (self.count as usize - 1) * (UNIT - ZONE)
    }

    /// Begins to use a free unit: its line of page 0.
    ///
    /// # Safety
    /// The segment is alive, and `i` is below `count`.
    pub unsafe fn open(s: *mut Segment, i: usize, owner: u8) -> *mut Slab {
        // SAFETY: the caller's contract. No object is in the unit, so no other thread reads its owner.
        unsafe {
            let u = Segment::unit(s, i);
            (*u).free_pages = (*s).pages(i);
            (*u).gap = RUN_NONE as u8;
            (*u).index = i as u8;
            (*u).owner = owner;
            (*u).segment = ((s.addr() as isize - (*s).first as isize) / LINE as isize) as i16;
            u
        }
    }

    /// # Safety
    /// As for `open`.
    pub unsafe fn unit(s: *mut Segment, i: usize) -> *mut Slab {
        // SAFETY: the caller's contract.
        Slab::unit_of(unsafe { (*s).first } + i * UNIT)
    }
}

/// The end of the usable bytes of a page in its unit.
const fn page_end(page: usize) -> usize {
    if page == PAGES - 1 {
        UNIT - ZONE
    } else {
        (page + 1) * PAGE
    }
}

/// The longest run among free pages.
pub fn longest_run(pages: u8) -> usize {
    match pages {
        0xff => RUN_ALL,
        _ if pages & 0x0f == 0x0f || pages & 0xf0 == 0xf0 => RUN_1 + 2,
        _ if pages & pages >> 1 & 0x55 != 0 => RUN_1 + 1,
        _ => (pages != 0) as usize,
    }
}

#[cfg(any(kani, test))]
#[path = "../../tests/unit/segment.rs"]
mod tests;
