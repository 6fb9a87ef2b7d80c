//! Heaps: each allocation is freed, in the order of allocation. They are called directly; none is the global allocator.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::{Batch, Contender, Handle, Pushed};
use crate::loops::ten;
use crate::push_all;
use allocator_api2::alloc::{AllocError, Allocator};
use allocator_api2::vec::Vec;
use std::alloc::Layout;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// The functions of a heap.
pub trait Malloc: 'static {
    const NAME: &'static str;
    /// # Safety
    /// The layout is not empty.
    unsafe fn take(layout: Layout) -> *mut u8;
    /// # Safety
    /// `data` is live, of that layout.
    unsafe fn give(data: *mut u8, layout: Layout);
    /// # Safety
    /// `data` is live, of that layout; it stays live if the result is null.
    unsafe fn resize(data: *mut u8, layout: Layout, size: usize) -> *mut u8;
    /// # Safety
    /// `data` is live.
    unsafe fn usable(data: *mut u8) -> usize;
}

pub struct Heap<M>(PhantomData<M>);

/// The handle of a heap, which holds nothing.
pub struct HeapHandle<M>(PhantomData<M>);

impl<M> Clone for HeapHandle<M> {
    fn clone(&self) -> Self {
        HeapHandle(PhantomData)
    }
}

impl<M: Malloc> Contender for Heap<M> {
    const NAME: &'static str = M::NAME;
    const LACKS_EMPTY: Option<&'static str> = Some("frees each: an empty frame is nothing");
    const LACKS_NESTED: Option<&'static str> = None;
    const LACKS_HERE: Option<&'static str> = None;
    type Handle<'a> = HeapHandle<M>;

    fn new(_batch: Batch) -> Self {
        Heap(PhantomData)
    }
    fn with_batch(_batch: Batch) -> Self {
        Heap(PhantomData)
    }
    #[inline(always)]
    fn handle(&mut self) -> HeapHandle<M> {
        HeapHandle(PhantomData)
    }
    #[inline(always)]
    unsafe fn reset(&mut self, taken: impl Iterator<Item = (*mut u8, Layout)>) {
        for (data, layout) in taken {
            // SAFETY: allocated here with that layout, and not used again.
            unsafe { M::give(data, layout) };
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
        // SAFETY: the same contract.
        Some(unsafe { M::usable(data) })
    }
}

impl<M: Malloc> Handle for HeapHandle<M> {
    #[inline(always)]
    fn take<T: 'static>(&mut self) -> *mut T {
        self.take_layout(Layout::new::<T>()).cast()
    }
    #[inline(always)]
    fn take_str(&mut self, text: &str) -> *mut u8 {
        let Ok(layout) = Layout::array::<u8>(text.len()) else { return ptr::null_mut() };
        let data = self.take_layout(layout);
        if !data.is_null() {
            // SAFETY: the bytes were just allocated.
            unsafe { ptr::copy_nonoverlapping(text.as_ptr(), data, text.len()) };
        }
        data
    }
    #[inline(always)]
    fn take_layout(&mut self, layout: Layout) -> *mut u8 {
        // SAFETY: no case has an empty layout.
        unsafe { M::take(layout) }
    }
    #[inline(always)]
    fn allocate(&mut self, layout: Layout) -> *mut u8 {
        Allocator::allocate(self, layout).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
    }
    fn push_all(&mut self, count: u64) -> Pushed {
        push_all!(Vec::new_in(self.clone()), count, leak)
    }
}

// SAFETY: a heap's blocks stay valid until they are freed, through any handle.
unsafe impl<M: Malloc> Allocator for HeapHandle<M> {
    #[inline(always)]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: no case has an empty layout.
        let data = NonNull::new(unsafe { M::take(layout) }).ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(data, layout.size()))
    }
    #[inline(always)]
    unsafe fn deallocate(&self, data: NonNull<u8>, layout: Layout) {
        // SAFETY: the same contract.
        unsafe { M::give(data.as_ptr(), layout) };
    }
    #[inline(always)]
    unsafe fn grow(&self, data: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the same contract; the cases' vectors keep their alignment.
        let data = NonNull::new(unsafe { M::resize(data.as_ptr(), old, new.size()) }).ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(data, new.size()))
    }
}
