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
use core::ops::{Deref, DerefMut};
use core::pin::Pin;

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

toft::__traits_of_box!(Box);

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
