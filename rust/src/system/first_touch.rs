//! The first touch of mapped pages, as in c/src/core/first_touch.c: a huge page costs a fifth of the same memory in small pages, or
//! eight times as much, where the host of a virtual machine has to provide it first. Such pages follow each other, so the time of each
//! first touch is measured, and after a slow one the next mappings have small pages. So has the first mapping of a process, whose end
//! a short program does not reach. Small pages are made present together once a mapping is a small part of what the process has used.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::base::os::{self, HUGE_PAGE};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const SLOW: Duration = Duration::from_millis(1); // for a huge page
const LEAST: usize = 8 * HUGE_PAGE; // bytes in small pages after a slow one; doubled by each, up to
const MOST: usize = 64 * HUGE_PAGE; // this
const POPULATED: usize = 16 * HUGE_PAGE; // bytes mapped before small pages are made present
const PART: usize = 8; // times `small` bytes have small pages where a part of them may be written

/// A change that another thread overwrites does no harm.
struct Policy {
    mapped: AtomicUsize, // bytes; never falls
    small: AtomicUsize,  // bytes that have small pages next
    after: AtomicUsize,  // `small` after the last slow touch; 0 after a fast one
    refused: AtomicBool, // the system makes no pages present
    in_part: AtomicBool, // `map_in_part` has preferred small pages
}

static POLICY: Policy = Policy::new();

impl Policy {
    const fn new() -> Policy {
        let [mapped, small, after] = [const { AtomicUsize::new(0) }; 3];
        Policy { mapped, small, after, refused: AtomicBool::new(false), in_part: AtomicBool::new(false) }
    }

    /// After the first touch of a huge page.
    fn measured(&self, took: Duration) {
        let after = if took > SLOW { LEAST.max(2 * self.after.load(Relaxed)).min(MOST) } else { 0 };
        self.after.store(after, Relaxed);
        self.small.store(after, Relaxed);
    }

    /// The bytes mapped with the next huge page, and those that have small pages next.
    fn next(&self) -> (usize, usize) {
        (self.mapped.fetch_add(HUGE_PAGE, Relaxed) + HUGE_PAGE, self.take_small(HUGE_PAGE))
    }

    fn take_small(&self, bytes: usize) -> usize {
        let small = self.small.load(Relaxed);
        self.small.store(small.saturating_sub(bytes), Relaxed);
        small
    }

    /// # Safety
    /// A new huge page, which is writable.
    unsafe fn touch(&self, p: NonNull<u8>) {
        let began = Instant::now();
        // SAFETY: the contract.
        unsafe { p.as_ptr().write_volatile(0) };
        self.measured(began.elapsed());
    }
}

/// Maps a huge page that blocks of a growing arena will probably fill.
pub(super) fn map() -> Option<NonNull<u8>> {
    let (mapped, small) = POLICY.next();
    let is_huge = small == 0 && mapped > HUGE_PAGE; // with this one
    let p = os::map(HUGE_PAGE, is_huge)?;
    // SAFETY: the new mapping, which is writable.
    unsafe {
        if is_huge {
            POLICY.touch(p);
        }
        if small != 0 {
            os::advise(p, HUGE_PAGE, os::SMALL_PAGES);
        }
        if mapped > POPULATED && !POLICY.refused.load(Relaxed) {
            if !os::advise(p, HUGE_PAGE, os::POPULATE) {
                POLICY.refused.store(true, Relaxed);
            } else if small != 0 {
                os::advise(p, HUGE_PAGE, os::HUGE_PAGES);
            }
        }
    }
    Some(p)
}

/// Maps huge pages of which a part may be written, as a recycler's regions: small pages then cost less where huge ones are slow.
pub(super) fn map_in_part(size: usize) -> Option<NonNull<u8>> {
    let p = os::map(size, true)?;
    for at in (0..size / HUGE_PAGE).map(|page| page * HUGE_PAGE) {
        // SAFETY: within the new mapping.
        unsafe {
            let page = p.add(at);
            if POLICY.take_small(HUGE_PAGE / PART) == 0 {
                POLICY.touch(page);
            } else {
                POLICY.in_part.fetch_or(os::advise(page, HUGE_PAGE, os::SMALL_PAGES), Relaxed);
            }
        }
    }
    Some(p)
}

/// Before pages of [`map_in_part`] serve others: those may be written as a whole.
///
/// # Safety
/// The pages are the caller's.
pub(super) unsafe fn end_part(p: NonNull<u8>, size: usize) {
    if POLICY.in_part.load(Relaxed) {
        // SAFETY: the contract.
        unsafe { os::advise(p, size, os::HUGE_PAGES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_huge_pages_are_followed_by_small_ones() {
        let policy = Policy::new();
        assert_eq!(policy.next(), (HUGE_PAGE, 0));
        for most in [LEAST, 2 * LEAST, 4 * LEAST, MOST, MOST] {
            policy.measured(SLOW + Duration::from_nanos(1));
            assert_eq!(policy.next().1, most);
            assert_eq!(policy.next().1, most - HUGE_PAGE);
        }
        policy.measured(SLOW);
        assert_eq!(policy.next(), (12 * HUGE_PAGE, 0));
        policy.measured(2 * SLOW);
        (0..8 * PART).for_each(|_| assert_ne!(policy.take_small(HUGE_PAGE / PART), 0));
        assert_eq!(policy.take_small(HUGE_PAGE / PART), 0);
    }
}
