//! multitude. Its chunks have at most 64 KiB, and `with_capacity` fills its cache of them; reset keeps them there. It
//! has layouts only through `Allocator`, and counts those blocks: each must be deallocated, or its chunk is kept.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::{Batch, Contender, Handle, Need, Pushed};
use crate::{push_all, push_text, take_by_name};
use allocator_api2::alloc::Allocator;
use multitude::Arena;
use std::alloc::Layout;
use std::ptr::{self, NonNull};

pub struct Multitude(Arena);

impl Contender for Multitude {
    const NAME: &'static str = "multitude";
    const ONE_BLOCK: bool = false;
    const LACKS_TEXT: Option<&'static str> = None;
    type Handle<'a> = &'a Arena;

    fn lacks(need: Need) -> Option<&'static str> {
        (need == Need::Layout).then_some("takes a layout by Allocator only")
    }
    fn new(_batch: Batch) -> Self {
        Multitude(Arena::new())
    }
    fn with_batch(batch: Batch) -> Self {
        Multitude(Arena::builder().with_capacity(batch.bytes).build())
    }
    #[inline(always)]
    fn handle(&mut self) -> &Arena {
        &self.0
    }
    #[inline(always)]
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
        self.0.reset();
    }
    unsafe fn reset_allocated(&mut self, taken: impl Iterator<Item = (*mut u8, Layout)>) {
        for (data, layout) in taken {
            // SAFETY: each was allocated by this arena, and is freed once.
            unsafe { Allocator::deallocate(&&self.0, NonNull::new_unchecked(data), layout) };
        }
        self.0.reset();
    }
}

impl Handle for &Arena {
    #[inline(always)]
    fn take<T: 'static>(&mut self) -> *mut T {
        self.alloc_uninit::<T>().as_mut_ptr()
    }
    #[inline(always)]
    fn take_slice<T: 'static>(&mut self, len: usize) -> *mut T {
        self.alloc_uninit_slice::<T>(len).as_mut_ptr().cast()
    }
    take_by_name!();
    fn push_all(&mut self, count: u64) -> Pushed {
        push_all!(self.alloc_vec(), count, leak)
    }
    fn push_text(&mut self, count: u64) -> Pushed<u8> {
        push_text!(self.alloc_string(), count, leak)
    }
}
