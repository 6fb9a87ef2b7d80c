//! Boxes in an arena: a box drops its value; the memory is freed with the arena's.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::any::Any;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Deref, DerefMut};
use core::pin::Pin;
use core::ptr::{self, NonNull};

#[cfg(feature = "std")]
mod io;

/// A box for a value in an arena, which it drops. One word for sized types, without a reference to the arena.
///
/// There are boxes of unsized types: slices by [`Arena::boxed_slice`](crate::Arena::boxed_slice), trait objects by
/// [`unsize!`](crate::unsize). A box cannot pin its value, since leaking the box does not leak the memory;
/// [`Arena::alloc_pin`](crate::Arena::alloc_pin) pins.
///
/// ```
/// let arena = toft::Arena::new();
/// let names = arena.boxed(vec!["a".to_string(), "b".to_string()]);
/// assert_eq!(names.len(), 2);
/// drop(names); // the strings and the Vec are freed; the box's own memory goes with the arena's
/// ```
pub struct Box<'a, T: ?Sized> {
    at: NonNull<T>,
    owns: PhantomData<(&'a T, T)>,
}

// SAFETY: it owns its value, and accesses nothing else of the arena.
unsafe impl<T: ?Sized + Send> Send for Box<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for Box<'_, T> {}

impl<'a, T: ?Sized> Box<'a, T> {
    /// Makes a box of a value whose memory lives for `'a`.
    ///
    /// ```
    /// use toft::Box;
    /// let arena = toft::Arena::new();
    /// let raw = Box::into_raw(arena.boxed(7));
    /// // SAFETY: just taken out of a box.
    /// assert_eq!(*unsafe { Box::from_raw(raw) }, 7);
    /// ```
    ///
    /// # Safety
    /// `at` is a valid value, which no other code drops or uses.
    #[inline(always)]
    pub unsafe fn from_raw(at: *mut T) -> Box<'a, T> {
        // SAFETY: the caller's contract: a value, so not null.
        Box { at: unsafe { NonNull::new_unchecked(at) }, owns: PhantomData }
    }

    /// Returns the value's address, without dropping the value.
    #[inline(always)]
    pub fn into_raw(b: Box<'a, T>) -> *mut T {
        ManuallyDrop::new(b).at.as_ptr()
    }

    /// Returns the value for as long as the arena is borrowed. It is not dropped.
    ///
    /// ```
    /// use toft::Box;
    /// let arena = toft::Arena::new();
    /// let text: &mut String = Box::leak(arena.boxed(String::new()));
    /// assert!(text.is_empty());
    /// ```
    #[inline(always)]
    pub fn leak(b: Box<'a, T>) -> &'a mut T {
        // SAFETY: the memory lives for 'a, and the value is exclusively the box's.
        unsafe { &mut *Box::into_raw(b) }
    }

    /// As [`from_raw`](Box::from_raw), of an address that is known not to be null.
    ///
    /// # Safety
    /// As for `from_raw`.
    #[inline(always)]
    pub unsafe fn from_non_null(at: NonNull<T>) -> Box<'a, T> {
        Box { at, owns: PhantomData }
    }

    /// As [`into_raw`](Box::into_raw).
    #[inline(always)]
    pub fn into_non_null(b: Box<'a, T>) -> NonNull<T> {
        ManuallyDrop::new(b).at
    }

    /// Returns the value's address, without a reference to the value. The box keeps it.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let b = arena.boxed(7);
    /// assert!(std::ptr::eq(toft::Box::as_ptr(&b), &*b));
    /// ```
    #[inline(always)]
    pub fn as_ptr(b: &Box<'a, T>) -> *const T {
        b.at.as_ptr()
    }

    /// As [`as_ptr`](Box::as_ptr), for writes.
    #[inline(always)]
    pub fn as_mut_ptr(b: &mut Box<'a, T>) -> *mut T {
        b.at.as_ptr()
    }

    /// As [`Pin::new`], of an `Unpin` value. [`Arena::alloc_pin`](crate::Arena::alloc_pin) pins others.
    pub fn into_pin(b: Box<'a, T>) -> Pin<Box<'a, T>>
    where
        T: Unpin,
    {
        Pin::new(b)
    }

    /// Implements [`unsize!`](crate::unsize).
    ///
    /// # Safety
    /// `coerce` returns its argument, converted by a coercion of the compiler.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn __unsize<U: ?Sized>(b: Box<'a, T>, coerce: fn(*mut T) -> *mut U) -> Box<'a, U> {
        // SAFETY: the caller's contract: a pointer to the same value, made by the compiler.
        unsafe { Box::from_raw(coerce(Box::into_raw(b))) }
    }
}

