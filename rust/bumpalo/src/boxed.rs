//! Boxes in an arena: [`toft::Box`] under bumpalo's names.
//!
//! A box of a trait object is made by pointers, as in bumpalo; or of [`toft::Box`], which [`toft::unsize!`] converts
//! without `unsafe`:
//!
//! ```
//! use std::fmt::Display;
//! use toft_bumpalo::{boxed::Box, Bump};
//!
//! let bump = Bump::new();
//! let one = Box::into_raw(Box::new_in(1, &bump));
//! let one: Box<dyn Display> = unsafe { Box::from_raw(one) };
//! let two: Box<dyn Display> = toft::unsize!(toft::Box::from(Box::new_in("two", &bump)) => dyn Display).into();
//! assert_eq!(format!("{one} {two}"), "1 two");
//! ```
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::any::Any;
use core::borrow::{Borrow, BorrowMut};
use core::cmp::Ordering;
use core::fmt;
use core::future::Future;
use core::hash::{Hash, Hasher};
use core::iter::FusedIterator;
use core::ops::{Deref, DerefMut};
use core::pin::Pin;
use core::task::{Context, Poll};

use toft::Box as Native;

use crate::Bump;

/// A box in an arena: it drops its value; the memory is freed with the arena's.
///
/// ```
/// use toft_bumpalo::{boxed::Box, Bump};
/// let bump = Bump::new();
/// let names = Box::new_in(vec!["Mads".to_string()], &bump);
/// assert_eq!(names.len(), 1);
/// ```
#[repr(transparent)]
pub struct Box<'a, T: ?Sized>(Native<'a, T>);

impl<'a, T> Box<'a, T> {
    /// Moves a value into the arena.
    ///
    /// # Panics
    /// If the arena has no memory.
    #[inline(always)]
    #[track_caller]
    pub fn new_in(x: T, a: &'a Bump) -> Box<'a, T> {
        Box(a.as_ref().boxed(x))
    }

    /// As [`new_in`](Box::new_in), pinned, for a type that is [`Unpin`]: a leaked box does not leak its memory. Futures
    /// and others that must not move go to [`Arena::alloc_pin`](toft::Arena::alloc_pin).
    ///
    /// # Panics
    /// If the arena has no memory.
    #[inline(always)]
    #[track_caller]
    pub fn pin_in(x: T, a: &'a Bump) -> Pin<Box<'a, T>>
    where
        T: Unpin,
    {
        Pin::new(Box::new_in(x, a))
    }

    /// Moves the value out of the box.
    #[inline(always)]
    pub fn into_inner(b: Box<'a, T>) -> T {
        Native::into_inner(b.0)
    }
}

impl<'a, A> Box<'a, [A]> {
    /// Collects an iterator.
    ///
    /// # Panics
    /// If the arena has no memory; or if the iterator does, after the yielded values are dropped.
    #[inline]
    #[track_caller]
    pub fn from_iter_in<T: IntoIterator<Item = A>>(iter: T, a: &'a Bump) -> Self {
        Box(a.as_ref().boxed_slice(iter))
    }
}

impl<'a, T: ?Sized> Box<'a, T> {
    /// Makes a box of a pointer.
    ///
    /// # Safety
    /// As for [`toft::Box::from_raw`].
    #[inline(always)]
    pub unsafe fn from_raw(raw: *mut T) -> Self {
        // SAFETY: the caller's contract.
        Box(unsafe { Native::from_raw(raw) })
    }

    /// Returns the pointer. The value is not dropped.
    #[inline(always)]
    pub fn into_raw(b: Box<'a, T>) -> *mut T {
        Native::into_raw(b.0)
    }

    /// Returns the value for as long as the arena is borrowed. It is not dropped.
    #[inline(always)]
    pub fn leak(b: Box<'a, T>) -> &'a mut T {
        Native::leak(b.0)
    }
}

impl<'a, T: ?Sized> From<Native<'a, T>> for Box<'a, T> {
    #[inline(always)]
    fn from(b: Native<'a, T>) -> Self {
        Box(b)
    }
}

impl<'a, T: ?Sized> From<Box<'a, T>> for Native<'a, T> {
    #[inline(always)]
    fn from(b: Box<'a, T>) -> Self {
        b.0
    }
}

macro_rules! downcast {
    ($any:ty) => {
        impl<'a> Box<'a, $any> {
            /// Returns the box with the value's own type, if that is `T`.
            ///
            /// # Errors
            /// The box as it was.
            pub fn downcast<T: Any>(self) -> Result<Box<'a, T>, Self> {
                self.0.downcast().map(Box).map_err(Box)
            }
        }
    };
}

