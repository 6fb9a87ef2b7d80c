//! Allocating, by bumpalo's names. Each call has a twin that returns an error; one generic body is behind both: `construct.rs`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::mut_from_ref)] // what is returned is new, and nobody else's

use core::alloc::Layout;
use core::mem::{align_of, size_of};
use core::ptr::{self, NonNull};

use super::{AllocErr, AllocOrInitError, Bump};
use crate::construct::{construct_methods, CallSite, Construct};
use crate::error::{unwrap_infallible, ErrorMode};

/// Up to a `MIN_ALIGN` of 8 it is the arena's, which aligns to 8 at the least.
impl<const MIN_ALIGN: usize> Construct for Bump<MIN_ALIGN> {
    #[inline(always)]
    fn raw_alloc(&self, layout: Layout, site: CallSite) -> Option<NonNull<u8>> {
        if MIN_ALIGN <= 8 {
            return self.arena.raw_alloc(layout, site);
        }
        self.arena.raw_alloc(layout.align_to(MIN_ALIGN).ok()?, site)
    }

    #[inline(always)]
    unsafe fn raw_free(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { self.arena.raw_free(p, layout) }
    }

    #[inline(always)]
    unsafe fn raw_realloc(&self, p: NonNull<u8>, old: Layout, new: Layout, site: CallSite) -> Option<NonNull<u8>> {
        let new = if MIN_ALIGN <= 8 { new } else { new.align_to(MIN_ALIGN).ok()? };
        // SAFETY: the caller's contract.
        unsafe { self.arena.raw_realloc(p, old, new, site) }
    }

    #[inline(always)]
    fn dangling<T>() -> NonNull<T> {
        let align = if align_of::<T>() < MIN_ALIGN { MIN_ALIGN } else { align_of::<T>() };
        // SAFETY: an alignment is not 0.
        unsafe { NonNull::new_unchecked(ptr::without_provenance_mut(align)) }
    }

    #[inline(always)]
    #[track_caller]
    fn reserve_one<T, E: ErrorMode>(&self, drops: bool) -> Result<NonNull<T>, E> {
        if size_of::<T>() == 0 {
            Ok(Self::dangling())
        } else if MIN_ALIGN <= 8 {
            self.arena.reserve_one(drops)
        } else {
            match self.raw_alloc(Layout::new::<T>(), CallSite::caller(drops)) {
                Some(p) => Ok(p.cast()),
                None => Err(E::out_of_memory(Layout::new::<T>())),
            }
        }
    }

    #[inline(always)]
    #[track_caller]
    fn reserve_slice<T, E: ErrorMode>(&self, n: usize, drops: bool) -> Result<NonNull<T>, E> {
        if size_of::<T>() == 0 {
            return Ok(Self::dangling());
        } else if MIN_ALIGN <= 8 {
            return self.arena.reserve_slice(n, drops);
        }
        let Ok(layout) = Layout::array::<T>(n) else { return Err(E::overflow()) };
        match self.raw_alloc(layout, CallSite::caller(drops)) {
            Some(p) => Ok(p.cast()),
            None => Err(E::out_of_memory(layout)),
        }
    }
}

construct_methods!([const MIN_ALIGN: usize] Bump<MIN_ALIGN>);

impl<const MIN_ALIGN: usize> Bump<MIN_ALIGN> {
    /// The iterator's length is a promise that it may break: what is more is not taken, and less is a panic.
    #[inline(always)]
    #[track_caller]
    fn filled_by<T, E: ErrorMode>(&self, mut iter: impl ExactSizeIterator<Item = T>) -> Result<&mut [T], E> {
        self.filled(iter.len(), |_| promised(iter.next()))
    }

    #[inline(always)]
    #[track_caller]
    fn tried<T, E>(&self, n: usize, make: impl FnMut(usize) -> Result<T, E>) -> Result<&mut [T], E> {
        let p = unwrap_infallible(self.reserve_slice::<T, _>(n, false));
        // SAFETY: new memory for n of T; then a slice of as many that are written.
        unsafe { Ok(self.filled_until(p, n, make)?.as_mut()) }
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
        unwrap_infallible(self.alloc_no_drop(|| val))
    }

