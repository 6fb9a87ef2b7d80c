//! Toft's arena, its register-cursor mode, and its packed strings.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::{Batch, Contender, Handle, Need, Pushed};
use crate::loops::ten;
use crate::{push_all, push_text, take_by_name};
use allocator_api2::alloc::Allocator;
use std::alloc::Layout;
use std::ptr;
use toft::{Arena, Options};

pub fn arena_with(batch: Batch) -> Arena {
    Options::new().reserve(batch.bytes).create().expect("memory for the arena")
}

pub struct Toft(Arena);

impl Contender for Toft {
    const NAME: &'static str = "toft";
    const LACKS_NESTED: Option<&'static str> = None;
    const LACKS_TEXT: Option<&'static str> = None;
    type Handle<'a> = &'a Arena;

    fn new(_batch: Batch) -> Self {
        Toft(Arena::new())
    }
    fn with_batch(batch: Batch) -> Self {
        Toft(arena_with(batch))
    }
    #[inline(always)]
    fn handle(&mut self) -> &Arena {
        &self.0
    }
    #[inline(always)]
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
        self.0.reset();
    }
    #[inline(always)]
    fn nested<const CHECK: bool>(&mut self, slots: &mut [*mut u8; 10], tag: u8) -> bool {
        self.0.scope_mut(|inner| ten::<_, [u64; 8], CHECK>(&mut &*inner, slots, tag))
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
    take_by_name!(take_layout);
    fn push_all(&mut self, count: u64) -> Pushed {
        push_all!(self.vec(), count, into_slice)
    }
    fn push_text(&mut self, count: u64) -> Pushed<u8> {
        push_text!(self.string(), count, into_str)
    }
}

pub struct ToftCursor(Arena);

impl Contender for ToftCursor {
    const NAME: &'static str = "toft cursor";
    type Handle<'a> = toft::Cursor<'a>;

    fn lacks(need: Need) -> Option<&'static str> {
        (!matches!(need, Need::Typed | Need::Mixed | Need::Lifetime)).then_some("a cursor in registers takes values")
    }
    fn new(_batch: Batch) -> Self {
        ToftCursor(Arena::new())
    }
    fn with_batch(batch: Batch) -> Self {
        ToftCursor(arena_with(batch))
    }
    #[inline(always)]
    fn handle(&mut self) -> toft::Cursor<'_> {
        self.0.cursor()
    }
    #[inline(always)]
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
        self.0.reset();
    }
}

impl Handle for toft::Cursor<'_> {
    #[inline(always)]
    fn take<T: 'static>(&mut self) -> *mut T {
        self.alloc_uninit::<T>().as_mut_ptr()
    }
}

pub struct ToftPack(Arena);

impl Contender for ToftPack {
    const NAME: &'static str = "toft pack";
    const LACKS_EMPTY: Option<&'static str> = Some("packs strings");
    type Handle<'a> = toft::Pack<'a>;

    fn lacks(need: Need) -> Option<&'static str> {
        (need != Need::Str).then_some("packs strings")
    }
    fn new(_batch: Batch) -> Self {
        ToftPack(Arena::new())
    }
    fn with_batch(batch: Batch) -> Self {
        ToftPack(arena_with(batch))
    }
    #[inline(always)]
    fn handle(&mut self) -> toft::Pack<'_> {
        self.0.pack()
    }
    #[inline(always)]
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
        self.0.reset();
    }
}

impl Handle for toft::Pack<'_> {
    fn take<T: 'static>(&mut self) -> *mut T {
        unreachable!()
    }
    #[inline(always)]
    fn take_str(&mut self, text: &str) -> *mut u8 {
        self.alloc_str(text).as_mut_ptr()
    }
}
