//! Large objects: a run of pages of a region each, with a record in the line before the object.
//!
//! Regions are listed by the length of their longest free run. An object takes the first sufficient run of a region
//! whose longest is not much longer: so regions that are almost free become free, and an object can grow into free pages
//! behind it. An object above 1 MiB has a region of its own size, which later serves others above 1 MiB, of at least a
//! quarter of it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::{null_mut, with_exposed_provenance_mut, NonNull};

use super::region::{front, is_shared, list_of, pages_for, Pages, Region, Run, LISTS, NO_LIST, SHARED_PAGES};
use super::segment::{LINE, PAGE};
use super::state::{Large, State};
use super::supply::Supply;
use crate::base::policy::{pad, MIB};

const REGION_MIN: usize = 64 << 10;
/// Up to these bytes in use a region is as large as its object, then `REGION_SOME`, and `REGION_MAX` if there are four.
const REGION_FEW: usize = 512 << 10;
const REGION_SOME: usize = 2 * MIB;
const REGION_MAX: usize = 4 * MIB;

/// Regions of a list that are compared.
const PROBES_MAX: usize = 4;

// ---- regions by their longest run ----

/// Contract of these functions: regions are alive and of this state.
impl State {
    unsafe fn unlist(&self, g: *mut Region) {
        // SAFETY: the contract.
        unsafe {
            let Region { list, listed_next, listed_before, .. } = *g;
            if list == NO_LIST {
                return;
            }
            match listed_before.is_null() {
                true => self.larges.with_run[list].set(listed_next),
                false => (*listed_before).listed_next = listed_next,
            }
            if !listed_next.is_null() {
                (*listed_next).listed_before = listed_before;
            }
            let is_empty = self.larges.with_run[list].get().is_null();
            self.larges.have_run.set(self.larges.have_run.get() & !((is_empty as u32) << list));
            (*g).list = NO_LIST;
        }
    }

    /// Sets the length of the longest run.
    unsafe fn set_widest(&self, g: *mut Region, pages: u32) {
        let list = list_of(pages);
        // SAFETY: the contract.
        unsafe {
            (*g).widest = pages;
            if list == (*g).list {
                return;
            }
            self.unlist(g);
            if list == NO_LIST {
                return;
            }
            let next = self.larges.with_run[list].replace(g);
            ((*g).list, (*g).listed_next, (*g).listed_before) = (list, next, null_mut());
            if !next.is_null() {
                (*next).listed_before = g;
            }
            self.larges.have_run.set(self.larges.have_run.get() | 1 << list);
        }
    }

    /// The index of the first run of at least `count` pages; `None`: there is none, and `widest` becomes exact.
    unsafe fn find_run(&self, g: *mut Region, count: u32) -> Option<usize> {
        // SAFETY: the contract.
        unsafe {
            let runs = Region::runs(g);
            let found = runs.iter().position(|run| run.count >= count);
            if found.is_none() {
                self.set_widest(g, runs.iter().map(|run| run.count).max().unwrap_or(0));
            }
            found
        }
    }

    /// Of the first regions of a list the one whose longest run is the shortest that may suffice.
    fn best_region(&self, list: usize, count: u32) -> Option<*mut Region> {
        let mut best: Option<*mut Region> = None;
        let mut g = self.larges.with_run[list].get();
        let mut probes = if list == LISTS - 1 { usize::MAX } else { PROBES_MAX };
        while !g.is_null() && probes != 0 {
            // SAFETY: the contract: listed regions are alive.
            unsafe {
                let fits = (*g).widest >= count && count >= (*g).least;
                if fits && best.is_none_or(|best| (*g).widest < (*best).widest) {
                    best = Some(g);
                }
                g = (*g).listed_next;
            }
            probes -= 1;
        }
        best
    }

    /// A region with a sufficient run, and its index. `None`: none is found.
    fn find_region(&self, count: u32) -> Option<(*mut Region, usize)> {
        let mut lists = self.larges.have_run.get() & u32::MAX << list_of(count);
        while lists != 0 {
            while let Some(g) = self.best_region(lists.trailing_zeros() as usize, count) {
                // SAFETY: the contract. If there is no such run, the region leaves the candidates.
                if let Some(i) = unsafe { self.find_run(g, count) } {
                    return Some((g, i));
                }
            }
            lists &= lists - 1;
        }
        None
    }
}

// ---- regions ----

impl State {
    unsafe fn link_region(&self, g: *mut Region) {
        // SAFETY: the contract.
        unsafe {
            ((*g).previous, (*g).next) = (null_mut(), self.larges.regions.replace(g));
            if !(*g).next.is_null() {
                (*(*g).next).previous = g;
            }
        }
    }

