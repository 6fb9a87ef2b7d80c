//! The types that may be frozen.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::fmt;
use std::marker::PhantomData;
use std::mem::{offset_of, size_of};
use std::num::{
    NonZeroI128, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI8, NonZeroIsize, NonZeroU128, NonZeroU16, NonZeroU32,
    NonZeroU64, NonZeroU8, NonZeroUsize,
};
use std::ops::Deref;
use std::slice;

use crate::{Image, Layout};

/// A type whose values mean the same in every process: implemented by `#[derive(Freeze)]`.
///
/// ```compile_fail
/// #[derive(toft_frozen::Freeze)]
/// struct Name(String); // memory of its own
/// ```
///
/// # Safety
/// A value has no destructor, no cell, and no pointers but those that `freeze` writes with
/// [`Image::write_reference`], whose values live as long as the value. `freeze` writes all bytes that are not padding.
/// `At<'x>` is the same type for the lifetime 'x. `describe` adds all that determines the layout.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be frozen",
    note = "a frozen value consists of numbers, arrays, references, slices and strings, and types with `#[derive(Freeze)]`",
    note = "in place of `Box<T>`, `Vec<T>` and `String` use `&'a T`, `&'a [T]` and `&'a str`"
)]
pub unsafe trait Freeze {
    /// The type for the time that a file is open.
    type At<'x>: Freeze + 'x;
    /// Writes the value at an offset of the image.
    fn freeze(&self, image: &mut Image, at: usize);
    /// Describes the type.
    fn describe(layout: &mut Layout);
}

macro_rules! numbers {
    ($($t:ty, |$v:ident| $number:expr;)*) => {$(
        // SAFETY: a number, all of whose bytes are written.
        unsafe impl Freeze for $t {
            type At<'x> = $t;
            fn freeze(&self, image: &mut Image, at: usize) {
                let $v = *self;
                image.write(at, &$number.to_ne_bytes());
            }
            fn describe(layout: &mut Layout) {
                layout.name(stringify!($t));
                layout.number(align_of::<$t>());
            }
        }
    )*};
}
numbers! {
    u8, |v| v; u16, |v| v; u32, |v| v; u64, |v| v; u128, |v| v; usize, |v| v;
    i8, |v| v; i16, |v| v; i32, |v| v; i64, |v| v; i128, |v| v; isize, |v| v;
    f32, |v| v; f64, |v| v; bool, |v| u8::from(v); char, |v| u32::from(v);
    NonZeroU8, |v| v.get(); NonZeroU16, |v| v.get(); NonZeroU32, |v| v.get(); NonZeroU64, |v| v.get();
    NonZeroU128, |v| v.get(); NonZeroUsize, |v| v.get();
    NonZeroI8, |v| v.get(); NonZeroI16, |v| v.get(); NonZeroI32, |v| v.get(); NonZeroI64, |v| v.get();
    NonZeroI128, |v| v.get(); NonZeroIsize, |v| v.get();
    Option<NonZeroU8>, |v| v.map_or(0, NonZeroU8::get); Option<NonZeroU16>, |v| v.map_or(0, NonZeroU16::get);
    Option<NonZeroU32>, |v| v.map_or(0, NonZeroU32::get); Option<NonZeroU64>, |v| v.map_or(0, NonZeroU64::get);
    Option<NonZeroUsize>, |v| v.map_or(0, NonZeroUsize::get);
}

// SAFETY: no bytes.
unsafe impl Freeze for () {
    type At<'x> = ();
    fn freeze(&self, _: &mut Image, _: usize) {}
    fn describe(layout: &mut Layout) {
        layout.name("()");
    }
}

// SAFETY: no bytes.
unsafe impl<T: Freeze> Freeze for PhantomData<T> {
    type At<'x> = PhantomData<T::At<'x>>;
    fn freeze(&self, _: &mut Image, _: usize) {}
    fn describe(layout: &mut Layout) {
        layout.name("PhantomData");
    }
}

// SAFETY: elements without gaps.
unsafe impl<T: Freeze, const N: usize> Freeze for [T; N] {
    type At<'x> = [T::At<'x>; N];
    fn freeze(&self, image: &mut Image, at: usize) {
        for (i, element) in self.iter().enumerate() {
            element.freeze(image, at + i * size_of::<T>());
        }
    }
    fn describe(layout: &mut Layout) {
        layout.name("[]");
        layout.number(N);
        T::describe(layout);
    }
}

