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
    unsafe fn __grow_inline(&self, p: NonNull<u8>, old: usize, new: Layout) -> Option<NonNull<u8>> {
        // SAFETY: as above.
        unsafe { self.arena.__grow_inline(p, old, Self::aligned(new).ok()?) }
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

// ---- the calls ----

/// Pairs of a call and its `try_` variant, each with the pair of [`Allocate`] that it is, and the arguments of that.
macro_rules! calls {
    ($(
        $(#[$doc:meta])*
        fn $name:ident | $try_name:ident[$($generics:tt)*](
            $this:ident $(, $arg:ident: $of:ty)*
        ) -> $out:ty = $call:ident | $try_call:ident($($passed:expr),*);
    )*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $name<$($generics)*>(&$this $(, $arg: $of)*) -> $out {
            Allocate::$call($this, $($passed),*)
        }

        #[doc = concat!("As [`", stringify!($name), "`](Bump::", stringify!($name), "), with an error instead of the panic.")]
        #[inline(always)]
        #[track_caller]
        pub fn $try_name<$($generics)*>(&$this $(, $arg: $of)*) -> Result<$out, AllocErr> {
            Allocate::$try_call($this, $($passed),*)
        }
    )*};
}

impl<const MIN_ALIGN: usize> Bump<MIN_ALIGN> {
    calls! {
        /// Moves a value into the arena. Its destructor does not run. A call that fails with an error drops the value.
        ///
        /// # Panics
        /// If there is no memory or the limit is reached, as all calls here without `try`.
        fn alloc | try_alloc[T](self, val: T) -> &mut T = alloc | try_alloc(val);

        /// Makes a value where it stays: `f` may write it there directly. It may use the arena itself. Without memory
        /// `f` does not run.
        ///
        /// ```
        /// let bump = toft_bumpalo::Bump::new();
        /// let page = bump.alloc_with(|| [0u8; 4096]);
        /// assert_eq!(page.len(), 4096);
        /// ```
        fn alloc_with | try_alloc_with[F: FnOnce() -> T, T](self, f: F) -> &mut T = alloc_with | try_alloc_with(f);

        /// Memory of any layout. For a size of 0: an address that must not be read.
        fn alloc_layout | try_alloc_layout[](self, layout: Layout) -> NonNull<u8> =
            alloc_layout | try_alloc_layout(layout);

        /// A copy of a slice.
        fn alloc_slice_copy | try_alloc_slice_copy[T: Copy](self, src: &[T]) -> &mut [T] =
            alloc_slice_copy | try_alloc_slice_copy(src);

        /// A clone of each element.
        fn alloc_slice_clone | try_alloc_slice_clone[T: Clone](self, src: &[T]) -> &mut [T] =
            alloc_slice_clone | try_alloc_slice_clone(src);

        /// A copy of a string, at the next multiple of 8.
        fn alloc_str | try_alloc_str[](self, src: &str) -> &mut str = alloc_str | try_alloc_str(src);

        /// `len` values, by their index. Where `f` panics, its values are dropped and the memory is freed:
        /// [the rule](crate#panics) of this crate.
        ///
        /// ```
        /// let bump = toft_bumpalo::Bump::new();
        /// assert_eq!(bump.alloc_slice_fill_with(4, |i| i * i), &[0, 1, 4, 9]);
        /// ```
        fn alloc_slice_fill_with | try_alloc_slice_fill_with[T, F: FnMut(usize) -> T](self, len: usize, f: F) -> &mut [T] =
            alloc_slice_fill_with | try_alloc_slice_fill_with(len, f);

        /// `len` copies of a value.
        fn alloc_slice_fill_copy | try_alloc_slice_fill_copy[T: Copy](self, len: usize, value: T) -> &mut [T] =
            alloc_slice_fill_with | try_alloc_slice_fill_with(len, |_| value);

        /// `len` clones of a value.
        fn alloc_slice_fill_clone | try_alloc_slice_fill_clone[T: Clone](self, len: usize, value: &T) -> &mut [T] =
            alloc_slice_fill_with | try_alloc_slice_fill_with(len, |_| value.clone());

        /// `len` values of `T::default()`.
        fn alloc_slice_fill_default | try_alloc_slice_fill_default[T: Default](self, len: usize) -> &mut [T] =
            alloc_slice_default | try_alloc_slice_default(len);
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
}
