//! The calls that bumpalo's repository has and 3.20 lacks: construction in reserved memory, and raw checkpoints.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::mut_from_ref)] // the returned references are to new memory

use core::alloc::Layout;
use core::fmt;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;
use core::slice;

use toft::collections as native;
use toft::{Allocate, Mark, Memory};

use crate::forward::{forward_mut, forward_ref};
use crate::{AllocErr, Bump};

impl<const MIN_ALIGN: usize> Bump<MIN_ALIGN> {
    /// Reserves memory for a value, which is freed if no value is written.
    ///
    /// ```
    /// let bump = toft_bumpalo::Bump::new();
    /// assert_eq!(*bump.emplace().write(7), 7);
    /// drop(bump.emplace::<u64>());
    /// assert_eq!(bump.allocated_bytes(), 8);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn emplace<T>(&self) -> Emplace<'_, T, MIN_ALIGN> {
        Emplace { at: NonNull::from(Allocate::alloc_uninit(self)), bump: self }
    }

    /// As [`emplace`](Bump::emplace), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_emplace<T>(&self) -> Result<Emplace<'_, T, MIN_ALIGN>, AllocErr> {
        Ok(Emplace { at: NonNull::from(Allocate::try_alloc_uninit(self)?), bump: self })
    }

    /// Reserves memory for a slice that grows by calls.
    ///
    /// ```
    /// let bump = toft_bumpalo::Bump::new();
    /// let mut slice = bump.emplace_slice();
    /// slice.extend([1, 2]);
    /// slice.push(3);
    /// assert_eq!(slice.into_slice(), [1, 2, 3]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn emplace_slice<T>(&self) -> EmplaceSlice<'_, T, MIN_ALIGN> {
        self.emplace_slice_with_capacity(1)
    }

    /// As [`emplace_slice`](Bump::emplace_slice), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_emplace_slice<T>(&self) -> Result<EmplaceSlice<'_, T, MIN_ALIGN>, AllocErr> {
        self.try_emplace_slice_with_capacity(1)
    }

    /// As [`emplace_slice`](Bump::emplace_slice), with a capacity.
    #[inline(always)]
    #[track_caller]
    pub fn emplace_slice_with_capacity<T>(&self, capacity: usize) -> EmplaceSlice<'_, T, MIN_ALIGN> {
        EmplaceSlice(Allocate::vec_with_capacity(self, capacity))
    }

    /// As [`emplace_slice_with_capacity`](Bump::emplace_slice_with_capacity), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_emplace_slice_with_capacity<T>(
        &self,
        capacity: usize,
    ) -> Result<EmplaceSlice<'_, T, MIN_ALIGN>, AllocErr> {
        Ok(EmplaceSlice(Allocate::try_vec_with_capacity(self, capacity)?))
    }

    /// Reserves memory for text that grows by calls.
    ///
    /// ```
    /// let bump = toft_bumpalo::Bump::new();
    /// let mut text = bump.emplace_str();
    /// text.push_str("plot");
    /// text.push('s');
    /// assert_eq!(text.into_str(), "plots");
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn emplace_str(&self) -> EmplaceStr<'_, MIN_ALIGN> {
        self.emplace_str_with_capacity(1)
    }

    /// As [`emplace_str`](Bump::emplace_str), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_emplace_str(&self) -> Result<EmplaceStr<'_, MIN_ALIGN>, AllocErr> {
        self.try_emplace_str_with_capacity(1)
    }

    /// As [`emplace_str`](Bump::emplace_str), with a capacity in bytes.
    #[inline(always)]
    #[track_caller]
    pub fn emplace_str_with_capacity(&self, capacity: usize) -> EmplaceStr<'_, MIN_ALIGN> {
        EmplaceStr(Allocate::string_with_capacity(self, capacity))
    }

    /// As [`emplace_str_with_capacity`](Bump::emplace_str_with_capacity), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_emplace_str_with_capacity(&self, capacity: usize) -> Result<EmplaceStr<'_, MIN_ALIGN>, AllocErr> {
        Ok(EmplaceStr(Allocate::try_string_with_capacity(self, capacity)?))
    }

    /// Returns a point to reset to: a [`Mark`] of the arena.
    pub fn raw_checkpoint(&self) -> RawCheckpoint {
        RawCheckpoint(self.arena.mark())
    }

    /// Frees all that was allocated since the checkpoint.
    ///
    /// ```
    /// let bump = toft_bumpalo::Bump::new();
    /// let kept = bump.alloc('a');
    /// let checkpoint = bump.raw_checkpoint();
    /// bump.alloc('b');
    /// // SAFETY: the checkpoint is this arena's, and 'b' is not used any more.
    /// unsafe { bump.reset_to_raw_checkpoint(checkpoint) };
    /// assert_eq!((*kept, bump.allocated_bytes()), ('a', 8));
    /// ```
    ///
    /// # Panics
    /// If the checkpoint is detected to be of another arena or invalid, or while a scope of the arena is open.
    ///
    /// # Safety
    /// The checkpoint is this arena's, and was not invalidated by a reset, or by a reset to an earlier checkpoint. No
    /// allocation that was made, grown or shrunk since is used any more.
    pub unsafe fn reset_to_raw_checkpoint(&self, checkpoint: RawCheckpoint) {
        // SAFETY: the caller's contract.
        if let Err(e) = unsafe { self.arena.rewind(checkpoint.0) } {
            panic!("toft: {e}");
        }
    }
}

