//! bumpalo, with its default alignment of 1 and with 8. Reset keeps its newest chunk.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::{Batch, Contender, Handle, Pushed};
use crate::{push_all, push_text, take_by_name};
use allocator_api2::alloc::Allocator;
use bumpalo::Bump;
use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::ptr;

pub struct Bumpalo<const MIN_ALIGN: usize>(Bump<MIN_ALIGN>);

impl<const MIN_ALIGN: usize> Contender for Bumpalo<MIN_ALIGN> {
    const NAME: &'static str = if MIN_ALIGN == 1 { "bumpalo" } else { "bumpalo<8>" };
    const DOWN: bool = true;
    const LACKS_TEXT: Option<&'static str> =
        if MIN_ALIGN == 1 { None } else { Some("its own string requires the default alignment") };
    type Handle<'a> = &'a Bump<MIN_ALIGN>;

    fn new(_batch: Batch) -> Self {
        Bumpalo(Bump::with_min_align())
    }
    fn with_batch(batch: Batch) -> Self {
        Bumpalo(Bump::with_min_align_and_capacity(batch.bytes))
    }
    #[inline(always)]
    fn handle(&mut self) -> &Bump<MIN_ALIGN> {
        &self.0
    }
    #[inline(always)]
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
        self.0.reset();
    }
}

impl<const MIN_ALIGN: usize> Handle for &Bump<MIN_ALIGN> {
    #[inline(always)]
    fn take<T: 'static>(&mut self) -> *mut T {
        self.alloc_with(MaybeUninit::<T>::uninit).as_mut_ptr()
    }
    take_by_name!(take_layout);
    /// Its own vector requires the default alignment.
    fn push_all(&mut self, count: u64) -> Pushed {
        if MIN_ALIGN == 1 {
            return push_all!(
                bumpalo::collections::Vec::new_in(with_default_alignment(self)),
                count,
                into_bump_slice_mut
            );
        }
        push_all!(allocator_api2::vec::Vec::new_in(*self), count, leak)
    }
    fn push_text(&mut self, count: u64) -> Pushed<u8> {
        push_text!(bumpalo::collections::String::new_in(with_default_alignment(self)), count, into_bump_str)
    }
}

fn with_default_alignment<const MIN_ALIGN: usize>(bump: &Bump<MIN_ALIGN>) -> &Bump {
    assert_eq!(MIN_ALIGN, 1);
    // SAFETY: it is the same type.
    unsafe { &*ptr::from_ref(bump).cast() }
}
