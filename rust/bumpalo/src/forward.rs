//! Methods that are those of Toft's collection.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// Methods of `&self`.
macro_rules! forward_ref {
    ($s:ident, $of:literal: $(fn $name:ident() -> $out:ty;)*) => {$(
        #[doc = concat!("As [Toft's method](toft::collections::", $of, "::", stringify!($name), ").")]
        #[inline(always)]
        pub fn $name(&$s) -> $out {
            $s.0.$name()
        }
    )*};
}

/// Methods of `&mut self`.
macro_rules! forward_mut {
    ($s:ident, $of:literal: $(
        fn $name:ident $(<$g:ident>)? ($($arg:ident: $ty:ty),*) $(-> $out:ty)? $(where [$($bound:tt)*])?;
    )*) => {$(
        #[doc = concat!("As [Toft's method](toft::collections::", $of, "::", stringify!($name), ").")]
        #[inline(always)]
        #[track_caller]
        pub fn $name $(<$g>)? (&mut $s, $($arg: $ty),*) $(-> $out)? $(where $($bound)*)? {
            $s.0.$name($($arg),*)
        }
    )*};
}

pub(crate) use {forward_mut, forward_ref};