/// The result of [`Bump::raw_checkpoint`].
///
/// ```
/// let bump = toft_bumpalo::Bump::new();
/// let checkpoint: toft_bumpalo::RawCheckpoint = bump.raw_checkpoint();
/// // SAFETY: nothing was allocated since.
/// unsafe { bump.reset_to_raw_checkpoint(checkpoint) };
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RawCheckpoint(Mark);

/// Reserved memory for a value: [`Bump::emplace`].
///
/// ```
/// let bump = toft_bumpalo::Bump::new();
/// let slot: toft_bumpalo::Emplace<'_, u32, 1> = bump.emplace();
/// assert_eq!(*slot.write(7), 7);
/// ```
pub struct Emplace<'a, T, const MIN_ALIGN: usize> {
    at: NonNull<MaybeUninit<T>>,
    bump: &'a Bump<MIN_ALIGN>,
}

impl<'a, T, const MIN_ALIGN: usize> Emplace<'a, T, MIN_ALIGN> {
    /// Returns the memory.
    #[inline]
    pub fn as_uninit(&self) -> &MaybeUninit<T> {
        // SAFETY: this value's memory.
        unsafe { self.at.as_ref() }
    }

    /// Returns the memory, exclusively.
    #[inline]
    pub fn as_uninit_mut(&mut self) -> &mut MaybeUninit<T> {
        // SAFETY: this value's memory.
        unsafe { self.at.as_mut() }
    }

    /// Returns the value.
    ///
    /// # Safety
    /// It is initialised.
    #[inline]
    pub unsafe fn assume_init(self) -> &'a mut T {
        // SAFETY: the caller's contract.
        unsafe { self.into_uninit().assume_init_mut() }
    }

    /// Returns the memory for as long as the arena is borrowed.
    #[inline]
    pub fn into_uninit(self) -> &'a mut MaybeUninit<T> {
        // SAFETY: the memory lives while the arena is borrowed, and is not freed now.
        unsafe { ManuallyDrop::new(self).at.as_mut() }
    }

    /// Writes the value.
    #[inline]
    pub fn write(self, value: T) -> &'a mut T {
        self.into_uninit().write(value)
    }
}

impl<T, const MIN_ALIGN: usize> Drop for Emplace<'_, T, MIN_ALIGN> {
    #[inline]
    fn drop(&mut self) {
        if size_of::<T>() != 0 {
            // SAFETY: of this arena with that layout, and not used any more.
            unsafe { self.bump.deallocate(self.at.cast(), Layout::new::<T>()) }
        }
    }
}

impl<T, const MIN_ALIGN: usize> fmt::Debug for Emplace<'_, T, MIN_ALIGN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emplace").field("ptr", &self.at).finish_non_exhaustive()
    }
}

/// A slice under construction: [`Bump::emplace_slice`]. Without [`into_slice`](EmplaceSlice::into_slice) or a similar
/// call its elements are dropped and its memory is freed.
///
/// ```
/// let bump = toft_bumpalo::Bump::new();
/// let slice: toft_bumpalo::EmplaceSlice<'_, u32, 1> = bump.emplace_slice();
/// assert_eq!(slice.write_iter(0..3), [0, 1, 2]);
/// ```
#[derive(Debug)]
pub struct EmplaceSlice<'a, T, const MIN_ALIGN: usize>(native::Vec<'a, T, Bump<MIN_ALIGN>>);

#[inline(always)]
fn refused<E>(_: E) -> AllocErr {
    AllocErr
}

