//! The allocating calls under bumpalo's names. Their bodies are those of [`Allocate`].
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::mut_from_ref)] // the returned references are to new memory

use core::alloc::Layout;
use core::ptr::NonNull;

use toft::{__CallSite as CallSite, Allocate, Memory};

use crate::{AllocErr, AllocOrInitError, Bump};

// SAFETY: the arena's own memory; a larger alignment than the requested one meets the request.
unsafe impl<const MIN_ALIGN: usize> Memory for Bump<MIN_ALIGN> {
    #[inline(always)]
    #[track_caller]
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocErr> {
        self.arena.allocate(Self::aligned(layout)?)
    }

    #[inline(always)]
    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract, as in all of these. The arena does not need the alignment.
        unsafe { self.arena.deallocate(p, layout) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocErr> {
        // SAFETY: as above.
        unsafe { self.arena.grow(p, old, Self::aligned(new)?) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocErr> {
        // SAFETY: as above.
        unsafe { self.arena.shrink(p, old, Self::aligned(new)?) }
    }

    // A program for bumpalo leaves values without their destructor on purpose, so checks do not report them.
    #[inline(always)]
    fn __allocate(&self, layout: Layout, site: CallSite) -> Result<NonNull<u8>, AllocErr> {
        self.arena.__allocate(Self::aligned(layout)?, site.without_drops())
    }

    #[inline(always)]
    fn __allocate_typed(&self, layout: Layout, site: CallSite) -> Result<NonNull<u8>, AllocErr> {
        self.arena.__allocate_typed(Self::aligned(layout)?, site.without_drops())
    }

    #[inline(always)]
    unsafe fn __resize(
        &self,
        p: NonNull<u8>,
        old: Layout,
        new: Layout,
        site: CallSite,
    ) -> Result<NonNull<u8>, AllocErr> {
        // SAFETY: as above.
        unsafe { self.arena.__resize(p, old, Self::aligned(new)?, site.without_drops()) }
    }

    #[inline(always)]
    unsafe fn __discard(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.arena.__discard(p, layout) }
    }

    #[inline(always)]
    unsafe fn __truncate(&self, p: NonNull<u8>, old: Layout, new: Layout) {
        // SAFETY: as above.
        unsafe { self.arena.__truncate(p, old, new) }
    }

    #[inline(always)]
    fn __min_align(&self) -> usize {
        MIN_ALIGN
    }
}

impl<const MIN_ALIGN: usize> Bump<MIN_ALIGN> {
    /// The arena aligns to 8 in any case.
    #[inline(always)]
    fn aligned(layout: Layout) -> Result<Layout, AllocErr> {
        if MIN_ALIGN <= 8 {
            Ok(layout)
        } else {
            layout.align_to(MIN_ALIGN).map_err(|_| AllocErr)
        }
    }
}

#[inline(always)]
#[track_caller]
fn promised<T>(item: Option<T>) -> T {
    match item {
        Some(item) => item,
        None => panic!("toft: the iterator yielded less than it promised"),
    }
}

// ---- values ----

impl<const MIN_ALIGN: usize> Bump<MIN_ALIGN> {
    /// Moves a value into the arena. Its destructor does not run.
    ///
    /// # Panics
    /// If there is no memory or the limit is reached, as all calls here without `try`.
    #[inline(always)]
    #[track_caller]
    pub fn alloc<T>(&self, val: T) -> &mut T {
        Allocate::alloc(self, val)
    }

    /// As [`alloc`](Bump::alloc), with an error instead of the panic. The value is dropped then.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc<T>(&self, val: T) -> Result<&mut T, AllocErr> {
        Allocate::try_alloc(self, val)
    }

    /// Makes a value where it stays: `f` may write it there directly. It may use the arena itself.
    ///
    /// ```
    /// let bump = toft_bumpalo::Bump::new();
    /// let page = bump.alloc_with(|| [0u8; 4096]);
    /// assert_eq!(page.len(), 4096);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_with<F, T>(&self, f: F) -> &mut T
    where
        F: FnOnce() -> T,
    {
        Allocate::alloc_with(self, f)
    }

    /// As [`alloc_with`](Bump::alloc_with), with an error instead of the panic; `f` does not run then.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_with<F, T>(&self, f: F) -> Result<&mut T, AllocErr>
    where
        F: FnOnce() -> T,
    {
        Allocate::try_alloc_with(self, f)
    }

    /// Makes a value that may fail; then nothing of the arena is used up. The memory is taken when `f` is done.
    ///
    /// ```
    /// let bump = toft_bumpalo::Bump::new();
    /// assert_eq!(bump.alloc_try_with(|| "7".parse::<u32>()), Ok(&mut 7));
    /// assert!(bump.alloc_try_with(|| "x".parse::<u32>()).is_err());
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_try_with<F, T, E>(&self, f: F) -> Result<&mut T, E>
    where
        F: FnOnce() -> Result<T, E>,
    {
        Allocate::alloc_try_with(self, f)
    }

    /// As [`alloc_try_with`](Bump::alloc_try_with), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_try_with<F, T, E>(&self, f: F) -> Result<&mut T, AllocOrInitError<E>>
    where
        F: FnOnce() -> Result<T, E>,
    {
        Allocate::try_alloc_try_with(self, f)
    }

    /// Memory of any layout. For a size of 0: an address that must not be read.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_layout(&self, layout: Layout) -> NonNull<u8> {
        Allocate::alloc_layout(self, layout)
    }

