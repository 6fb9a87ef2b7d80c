//! The types that may be frozen: numbers, arrays, tuples, and structs of the standard library with public fields.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cmp::{Ordering, Reverse};
use std::marker::PhantomData;
use std::mem::{offset_of, size_of};
use std::num::{
    NonZeroI128, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI8, NonZeroIsize, NonZeroU128, NonZeroU16, NonZeroU32,
    NonZeroU64, NonZeroU8, NonZeroUsize, Saturating, Wrapping,
};
use std::ops::{Range, RangeFrom, RangeFull, RangeTo, RangeToInclusive};

use crate::shape::Scalar;
use crate::{Content, Image, Layout, Shape};

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
/// `At<'x>` is the same type for the lifetime 'x. `SHAPE` and `describe` add all that determines the layout; `check` returns
/// true only if the bytes are a value, whose references are checked too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be frozen",
    note = "a frozen value consists of numbers, arrays, tuples, options, references, slices and strings, and types with `#[derive(Freeze)]`",
    note = "in place of `Box<T>`, `Vec<T>` and `String` use `&'a T`, `&'a [T]` and `&'a str`; in place of a map `FrozenHashMap` or `FrozenSortedMap`"
)]
pub unsafe trait Freeze {
    /// The type for the time that a file is open.
    type At<'x>: for<'y> Freeze<At<'y> = Self::At<'y>> + 'x;
    /// The properties that other types and the checks depend on.
    const SHAPE: Shape;
    /// Writes the value at an offset of the image.
    fn freeze(&self, image: &mut Image, at: usize);
    /// Writes values that follow each other. What the first ones refer to comes first in the file, unless a type changes that.
    fn freeze_all(values: &[Self], image: &mut Image, at: usize)
    where
        Self: Sized,
    {
        for (i, value) in values.iter().enumerate() {
            value.freeze(image, at + i * size_of::<Self>());
        }
    }
    /// Describes the type.
    fn describe(layout: &mut Layout);
    /// Whether the bytes at an offset are a value. Precondition: they lie in the content.
    fn check(content: &mut Content<'_>, at: usize) -> bool;
}

/// A type whose values are integers. A type with a condition also has a value that occurs and the number of integers that
/// never do.
macro_rules! numbers {
    ($($t:ty, |$v:ident| $number:expr $(, $valid:literal, $left:expr, |$integer:ident| $condition:expr)?;)*) => {$(
        // SAFETY: a number, all of whose bytes are written, and whose range is checked.
        unsafe impl Freeze for $t {
            type At<'x> = $t;
            const SHAPE: Shape = {
                const SHAPES: &[Shape] = &[$(Shape::of(Scalar::of::<$t>(0, size_of::<$t>(), $valid, $left)),)? Shape::PLAIN];
                SHAPES[0]
            };
            fn freeze(&self, image: &mut Image, at: usize) {
                let $v = *self;
                image.write(at, &$number.to_ne_bytes());
            }
            fn describe(layout: &mut Layout) {
                layout.name(stringify!($t));
                layout.align(align_of::<$t>());
            }
            #[inline]
            fn check(_content: &mut Content<'_>, _at: usize) -> bool {
                $(
                    let $integer = _content.integer(_at, size_of::<$t>());
                    if !$condition {
                        return _content.refuse(_at);
                    }
                )?
                true
            }
        }
    )*};
}
macro_rules! integers {
    ($($t:ty, $nonzero:ty;)*) => { numbers! {$(
        $t, |v| v;
        $nonzero, |v| v.get(), 1, 1, |integer| integer != 0;
    )*}};
}
integers! {
    u8, NonZeroU8; u16, NonZeroU16; u32, NonZeroU32; u64, NonZeroU64; u128, NonZeroU128; usize, NonZeroUsize;
    i8, NonZeroI8; i16, NonZeroI16; i32, NonZeroI32; i64, NonZeroI64; i128, NonZeroI128; isize, NonZeroIsize;
}
numbers! {
    f32, |v| v; f64, |v| v;
    bool, |v| u8::from(v), 0, 254, |integer| integer <= 1;
    Ordering, |v| v as i8, 0, 253, |integer| integer <= 1 || integer == 255;
    char, |v| u32::from(v), 0, (1 << 32) - 0x11_0000, |integer| char::from_u32(integer as u32).is_some();
}

// SAFETY: no bytes.
unsafe impl<T: Freeze> Freeze for PhantomData<T> {
    type At<'x> = PhantomData<T::At<'x>>;
    const SHAPE: Shape = Shape::PLAIN;
    fn freeze(&self, _: &mut Image, _: usize) {}
    fn describe(layout: &mut Layout) {
        layout.name("PhantomData");
    }
    fn check(_: &mut Content<'_>, _: usize) -> bool {
        true
    }
}

// SAFETY: elements without gaps.
unsafe impl<T: Freeze, const N: usize> Freeze for [T; N] {
    type At<'x> = [T::At<'x>; N];
    const SHAPE: Shape = if N == 0 { Shape::PLAIN } else { T::SHAPE };
    fn freeze(&self, image: &mut Image, at: usize) {
        T::freeze_all(self, image, at);
    }
    fn describe(layout: &mut Layout) {
        layout.name("[]");
        layout.number(N);
        T::describe(layout);
    }
    #[inline]
    fn check(content: &mut Content<'_>, at: usize) -> bool {
        !T::SHAPE.is_checked || (0..N).all(|i| T::check(content, at + i * size_of::<T>()))
    }
}

