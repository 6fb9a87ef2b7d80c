//! Rust's `Box`, and the other types that use the global allocator, which is the C library's.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::{Batch, Contender, Handle, Pushed};
use crate::loops::ten;
use crate::{push_all, push_text};
use allocator_api2::alloc::{Allocator, Global};
use std::alloc::Layout;
use std::ptr;

pub struct Boxed;

impl Contender for Boxed {
    const NAME: &'static str = "Box";
    const LACKS_EMPTY: Option<&'static str> = Some("frees each: an empty frame is nothing");
    const LACKS_NESTED: Option<&'static str> = None;
    const LACKS_HERE: Option<&'static str> = None;
    const LACKS_TEXT: Option<&'static str> = None;
    type Handle<'a> = Boxed;

    fn new(_batch: Batch) -> Self {
        Boxed
    }
    fn with_batch(_batch: Batch) -> Self {
        Boxed
    }
    #[inline(always)]
    fn handle(&mut self) -> Boxed {
        Boxed
    }
    /// The deallocations of dropped boxes.
    #[inline(always)]
    unsafe fn reset(&mut self, taken: impl Iterator<Item = (*mut u8, Layout)>) {
        for (data, layout) in taken {
            // SAFETY: allocated by the global allocator with that layout, and not used again.
            unsafe { std::alloc::dealloc(data, layout) };
        }
    }
    #[inline(always)]
    unsafe fn end(mut self, taken: impl Iterator<Item = (*mut u8, Layout)>) {
        // SAFETY: the same contract.
        unsafe { self.reset(taken) };
    }
    #[inline(always)]
    fn nested<const CHECK: bool>(&mut self, slots: &mut [*mut u8; 10], tag: u8) -> bool {
        let good = ten::<_, [u64; 8], CHECK>(&mut self.handle(), slots, tag);
        // SAFETY: just allocated, each once; a null ends the measurement.
        unsafe { self.reset(slots.iter().map(|&data| (data, Layout::new::<[u64; 8]>()))) };
        good
    }
    #[inline(always)]
    fn here<T: 'static>(&mut self) -> *mut T {
        self.handle().take()
    }
    unsafe fn occupied(data: *mut u8) -> Option<usize> {
        // SAFETY: the global allocator is the C library's.
        Some(unsafe { libc::malloc_usable_size(data.cast()) })
    }
}

impl Handle for Boxed {
    #[inline(always)]
    fn take<T: 'static>(&mut self) -> *mut T {
        Box::into_raw(Box::<T>::new_uninit()).cast()
    }
    #[inline(always)]
    fn take_slice<T: 'static>(&mut self, len: usize) -> *mut T {
        Box::into_raw(Box::<[T]>::new_uninit_slice(len)).cast()
    }
    #[inline(always)]
    fn take_str(&mut self, text: &str) -> *mut u8 {
        Box::into_raw(Box::<str>::from(text)).cast()
    }
    #[inline(always)]
    fn take_layout(&mut self, layout: Layout) -> *mut u8 {
        // SAFETY: no case has an empty layout.
        unsafe { std::alloc::alloc(layout) }
    }
    #[inline(always)]
    fn allocate(&mut self, layout: Layout) -> *mut u8 {
        Allocator::allocate(&Global, layout).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
    }
    fn push_all(&mut self, count: u64) -> Pushed {
        push_all!(Vec::new(), count, leak)
    }
    fn push_text(&mut self, count: u64) -> Pushed<u8> {
        push_text!(String::new(), count, leak)
    }
}
