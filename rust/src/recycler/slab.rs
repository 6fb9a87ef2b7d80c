//! The slabs of a recycler: runs of pages with objects of one class.
//!
//! A class allocates from its current slab: freed objects, then new ones. A slab is current, full or partial. A full one
//! becomes partial when an eighth of its objects were freed; so a class that replaces objects at random does not change
//! its slab at each call. A partial one without objects goes back to its unit.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::{null_mut, with_exposed_provenance_mut, NonNull};

use super::class;
use super::segment::{longest_run, Segment, Slab, Use, PAGE, PAGES, PAGE_MIN, RUN_1, RUN_ALL, RUN_NONE};
use super::segment::{SEGMENT_LIMITED, SEGMENT_MAX, UNIT};
use super::state::{no_slab, State};
use super::supply::Supply;

/// A class that has these takes whole units.
const HOT_PAGES: u16 = 16;
/// A full slab is used again when this part of it is free.
const SLACK: i16 = 8;
const SPARSE_MIN: usize = 512 << 10;

// ---- units and their pages ----

/// Contract of these functions: segments, units and slabs are alive and of this state.
impl State {
    /// Moves a unit to the list of its longest run.
    unsafe fn list_unit(&self, s: *mut Segment, u: *mut Slab, gap: usize) {
        // SAFETY: the contract.
        unsafe {
            let (was, bit) = ((*u).gap as usize, 1 << (*u).index);
            if was != RUN_NONE && was != gap {
                (*s).gaps[was] &= !bit;
                self.gaps[was].set(self.gaps[was].get() - 1);
            }
            if gap != RUN_NONE && was != gap {
                (*s).gaps[gap] |= bit;
                self.gaps[gap].set(self.gaps[gap].get() + 1);
            }
            (*u).gap = gap as u8;
        }
    }

    unsafe fn link_segment(&self, s: *mut Segment) {
        // SAFETY: the contract.
        unsafe {
            ((*s).previous, (*s).next) = (null_mut(), self.segments.replace(s));
            if !(*s).next.is_null() {
                (*(*s).next).previous = s;
            }
        }
    }

    unsafe fn unlink_segment(&self, s: *mut Segment) {
        // SAFETY: the contract.
        unsafe {
            match (*s).previous {
                before if before.is_null() => self.segments.set((*s).next),
                before => (*before).next = (*s).next,
            }
            if !(*s).next.is_null() {
                (*(*s).next).previous = (*s).previous;
            }
        }
    }

    /// Begins to use a free unit.
    unsafe fn open_unit(&self, s: *mut Segment, i: usize, owner: u8) -> *mut Slab {
        // SAFETY: the contract.
        unsafe {
            debug_assert!((*s).free >> i & 1 != 0);
            if (*s).is_free() {
                self.begin_use((*s).size);
            }
            (*s).free &= !(1 << i);
            self.free_units.set(self.free_units.get() - 1);
            Segment::open(s, i, owner)
        }
    }

    unsafe fn close_unit(&self, s: *mut Segment, u: *mut Slab) {
        // SAFETY: the contract.
        unsafe {
            self.list_unit(s, u, RUN_NONE);
            (*s).free |= 1 << (*u).index;
            self.free_units.set(self.free_units.get() + 1);
            if (*s).is_free() {
                self.end_use((*s).size);
            }
        }
    }

    /// Finds a unit with a free run of this length; begins to use a free one if needed.
    fn find_unit(&self, run: usize, owner: u8) -> Option<*mut Slab> {
        // SAFETY: the contract: the segments of the list are alive; the counts say that one has such a unit.
        unsafe {
            if let Some(k) = (run..RUN_ALL).find(|k| self.gaps[*k].get() != 0) {
                let s = self.segments().find(|s| (**s).gaps[k] != 0)?;
                return Some(Segment::unit(s, (*s).gaps[k].trailing_zeros() as usize));
            }
            if self.free_units.get() == 0 {
                return None;
            }
            self.segments().find_map(|s| {
                let serves = longest_run((*s).pages(0)) >= run;
                let units = (*s).free & !(!serves as u64);
                (units != 0).then(|| self.open_unit(s, units.trailing_zeros() as usize, owner))
            })
        }
    }

