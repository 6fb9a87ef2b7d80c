//! The memory of a collection, or of a pool: a number of elements, which grows in place where its memory allows that.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};

use crate::base::error::{AllocError, ErrorMode};
use crate::memory::by_layout::{Allocated, CallSite, Memory};

/// The elements of a buffer: what memory so many of them take.
///
/// # Safety
/// Each call for the same number returns the same. The alignment is that of all numbers whose size is not 0, and the size
/// does not decrease with the number.
pub unsafe trait Elements {
    /// # Errors
    /// No memory is as large.
    fn layout(n: usize) -> Result<Layout, AllocError>;
}

/// Adjacent elements.
#[allow(missing_debug_implementations)]
pub struct Array<T>(PhantomData<T>);

// SAFETY: as for an array of T.
unsafe impl<T> Elements for Array<T> {
    #[inline(always)]
    fn layout(n: usize) -> Result<Layout, AllocError> {
        Layout::array::<T>(n).map_err(|_| AllocError)
    }
}

/// Memory for a number of elements, in the memory `M`. The owner of a buffer knows which of them are initialised, and drops
/// these.
#[allow(missing_debug_implementations)]
pub struct Buffer<E: Elements, M: Memory> {
    pub(crate) at: NonNull<u8>,
    pub(crate) capacity: usize,
    memory: M,
    holds: PhantomData<E>,
}

// SAFETY: it owns its elements.
unsafe impl<E: Elements + Send, M: Memory + Send> Send for Buffer<E, M> {}
// SAFETY: as above; shared, it allocates nothing.
unsafe impl<E: Elements + Sync, M: Memory + Sync> Sync for Buffer<E, M> {}

impl<E: Elements, M: Memory> Buffer<E, M> {
    /// # Safety
    /// `at` is an allocation of `memory` for so many elements, which no other code uses; or so many need no memory.
    #[inline(always)]
    pub unsafe fn from_parts(at: NonNull<u8>, capacity: usize, memory: M) -> Self {
        Buffer { at, capacity, memory, holds: PhantomData }
    }

    /// Address, capacity, memory.
    #[inline(always)]
    pub(crate) fn into_parts(self) -> (NonNull<u8>, usize, M) {
        let this = ManuallyDrop::new(self);
        // SAFETY: the memory is moved out once, since this value is not dropped.
        (this.at, this.capacity, unsafe { ptr::read(&this.memory) })
    }

    /// The address of the elements.
    #[inline(always)]
    pub fn base(&self) -> NonNull<u8> {
        self.at
    }

    /// The number of elements for which there is memory.
    #[inline(always)]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The memory in which it grows.
    #[inline(always)]
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Of the capacity.
    #[inline(always)]
    pub fn layout(&self) -> Layout {
        // SAFETY: memory of that layout was allocated, or has no bytes.
        unsafe { E::layout(self.capacity).unwrap_unchecked() }
    }

    /// Increases or decreases the capacity: the elements are moved as bytes, if at all. An error changes nothing.
    pub fn resize(&mut self, capacity: usize, site: CallSite) -> Result<(), AllocError> {
        let layout = E::layout(capacity)?;
        // SAFETY: an allocation of the memory with that layout, or of size 0.
        self.at = unsafe { reallocate(&self.memory, self.at, self.layout(), layout, site)? };
        self.capacity = capacity;
        Ok(())
    }

    /// Allocates other memory for `capacity` elements, calls `copy` with its address to move the elements, and deallocates
    /// the old memory. An error changes nothing.
    pub fn replace(
        &mut self,
        capacity: usize,
        site: CallSite,
        copy: impl FnOnce(NonNull<u8>),
    ) -> Result<(), AllocError> {
        let layout = E::layout(capacity)?;
        // SAFETY: nothing is reallocated.
        let at = unsafe { reallocate(&self.memory, self.at, Layout::new::<()>(), layout, site)? };
        copy(at);
        self.deallocate();
        (self.at, self.capacity) = (at, capacity);
        Ok(())
    }

    #[inline(always)]
    fn deallocate(&mut self) {
        let layout = self.layout();
        if layout.size() != 0 {
            // SAFETY: an allocation of the memory with that layout, which is not used any more.
            unsafe { self.memory.__discard(self.at, layout) };
        }
    }
}

impl<E: Elements, M: Memory> Drop for Buffer<E, M> {
    #[inline(always)]
    fn drop(&mut self) {
        self.deallocate();
    }
}

/// The address of elements without bytes.
#[inline(always)]
pub(crate) fn dangling<M: Memory + ?Sized>(memory: &M, layout: Layout) -> NonNull<u8> {
    // SAFETY: an alignment is not 0.
    unsafe { NonNull::new_unchecked(ptr::without_provenance_mut(layout.align().max(memory.__min_align()))) }
}

/// Resizes an allocation: one function for all element types. Sizes of 0 need no allocation.
///
/// # Safety
/// `at` is an allocation of `memory` with the layout `old`, or the size of `old` is 0. Both alignments are the same, unless a
/// size is 0.
#[inline(never)]
pub unsafe fn reallocate<M: Memory>(
    memory: &M,
    at: NonNull<u8>,
    old: Layout,
    new: Layout,
    site: CallSite,
) -> Allocated {
    // SAFETY: the caller's contract.
    unsafe {
        match (old.size(), new.size()) {
            (0, 0) => Ok(dangling(memory, new)),
            (0, _) => memory.__allocate(new, site),
            (_, 0) => {
                memory.deallocate(at, old);
                Ok(dangling(memory, new))
            }
            _ => memory.__resize(at, old, new, site),
        }
    }
}

/// The least capacity that a growth requests for elements of a size, so that the first ones do not cost a growth each.
pub const fn least_capacity(size: usize) -> usize {
    match size {
        0 => 0,
        1 => 8,
        2..=1024 => 4,
        _ => 1,
    }
}

/// Calls `grow` with the new capacity: at least doubled, so that the copies take constant time for each element, and not
/// more than `most`; if that is refused, with the capacity that is needed.
#[inline(always)]
pub fn grow_amortised(
    capacity: usize,
    needed: Option<usize>,
    least: usize,
    most: usize,
    mut grow: impl FnMut(usize) -> Result<(), AllocError>,
) -> Result<(), AllocError> {
    let needed = needed.filter(|needed| *needed <= most).ok_or(AllocError)?;
    let doubled = needed.max(capacity.saturating_mul(2)).max(least).min(most);
    match grow(doubled) {
        Err(AllocError) if needed < doubled => grow(needed),
        grown => grown,
    }
}

/// The error of a growth to a number of elements.
#[track_caller]
pub(crate) fn refused<T, E: ErrorMode>(needed: Option<usize>) -> E {
    match needed.map(Layout::array::<T>) {
        Some(Ok(layout)) => E::out_of_memory(layout),
        _ => E::overflow(),
    }
}
