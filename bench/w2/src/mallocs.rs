//! Mallocs, called as Rust programs call them: through `GlobalAlloc`.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::heap::Malloc;
use std::alloc::{GlobalAlloc, Layout};

macro_rules! malloc {
    ($feature:literal, $name:ident, $heap:expr, $usable:expr) => {
        #[cfg(feature = $feature)]
        pub struct $name;

        #[cfg(feature = $feature)]
        impl Malloc for $name {
            const NAME: &'static str = $feature;

            #[inline(always)]
            unsafe fn take(layout: Layout) -> *mut u8 {
                // SAFETY: the same contract, here and below.
                unsafe { $heap.alloc(layout) }
            }
            #[inline(always)]
            unsafe fn give(data: *mut u8, layout: Layout) {
                unsafe { $heap.dealloc(data, layout) };
            }
            #[inline(always)]
            unsafe fn resize(data: *mut u8, layout: Layout, size: usize) -> *mut u8 {
                unsafe { $heap.realloc(data, layout, size) }
            }
            #[allow(unused_unsafe)] // snmalloc's is safe
            unsafe fn usable(data: *mut u8) -> usize {
                unsafe { $usable(data) }
            }
        }
    };
}

malloc!("jemalloc", Jemalloc, tikv_jemallocator::Jemalloc, tikv_jemallocator::usable_size);
malloc!("mimalloc", Mimalloc, mimalloc::MiMalloc, |data| mimalloc::MiMalloc.usable_size(data));
malloc!("snmalloc", Snmalloc, snmalloc_rs::SnMalloc, |data| snmalloc_rs::SnMalloc.usable_size(data).unwrap_or(0));