    /// As [`alloc`](Bump::alloc), with an error instead of the panic. The value is dropped then.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc<T>(&self, val: T) -> Result<&mut T, AllocErr> {
        self.alloc_no_drop(|| val)
    }

    /// Makes a value where it stays: `f` may write it there directly. It may use the arena itself.
    ///
    /// ```
    /// let bump = toft::bumpalo::Bump::new();
    /// let page = bump.alloc_with(|| [0u8; 4096]);
    /// assert_eq!(page.len(), 4096);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_with<F, T>(&self, f: F) -> &mut T
    where
        F: FnOnce() -> T,
    {
        unwrap_infallible(self.alloc_no_drop(f))
    }

    /// As [`alloc_with`](Bump::alloc_with), with an error instead of the panic; `f` does not run then.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_with<F, T>(&self, f: F) -> Result<&mut T, AllocErr>
    where
        F: FnOnce() -> T,
    {
        self.alloc_no_drop(f)
    }

    /// Makes a value that may fail; then nothing of the arena is used up. The memory is taken when `f` is done.
    ///
    /// ```
    /// let bump = toft::bumpalo::Bump::new();
    /// assert_eq!(bump.alloc_try_with(|| "7".parse::<u32>()), Ok(&mut 7));
    /// assert!(bump.alloc_try_with(|| "x".parse::<u32>()).is_err());
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_try_with<F, T, E>(&self, f: F) -> Result<&mut T, E>
    where
        F: FnOnce() -> Result<T, E>,
    {
        let value = f()?;
        Ok(self.alloc(value))
    }

    /// As [`alloc_try_with`](Bump::alloc_try_with), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_try_with<F, T, E>(&self, f: F) -> Result<&mut T, AllocOrInitError<E>>
    where
        F: FnOnce() -> Result<T, E>,
    {
        let value = f().map_err(AllocOrInitError::Init)?;
        self.try_alloc(value).map_err(AllocOrInitError::Alloc)
    }

    /// Memory of any layout. For a size of 0: an address that must not be read.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_layout(&self, layout: Layout) -> NonNull<u8> {
        unwrap_infallible(self.bytes(layout))
    }

    /// As [`alloc_layout`](Bump::alloc_layout), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, AllocErr> {
        self.bytes(layout)
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
        unwrap_infallible(self.copied(src))
    }

    /// As [`alloc_slice_copy`](Bump::alloc_slice_copy), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_copy<T>(&self, src: &[T]) -> Result<&mut [T], AllocErr>
    where
        T: Copy,
    {
        self.copied(src)
    }

    /// A clone of each element.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_clone<T>(&self, src: &[T]) -> &mut [T]
    where
        T: Clone,
    {
        unwrap_infallible(self.filled(src.len(), |i| src[i].clone()))
    }

    /// As [`alloc_slice_clone`](Bump::alloc_slice_clone), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_clone<T>(&self, src: &[T]) -> Result<&mut [T], AllocErr>
    where
        T: Clone,
    {
        self.filled(src.len(), |i| src[i].clone())
    }

    /// A copy of a string, at the next multiple of 8.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_str(&self, src: &str) -> &mut str {
        unwrap_infallible(self.text(src))
    }

    /// As [`alloc_str`](Bump::alloc_str), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_str(&self, src: &str) -> Result<&mut str, AllocErr> {
        self.text(src)
    }

    /// `len` values, by their index. Where `f` panics, what it made is dropped and the memory is given back:
    /// [the rule](crate#panics) of this crate.
    ///
    /// ```
    /// let bump = toft::bumpalo::Bump::new();
    /// assert_eq!(bump.alloc_slice_fill_with(4, |i| i * i), &[0, 1, 4, 9]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_fill_with<T, F>(&self, len: usize, f: F) -> &mut [T]
    where
        F: FnMut(usize) -> T,
    {
        unwrap_infallible(self.filled(len, f))
    }

    /// As [`alloc_slice_fill_with`](Bump::alloc_slice_fill_with), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_fill_with<T, F>(&self, len: usize, f: F) -> Result<&mut [T], AllocErr>
    where
        F: FnMut(usize) -> T,
    {
        self.filled(len, f)
    }

    /// `len` values, by their index, the first error of which ends it: then what was made is dropped, and the memory is
    /// given back.
    ///
    /// ```
    /// let bump = toft::bumpalo::Bump::new();
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
        self.tried(len, f)
    }

    /// `len` copies of a value.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_fill_copy<T: Copy>(&self, len: usize, value: T) -> &mut [T] {
        unwrap_infallible(self.filled(len, |_| value))
    }

    /// As [`alloc_slice_fill_copy`](Bump::alloc_slice_fill_copy), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_fill_copy<T: Copy>(&self, len: usize, value: T) -> Result<&mut [T], AllocErr> {
        self.filled(len, |_| value)
    }

    /// `len` clones of a value.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_fill_clone<T: Clone>(&self, len: usize, value: &T) -> &mut [T] {
        unwrap_infallible(self.filled(len, |_| value.clone()))
    }

    /// As [`alloc_slice_fill_clone`](Bump::alloc_slice_fill_clone), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_fill_clone<T: Clone>(&self, len: usize, value: &T) -> Result<&mut [T], AllocErr> {
        self.filled(len, |_| value.clone())
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
        unwrap_infallible(self.filled_by(iter.into_iter()))
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
        self.filled_by(iter.into_iter())
    }

    /// As [`alloc_slice_fill_iter`](Bump::alloc_slice_fill_iter) of results, the first error of which ends it, as in
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
        self.tried(iter.len(), |_| promised(iter.next()))
    }

    /// `len` values of `T::default()`.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_fill_default<T: Default>(&self, len: usize) -> &mut [T] {
        unwrap_infallible(self.filled(len, |_| T::default()))
    }

    /// As [`alloc_slice_fill_default`](Bump::alloc_slice_fill_default), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_fill_default<T: Default>(&self, len: usize) -> Result<&mut [T], AllocErr> {
        self.filled(len, |_| T::default())
    }
}