macro_rules! tuples {
    ($($name:ident $($t:ident $i:tt),*;)*) => {$(
        // SAFETY: its elements.
        unsafe impl<$($t: Freeze),*> Freeze for ($($t,)*) {
            type At<'x> = ($($t::At<'x>,)*);
            fn freeze(&self, image: &mut Image, at: usize) {
                $(self.$i.freeze(image, at + offset_of!(Self, $i));)*
            }
            fn describe(layout: &mut Layout) {
                if layout.begin::<Self>(stringify!($name)) {
                    $(layout.field::<$t>(stringify!($i), offset_of!(Self, $i));)*
                }
            }
        }
    )*};
}
tuples! { one A 0; two A 0, B 1; three A 0, B 1, C 2; four A 0, B 1, C 2, D 3; }

// ---- references ----

// SAFETY: one pointer.
unsafe impl<'a, T: Freeze> Freeze for &'a T {
    type At<'x> = &'x T::At<'x>;
    fn freeze(&self, image: &mut Image, at: usize) {
        let target: &'a T = self;
        // SAFETY: the target lives as long as the reference.
        unsafe { image.write_reference(at, slice::from_ref(target)) };
    }
    fn describe(layout: &mut Layout) {
        layout.name("&");
        T::describe(layout);
    }
}

// SAFETY: one pointer, or null, which None is.
unsafe impl<T: Freeze> Freeze for Option<&T> {
    type At<'x> = Option<&'x T::At<'x>>;
    fn freeze(&self, image: &mut Image, at: usize) {
        if let Some(target) = self {
            target.freeze(image, at);
        }
    }
    fn describe(layout: &mut Layout) {
        layout.name("Option");
        <&T>::describe(layout);
    }
}

/// The offset of the address in a reference to a slice, which this compiler has chosen; the length is in the other word.
fn address_first<T>() -> bool {
    // SAFETY: a reference to a slice is an address and a length, in this order or the other; both are initialised.
    let words: [usize; 2] =
        unsafe { std::mem::transmute(std::ptr::slice_from_raw_parts(std::ptr::without_provenance::<T>(64), 1)) };
    words[0] == 64
}

/// # Safety
/// The values live until `freeze` returns.
unsafe fn write_slice<T: Freeze>(image: &mut Image, at: usize, values: &[T]) {
    let (address, length) =
        if address_first::<T>() { (at, at + size_of::<usize>()) } else { (at + size_of::<usize>(), at) };
    // SAFETY: the caller's contract.
    unsafe { image.write_reference(address, values) };
    image.write(length, &values.len().to_ne_bytes());
}

macro_rules! slices {
    ($([$($generics:tt)*] $t:ty, $at:ty, $element:ty, $name:literal, |$v:ident| $slice:expr;)*) => {$(
        // SAFETY: an address and a length.
        unsafe impl<'a, $($generics)*> Freeze for &'a $t {
            type At<'x> = &'x $at;
            fn freeze(&self, image: &mut Image, at: usize) {
                let $v: &'a $t = self;
                // SAFETY: the elements live as long as the reference.
                unsafe { write_slice::<$element>(image, at, $slice) };
            }
            fn describe(layout: &mut Layout) {
                layout.name($name);
                layout.number(usize::from(address_first::<$element>()));
                <$element>::describe(layout);
            }
        }
    )*};
}
slices! {
    [T: Freeze] [T], [T::At<'x>], T, "&[]", |v| v;
    [] str, str, u8, "&str", |v| v.as_bytes();
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

// SAFETY: an address and a length.
unsafe impl<T: Freeze> Freeze for FrozenSlice<'_, T> {
    type At<'x> = FrozenSlice<'x, T::At<'x>>;
    fn freeze(&self, image: &mut Image, at: usize) {
        // SAFETY: the elements live as long as the slice.
        unsafe { image.write_reference(at, self.get()) };
        image.write(at + offset_of!(Self, length), &self.length.to_ne_bytes());
    }
    fn describe(layout: &mut Layout) {
        layout.name("FrozenSlice");
        T::describe(layout);
    }
}
