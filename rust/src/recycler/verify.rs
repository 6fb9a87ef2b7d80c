//! The invariants of a recycler, or of a shard, which each slow path leaves: see `assertions.rs`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::class::{self, CLASSES};
use super::region::{front, list_of, Region, LISTS, NO_LIST};
use super::segment::{longest_run, Segment, Slab, Use, PAGE, PAGES, RUN_ALL, UNIT};
use super::slab::room_of;
use super::state::{no_slab, State};
use crate::base::assertions::verifies;

/// Freed objects of a slab that are visited.
const OBJECTS: usize = 64;

/// What the parts have together.
#[derive(Default)]
struct Sums {
    reserved: usize,
    idle: usize,
    free_units: usize,
    page_bytes: usize,
    gaps: [usize; RUN_ALL],
    slab_count: usize,
    slab_bytes: usize,
    live: usize,
    region_bytes: usize,
    run_bytes: usize,
    idle_regions: usize,
    objects: usize,
}

/// Contract of these functions: segments, slabs and regions are alive and of this state.
impl State {
    /// Verifies all, the more parts the less often.
    pub(super) fn verify(&self) -> bool {
        let parts = self.slab_count.get() + self.larges.count.get() + self.reserved.get() / (4 * UNIT);
        if self.checked().is_some() {
            debug_assert!(self.inline_max.get() == 0 && self.live.get() == 0);
            debug_assert!(self.current.iter().all(|current| current.get() == no_slab()));
            return true;
        }
        if !verifies(16 * parts) {
            return true;
        }
        let (mut sums, mut pages) = (Sums::default(), [0; CLASSES]);
        let mut before = core::ptr::null_mut();
        for s in self.segments() {
            // SAFETY: the contract.
            unsafe {
                debug_assert!((*s).previous == before);
                self.verify_segment(s, &mut sums, &mut pages);
            }
            before = s;
        }
        let (mut before, mut g) = (core::ptr::null_mut(), self.larges.regions.get());
        while !g.is_null() {
            // SAFETY: the contract.
            unsafe {
                debug_assert!((*g).previous == before);
                self.verify_region(g, &mut sums);
                (before, g) = (g, (*g).next);
            }
        }
        self.verify_sums(&sums);
        self.verify_classes(&pages);
        true
    }

    unsafe fn verify_segment(&self, s: *mut Segment, sums: &mut Sums, pages: &mut [usize; CLASSES]) {
        // SAFETY: the contract.
        let segment = unsafe { &*s };
        let (count, all) = (segment.count as usize, segment.all());
        debug_assert!(count != 0 && count <= u64::BITS as usize);
        debug_assert!(segment.free & !all == 0);
        debug_assert!(segment.page(0, 0) >= s.addr() + size_of::<Segment>());
        debug_assert!(segment.end(count - 1, PAGES) < s.addr() + segment.size);
        let mut listed = 0;
        for (gaps, sum) in segment.gaps.iter().zip(&mut sums.gaps) {
            debug_assert!(listed & gaps == 0); // a unit has one longest run
            listed |= gaps;
            *sum += gaps.count_ones() as usize;
        }
        debug_assert!(listed & (segment.free | !all) == 0 && segment.gaps[0] == 0);
        for i in (0..count).filter(|i| (all & !segment.free) >> i & 1 != 0) {
            // SAFETY: the contract.
            unsafe { self.verify_unit(s, i, sums, pages) };
        }
        sums.reserved += segment.size;
        sums.idle += if segment.is_free() { segment.size } else { 0 };
        sums.free_units += segment.free.count_ones() as usize;
        sums.page_bytes += segment.bytes();
    }

    unsafe fn verify_unit(&self, s: *mut Segment, i: usize, sums: &mut Sums, pages: &mut [usize; CLASSES]) {
        // SAFETY: the contract: the unit has a slab.
        unsafe {
            let u = Segment::unit(s, i);
            let (all, free, gap) = ((*s).pages(i), (*u).free_pages, (*u).gap as usize);
            debug_assert!((*u).index as usize == i);
            debug_assert!(Slab::segment(u) == s);
            debug_assert!(free & !all == 0 && free != all); // else it is free
            debug_assert!(gap == longest_run(free));
            debug_assert!((1..RUN_ALL).all(|k| ((*s).gaps[k] >> i & 1 != 0) == (k == gap)));
            let mut page = 0;
            while page < PAGES {
                if (all & !free) >> page & 1 == 0 {
                    page += 1;
                    continue;
                }
                let d = Slab::of((*s).page(i, page));
                self.verify_slab(d, page, sums, pages);
                page += (*d).pages as usize;
            }
        }
    }

