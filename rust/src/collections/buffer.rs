//! The memory of a collection: an array of unused elements, which grows in place where its memory allows that.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem::{align_of, size_of, ManuallyDrop};
use core::ptr::NonNull;

use crate::construct::Construct;
use crate::error::{unwrap_infallible, AllocError, ErrorMode};
use crate::memory::{Allocated, Memory};

/// Capacity for `capacity` of T at `at`. For types without a size it is not limited.
pub struct Buffer<'m, T, A: Memory> {
    at: NonNull<T>,
    capacity: usize,
    memory: &'m A,
    holds: PhantomData<T>,
}

// SAFETY: it owns its elements; the memory may be used by the other thread if a reference to it may be sent.
unsafe impl<T: Send, A: Memory + Sync> Send for Buffer<'_, T, A> {}
// SAFETY: as above; shared, it allocates nothing.
unsafe impl<T: Sync, A: Memory + Sync> Sync for Buffer<'_, T, A> {}

impl<'m, T, A: Memory> Buffer<'m, T, A> {
    const NO_CAPACITY: usize = if size_of::<T>() == 0 { usize::MAX } else { 0 };

    /// The least capacity that a growth requests, so that the first elements do not cost a growth each.
    const LEAST: usize = match size_of::<T>() {
        0 => 0,
        1 => 8,
        2..=1024 => 4,
        _ => 1,
    };

    #[inline(always)]
    pub fn new(memory: &'m A) -> Self {
        Buffer { at: memory.dangling(), capacity: Self::NO_CAPACITY, memory, holds: PhantomData }
    }

    #[inline(always)]
    #[track_caller]
    pub fn with_capacity(capacity: usize, memory: &'m A) -> Self {
        if size_of::<T>() == 0 || capacity == 0 {
            return Self::new(memory);
        }
        let at = unwrap_infallible(memory.reserve_slice::<T, _>(capacity, false));
        Buffer { at, capacity, memory, holds: PhantomData }
    }

    /// # Safety
    /// [`into_parts`](Buffer::into_parts) returned them; or `at` is an allocation of `memory` with this capacity, which
    /// no other code uses.
    #[inline(always)]
    pub unsafe fn from_parts(at: NonNull<T>, capacity: usize, memory: &'m A) -> Self {
        Buffer { at, capacity: if size_of::<T>() == 0 { usize::MAX } else { capacity }, memory, holds: PhantomData }
    }

    #[inline(always)]
    pub fn into_parts(self) -> (NonNull<T>, usize, &'m A) {
        let this = ManuallyDrop::new(self);
        (this.at, this.capacity, this.memory)
    }

    #[inline(always)]
    pub fn at(&self) -> *mut T {
        self.at.as_ptr()
    }