    unsafe fn unlink_region(&self, g: *mut Region) {
        // SAFETY: the contract.
        unsafe {
            let Region { next, previous, .. } = *g;
            match previous.is_null() {
                true => self.larges.regions.set(next),
                false => (*previous).next = next,
            }
            if !next.is_null() {
                (*next).previous = previous;
            }
        }
    }

    /// The size of a region for an object, and the least that suffices at any address.
    fn region_size(&self, count: u32) -> Option<(usize, usize)> {
        let bytes = count as usize * PAGE;
        let least = bytes.checked_add(front(count, 2 * count as usize))?.checked_next_multiple_of(PAGE)? + PAGE;
        if !is_shared(count) {
            // Sizes that differ by an eighth at most are used again.
            let mut step = PAGE;
            while step < bytes / 16 {
                step *= 2;
            }
            return Some((least.checked_next_multiple_of(step)?, least));
        }
        let larges = &self.larges;
        let mut size = REGION_MIN;
        if larges.used.get() + bytes > REGION_FEW {
            size = if larges.region_bytes.get() < 4 * REGION_SOME - MIB { REGION_SOME } else { REGION_MAX };
        }
        while size < least {
            size *= 2;
        }
        Some((size, least))
    }

    /// Takes a region for an object of `count` pages; a smaller one if the source refuses.
    fn take_region(&self, supply: &Supply<'_>, count: u32) -> Option<*mut Region> {
        let (size, least) = self.region_size(count)?;
        let (memory, size) = self.take_down_to(supply, size, least)?;
        memory.as_ptr().expose_provenance();
        // The headers of large regions, which are aligned alike, do not fall into one cache set.
        let shift = if size >= REGION_SOME { self.source_calls.get() as usize % 32 * LINE } else { 0 };
        let front = shift + front(count, size / PAGE);
        let front = front + pad(memory.addr().get() + front, PAGE);
        let total = ((size - front) / PAGE) as u32;
        // SAFETY: the block is owned by this call, at a multiple of `LINE`; the header and a free run fit.
        unsafe {
            let g = memory.byte_add(shift).cast::<Region>().as_ptr();
            g.write(Region {
                next: null_mut(),
                previous: null_mut(),
                listed_next: null_mut(),
                listed_before: null_mut(),
                base: memory,
                size,
                pages: memory.as_ptr().add(front),
                live: 0,
                total,
                widest: 0,
                list: NO_LIST,
                least: if is_shared(count) { 1 } else { (total / 4).max(SHARED_PAGES + 1) },
                count: 1,
                runs: [],
            });
            (&raw mut (*g).runs).cast::<Run>().write(Run { first: 0, count: total });
            self.link_region(g);
            self.set_widest(g, total);
            self.count_region(g, true);
            Some(g)
        }
    }

    /// Adds a region to the counts, or removes it.
    unsafe fn count_region(&self, g: *mut Region, taken: bool) {
        // SAFETY: the contract.
        let (bytes, is_idle) = unsafe { ((*g).total as usize * PAGE, ((*g).live == 0) as usize) };
        for (of, by) in [(&self.larges.region_bytes, bytes), (&self.larges.idle_regions, is_idle)] {
            of.set(if taken { of.get() + by } else { of.get() - by });
        }
    }

    /// Takes pages for a large object. `None`: no memory.
    pub fn take_run(&self, supply: &Supply<'_>, count: u32) -> Option<Pages> {
        // SAFETY: the contract: the regions of the list are alive.
        unsafe {
            let (region, i) = match self.find_region(count) {
                Some(found) => found,
                None => (self.take_region(supply, count)?, 0),
            };
            let first = Region::cut(region, i, count);
            (*region).live += 1;
            if (*region).live == 1 {
                self.larges.idle_regions.set(self.larges.idle_regions.get() - 1);
                self.begin_use((*region).size);
            }
            self.larges.run_bytes.set(self.larges.run_bytes.get() + count as usize * PAGE);
            Some(Pages { region, first, count })
        }
    }

    /// # Safety
    /// The pages came from `take_run`, and are not used any more.
    pub unsafe fn put_run(&self, Pages { region, first, count }: Pages) {
        // SAFETY: the caller's contract.
        unsafe {
            self.free_pages(region, first, count);
            (*region).live -= 1;
            if (*region).live == 0 {
                self.larges.idle_regions.set(self.larges.idle_regions.get() + 1);
                self.end_use((*region).size);
            }
        }
        self.larges.run_bytes.set(self.larges.run_bytes.get() - count as usize * PAGE);
    }

