//! bump-scope with its defaults (upwards, alignment 1) and downwards with alignment 8. Reset keeps its largest chunk.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::{Batch, Contender, Handle, Pushed};
use crate::loops::ten;
use crate::{push_all, push_text};
use allocator_api2::alloc::Allocator;
use bump_scope::alloc::Global;
use bump_scope::settings::BumpSettings;
use bump_scope::traits::BumpAllocatorTyped;
use bump_scope::{Bump, BumpScope, BumpString, BumpVec};
use std::alloc::Layout;
use std::ptr;

macro_rules! contender {
    ($name:ident, $shown:literal, $down:literal, $settings:ty) => {
        pub struct $name(Bump<Global, $settings>);

        impl Contender for $name {
            const NAME: &'static str = $shown;
            const DOWN: bool = $down;
            const LACKS_NESTED: Option<&'static str> = None;
            const LACKS_TEXT: Option<&'static str> = None;
            type Handle<'a> = &'a Bump<Global, $settings>;

            fn new(_batch: Batch) -> Self {
                $name(Bump::new())
            }
            fn with_batch(batch: Batch) -> Self {
                $name(Bump::with_size(batch.bytes))
            }
            #[inline(always)]
            fn handle(&mut self) -> &Bump<Global, $settings> {
                &self.0
            }
            #[inline(always)]
            unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
                self.0.reset();
            }
            #[inline(always)]
            fn nested<const CHECK: bool>(&mut self, slots: &mut [*mut u8; 10], tag: u8) -> bool {
                self.0.scoped(|inner| ten::<_, [u64; 8], CHECK>(&mut &*inner, slots, tag))
            }
        }

        impl Handle for &BumpScope<'_, Global, $settings> {
            #[inline(always)]
            fn take<T: 'static>(&mut self) -> *mut T {
                self.alloc_uninit::<T>().into_raw().as_ptr().cast()
            }
        }

        impl Handle for &Bump<Global, $settings> {
            #[inline(always)]
            fn take<T: 'static>(&mut self) -> *mut T {
                self.alloc_uninit::<T>().into_raw().as_ptr().cast()
            }
            #[inline(always)]
            fn take_slice<T: 'static>(&mut self, len: usize) -> *mut T {
                self.alloc_uninit_slice::<T>(len).into_raw().as_ptr().cast()
            }
            #[inline(always)]
            fn take_str(&mut self, text: &str) -> *mut u8 {
                self.alloc_str(text).into_mut().as_mut_ptr()
            }
            #[inline(always)]
            fn take_layout(&mut self, layout: Layout) -> *mut u8 {
                self.allocate_layout(layout).as_ptr()
            }
            #[inline(always)]
            fn allocate(&mut self, layout: Layout) -> *mut u8 {
                Allocator::allocate(self, layout).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
            }
            fn push_all(&mut self, count: u64) -> Pushed {
                push_all!(BumpVec::new_in(*self), count, into_slice)
            }
            fn push_text(&mut self, count: u64) -> Pushed<u8> {
                push_text!(BumpString::new_in(*self), count, into_str)
            }
        }
    };
}

contender!(BumpScopeUp, "bump-scope up/1", false, BumpSettings);
contender!(BumpScopeDown, "bump-scope down/8", true, BumpSettings<8, false>);
