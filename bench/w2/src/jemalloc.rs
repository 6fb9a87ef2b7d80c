//! jemalloc, called as Rust programs call it: through `GlobalAlloc`.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::heap::Malloc;
use std::alloc::{GlobalAlloc, Layout};
use tikv_jemallocator::Jemalloc as Heap;

pub struct Jemalloc;

impl Malloc for Jemalloc {
    const NAME: &'static str = "jemalloc";

    #[inline(always)]
    unsafe fn take(layout: Layout) -> *mut u8 {
        // SAFETY: the same contract, here and below.
        unsafe { Heap.alloc(layout) }
    }
    #[inline(always)]
    unsafe fn give(data: *mut u8, layout: Layout) {
        unsafe { Heap.dealloc(data, layout) };
    }
    #[inline(always)]
    unsafe fn resize(data: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        unsafe { Heap.realloc(data, layout, size) }
    }
    unsafe fn usable(data: *mut u8) -> usize {
        unsafe { tikv_jemallocator::usable_size(data) }
    }
}