impl<'a, T> Box<'a, T> {
    /// Moves the value out, and returns the box without it.
    ///
    /// ```
    /// use toft::Box;
    /// let arena = toft::Arena::new();
    /// let (text, empty) = Box::take(arena.boxed(String::from("first")));
    /// let again = Box::write(empty, text + ", second");
    /// assert_eq!(*again, "first, second");
    /// ```
    #[inline(always)]
    pub fn take(b: Self) -> (T, Box<'a, MaybeUninit<T>>) {
        let at = Box::into_non_null(b);
        // SAFETY: the box owned the value, which is not dropped; any memory is a MaybeUninit.
        unsafe { (at.read(), Box::from_non_null(at.cast())) }
    }

    /// Moves the value out.
    ///
    /// ```
    /// use toft::Box;
    /// let arena = toft::Arena::new();
    /// let text: String = Box::into_inner(arena.boxed(String::from("out")));
    /// assert_eq!(text, "out");
    /// ```
    #[inline(always)]
    pub fn into_inner(b: Self) -> T {
        // SAFETY: the box owns the value, and does not drop it now.
        unsafe { Box::into_raw(b).read() }
    }
}

impl<'a, T> Box<'a, MaybeUninit<T>> {
    /// Returns the box with the type of its value.
    ///
    /// ```
    /// use std::mem::MaybeUninit;
    /// let arena = toft::Arena::new();
    /// let mut b = arena.boxed(MaybeUninit::uninit());
    /// b.write(7);
    /// // SAFETY: the value is initialised.
    /// assert_eq!(*unsafe { b.assume_init() }, 7);
    /// ```
    ///
    /// # Safety
    /// The value is initialised.
    #[inline(always)]
    pub unsafe fn assume_init(self) -> Box<'a, T> {
        // SAFETY: the caller's contract.
        unsafe { Box::from_non_null(Box::into_non_null(self).cast()) }
    }

    /// Writes a value, and returns the box with its type.
    #[inline(always)]
    pub fn write(mut b: Self, value: T) -> Box<'a, T> {
        (*b).write(value);
        // SAFETY: just initialised.
        unsafe { b.assume_init() }
    }
}

impl<'a, T> Box<'a, [MaybeUninit<T>]> {
    /// Returns the box with the type of its values.
    ///
    /// # Safety
    /// The values are initialised.
    #[inline(always)]
    pub unsafe fn assume_init(self) -> Box<'a, [T]> {
        // SAFETY: the caller's contract; a MaybeUninit has the layout of its value.
        unsafe { Box::from_raw(Box::into_raw(self) as *mut [T]) }
    }
}

/// Converts a box to a box of a trait object, as coercion does for the standard library's box.
///
/// ```
/// use std::fmt::Display;
/// let arena = toft::Arena::new();
/// let things = [toft::unsize!(arena.boxed(1) => dyn Display), toft::unsize!(arena.boxed("two") => dyn Display)];
/// assert_eq!(format!("{} {}", things[0], things[1]), "1 two");
/// ```
///
/// Only the compiler's coercions are possible: a type to a trait object, an array to a slice, a trait object to one
/// with fewer auto traits.
#[macro_export]
macro_rules! unsize {
    ($boxed:expr => $to:ty) => {
        match $boxed {
            // SAFETY: the closure's body is a coercion site: `p` becomes a pointer to the other type by a coercion, not
            // by a cast. For raw pointers that is an unsizing, or the identity.
            boxed => unsafe { $crate::Box::__unsize::<$to>(boxed, |p| p) },
        }
    };
}

impl<T: ?Sized> Drop for Box<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the box owns the value, which is dropped once.
        unsafe { self.at.as_ptr().drop_in_place() }
    }
}

impl<T: ?Sized> Deref for Box<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the box owns the value.
        unsafe { self.at.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for Box<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the box owns the value, and is borrowed exclusively.
        unsafe { self.at.as_mut() }
    }
}

// ---- traits of the standard library's box ----

/// The calls of `Hasher` for integers, which hashers may have code of their own for.
#[doc(hidden)]
#[macro_export]
macro_rules! __hash_integers {
    ($($write:ident $of:ty),*) => {$(
        #[inline]
        fn $write(&mut self, i: $of) {
            (**self).$write(i)
        }
    )*};
}

/// The traits that a value has as its target: conversions of references, `Hash`, `Debug`.
#[doc(hidden)]
#[macro_export]
macro_rules! __traits_of_target {
    ([$($generics:tt)*] $of:ty, $to:ty) => {
        impl<$($generics)*> AsRef<$to> for $of {
            fn as_ref(&self) -> &$to {
                self
            }
        }

        impl<$($generics)*> AsMut<$to> for $of {
            fn as_mut(&mut self) -> &mut $to {
                self
            }
        }

        impl<$($generics)*> core::borrow::Borrow<$to> for $of {
            fn borrow(&self) -> &$to {
                self
            }
        }

        impl<$($generics)*> core::borrow::BorrowMut<$to> for $of {
            fn borrow_mut(&mut self) -> &mut $to {
                self
            }
        }

        #[allow(trivial_bounds)] // of a target without parameters
        impl<$($generics)*> core::hash::Hash for $of
        where
            $to: core::hash::Hash,
        {
            #[inline]
            fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
                <$to as core::hash::Hash>::hash(self, state)
            }
        }

        #[allow(trivial_bounds)]
        impl<$($generics)*> core::fmt::Debug for $of
        where
            $to: core::fmt::Debug,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                <$to as core::fmt::Debug>::fmt(self, f)
            }
        }
    };
}
pub(crate) use __traits_of_target as traits_of_target;

