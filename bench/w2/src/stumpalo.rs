//! stumpalo. Reset keeps all chunks.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::{Batch, Contender, Handle, Pushed};
use crate::loops::ten;
use crate::{push_all, take_by_name};
use allocator_api2_04::alloc::Allocator;
use allocator_api2_04::vec::Vec;
use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::ptr;
use stumpalo::{Arena, ArenaRef};

pub struct Stumpalo(Arena);

impl Contender for Stumpalo {
    const NAME: &'static str = "stumpalo";
    const DOWN: bool = true;
    const LACKS_NESTED: Option<&'static str> = None;
    type Handle<'a> = &'a Arena;

    fn new(_batch: Batch) -> Self {
        Stumpalo(Arena::new())
    }
    fn with_batch(batch: Batch) -> Self {
        Stumpalo(Arena::with_capacity(batch.bytes))
    }
    #[inline(always)]
    fn handle(&mut self) -> &Arena {
        &self.0
    }
    #[inline(always)]
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
        self.0.clear();
    }
    #[inline(always)]
    fn nested<const CHECK: bool>(&mut self, slots: &mut [*mut u8; 10], tag: u8) -> bool {
        self.0.with_scope(|inner| ten::<_, [u64; 8], CHECK>(&mut &*inner, slots, tag))
    }
}

impl Handle for &ArenaRef<'_> {
    #[inline(always)]
    fn take<T: 'static>(&mut self) -> *mut T {
        self.alloc_with(MaybeUninit::<T>::uninit).as_mut_ptr()
    }
}

impl Handle for &Arena {
    #[inline(always)]
    fn take<T: 'static>(&mut self) -> *mut T {
        self.alloc_with(MaybeUninit::<T>::uninit).as_mut_ptr()
    }
    take_by_name!(take_layout);
    fn push_all(&mut self, count: u64) -> Pushed {
        push_all!(Vec::new_in(*self), count, leak)
    }
}
