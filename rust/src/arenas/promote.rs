//! Promotion: moving a boxed value to an arena that lives longer, with its type and its destructor.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::{self, NonNull};

use crate::base::error::{unwrap_infallible, ErrorMode};
use crate::memory::arena::Arena;
use crate::memory::boxed::Box;
use crate::memory::construct::Construct;

/// Values that a box can move to another arena: sized types, slices, text.
///
/// A trait object cannot be promoted: promote the box first, then use [`unsize!`](crate::unsize).
///
/// ```
/// use toft::{Arena, Box, Promote};
/// fn keep<'to, T: Promote + ?Sized>(found: Box<'_, T>, to: &'to Arena) -> Box<'to, T> {
///     Box::promote(found, to)
/// }
/// let (longer, shorter) = (Arena::new(), Arena::new());
/// assert_eq!(keep(shorter.boxed_str("text"), &longer).len(), 4);
/// ```
pub trait Promote: sealed::Sealed {
    /// A pointer to `at` with the metadata of `like`.
    #[doc(hidden)]
    fn __at(at: NonNull<u8>, like: NonNull<Self>) -> NonNull<Self>;
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for T {}
    impl<T> Sealed for [T] {}
    impl Sealed for str {}
}

impl<T> Promote for T {
    #[inline(always)]
    fn __at(at: NonNull<u8>, _: NonNull<T>) -> NonNull<T> {
        at.cast()
    }
}

impl<T> Promote for [T] {
    #[inline(always)]
    fn __at(at: NonNull<u8>, like: NonNull<[T]>) -> NonNull<[T]> {
        NonNull::slice_from_raw_parts(at.cast(), like.len())
    }
}

impl Promote for str {
    #[inline(always)]
    fn __at(at: NonNull<u8>, like: NonNull<str>) -> NonNull<str> {
        let bytes = NonNull::slice_from_raw_parts(at, (like.as_ptr() as *mut [u8]).len());
        // SAFETY: not null, as `bytes` is not; a str has the layout of its bytes.
        unsafe { NonNull::new_unchecked(bytes.as_ptr() as *mut str) }
    }
}

impl Arena {
    /// Moves the value of `b` into this arena. On an error `b` is returned unchanged.
    #[inline(always)]
    #[track_caller]
    fn taken<'a, 'b, T: Promote + ?Sized, E: ErrorMode>(
        &'b self,
        b: Box<'a, T>,
    ) -> Result<Box<'b, T>, (Box<'a, T>, E)> {
        let layout = Layout::for_value::<T>(&b);
        let at = match self.bytes::<E>(layout) {
            Ok(at) => at,
            Err(e) => return Err((b, e)),
        };
        // SAFETY: the value is moved to new memory: it is not dropped at its old address, and a box's value may move.
        // `__at` is one of this file's, so the pointer is to the new memory, with the old metadata.
        unsafe {
            let from = NonNull::new_unchecked(Box::into_raw(b));
            ptr::copy_nonoverlapping(from.as_ptr().cast::<u8>(), at.as_ptr(), layout.size());
            Ok(Box::from_raw(T::__at(at, from).as_ptr()))
        }
    }
}

impl<'a, T: Promote + ?Sized> Box<'a, T> {
    /// Moves the value to another arena, with its type and its destructor: to keep a result of a frame or a scope for
    /// longer. It is dropped once, with the returned box; its former memory is freed with the old arena's.
    ///
    /// It costs one allocation and a copy of the value itself; what it points to is not copied. So the value cannot
    /// hold references to what ends before the new arena: the borrow checker refuses that.
    ///
    /// A value without a destructor needs no promotion: `longer.alloc(*x)`, or `longer.alloc_slice_copy(x)`.
    ///
    /// ```
    /// use toft::{Arena, Box};
    /// let longer = Arena::new();
    /// let kept = longer.scope(|scope| {
    ///     let tries = (0..5).map(|i| scope.boxed(format!("try {i}")));
    ///     Box::promote(tries.last().unwrap(), &longer) // the other four are dropped
    /// });
    /// assert_eq!(*kept, "try 4");
    /// ```
    ///
    /// # Panics
    /// If the other arena has no memory. The value is dropped then.
    #[inline]
    #[track_caller]
    pub fn promote<'b>(b: Box<'a, T>, to: &'b Arena) -> Box<'b, T> {
        unwrap_infallible(to.taken(b).map_err(|(_, never)| never))
    }

    /// As [`promote`](Box::promote), returning the box unchanged instead of the panic.
    ///
    /// # Errors
    /// The box, if the other arena has no memory.
    #[inline]
    #[track_caller]
    pub fn try_promote<'b>(b: Box<'a, T>, to: &'b Arena) -> Result<Box<'b, T>, Box<'a, T>> {
        to.taken(b).map_err(|(b, crate::AllocError)| b)
    }
}
