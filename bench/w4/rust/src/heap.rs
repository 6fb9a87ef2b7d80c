//! The global allocator: the system's, with counters that can be switched on. They are off while times are measured:
//! then each call costs one branch on one word.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

pub struct Heap;

static COUNTS: AtomicBool = AtomicBool::new(false);
static ALLOCS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);

/// Totals of the periods with counting.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub allocs: u64,
    pub bytes: u64,
    freed: u64,
}

impl Counts {
    pub fn now() -> Counts {
        Counts { allocs: ALLOCS.load(Relaxed), bytes: BYTES.load(Relaxed), freed: FREED.load(Relaxed) }
    }

    pub fn since(self, before: Counts) -> Counts {
        Counts {
            allocs: self.allocs - before.allocs,
            bytes: self.bytes - before.bytes,
            freed: self.freed - before.freed,
        }
    }

    /// Bytes that were allocated and not freed.
    pub fn held(self) -> u64 {
        self.bytes.saturating_sub(self.freed)
    }
}

/// Counts what `f` allocates.
pub fn watch<R>(f: impl FnOnce() -> R) -> (R, Counts) {
    let before = Counts::now();
    COUNTS.store(true, Relaxed);
    let result = f();
    COUNTS.store(false, Relaxed);
    (result, Counts::now().since(before))
}

#[cold]
fn count(allocated: usize, freed: usize) {
    ALLOCS.fetch_add(u64::from(allocated != 0), Relaxed);
    BYTES.fetch_add(allocated as u64, Relaxed);
    FREED.fetch_add(freed as u64, Relaxed);
}

// SAFETY: the system's own.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTS.load(Relaxed) {
            count(layout.size(), 0);
        }
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if COUNTS.load(Relaxed) {
            count(layout.size(), 0);
        }
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        if COUNTS.load(Relaxed) {
            count(0, layout.size());
        }
        unsafe { System.dealloc(p, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if COUNTS.load(Relaxed) {
            count(size, layout.size());
        }
        unsafe { System.realloc(p, layout, size) }
    }
}
