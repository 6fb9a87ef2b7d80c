//! Boxes in an arena, by bumpalo's names: [`Box`] is [`toft::Box`](crate::Box).
//!
//! A box of a trait object is made by pointers, as there, or by [`unsize!`](crate::unsize) without `unsafe`:
//!
//! ```
//! use std::fmt::Display;
//! use toft::bumpalo::{boxed::Box, Bump};
//!
//! let bump = Bump::new();
//! let one = Box::into_raw(Box::new_in(1, &bump));
//! let one: Box<dyn Display> = unsafe { Box::from_raw(one) };
//! let two = toft::unsize!(Box::new_in("two", &bump) => dyn Display);
//! assert_eq!(format!("{one} {two}"), "1 two");
//! ```
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::any::Any;
use core::hash::Hasher;
use core::pin::Pin;
use core::ptr::{self, NonNull};

use super::collections::Vec;
use super::Bump;

#[doc(inline)]
pub use crate::boxed::Box;

impl<'a, T> Box<'a, T> {
    /// [`Arena::boxed`](crate::Arena::boxed), by bumpalo's name.
    ///
    /// # Panics
    /// If the arena has no memory.
    #[inline(always)]
    pub fn new_in(x: T, a: &'a Bump) -> Box<'a, T> {
        // SAFETY: a new value, which nobody else has.
        unsafe { Box::from_raw(a.alloc(x)) }
    }

    /// As [`new_in`](Box::new_in), pinned, for a value that does not mind: see [`into_pin`](Box::into_pin). Futures and
    /// others that do mind go to [`Arena::alloc_pin`](crate::Arena::alloc_pin).
    ///
    /// # Panics
    /// If the arena has no memory.
    #[inline(always)]
    pub fn pin_in(x: T, a: &'a Bump) -> Pin<Box<'a, T>>
    where
        T: Unpin,
    {
        Box::into_pin(Box::new_in(x, a))
    }
}

impl<'a, A> Box<'a, [A]> {
    /// All that an iterator yields.
    ///
    /// # Panics
    /// If the arena has no memory; or if the iterator does, when what it yielded is dropped.
    #[inline]
    pub fn from_iter_in<T: IntoIterator<Item = A>>(iter: T, a: &'a Bump) -> Self {
        Vec::from_iter_in(iter, a).into_boxed_slice()
    }
}

// ---- further traits, as the standard library's box has them ----

/// A box may move: its value does not.
impl<T: ?Sized> Unpin for Box<'_, T> {}

impl<T> Default for Box<'_, [T]> {
    fn default() -> Self {
        // SAFETY: an empty slice is nobody's.
        unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(NonNull::dangling().as_ptr(), 0)) }
    }
}

impl Default for Box<'_, str> {
    fn default() -> Self {
        let bytes = Box::into_raw(Box::<[u8]>::default());
        // SAFETY: as above; no bytes are a string, and a str is laid out as bytes are.
        unsafe { Box::from_raw(bytes as *mut str) }
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

impl<'a, T: ?Sized + Unpin> From<Box<'a, T>> for Pin<Box<'a, T>> {
    fn from(b: Box<'a, T>) -> Self {
        Box::into_pin(b)
    }
}

impl<'a, T, const N: usize> From<Box<'a, [T; N]>> for Box<'a, [T]> {
    fn from(b: Box<'a, [T; N]>) -> Self {
        let array: *mut [T; N] = Box::into_raw(b);
        // SAFETY: the same values, by a wider pointer.
        unsafe { Box::from_raw(array) }
    }
}

impl<'a, T, const N: usize> TryFrom<Box<'a, [T]>> for Box<'a, [T; N]> {
    type Error = Box<'a, [T]>;

    fn try_from(b: Box<'a, [T]>) -> Result<Self, Box<'a, [T]>> {
        if b.len() == N {
            // SAFETY: as many values as the array has.
            Ok(unsafe { Box::from_raw(Box::into_raw(b).cast()) })
        } else {
            Err(b)
        }
    }
}

macro_rules! downcast {
    ($any:ty) => {
        impl<'a> Box<'a, $any> {
            /// The box of the value's own type, if that is `T`.
            ///
            /// # Errors
            /// The box as it was.
            pub fn downcast<T: Any>(self) -> Result<Box<'a, T>, Self> {
                if self.is::<T>() {
                    // SAFETY: the value is a T.
                    Ok(unsafe { Box::from_raw(Box::into_raw(self).cast()) })
                } else {
                    Err(self)
                }
            }
        }
    };
}

downcast!(dyn Any);
downcast!(dyn Any + Send);