    /// Takes a run of pages, a power of two; returns the unit and the first page.
    fn take_pages(&self, pages: usize, owner: u8) -> Option<(*mut Slab, usize)> {
        let u = self.find_unit(RUN_1 + pages.trailing_zeros() as usize, owner)?;
        // SAFETY: the contract: the unit has such a run.
        unsafe {
            let (free, mask) = ((*u).free_pages, (0xff >> (PAGES - pages)) as u8);
            let first = (0..PAGES).step_by(pages).find(|at| free >> at & mask == mask)?;
            (*u).free_pages = free & !(mask << first);
            self.list_unit(Slab::segment(u), u, longest_run((*u).free_pages));
            Some((u, first))
        }
    }

    unsafe fn put_pages(&self, u: *mut Slab, pages: usize, first: usize) {
        // SAFETY: the contract.
        unsafe {
            let s = Slab::segment(u);
            debug_assert!((*u).free_pages & ((0xff >> (PAGES - pages)) as u8) << first == 0);
            (*u).free_pages |= ((0xff >> (PAGES - pages)) as u8) << first;
            if (*u).free_pages == (*s).pages((*u).index as usize) {
                self.close_unit(s, u);
            } else {
                self.list_unit(s, u, longest_run((*u).free_pages));
            }
            if self.segments.get() != s {
                self.unlink_segment(s);
                self.link_segment(s);
            }
        }
    }

    /// Takes an idle block. After a refusal memory without live objects is returned, and the source is called once more;
    /// then for less, down to `least`.
    pub fn take_down_to(&self, supply: &Supply<'_>, size: usize, least: usize) -> Option<(NonNull<u8>, usize)> {
        let (mut size, mut p) = (size, supply.take(self, size));
        if p.is_none() && self.trim_after_refusal(supply) {
            p = supply.take(self, size);
        }
        while p.is_none() && size > least {
            size = (size / 2).max(least);
            p = supply.take(self, size);
        }
        Some((p?, size))
    }

    /// Takes a segment of at least half as many bytes as there are, or a smaller one. `false`: the source refuses.
    fn take_segment(&self, supply: &Supply<'_>) -> bool {
        let mut size = UNIT;
        let most = if supply.source.shares_limit() { SEGMENT_LIMITED } else { SEGMENT_MAX };
        while 2 * size <= self.page_bytes.get() && size < most {
            size *= 2;
        }
        // One unit suffices if the memory is aligned to it, as the heap's is; other sources may return any address.
        for least in [UNIT, 2 * UNIT] {
            let Some((memory, size)) = self.take_down_to(supply, size.max(least), least) else { return false };
            // SAFETY: the memory is this call's.
            unsafe {
                let Some(s) = Segment::make(memory, size) else {
                    supply.put(self, memory, size);
                    continue;
                };
                self.free_units.set(self.free_units.get() + (*s).free.count_ones() as usize);
                self.page_bytes.set(self.page_bytes.get() + (*s).bytes());
                self.link_segment(s);
                return true;
            }
        }
        false
    }

    /// # Safety
    /// All its units are free.
    pub unsafe fn put_segment(&self, supply: &Supply<'_>, s: *mut Segment) {
        // SAFETY: the contract.
        unsafe {
            debug_assert!((*s).is_free());
            self.free_units.set(self.free_units.get() - (*s).free.count_ones() as usize);
            self.page_bytes.set(self.page_bytes.get() - (*s).bytes());
            self.unlink_segment(s);
            supply.put(self, NonNull::new_unchecked(s.cast()), (*s).size);
        }
    }

    pub fn segments(&self) -> impl Iterator<Item = *mut Segment> {
        let some = |s: *mut Segment| (!s.is_null()).then_some(s);
        // SAFETY: segments are alive.
        core::iter::successors(some(self.segments.get()), move |s| some(unsafe { (**s).next }))
    }
}

// ---- slabs ----

/// Bytes of the pages of a slab.
///
/// # Safety
/// It is alive.
pub unsafe fn room_of(d: *mut Slab) -> usize {
    // SAFETY: the caller's contract.
    unsafe {
        let u = Slab::unit(d);
        let (s, i, first) = (Slab::segment(u), (*u).index as usize, (*d).page as usize);
        (*s).end(i, first + (*d).pages as usize) - (*s).page(i, first)
    }
}