/// A type of these fields.
macro_rules! structs {
    ($($name:literal [$($generics:ident),*] $t:ty, $at:ty { $($field:tt: $f:ty),* };)*) => {$(
        // SAFETY: its fields.
        unsafe impl<$($generics: Freeze),*> Freeze for $t {
            type At<'x> = $at;
            const SHAPE: Shape = Shape::PLAIN$(.with(offset_of!($t, $field), <$f>::SHAPE))*;
            fn freeze(&self, _image: &mut Image, _at: usize) {
                $(self.$field.freeze(_image, _at + offset_of!($t, $field));)*
            }
            fn describe(layout: &mut Layout) {
                if layout.begin::<Self>($name) {
                    $(layout.field::<$f>(stringify!($field), offset_of!($t, $field));)*
                }
            }
            #[inline]
            fn check(_content: &mut Content<'_>, _at: usize) -> bool {
                true $(&& <$f>::check(_content, _at + offset_of!($t, $field)))*
            }
        }
    )*};
}
structs! {
    "()" [] (), () {}; "RangeFull" [] RangeFull, RangeFull {};
    "Range" [T] Range<T>, Range<T::At<'x>> { start: T, end: T }; "RangeFrom" [T] RangeFrom<T>, RangeFrom<T::At<'x>> { start: T };
    "RangeTo" [T] RangeTo<T>, RangeTo<T::At<'x>> { end: T };
    "RangeToInclusive" [T] RangeToInclusive<T>, RangeToInclusive<T::At<'x>> { end: T };
    "Wrapping" [T] Wrapping<T>, Wrapping<T::At<'x>> { 0: T }; "Saturating" [T] Saturating<T>, Saturating<T::At<'x>> { 0: T };
    "Reverse" [T] Reverse<T>, Reverse<T::At<'x>> { 0: T };
}
macro_rules! tuples {
    ($($name:literal $($t:ident $i:tt)*;)*) => { structs! {$( $name [$($t),*] ($($t,)*), ($($t::At<'x>,)*) { $($i: $t),* }; )*} };
}
tuples! {
    "one" A 0; "two" A 0 B 1; "three" A 0 B 1 C 2; "four" A 0 B 1 C 2 D 3; "five" A 0 B 1 C 2 D 3 E 4;
    "six" A 0 B 1 C 2 D 3 E 4 F 5; "seven" A 0 B 1 C 2 D 3 E 4 F 5 G 6; "eight" A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7;
    "nine" A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8; "ten" A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9;
    "eleven" A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10; "twelve" A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11;
}