impl<'a, T, const MIN_ALIGN: usize> EmplaceSlice<'a, T, MIN_ALIGN> {
    /// Returns the memory of the whole capacity, initialised elements first.
    #[inline]
    pub fn as_uninit(&self) -> &[MaybeUninit<T>] {
        // SAFETY: this value's memory.
        unsafe { slice::from_raw_parts(self.0.as_ptr().cast(), self.0.capacity()) }
    }

    /// As [`as_uninit`](EmplaceSlice::as_uninit), exclusively. The initialised elements stay initialised.
    #[inline]
    pub fn as_uninit_mut(&mut self) -> &mut [MaybeUninit<T>] {
        // SAFETY: this value's memory.
        unsafe { slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.capacity()) }
    }

    /// Returns the elements.
    ///
    /// # Safety
    /// As many as [`len`](EmplaceSlice::len) are initialised.
    #[inline]
    pub unsafe fn assume_init(self) -> &'a mut [T] {
        self.into_mut_slice()
    }

    /// Returns the memory of the whole capacity for as long as the arena is borrowed.
    #[inline]
    pub fn into_uninit(self) -> &'a mut [MaybeUninit<T>] {
        let mut this = ManuallyDrop::new(self);
        let capacity = this.0.capacity();
        // SAFETY: the memory lives while the arena is borrowed, and is not freed now.
        unsafe { slice::from_raw_parts_mut(this.0.as_mut_ptr().cast(), capacity) }
    }

    forward_ref! { self, "Vec":
        fn capacity() -> usize;
        fn len() -> usize;
        fn is_empty() -> bool;
        fn as_slice() -> &[T];
    }

    forward_mut! { self, "Vec":
        fn as_mut_slice() -> &mut [T];
        fn shrink_to_fit();
        fn reserve(additional: usize);
        fn reserve_exact(additional: usize);
        fn push(element: T);
        fn extend_from_slice_copy(src: &[T]) where [T: Copy];
    }

    /// Returns the elements for as long as the arena is borrowed.
    #[inline]
    pub fn into_slice(self) -> &'a [T] {
        self.0.into_slice()
    }

    /// As [`into_slice`](EmplaceSlice::into_slice), exclusively.
    #[inline]
    pub fn into_mut_slice(self) -> &'a mut [T] {
        self.0.into_slice()
    }

    /// Frees the capacity above `new_capacity`, or above the length if that is larger, if the arena can free it.
    #[inline]
    pub fn shrink(&mut self, new_capacity: usize) {
        self.0.shrink_to(new_capacity);
    }

    /// As [`shrink`](EmplaceSlice::shrink). It does not fail.
    #[inline]
    pub fn try_shrink(&mut self, new_capacity: usize) -> Result<(), AllocErr> {
        self.shrink(new_capacity);
        Ok(())
    }

    /// As [`shrink_to_fit`](EmplaceSlice::shrink_to_fit). It does not fail.
    #[inline]
    pub fn try_shrink_to_fit(&mut self) -> Result<(), AllocErr> {
        self.shrink_to_fit();
        Ok(())
    }

    /// As [`reserve`](EmplaceSlice::reserve), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocErr> {
        self.0.try_reserve(additional).map_err(refused)
    }

    /// As [`reserve_exact`](EmplaceSlice::reserve_exact), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_reserve_exact(&mut self, additional: usize) -> Result<(), AllocErr> {
        self.0.try_reserve_exact(additional).map_err(refused)
    }

    /// Appends an element, or returns it if there is no memory.
    #[inline]
    #[track_caller]
    pub fn try_push(&mut self, element: T) -> Result<(), T> {
        if self.0.try_reserve(1).is_err() {
            return Err(element);
        }
        self.0.push(element);
        Ok(())
    }

    /// Appends the elements of an iterator.
    #[inline]
    #[track_caller]
    pub fn extend(&mut self, iter: impl IntoIterator<Item = T>) {
        self.0.extend(iter);
    }

    /// As [`extend`](EmplaceSlice::extend), with an error instead of the panic; the elements appended so far stay.
    #[inline]
    #[track_caller]
    pub fn try_extend(&mut self, iter: impl IntoIterator<Item = T>) -> Result<(), AllocErr> {
        self.0.try_extend(iter)
    }

    /// As [`extend_from_slice_copy`](EmplaceSlice::extend_from_slice_copy), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_extend_from_slice_copy(&mut self, src: &[T]) -> Result<(), AllocErr>
    where
        T: Copy,
    {
        self.try_reserve_exact(src.len())?;
        self.0.extend_from_slice_copy(src);
        Ok(())
    }

    /// Appends clones of a slice's elements.
    #[inline]
    #[track_caller]
    pub fn extend_from_slice_clone(&mut self, src: &[T])
    where
        T: Clone,
    {
        self.0.extend_from_slice(src);
    }

    /// As [`extend_from_slice_clone`](EmplaceSlice::extend_from_slice_clone), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_extend_from_slice_clone(&mut self, src: &[T]) -> Result<(), AllocErr>
    where
        T: Clone,
    {
        self.try_reserve_exact(src.len())?;
        self.0.extend_from_slice(src);
        Ok(())
    }

    /// Appends the elements of an iterator, and returns all.
    #[inline]
    #[track_caller]
    pub fn write_iter(mut self, iter: impl IntoIterator<Item = T>) -> &'a mut [T] {
        self.extend(iter);
        self.into_mut_slice()
    }

    /// As [`write_iter`](EmplaceSlice::write_iter), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_write_iter(mut self, iter: impl IntoIterator<Item = T>) -> Result<&'a mut [T], AllocErr> {
        self.try_extend(iter)?;
        Ok(self.into_mut_slice())
    }

    /// Replaces the elements by copies of a slice's, and returns them.
    #[inline]
    #[track_caller]
    pub fn copy_slice(mut self, from: &[T]) -> &'a mut [T]
    where
        T: Copy,
    {
        self.0.clear();
        self.0.reserve_exact(from.len());
        self.0.extend_from_slice_copy(from);
        self.into_mut_slice()
    }

    /// As [`copy_slice`](EmplaceSlice::copy_slice), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_copy_slice(mut self, from: &[T]) -> Result<&'a mut [T], AllocErr>
    where
        T: Copy,
    {
        self.0.clear();
        self.try_extend_from_slice_copy(from)?;
        Ok(self.into_mut_slice())
    }

    /// Replaces the elements by clones of a slice's, and returns them.
    #[inline]
    #[track_caller]
    pub fn clone_slice(mut self, from: &[T]) -> &'a mut [T]
    where
        T: Clone,
    {
        self.0.clear();
        self.0.reserve_exact(from.len());
        self.0.extend_from_slice(from);
        self.into_mut_slice()
    }

    /// As [`clone_slice`](EmplaceSlice::clone_slice), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_clone_slice(mut self, from: &[T]) -> Result<&'a mut [T], AllocErr>
    where
        T: Clone,
    {
        self.0.clear();
        self.try_extend_from_slice_clone(from)?;
        Ok(self.into_mut_slice())
    }
}

