//! The C library's malloc and free (glibc's on Linux), called as C does.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::heap::Malloc;
use std::alloc::Layout;
use std::ptr;

/// The alignment of malloc on 64-bit systems.
pub const ALIGNED: usize = 16;

pub struct Glibc;

impl Malloc for Glibc {
    const NAME: &'static str = "malloc";

    #[inline(always)]
    unsafe fn take(layout: Layout) -> *mut u8 {
        // SAFETY: any size and any power of two are valid.
        unsafe {
            if layout.align() <= ALIGNED {
                libc::malloc(layout.size()).cast()
            } else {
                let mut data = ptr::null_mut();
                libc::posix_memalign(&mut data, layout.align(), layout.size());
                data.cast()
            }
        }
    }
    #[inline(always)]
    unsafe fn give(data: *mut u8, _layout: Layout) {
        // SAFETY: the same contract.
        unsafe { libc::free(data.cast()) };
    }
    #[inline(always)]
    unsafe fn resize(data: *mut u8, _layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the same contract.
        unsafe { libc::realloc(data.cast(), size).cast() }
    }
    unsafe fn usable(data: *mut u8) -> usize {
        // SAFETY: the same contract.
        unsafe { libc::malloc_usable_size(data.cast()) }
    }
}