impl State {
    /// Takes a slab of `pages` pages. `None`: there is no such run.
    fn take_slab(&self, k: usize, pages: usize, owner: u8) -> Option<*mut Slab> {
        let (u, first) = self.take_pages(pages, owner)?;
        let bytes = class::bytes_of(k);
        // SAFETY: the contract: the pages are free. The slab's objects are aligned to what their size is a multiple of.
        unsafe {
            let (s, i) = (Slab::segment(u), (*u).index as usize);
            let (start, end) = ((*s).page(i, first), (*s).end(i, first + pages));
            let begin = start.next_multiple_of((1 << bytes.trailing_zeros()).min(PAGE));
            let d = Slab::begin(u, first, pages);
            (*d).free = null_mut();
            (*d).cursor = s.cast::<u8>().with_addr(begin);
            (*d).left = ((end - begin) / bytes * bytes) as u32;
            (*d).bytes = bytes as u16;
            ((*d).above, (*d).threshold) = (0, 0);
            (*d).class = k as u8;
            (*d).state = Use::Current;
            (*d).page = first as u8;
            (*d).pages = pages as u8;
            ((*d).next, (*d).previous) = (null_mut(), null_mut());
            self.held[k].set(self.held[k].get().saturating_add(pages as u16));
            self.slab_count.set(self.slab_count.get() + 1);
            self.slab_bytes.set(self.slab_bytes.get() + end - start);
            Some(d)
        }
    }

    /// Returns a slab without objects, which is in no list, to its unit.
    unsafe fn put_slab(&self, d: *mut Slab) {
        // SAFETY: the contract.
        unsafe {
            debug_assert!(Slab::used(d) == 0);
            let held = &self.held[(*d).class as usize];
            held.set(held.get().saturating_sub((*d).pages as u16));
            self.slab_count.set(self.slab_count.get() - 1);
            self.slab_bytes.set(self.slab_bytes.get() - room_of(d));
            self.put_pages(Slab::unit(d), (*d).pages as usize, (*d).page as usize);
        }
    }

    unsafe fn set_current(&self, k: usize, d: *mut Slab) {
        self.current[k].set(if d.is_null() { no_slab() } else { d });
        if !d.is_null() {
            // SAFETY: the contract.
            unsafe {
                ((*d).previous, (*d).state) = (null_mut(), Use::Current);
                Slab::set_threshold(d, if self.shares_limit.get() { 0 } else { -1 });
            }
        }
    }