    unsafe fn verify_slab(&self, d: *mut Slab, page: usize, sums: &mut Sums, pages: &mut [usize; CLASSES]) {
        // SAFETY: the contract. Freed objects start with the address of the next.
        unsafe {
            let (u, k, bytes, count) = (Slab::unit(d), (*d).class as usize, (*d).bytes as usize, (*d).pages as usize);
            let (s, i) = (Slab::segment(u), (*u).index as usize);
            debug_assert!(k < CLASSES && bytes == class::bytes_of(k));
            debug_assert!((*d).page as usize == page);
            debug_assert!(count.is_power_of_two() && page % count == 0 && page + count <= PAGES);
            debug_assert!((page..page + count).all(|page| Slab::of((*s).page(i, page)) == d));
            let (start, end, left) = ((*s).page(i, page), (*s).end(i, page + count), (*d).left as usize);
            let begin = start.next_multiple_of((1 << bytes.trailing_zeros()).min(PAGE));
            debug_assert!(begin <= (*d).cursor.addr() && (*d).cursor.addr() + left <= end);
            debug_assert!(left % bytes == 0 && ((*d).cursor.addr() - begin) % bytes == 0);
            let (given, used) = (((*d).cursor.addr() - begin) / bytes, Slab::used(d) as usize);
            debug_assert!(Slab::used(d) >= 0 && used <= given);
            let (mut n, mut p) = (0, (*d).free);
            while !p.is_null() && n < OBJECTS {
                debug_assert!(p.addr() >= begin && p < (*d).cursor && (p.addr() - begin) % bytes == 0);
                (n, p) = (n + 1, p.cast::<*mut u8>().read());
            }
            debug_assert!(n == (given - used).min(OBJECTS));
            self.verify_use(d, used);
            sums.slab_count += 1;
            sums.slab_bytes += room_of(d);
            sums.live += used * bytes;
            pages[k] += count;
        }
    }

    unsafe fn verify_use(&self, d: *mut Slab, used: usize) {
        // SAFETY: the contract.
        unsafe {
            let Slab { next, previous, above, threshold, class, state, .. } = *d;
            let current = self.current[class as usize].get();
            debug_assert!((state == Use::Current) == (d == current));
            debug_assert!(used != 0 || state == Use::Current); // else it returns to its unit
            debug_assert!(above > 0 || state != Use::Full);
            debug_assert!(threshold == 0 || state != Use::Partial);
            match state {
                Use::Full => return,
                Use::Current => debug_assert!(previous.is_null()),
                Use::Partial => debug_assert!(!previous.is_null() && (*previous).next == d),
            }
            debug_assert!(next.is_null() || ((*next).state == Use::Partial && (*next).class == class));
            debug_assert!(next.is_null() || (*next).previous == d);
        }
    }

    unsafe fn verify_region(&self, g: *mut Region, sums: &mut Sums) {
        // SAFETY: the contract.
        unsafe {
            let (total, live, widest) = ((*g).total as usize, (*g).live as usize, (*g).widest);
            let (base, pages) = ((*g).base.addr().get(), (*g).pages.addr());
            debug_assert!(base < pages && pages % PAGE == 0);
            debug_assert!(pages + total * PAGE <= base + (*g).size);
            debug_assert!(g.addr() + front((*g).least, total) <= pages);
            let (mut end, mut free, mut longest) = (None, 0, 0);
            for run in Region::runs(g) {
                debug_assert!(run.count != 0);
                debug_assert!(end.is_none_or(|end| run.first > end)); // else they were one
                end = Some(run.first + run.count);
                free += run.count as usize;
                longest = run.count.max(longest);
            }
            debug_assert!(end.is_none_or(|end| end as usize <= total));
            debug_assert!(longest <= widest && widest as usize <= total);
            debug_assert!((*g).least as usize <= total);
            debug_assert!((live == 0) == (free == total) && live <= total - free);
            let (list, next, before) = ((*g).list, (*g).listed_next, (*g).listed_before);
            debug_assert!(list == list_of(widest));
            if list != NO_LIST {
                debug_assert!(next.is_null() || ((*next).listed_before == g && (*next).list == list));
                let linked = if before.is_null() { self.larges.with_run[list].get() } else { (*before).listed_next };
                debug_assert!(linked == g);
            }
            sums.reserved += (*g).size;
            sums.idle += if live == 0 { (*g).size } else { 0 };
            sums.region_bytes += total * PAGE;
            sums.run_bytes += (total - free) * PAGE;
            sums.idle_regions += (live == 0) as usize;
            sums.objects += live;
        }
    }

    fn verify_sums(&self, sums: &Sums) {
        let larges = &self.larges;
        debug_assert!(sums.reserved == self.reserved.get() && sums.idle == self.idle.get());
        debug_assert!(self.reserved.get() <= self.peak.get());
        debug_assert!(sums.free_units == self.free_units.get() && sums.page_bytes == self.page_bytes.get());
        debug_assert!(sums.gaps.iter().zip(&self.gaps).all(|(sum, count)| *sum == count.get()));
        debug_assert!(sums.slab_count == self.slab_count.get() && sums.slab_bytes == self.slab_bytes.get());
        debug_assert!(sums.live == self.live.get());
        debug_assert!(sums.region_bytes == larges.region_bytes.get() && sums.run_bytes == larges.run_bytes.get());
        debug_assert!(sums.idle_regions == larges.idle_regions.get() && sums.objects == larges.count.get());
        debug_assert!(larges.used.get() <= larges.room.get() && larges.room.get() <= larges.run_bytes.get());
        debug_assert!((0..LISTS).all(|k| larges.with_run[k].get().is_null() == (larges.have_run.get() >> k & 1 == 0)));
    }

    fn verify_classes(&self, pages: &[usize; CLASSES]) {
        for (k, pages) in pages.iter().enumerate() {
            let current = self.current[k].get();
            debug_assert!(self.held[k].get() as usize <= *pages);
            debug_assert!(*pages != 0 || current == no_slab());
            // SAFETY: current slabs are alive, or that one.
            let (class, state) = unsafe { ((*current).class as usize, (*current).state) };
            debug_assert!(current == no_slab() || (class == k && state == Use::Current));
        }
    }
}