    /// # Safety
    /// The pages are of an object of the region, and are not used any more.
    pub unsafe fn free_pages(&self, g: *mut Region, first: u32, count: u32) {
        // SAFETY: the caller's contract.
        unsafe {
            let run = Region::add(g, first, count);
            if run > (*g).widest {
                self.set_widest(g, run);
            }
        }
    }

    /// Returns regions, the newest first, while that is permitted for their number of objects and size. Precondition: a
    /// region that returns is idle.
    pub fn return_regions(&self, supply: &Supply<'_>, may_return: impl Fn(u32, usize) -> bool) {
        let mut at = self.larges.regions.get();
        while !at.is_null() {
            // SAFETY: the contract.
            unsafe {
                let g = at;
                at = (*g).next;
                let Region { live, base, size, .. } = *g;
                if may_return(live, size) {
                    debug_assert!((*g).list == list_of((*g).widest));
                    self.unlist(g);
                    self.unlink_region(g);
                    self.count_region(g, false);
                    supply.put(self, base, size);
                }
            }
        }
    }
}

// ---- objects ----

impl Large {
    /// The record of the object at an address.
    pub fn of(at: usize) -> *mut Large {
        with_exposed_provenance_mut(at - LINE)
    }
}

/// Bytes of an object's pages from the object on, less the record of the next one.
unsafe fn room_of(l: *mut Large) -> usize {
    // SAFETY: the caller's contract: the record of a live object.
    unsafe { Region::page((*l).pages.region, (*l).pages.first + (*l).pages.count).addr() - LINE - l.add(1).addr() }
}

impl State {
    /// Adds an object to the counts, or removes it.
    unsafe fn count_large(&self, l: *mut Large, is_live: bool) {
        // SAFETY: the caller's contract: the record of a live object.
        let (used, room) = unsafe { ((*l).used, room_of(l)) };
        let all = &self.larges;
        for (of, by) in [(&all.count, 1), (&all.used, used), (&all.room, room)] {
            of.set(if is_live { of.get() + by } else { of.get() - by });
        }
    }

    #[inline(never)]
    pub fn alloc_large(&self, supply: &Supply<'_>, size: usize, align: usize) -> Option<NonNull<u8>> {
        let pages = self.take_run(supply, pages_for(size, align)?)?;
        // SAFETY: the pages are this call's, and so is the line before them; the object fits.
        unsafe {
            let page = Region::page(pages.region, pages.first);
            let p = NonNull::new_unchecked(page.add(pad(page.addr(), align)));
            let l = p.cast::<Large>().sub(1);
            l.write(Large { pages, used: size, owner: supply.owner });
            self.count_large(l.as_ptr(), true);
            Some(p)
        }
    }

    /// # Safety
    /// `at` is a live large object of this state, which is not used any more.
    pub unsafe fn free_large(&self, supply: &Supply<'_>, at: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            let l = Large::of(at);
            self.count_large(l, false);
            self.put_run((*l).pages);
        }
        self.return_surplus(supply);
        debug_assert!(self.verify());
    }

    /// Resizes in place, if the pages behind the object are free or it shrinks; not to less than its region serves,
    /// unless it suffices that it `fits`. `false`: impossible.
    ///
    /// # Safety
    /// `at` is a live large object of this state; the bytes behind `size` are not used any more.
    pub unsafe fn resize_large(&self, at: usize, size: usize, fits: bool) -> bool {
        // SAFETY: the caller's contract.
        unsafe {
            let l = Large::of(at);
            let Pages { region, first, count } = (*l).pages;
            let before = at - Region::page(region, first).addr();
            let need = before.checked_add(size).and_then(|bytes| pages_for(bytes, 1));
            let Some(need) = need else { return false };
            let least = (*region).least;
            if need < least && !fits {
                return false;
            }
            let need = need.max(least);
            if need > count && !Region::extend(region, first + count, need - count) {
                return false;
            }
            self.count_large(l, false);
            if need < count {
                self.free_pages(region, first + need, count - need);
            }
            let bytes = self.larges.run_bytes.get() - count as usize * PAGE + need as usize * PAGE;
            self.larges.run_bytes.set(bytes);
            ((*l).pages.count, (*l).used) = (need, size);
            self.count_large(l, true);
            debug_assert!(self.verify());
            true
        }
    }

    /// Returns all regions, which are all idle.
    ///
    /// # Safety
    /// No object is used any more.
    pub unsafe fn release_larges(&self, supply: &Supply<'_>) {
        self.return_regions(supply, |_, _| true);
        [&self.larges.run_bytes, &self.larges.idle_regions, &self.larges.count, &self.larges.used, &self.larges.room]
            .iter()
            .for_each(|count| count.set(0));
    }
}