/// Text under construction: [`Bump::emplace_str`].
///
/// ```
/// let bump = toft_bumpalo::Bump::new();
/// let text: toft_bumpalo::EmplaceStr<'_, 1> = bump.emplace_str();
/// assert_eq!(text.write_str("plot"), "plot");
/// ```
#[derive(Debug)]
pub struct EmplaceStr<'a, const MIN_ALIGN: usize>(native::String<'a, Bump<MIN_ALIGN>>);

impl<'a, const MIN_ALIGN: usize> EmplaceStr<'a, MIN_ALIGN> {
    forward_ref! { self, "String":
        fn len() -> usize;
        fn is_empty() -> bool;
        fn capacity() -> usize;
        fn as_str() -> &str;
    }

    forward_mut! { self, "String":
        fn push_str(s: &str);
        fn push(c: char);
    }

    /// Returns the text, exclusively.
    #[inline]
    pub fn as_str_mut(&mut self) -> &mut str {
        self.0.as_mut_str()
    }

    /// As [`push_str`](EmplaceStr::push_str), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_push_str(&mut self, s: &str) -> Result<(), AllocErr> {
        self.0.try_push_str(s)
    }

    /// As [`push`](EmplaceStr::push), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_push(&mut self, c: char) -> Result<(), AllocErr> {
        self.try_push_str(c.encode_utf8(&mut [0; 4]))
    }

    /// Appends a string, and returns the text.
    #[inline]
    #[track_caller]
    pub fn write_str(mut self, s: &str) -> &'a mut str {
        self.push_str(s);
        self.into_str_mut()
    }

    /// As [`write_str`](EmplaceStr::write_str), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_write_str(mut self, s: &str) -> Result<&'a mut str, AllocErr> {
        self.try_push_str(s)?;
        Ok(self.into_str_mut())
    }

    /// Returns the text for as long as the arena is borrowed.
    #[inline]
    pub fn into_str(self) -> &'a str {
        self.into_str_mut()
    }

    /// As [`into_str`](EmplaceStr::into_str), exclusively.
    #[inline]
    pub fn into_str_mut(self) -> &'a mut str {
        self.0.into_str()
    }
}
