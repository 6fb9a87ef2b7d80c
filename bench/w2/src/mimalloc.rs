//! mimalloc, called as Rust programs call it: through `GlobalAlloc`.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::heap::Malloc;
use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};

pub struct Mimalloc;

impl Malloc for Mimalloc {
    const NAME: &'static str = "mimalloc";

    #[inline(always)]
    unsafe fn take(layout: Layout) -> *mut u8 {
        // SAFETY: the same contract, here and below.
        unsafe { MiMalloc.alloc(layout) }
    }
    #[inline(always)]
    unsafe fn give(data: *mut u8, layout: Layout) {
        unsafe { MiMalloc.dealloc(data, layout) };
    }
    #[inline(always)]
    unsafe fn resize(data: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        unsafe { MiMalloc.realloc(data, layout, size) }
    }
    unsafe fn usable(data: *mut u8) -> usize {
        unsafe { MiMalloc.usable_size(data) }
    }
}