    #[inline(always)]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    #[inline(always)]
    pub fn memory(&self) -> &'m A {
        self.memory
    }

    /// Of `n` elements. Precondition: they were allocated, so the size fits an `isize`.
    #[inline(always)]
    fn layout(n: usize) -> Layout {
        let size = if size_of::<T>() == 0 { 0 } else { n * size_of::<T>() };
        // SAFETY: the precondition.
        unsafe { Layout::from_size_align_unchecked(size, align_of::<T>()) }
    }

    // ---- growth ----

    /// Makes room for `more` beside the `len` that are used, and for as many again, so that `push` takes constant time.
    #[inline(always)]
    #[track_caller]
    pub fn reserve<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        if self.capacity - len < more {
            self.grow_by(len, more)?;
        }
        Ok(())
    }

    /// Makes room for `more` beside the `len` that are used.
    #[inline(always)]
    #[track_caller]
    pub fn reserve_exact<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        if self.capacity - len < more {
            let Some(need) = len.checked_add(more) else { return Err(E::overflow()) };
            self.grow_to(need)?;
        }
        Ok(())
    }

    /// Makes room for one more. Precondition: all of the capacity is used.
    #[inline(always)]
    #[track_caller]
    pub fn grow_by_one(&mut self) {
        (self.at, self.capacity) = Self::grown_by_one(self.at, self.capacity, self.memory);
    }

    /// Takes and returns values: a collection whose address no call gets can be in registers, with its length.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn grown_by_one(at: NonNull<T>, capacity: usize, memory: &'m A) -> (NonNull<T>, usize) {
        let mut this = ManuallyDrop::new(Buffer { at, capacity, memory, holds: PhantomData });
        unwrap_infallible(this.grow(capacity, 1));
        (this.at, this.capacity)
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn grow_by<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        self.grow(len, more)
    }

    /// Doubles the capacity; if that is refused, requests only what is needed.
    #[inline(always)]
    #[track_caller]
    fn grow<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        let Some(need) = len.checked_add(more) else { return Err(E::overflow()) };
        let doubled = need.max(self.capacity.saturating_mul(2)).max(Self::LEAST);
        match self.grow_to::<AllocError>(doubled) {
            Ok(()) => Ok(()),
            Err(AllocError) => self.grow_to(need),
        }
    }

    /// Precondition: `capacity` is above the present one, and T has a size.
    #[inline]
    #[track_caller]
    fn grow_to<E: ErrorMode>(&mut self, capacity: usize) -> Result<(), E> {
        let Ok(layout) = Layout::array::<T>(capacity) else { return Err(E::overflow()) };
        // SAFETY: an allocation of the memory with that layout, or of size 0.
        let at = unsafe { reallocate(self.memory, self.at.cast(), Self::layout(self.capacity), layout) };
        self.at = at.map_err(|AllocError| E::out_of_memory(layout))?.cast();
        self.capacity = capacity;
        Ok(())
    }

    // ---- shrinking ----

    /// Frees the capacity above `len`, if the memory can free it.
    #[track_caller]
    pub fn shrink(&mut self, len: usize) {
        if size_of::<T>() == 0 || len >= self.capacity {
            return;
        }
        if len == 0 {
            self.deallocate();
            (self.at, self.capacity) = (self.memory.dangling(), 0);
            return;
        }
        // SAFETY: an allocation of the memory with that layout. A failure changes nothing.
        if let Ok(at) = unsafe { self.memory.shrink(self.at.cast(), Self::layout(self.capacity), Self::layout(len)) } {
            (self.at, self.capacity) = (at.cast(), len);
        }
    }

    /// Returns the `len` that are used, and frees the rest if that moves nothing.
    #[inline(always)]
    #[track_caller]
    pub fn into_used(self, len: usize) -> NonNull<T> {
        if len == 0 {
            return self.memory.dangling(); // the drop frees all of it
        }
        if size_of::<T>() != 0 {
            // SAFETY: an allocation of the memory with that layout.
            unsafe { self.memory.__truncate(self.at.cast(), Self::layout(self.capacity), Self::layout(len)) };
        }
        self.into_parts().0
    }

    #[inline(always)]
    fn deallocate(&mut self) {
        let layout = Self::layout(self.capacity);
        if layout.size() != 0 {
            // SAFETY: an allocation of the memory with that layout, which is not used any more.
            unsafe { self.memory.__discard(self.at.cast(), layout) };
        }
    }
}

impl<T, A: Memory> Drop for Buffer<'_, T, A> {
    #[inline(always)]
    fn drop(&mut self) {
        self.deallocate();
    }
}

/// One function for all element types.
///
/// # Safety
/// `at` is an allocation of `memory` with the layout `old`, or the size of `old` is 0.
#[inline(never)]
#[track_caller]
unsafe fn reallocate<A: Memory>(memory: &A, at: NonNull<u8>, old: Layout, new: Layout) -> Allocated {
    if old.size() == 0 {
        return memory.allocate(new);
    }
    // SAFETY: the caller's contract.
    unsafe { memory.grow(at, old, new) }
}