    /// As [`alloc_layout`](Bump::alloc_layout), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, AllocErr> {
        Allocate::try_alloc_layout(self, layout)
    }
}

// ---- slices and text ----

impl<const MIN_ALIGN: usize> Bump<MIN_ALIGN> {
    /// A copy of a slice.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_copy<T>(&self, src: &[T]) -> &mut [T]
    where
        T: Copy,
    {
        Allocate::alloc_slice_copy(self, src)
    }

    /// As [`alloc_slice_copy`](Bump::alloc_slice_copy), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_copy<T>(&self, src: &[T]) -> Result<&mut [T], AllocErr>
    where
        T: Copy,
    {
        Allocate::try_alloc_slice_copy(self, src)
    }

    /// A clone of each element.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_clone<T>(&self, src: &[T]) -> &mut [T]
    where
        T: Clone,
    {
        Allocate::alloc_slice_clone(self, src)
    }

    /// As [`alloc_slice_clone`](Bump::alloc_slice_clone), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_clone<T>(&self, src: &[T]) -> Result<&mut [T], AllocErr>
    where
        T: Clone,
    {
        Allocate::try_alloc_slice_clone(self, src)
    }

    /// A copy of a string, at the next multiple of 8.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_str(&self, src: &str) -> &mut str {
        Allocate::alloc_str(self, src)
    }

    /// As [`alloc_str`](Bump::alloc_str), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_str(&self, src: &str) -> Result<&mut str, AllocErr> {
        Allocate::try_alloc_str(self, src)
    }

    /// `len` values, by their index. Where `f` panics, its values are dropped and the memory is freed:
    /// [the rule](crate#panics) of this crate.
    ///
    /// ```
    /// let bump = toft_bumpalo::Bump::new();
    /// assert_eq!(bump.alloc_slice_fill_with(4, |i| i * i), &[0, 1, 4, 9]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_fill_with<T, F>(&self, len: usize, f: F) -> &mut [T]
    where
        F: FnMut(usize) -> T,
    {
        Allocate::alloc_slice_fill_with(self, len, f)
    }

    /// As [`alloc_slice_fill_with`](Bump::alloc_slice_fill_with), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_fill_with<T, F>(&self, len: usize, f: F) -> Result<&mut [T], AllocErr>
    where
        F: FnMut(usize) -> T,
    {
        Allocate::try_alloc_slice_fill_with(self, len, f)
    }

    /// `len` values, by their index; the first error ends it: then the values are dropped, and the memory is
    /// freed.
    ///
    /// ```
    /// let bump = toft_bumpalo::Bump::new();
    /// let words = ["1", "2", "many"];
    /// assert!(bump.alloc_slice_try_fill_with(3, |i| words[i].parse::<i32>()).is_err());
    /// assert_eq!(bump.alloc_slice_try_fill_with(2, |i| words[i].parse::<i32>()).unwrap(), &[1, 2]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_try_fill_with<T, F, E>(&self, len: usize, f: F) -> Result<&mut [T], E>
    where
        F: FnMut(usize) -> Result<T, E>,
    {
        Allocate::alloc_slice_try_fill_with(self, len, f)
    }

    /// `len` copies of a value.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_fill_copy<T: Copy>(&self, len: usize, value: T) -> &mut [T] {
        Allocate::alloc_slice_fill_with(self, len, |_| value)
    }

    /// As [`alloc_slice_fill_copy`](Bump::alloc_slice_fill_copy), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_fill_copy<T: Copy>(&self, len: usize, value: T) -> Result<&mut [T], AllocErr> {
        Allocate::try_alloc_slice_fill_with(self, len, |_| value)
    }

    /// `len` clones of a value.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_fill_clone<T: Clone>(&self, len: usize, value: &T) -> &mut [T] {
        Allocate::alloc_slice_fill_with(self, len, |_| value.clone())
    }

    /// As [`alloc_slice_fill_clone`](Bump::alloc_slice_fill_clone), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_fill_clone<T: Clone>(&self, len: usize, value: &T) -> Result<&mut [T], AllocErr> {
        Allocate::try_alloc_slice_fill_with(self, len, |_| value.clone())
    }

    /// All that an iterator of known length yields. [`Vec::from_iter_in`](super::collections::Vec::from_iter_in) takes
    /// any.
    ///
    /// # Panics
    /// If the iterator yields less than its length; and for want of memory.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_fill_iter<T, I>(&self, iter: I) -> &mut [T]
    where
        I: IntoIterator<Item = T>,
        I::IntoIter: ExactSizeIterator,
    {
        let mut iter = iter.into_iter();
        Allocate::alloc_slice_fill_with(self, iter.len(), |_| promised(iter.next()))
    }

    /// As [`alloc_slice_fill_iter`](Bump::alloc_slice_fill_iter), with an error instead of the panic for want of
    /// memory.
    ///
    /// # Panics
    /// If the iterator yields less than its length.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_fill_iter<T, I>(&self, iter: I) -> Result<&mut [T], AllocErr>
    where
        I: IntoIterator<Item = T>,
        I::IntoIter: ExactSizeIterator,
    {
        let mut iter = iter.into_iter();
        Allocate::try_alloc_slice_fill_with(self, iter.len(), |_| promised(iter.next()))
    }

    /// As [`alloc_slice_fill_iter`](Bump::alloc_slice_fill_iter) of results; the first error ends it, as in
    /// [`alloc_slice_try_fill_with`](Bump::alloc_slice_try_fill_with).
    ///
    /// # Panics
    /// If the iterator yields less than its length; and for want of memory.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_try_fill_iter<T, I, E>(&self, iter: I) -> Result<&mut [T], E>
    where
        I: IntoIterator<Item = Result<T, E>>,
        I::IntoIter: ExactSizeIterator,
    {
        let mut iter = iter.into_iter();
        Allocate::alloc_slice_try_fill_with(self, iter.len(), |_| promised(iter.next()))
    }

    /// `len` values of `T::default()`.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_fill_default<T: Default>(&self, len: usize) -> &mut [T] {
        Allocate::alloc_slice_default(self, len)
    }

    /// As [`alloc_slice_fill_default`](Bump::alloc_slice_fill_default), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_fill_default<T: Default>(&self, len: usize) -> Result<&mut [T], AllocErr> {
        Allocate::try_alloc_slice_default(self, len)
    }
}