downcast!(dyn Any);
downcast!(dyn Any + Send);

// ---- what the standard library's box does ----

impl<T: ?Sized> Deref for Box<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for Box<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Default for Box<'_, [T]> {
    fn default() -> Self {
        Box(Native::default())
    }
}

impl Default for Box<'_, str> {
    fn default() -> Self {
        Box(Native::default())
    }
}

impl<T: ?Sized> AsRef<T> for Box<'_, T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> AsMut<T> for Box<'_, T> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Box<'_, T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized> BorrowMut<T> for Box<'_, T> {
    fn borrow_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Box<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Box<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for Box<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'b, T: ?Sized + PartialEq> PartialEq<Box<'b, T>> for Box<'_, T> {
    fn eq(&self, other: &Box<'b, T>) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Box<'_, T> {}

impl<'b, T: ?Sized + PartialOrd> PartialOrd<Box<'b, T>> for Box<'_, T> {
    fn partial_cmp(&self, other: &Box<'b, T>) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Box<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Box<'_, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state)
    }
}

impl<T: ?Sized + Hasher> Hasher for Box<'_, T> {
    fn finish(&self) -> u64 {
        (**self).finish()
    }
    fn write(&mut self, bytes: &[u8]) {
        (**self).write(bytes)
    }
    fn write_u8(&mut self, i: u8) {
        (**self).write_u8(i)
    }
    fn write_u16(&mut self, i: u16) {
        (**self).write_u16(i)
    }
    fn write_u32(&mut self, i: u32) {
        (**self).write_u32(i)
    }
    fn write_u64(&mut self, i: u64) {
        (**self).write_u64(i)
    }
    fn write_u128(&mut self, i: u128) {
        (**self).write_u128(i)
    }
    fn write_usize(&mut self, i: usize) {
        (**self).write_usize(i)
    }
    fn write_i8(&mut self, i: i8) {
        (**self).write_i8(i)
    }
    fn write_i16(&mut self, i: i16) {
        (**self).write_i16(i)
    }
    fn write_i32(&mut self, i: i32) {
        (**self).write_i32(i)
    }
    fn write_i64(&mut self, i: i64) {
        (**self).write_i64(i)
    }
    fn write_i128(&mut self, i: i128) {
        (**self).write_i128(i)
    }
    fn write_isize(&mut self, i: isize) {
        (**self).write_isize(i)
    }
}

impl<I: ?Sized + Iterator> Iterator for Box<'_, I> {
    type Item = I::Item;
    fn next(&mut self) -> Option<I::Item> {
        (**self).next()
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (**self).size_hint()
    }
    fn nth(&mut self, n: usize) -> Option<I::Item> {
        (**self).nth(n)
    }
}

impl<I: ?Sized + DoubleEndedIterator> DoubleEndedIterator for Box<'_, I> {
    fn next_back(&mut self) -> Option<I::Item> {
        (**self).next_back()
    }
}

impl<I: ?Sized + ExactSizeIterator> ExactSizeIterator for Box<'_, I> {}
impl<I: ?Sized + FusedIterator> FusedIterator for Box<'_, I> {}

impl<F: ?Sized + Future + Unpin> Future for Box<'_, F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        Pin::new(&mut **self).poll(context)
    }
}

impl<E: ?Sized + core::error::Error> core::error::Error for Box<'_, E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        (**self).source()
    }
}

impl<'a, T: ?Sized + Unpin> From<Box<'a, T>> for Pin<Box<'a, T>> {
    fn from(b: Box<'a, T>) -> Self {
        Pin::new(b)
    }
}

impl<'a, T, const N: usize> From<Box<'a, [T; N]>> for Box<'a, [T]> {
    fn from(b: Box<'a, [T; N]>) -> Self {
        Box(b.0.into())
    }
}

impl<'a, T, const N: usize> TryFrom<Box<'a, [T]>> for Box<'a, [T; N]> {
    type Error = Box<'a, [T]>;

    fn try_from(b: Box<'a, [T]>) -> Result<Self, Box<'a, [T]>> {
        b.0.try_into().map(Box).map_err(Box)
    }
}

#[cfg(feature = "serde")]
impl<T: serde::Serialize> serde::Serialize for Box<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}