/// The traits that a box has as its value, for this crate's and that of toft-bumpalo.
#[doc(hidden)]
#[macro_export]
macro_rules! __traits_of_box {
    ($Box:ident) => {
        $crate::__traits_of_target!([T: ?Sized] $Box<'_, T>, T);

        impl<T: ?Sized + core::fmt::Display> core::fmt::Display for $Box<'_, T> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized> core::fmt::Pointer for $Box<'_, T> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::ptr::from_ref::<T>(self).fmt(f)
            }
        }

        impl<'b, T: ?Sized + PartialEq> PartialEq<$Box<'b, T>> for $Box<'_, T> {
            fn eq(&self, other: &$Box<'b, T>) -> bool {
                **self == **other
            }
        }

        impl<T: ?Sized + Eq> Eq for $Box<'_, T> {}

        impl<'b, T: ?Sized + PartialOrd> PartialOrd<$Box<'b, T>> for $Box<'_, T> {
            fn partial_cmp(&self, other: &$Box<'b, T>) -> Option<core::cmp::Ordering> {
                (**self).partial_cmp(&**other)
            }
        }

        impl<T: ?Sized + Ord> Ord for $Box<'_, T> {
            fn cmp(&self, other: &Self) -> core::cmp::Ordering {
                (**self).cmp(&**other)
            }
        }

        impl<T: ?Sized + core::hash::Hasher> core::hash::Hasher for $Box<'_, T> {
            fn finish(&self) -> u64 {
                (**self).finish()
            }
            fn write(&mut self, bytes: &[u8]) {
                (**self).write(bytes)
            }
            $crate::__hash_integers!(write_u8 u8, write_u16 u16, write_u32 u32, write_u64 u64, write_u128 u128);
            $crate::__hash_integers!(write_i8 i8, write_i16 i16, write_i32 i32, write_i64 i64, write_i128 i128);
            $crate::__hash_integers!(write_usize usize, write_isize isize);
        }

        impl<I: ?Sized + Iterator> Iterator for $Box<'_, I> {
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

        impl<I: ?Sized + DoubleEndedIterator> DoubleEndedIterator for $Box<'_, I> {
            fn next_back(&mut self) -> Option<I::Item> {
                (**self).next_back()
            }
        }

        impl<I: ?Sized + ExactSizeIterator> ExactSizeIterator for $Box<'_, I> {}
        impl<I: ?Sized + core::iter::FusedIterator> core::iter::FusedIterator for $Box<'_, I> {}

        impl<F: ?Sized + core::future::Future + Unpin> core::future::Future for $Box<'_, F> {
            type Output = F::Output;
            fn poll(
                mut self: core::pin::Pin<&mut Self>,
                context: &mut core::task::Context<'_>,
            ) -> core::task::Poll<F::Output> {
                core::pin::Pin::new(&mut **self).poll(context)
            }
        }

        impl<E: ?Sized + core::error::Error> core::error::Error for $Box<'_, E> {
            fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
                (**self).source()
            }
        }

        /// Of an `Unpin` value. A box may be leaked without its memory: other types need `alloc_pin` of an arena.
        impl<'a, T: ?Sized + Unpin> From<$Box<'a, T>> for core::pin::Pin<$Box<'a, T>> {
            fn from(b: $Box<'a, T>) -> Self {
                core::pin::Pin::new(b)
            }
        }
    };
}

__traits_of_box!(Box);

/// A box may move: its value does not.
impl<T: ?Sized> Unpin for Box<'_, T> {}

impl<T> Default for Box<'_, [T]> {
    fn default() -> Self {
        // SAFETY: an empty slice, which no other code owns.
        unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(NonNull::dangling().as_ptr(), 0)) }
    }
}

impl Default for Box<'_, str> {
    fn default() -> Self {
        let bytes = Box::into_raw(Box::<[u8]>::default());
        // SAFETY: as above; no bytes are a string, and a str has the layout of its bytes.
        unsafe { Box::from_raw(bytes as *mut str) }
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
            /// Returns the box with the value's own type, if that is `T`.
            ///
            /// ```
            /// use std::any::Any;
            /// let arena = toft::Arena::new();
            /// let any = toft::unsize!(arena.boxed(7u8) => dyn Any);
            /// assert_eq!(*any.downcast::<u8>().unwrap(), 7);
            /// ```
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
