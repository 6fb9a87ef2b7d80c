//! blink-alloc. Reset keeps its newest chunk.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::{Batch, Contender, Handle, Pushed};
use crate::push_all;
use allocator_api2_04::alloc::Allocator;
use allocator_api2_04::vec::Vec;
use blink_alloc::Blink;
use std::alloc::Layout;
use std::ptr;

pub struct BlinkAlloc(Blink);

impl Contender for BlinkAlloc {
    const NAME: &'static str = "blink-alloc";
    type Handle<'a> = &'a Blink;

    fn new(_batch: Batch) -> Self {
        BlinkAlloc(Blink::new())
    }
    fn with_batch(batch: Batch) -> Self {
        BlinkAlloc(Blink::with_chunk_size(batch.bytes))
    }
    #[inline(always)]
    fn handle(&mut self) -> &Blink {
        &self.0
    }
    #[inline(always)]
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
        self.0.reset();
    }
}

impl Handle for &Blink {
    #[inline(always)]
    fn take<T: 'static>(&mut self) -> *mut T {
        self.uninit::<T>().as_mut_ptr()
    }
    #[inline(always)]
    fn take_str(&mut self, text: &str) -> *mut u8 {
        self.copy_str(text).as_mut_ptr()
    }
    #[inline(always)]
    fn take_layout(&mut self, layout: Layout) -> *mut u8 {
        self.allocator().allocate(layout).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
    }
    #[inline(always)]
    fn allocate(&mut self, layout: Layout) -> *mut u8 {
        Allocator::allocate(&self.allocator(), layout).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
    }
    fn push_all(&mut self, count: u64) -> Pushed {
        push_all!(Vec::new_in(self.allocator()), count, leak)
    }
}
