//! The buffer of a vector: creation, growth and shrinking. For types without a size the capacity is not limited.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::mem::{size_of, ManuallyDrop};
use core::ptr::NonNull;

use crate::base::error::{unwrap_infallible, AllocError, ErrorMode};
use crate::memory::buffer::{grow_amortised, least_capacity, refused, Array, Buffer, Elements};
use crate::memory::by_layout::{CallSite, Memory};
use crate::memory::construct::Construct;

impl<'m, T, A: Memory> Buffer<Array<T>, &'m A> {
    #[inline(always)]
    pub(super) fn new(memory: &'m A) -> Self {
        // SAFETY: no element, or elements without a size.
        unsafe { Self::of(memory.dangling(), 0, memory) }
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn with_capacity(capacity: usize, memory: &'m A) -> Self {
        if size_of::<T>() == 0 || capacity == 0 {
            return Self::new(memory);
        }
        let at = unwrap_infallible(memory.reserve_slice::<T, _>(capacity, false));
        // SAFETY: new memory.
        unsafe { Self::of(at, capacity, memory) }
    }

    /// # Safety
    /// As for [`from_parts`](Buffer::from_parts), for elements with a size.
    #[inline(always)]
    pub(super) unsafe fn of(at: NonNull<T>, capacity: usize, memory: &'m A) -> Self {
        let capacity = if size_of::<T>() == 0 { usize::MAX } else { capacity };
        // SAFETY: the caller's contract.
        unsafe { Self::from_parts(at.cast(), capacity, memory) }
    }

    #[inline(always)]
    pub(super) fn at(&self) -> *mut T {
        self.at.as_ptr().cast()
    }

    /// Makes room for `more` beside the `len` that are used, and for as many again, so that `push` takes constant time.
    #[inline(always)]
    #[track_caller]
    pub(super) fn reserve<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        if self.capacity - len < more {
            self.grow_by(len, more)?;
        }
        Ok(())
    }

    /// Makes room for `more` beside the `len` that are used.
    #[inline(always)]
    #[track_caller]
    pub(super) fn reserve_exact<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        if self.capacity - len < more {
            let (needed, site) = (len.checked_add(more), CallSite::caller(false));
            if needed.is_none_or(|n| self.resize(n, site).is_err()) {
                return Err(refused::<T, E>(needed));
            }
        }
        Ok(())
    }

    /// Makes room for one more. Precondition: all of the capacity is used.
    #[inline(always)]
    #[track_caller]
    pub(super) fn grow_by_one(&mut self) {
        (self.at, self.capacity) = Self::grown_by_one(self.at, self.capacity, self.memory());
    }

    /// Takes and returns values: a collection whose address no call gets can be in registers, with its length.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn grown_by_one(at: NonNull<u8>, capacity: usize, memory: &'m A) -> (NonNull<u8>, usize) {
        // Twice as many, or the least number, is one more at least.
        match Self::grown(at, capacity, 0, memory) {
            Some(grown) => grown,
            None => Self::moved_by_one(at, capacity, memory), // not in a closure, which has no caller
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn moved_by_one(at: NonNull<u8>, capacity: usize, memory: &'m A) -> (NonNull<u8>, usize) {
        let (site, twice) = (CallSite::caller(false), capacity.saturating_mul(2).max(least_capacity(size_of::<T>())));
        if let (1.., 1.., Ok(old), Ok(layout)) =
            (size_of::<T>(), capacity, Array::<T>::layout(capacity), Array::<T>::layout(twice))
        {
            // SAFETY: an allocation of the memory with the layout `old`.
            if let Ok(at) = unsafe { memory.__resize(at, old, layout, site) } {
                return (at, twice);
            }
        }
        // SAFETY: the parts of a buffer, which gets the new ones.
        let mut this = ManuallyDrop::new(unsafe { Self::from_parts(at, capacity, memory) });
        if size_of::<T>() == 0 || capacity == 0 {
            unwrap_infallible(this.grow(capacity, 1));
        } else {
            // One more, which may be what was refused.
            let one_more = if twice > capacity + 1 { this.resize(capacity + 1, site) } else { Err(AllocError) };
            unwrap_infallible(one_more.map_err(|_| refused::<T, _>(Some(capacity + 1))));
        }
        (this.at, this.capacity)
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn grow_by<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        match Self::grown(self.at, self.capacity, len.saturating_add(more), self.memory()) {
            Some(grown) => {
                (self.at, self.capacity) = grown;
                Ok(())
            }
            None => self.move_by(len, more),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn move_by<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        self.grow(len, more)
    }

    /// Growth by inline code, to as many elements as `grow` requests: of an empty buffer, and in place. `None`: it is not
    /// possible, and nothing has changed.
    #[inline(always)]
    fn grown(at: NonNull<u8>, capacity: usize, needed: usize, memory: &'m A) -> Option<(NonNull<u8>, usize)> {
        if size_of::<T>() == 0 {
            return None;
        }
        // The present bytes fit an isize, so that twice as many fit a usize.
        let new = needed.max(2 * capacity).max(least_capacity(size_of::<T>()));
        let layout = Array::<T>::layout(new).ok()?;
        // SAFETY: an allocation of the memory for that many elements, or none.
        Some((unsafe { memory.__grow_inline(at, capacity * size_of::<T>(), layout)? }, new))
    }

    #[inline(always)]
    #[track_caller]
    fn grow<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        let (needed, least, site) = (len.checked_add(more), least_capacity(size_of::<T>()), CallSite::caller(false));
        match grow_amortised(self.capacity, needed, least, usize::MAX, |n| self.resize(n, site)) {
            Ok(()) => Ok(()),
            Err(AllocError) => Err(refused::<T, E>(needed)),
        }
    }

    /// Frees the capacity above `len`, if the memory can free it.
    #[track_caller]
    pub(super) fn shrink(&mut self, len: usize) {
        if size_of::<T>() != 0 && len < self.capacity {
            let _ = self.resize(len, CallSite::caller(false));
        }
    }

    /// Returns the `len` that are used, and frees the rest if that moves nothing.
    #[inline(always)]
    #[track_caller]
    pub(super) fn into_used(self, len: usize) -> NonNull<T> {
        if len == 0 {
            return self.memory().dangling(); // the drop frees all of it
        }
        if let (1.., Ok(used)) = (size_of::<T>(), Array::<T>::layout(len)) {
            // SAFETY: an allocation of the memory with that layout, of which `len` elements are used.
            unsafe { self.memory().__truncate(self.at, self.layout(), used) };
        }
        self.into_parts().0.cast()
    }
}
