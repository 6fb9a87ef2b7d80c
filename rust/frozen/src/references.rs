//! References, slices and texts.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ops::Deref;
use std::slice;

use crate::format::WIDTH;
use crate::{Content, Freeze, Image, Layout, Shape};

// SAFETY: one pointer.
unsafe impl<'a, T: Freeze> Freeze for &'a T {
    type At<'x> = &'x T::At<'x>;
    const SHAPE: Shape = Shape::pointer::<Self>(0);
    fn freeze(&self, image: &mut Image, at: usize) {
        let target: &'a T = self;
        // SAFETY: the target lives as long as the reference.
        unsafe { image.write_reference(at, slice::from_ref(target)) };
    }
    fn describe(layout: &mut Layout) {
        layout.name("&");
        T::describe(layout);
    }
    fn check(content: &mut Content<'_>, at: usize) -> bool {
        content.follow::<T>(at, 1)
    }
}

/// The offsets of the address and of the length in a reference to a slice, which this compiler has chosen.
const fn words_of<T>() -> (usize, usize) {
    // SAFETY: a reference to a slice is an address and a length, in this order or the other; both are initialized.
    let words: [usize; 2] =
        unsafe { std::mem::transmute(std::ptr::slice_from_raw_parts(std::ptr::without_provenance::<T>(64), 1)) };
    if words[0] == 64 {
        (0, WIDTH)
    } else {
        (WIDTH, 0)
    }
}

/// # Safety
/// The values live until `freeze` returns.
unsafe fn write_slice<T: Freeze>(image: &mut Image, at: usize, values: &[T]) {
    let (address, length) = words_of::<T>();
    // SAFETY: the caller's contract.
    unsafe { image.write_reference(at + address, values) };
    image.write(at + length, &values.len().to_ne_bytes());
}

macro_rules! slices {
    ($([$($generics:tt)*] $t:ty, $at:ty, $element:ty, $name:literal, |$v:ident| $slice:expr, $follow:expr;)*) => {$(
        // SAFETY: an address and a length.
        unsafe impl<'a, $($generics)*> Freeze for &'a $t {
            type At<'x> = &'x $at;
            const SHAPE: Shape = Shape::pointer::<Self>(words_of::<$element>().0);
            fn freeze(&self, image: &mut Image, at: usize) {
                let $v: &'a $t = self;
                // SAFETY: the elements live as long as the reference.
                unsafe { write_slice::<$element>(image, at, $slice) };
            }
            fn describe(layout: &mut Layout) {
                layout.name($name);
                layout.number(words_of::<$element>().0);
                <$element>::describe(layout);
            }
            #[inline]
            fn check(content: &mut Content<'_>, at: usize) -> bool {
                let (address, length) = words_of::<$element>();
                let count = content.word(at + length);
                $follow(content, at + address, count)
            }
        }
    )*};
}
slices! {
    [T: Freeze] [T], [T::At<'x>], T, "&[]", |v| v, Content::follow::<T>;
    [] str, str, u8, "&str", |v| v.as_bytes(), |content: &mut Content<'_>, at, count| {
        content.follow_bytes(at, count, |content, at, size| std::str::from_utf8(content.slice(at, size)).is_ok())
    };
    [] CStr, CStr, u8, "&CStr", |v| v.to_bytes_with_nul(), |content: &mut Content<'_>, at, count| {
        content.follow_bytes(at, count, |content, at, size| CStr::from_bytes_with_nul(content.slice(at, size)).is_ok())
    };
}

/// A pointer and a length, in this order, as C has them: a slice in files that other languages read or wrote.
#[repr(C)]
pub struct FrozenSlice<'a, T> {
    address: *const T,
    length: usize,
    of: PhantomData<&'a [T]>,
}

// SAFETY: as a reference to a slice.
unsafe impl<T: Sync> Send for FrozenSlice<'_, T> {}
// SAFETY: as a reference to a slice.
unsafe impl<T: Sync> Sync for FrozenSlice<'_, T> {}

impl<T> Clone for FrozenSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for FrozenSlice<'_, T> {}

impl<T: fmt::Debug> fmt::Debug for FrozenSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl<'a, T> FrozenSlice<'a, T> {
    /// The elements.
    pub fn get(self) -> &'a [T] {
        if self.length == 0 {
            return &[]; // of a null pointer too
        }
        // SAFETY: it was made of such a slice, or is in a file whose opening promised it.
        unsafe { slice::from_raw_parts(self.address, self.length) }
    }
}

impl<'a, T> From<&'a [T]> for FrozenSlice<'a, T> {
    fn from(slice: &'a [T]) -> FrozenSlice<'a, T> {
        FrozenSlice { address: slice.as_ptr(), length: slice.len(), of: PhantomData }
    }
}

impl<T> Deref for FrozenSlice<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.get()
    }
}

impl<T> Borrow<[T]> for FrozenSlice<'_, T> {
    fn borrow(&self) -> &[T] {
        self.get()
    }
}

impl<T: PartialEq> PartialEq for FrozenSlice<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for FrozenSlice<'_, T> {}

impl<T: Ord> PartialOrd for FrozenSlice<'_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> Ord for FrozenSlice<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.get().cmp(other.get())
    }
}

// SAFETY: an address and a length.
unsafe impl<T: Freeze> Freeze for FrozenSlice<'_, T> {
    type At<'x> = FrozenSlice<'x, T::At<'x>>;
    const SHAPE: Shape = Shape { has_references: true, is_checked: true, ..Shape::PLAIN };
    fn freeze(&self, image: &mut Image, at: usize) {
        // SAFETY: the elements live as long as the slice.
        unsafe { image.write_reference(at, self.get()) };
        image.write(at + offset_of!(Self, length), &self.length.to_ne_bytes());
    }
    fn describe(layout: &mut Layout) {
        layout.name("FrozenSlice");
        T::describe(layout);
    }
    #[inline]
    fn check(content: &mut Content<'_>, at: usize) -> bool {
        let count = content.word(at + offset_of!(Self, length));
        count == 0 || content.follow::<T>(at, count)
    }
}
