//! snmalloc, called as Rust programs call it: through `GlobalAlloc`.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::heap::Malloc;
use snmalloc_rs::SnMalloc;
use std::alloc::{GlobalAlloc, Layout};

pub struct Snmalloc;

impl Malloc for Snmalloc {
    const NAME: &'static str = "snmalloc";

    #[inline(always)]
    unsafe fn take(layout: Layout) -> *mut u8 {
        // SAFETY: the same contract, here and below.
        unsafe { SnMalloc.alloc(layout) }
    }
    #[inline(always)]
    unsafe fn give(data: *mut u8, layout: Layout) {
        unsafe { SnMalloc.dealloc(data, layout) };
    }
    #[inline(always)]
    unsafe fn resize(data: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        unsafe { SnMalloc.realloc(data, layout, size) }
    }
    unsafe fn usable(data: *mut u8) -> usize {
        SnMalloc.usable_size(data).unwrap_or(0)
    }
}