    /// The current slabs without objects.
    pub fn empty_slabs(&self) -> impl Iterator<Item = (usize, *mut Slab)> + '_ {
        // SAFETY: current slabs are alive.
        let is_empty = |d: *mut Slab| d != no_slab() && unsafe { Slab::used(d) } == 0;
        self.current.iter().map(|current| current.get()).enumerate().filter(move |(_, d)| is_empty(*d))
    }

    /// Returns the current slabs without objects to their units.
    pub fn flush(&self) {
        for (k, d) in self.empty_slabs() {
            // SAFETY: the contract.
            unsafe {
                self.set_current(k, (*d).next);
                self.put_slab(d);
            }
        }
    }

    /// Takes a slab; calls the source if no pages are free. Few pages suffice only if the source refuses.
    fn new_slab(&self, supply: &Supply<'_>, k: usize) -> Option<*mut Slab> {
        let (bytes, owner) = (class::bytes_of(k), supply.owner);
        let least = class::pages_of(bytes);
        let most = if self.held[k].get() >= HOT_PAGES { PAGES } else { least };
        let take = |least: usize| {
            let mut pages = core::iter::successors(Some(most), |pages| (*pages > least).then_some(pages / 2));
            pages.find_map(|pages| self.take_slab(k, pages, owner))
        };
        take(least).or_else(|| {
            self.flush();
            take(least).or_else(|| {
                let room = (bytes + PAGE_MIN).div_ceil(PAGE);
                self.take_segment(supply);
                take(room.next_power_of_two().min(least))
            })
        })
    }

    /// Makes a slab with free objects the current one. `false`: there is no memory.
    fn next_slab(&self, supply: &Supply<'_>, k: usize) -> bool {
        let full = self.current[k].get();
        // SAFETY: the contract: a slab without free objects has some in use, so no other call puts it.
        unsafe {
            let next = if (*full).next.is_null() { self.new_slab(supply, k) } else { Some((*full).next) };
            let Some(d) = next else { return false };
            if full != no_slab() {
                (*full).state = Use::Full;
                Slab::set_threshold(full, Slab::used(full) - 1 - Slab::used(full) / SLACK);
            }
            self.set_current(k, d);
        }
        true
    }

    pub fn alloc_in_class(&self, supply: &Supply<'_>, k: usize, bytes: usize) -> Option<NonNull<u8>> {
        loop {
            if let Some(p) = self.pop(k, bytes) {
                return Some(p);
            }
            if !self.next_slab(supply, k) {
                return None;
            }
        }
    }

    /// Whether slabs without objects may keep blocks of the source from returning that a limit needs.
    fn is_sparse(&self) -> bool {
        self.page_bytes.get() > SPARSE_MIN && self.live.get() < self.page_bytes.get() / 2
    }

    /// Moves a slab to the state that follows from its objects, after `push` returned it.
    ///
    /// # Safety
    /// The slab is alive and of this state. It is current only where the source has a limit.
    #[cold]
    pub unsafe fn slab_freed(&self, supply: &Supply<'_>, d: *mut Slab) {
        // SAFETY: the contract.
        unsafe {
            let k = (*d).class as usize;
            let current = self.current[k].get();
            if d == current {
                if self.is_sparse() {
                    self.return_surplus(supply);
                }
            } else if Slab::used(d) == 0 {
                if (*d).state == Use::Partial {
                    (*(*d).previous).next = (*d).next;
                    if !(*d).next.is_null() {
                        (*(*d).next).previous = (*d).previous;
                    }
                }
                self.put_slab(d);
                self.return_surplus(supply);
            } else if current == no_slab() {
                (*d).next = null_mut();
                self.set_current(k, d);
            } else {
                (*d).state = Use::Partial;
                Slab::set_threshold(d, 0);
                ((*d).previous, (*d).next) = (current, (*current).next);
                if !(*d).next.is_null() {
                    (*(*d).next).previous = d;
                }
                (*current).next = d;
            }
        }
        debug_assert!(self.verify());
    }
}

// ---- the inline paths ----

impl State {
    /// Takes an object from the current slab of a class. `None`: it has none.
    #[inline(always)]
    fn pop(&self, k: usize, bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: the index is of a class. Its current slab is alive and this thread's, or has no object and is not
        // written. Freed objects start with the address of the next.
        unsafe {
            let d = self.current.get_unchecked(k).get();
            let mut p = (*d).free;
            if !p.is_null() {
                (*d).free = p.cast::<*mut u8>().read();
            } else if (*d).left != 0 {
                p = (*d).cursor;
                (*d).cursor = p.add(bytes);
                (*d).left -= bytes as u32;
            } else {
                return None;
            }
            (*d).above += 1;
            self.live.set(self.live.get() + bytes);
            Some(NonNull::new_unchecked(p))
        }
    }

    /// Allocates inline; `None`: the slow path is needed, as for a size of 0. `align` is a power of two.
    #[inline(always)]
    pub fn bump(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let (k, bytes) = class::of(size, align)?;
        self.pop(k, bytes)
    }

    /// Frees an object of a slab. If a slab is returned, `slab_freed` is due for it.
    ///
    /// # Safety
    /// The object at `at` is in a slab of this state, and not used any more.
    #[inline(always)]
    pub unsafe fn push(&self, at: usize) -> Option<*mut Slab> {
        // SAFETY: the caller's contract. The caller's own pointer may be valid for fewer bytes.
        unsafe {
            let (d, p) = (Slab::of(at), with_exposed_provenance_mut::<u8>(at));
            debug_assert!(p < (*d).cursor && Slab::used(d) > 0);
            p.cast::<*mut u8>().write((*d).free);
            (*d).free = p;
            self.live.set(self.live.get() - (*d).bytes as usize);
            (*d).above -= 1;
            ((*d).above <= 0).then_some(d)
        }
    }
}
