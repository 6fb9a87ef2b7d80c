//! Regions, which are blocks of the source, and their free runs of pages. These are recorded in the region's header:
//! search and free do not read the allocated memory, except the line before the object.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::mem::offset_of;
use core::ptr::NonNull;

use super::segment::{LINE, PAGE};
use crate::base::policy::MIB;

/// Objects up to this share a region with others.
pub const SHARED_PAGES: u32 = (MIB / PAGE) as u32;
/// A free run, in pages.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Run {
    pub first: u32,
    pub count: u32,
}

/// Stored at the front of the block; the free runs follow it.
#[repr(C, align(64))]
pub struct Region {
    /// The newest first.
    pub next: *mut Region,
    pub previous: *mut Region,
    /// In the list `list` of `Larges::with_run`, if it is not `NO_LIST`.
    pub listed_next: *mut Region,
    pub listed_before: *mut Region,
    pub list: usize,
    /// The source's block.
    pub base: NonNull<u8>,
    pub size: usize,
    /// Page 0.
    pub pages: *mut u8,
    /// Objects.
    pub live: u32,
    /// Pages, those of the longest run at most, and those of the smallest object.
    pub total: u32,
    pub widest: u32,
    pub least: u32,
    /// Free runs, by address, never adjacent: at most `runs_max`.
    pub count: u32,
    pub runs: [Run; 0],
}

/// Pages of an object in a region.
#[derive(Clone, Copy)]
pub struct Pages {
    pub region: *mut Region,
    pub first: u32,
    pub count: u32,
}

/// Pages for an object and for the record of the next one.
pub fn pages_for(size: usize, align: usize) -> Option<u32> {
    let bytes = size.checked_add(LINE)?.checked_add(align.saturating_sub(PAGE))?;
    u32::try_from(bytes.div_ceil(PAGE)).ok().filter(|count| *count <= u32::MAX / 2)
}

pub fn is_shared(count: u32) -> bool {
    count <= SHARED_PAGES
}

/// The most free runs of a region of `total` pages for an object of `count`: they lie between its objects, of which
/// there are at most four if it is not shared.
fn runs_max(count: u32, total: usize) -> usize {
    if is_shared(count) {
        total / 2 + 1
    } else {
        6
    }
}

/// Bytes before page 0 of a region at a multiple of `LINE`, less the padding to a page.
pub fn front(count: u32, total: usize) -> usize {
    offset_of!(Region, runs) + runs_max(count, total) * size_of::<Run>() + LINE
}

// ---- free runs ----

/// Contract of the functions of a region: it is alive, of this state, and no other call uses it.
impl Region {
    unsafe fn run(g: *mut Region, i: usize) -> *mut Run {
        // SAFETY: the contract: `runs_max` runs follow the header.
        unsafe { (&raw mut (*g).runs).cast::<Run>().add(i) }
    }

    pub unsafe fn runs<'a>(g: *mut Region) -> &'a [Run] {
        // SAFETY: the contract.
        unsafe { core::slice::from_raw_parts(Region::run(g, 0), (*g).count as usize) }
    }

    /// Removes a run of the list.
    unsafe fn remove(g: *mut Region, i: usize) {
        // SAFETY: the contract.
        unsafe {
            (*g).count -= 1;
            Region::run(g, i).copy_from(Region::run(g, i + 1), (*g).count as usize - i);
        }
    }

    /// Takes `count` pages from the front of run `i`; returns the first.
    pub unsafe fn cut(g: *mut Region, i: usize, count: u32) -> u32 {
        // SAFETY: the contract: the run has that many pages.
        unsafe {
            let run = Region::run(g, i);
            debug_assert!(i < (*g).count as usize && count <= (*run).count);
            let first = (*run).first;
            *run = Run { first: first + count, count: (*run).count - count };
            if (*run).count == 0 {
                Region::remove(g, i);
            }
            first
        }
    }

    /// The index of the first run at or after a page.
    unsafe fn after(g: *mut Region, page: u32) -> usize {
        // SAFETY: the contract.
        let runs = unsafe { Region::runs(g) };
        runs.iter().position(|run| run.first >= page).unwrap_or(runs.len())
    }

    /// Frees pages, which join with adjacent free runs; returns the length of the run.
    pub unsafe fn add(g: *mut Region, first: u32, count: u32) -> u32 {
        // SAFETY: the contract: the pages are not free.
        unsafe {
            let i = Region::after(g, first);
            let (mut made, at) = (Run { first, count }, Region::run(g, i));
            debug_assert!(count != 0 && first + count <= (*g).total);
            debug_assert!(i == (*g).count as usize || first + count <= (*at).first);
            let joins_below = i > 0 && (*at.sub(1)).first + (*at.sub(1)).count == first;
            let joins_above = i < (*g).count as usize && (*at).first == first + count;
            if joins_above {
                made.count += (*at).count;
            }
            if joins_below {
                made = Run { first: (*at.sub(1)).first, count: made.count + (*at.sub(1)).count };
                *at.sub(1) = made;
                if joins_above {
                    Region::remove(g, i);
                }
                return made.count;
            }
            if !joins_above {
                at.add(1).copy_from(at, (*g).count as usize - i);
                (*g).count += 1;
            }
            *at = made;
            made.count
        }
    }

    /// Takes `more` pages behind an object; `false`: they are not free.
    pub unsafe fn extend(g: *mut Region, end: u32, more: u32) -> bool {
        // SAFETY: the contract.
        unsafe {
            let i = Region::after(g, end);
            let run = Region::runs(g).get(i);
            let fits = run.is_some_and(|run| run.first == end && run.count >= more);
            if fits {
                Region::cut(g, i, more);
            }
            fits
        }
    }

    /// Address of a page.
    pub unsafe fn page(g: *mut Region, page: u32) -> *mut u8 {
        // SAFETY: the contract: the page is one of the region, or its end.
        unsafe { (*g).pages.add(page as usize * PAGE) }
    }
}

// ---- regions by their longest run ----

pub const LISTS: usize = 25;
pub const NO_LIST: usize = LISTS;

/// Four for each power of two from 4 pages on, two from 32 pages on, to 8 MiB or more.
pub fn list_of(pages: u32) -> usize {
    let (pages, k) = (pages as usize, pages.max(4).ilog2() as usize);
    match pages {
        0 => NO_LIST,
        1..4 => 0,
        4..32 => 4 * (k - 2) + (pages >> (k - 2) & 3),
        _ => (12 + 2 * (k - 5) + (pages >> (k - 1) & 1)).min(LISTS - 1),
    }
}
