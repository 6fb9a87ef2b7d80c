//! `collect_in` of the crate `toft`, into this crate's types.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

pub use toft::collections::{CollectIn, FromIteratorIn};

use super::{String, Vec};
#[cfg(feature = "boxed")]
use crate::boxed::Box;
use crate::Bump;

impl<'bump, T> FromIteratorIn<T> for Vec<'bump, T> {
    type Alloc = &'bump Bump;

    #[inline]
    fn from_iter_in<I: IntoIterator<Item = T>>(iter: I, alloc: &'bump Bump) -> Self {
        Vec::from_iter_in(iter, alloc)
    }
}

#[cfg(feature = "boxed")]
impl<'bump, T> FromIteratorIn<T> for Box<'bump, [T]> {
    type Alloc = &'bump Bump;

    #[inline]
    fn from_iter_in<I: IntoIterator<Item = T>>(iter: I, alloc: &'bump Bump) -> Self {
        Box::from_iter_in(iter, alloc)
    }
}

impl<'bump> FromIteratorIn<char> for String<'bump> {
    type Alloc = &'bump Bump;

    #[inline]
    fn from_iter_in<I: IntoIterator<Item = char>>(iter: I, alloc: &'bump Bump) -> Self {
        String::from_iter_in(iter, alloc)
    }
}
