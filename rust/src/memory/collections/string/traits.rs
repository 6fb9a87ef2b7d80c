//! Traits of the standard library's `String`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::borrow::Cow;
use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, AddAssign, Deref, DerefMut, Index, IndexMut};
use core::slice::SliceIndex;

use super::String;
use crate::collections::Vec;
use crate::memory::boxed::{traits_of_target, Box};
use crate::memory::by_layout::Memory;

impl<A: Memory> Deref for String<'_, A> {
    type Target = str;
    #[inline(always)]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<A: Memory> DerefMut for String<'_, A> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut str {
        self.as_mut_str()
    }
}

impl<I: SliceIndex<str>, A: Memory> Index<I> for String<'_, A> {
    type Output = I::Output;
    #[inline]
    #[track_caller]
    fn index(&self, index: I) -> &I::Output {
        &self.as_str()[index]
    }
}

impl<I: SliceIndex<str>, A: Memory> IndexMut<I> for String<'_, A> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: I) -> &mut I::Output {
        &mut self.as_mut_str()[index]
    }
}

/// In the same arena.
impl<A: Memory> Clone for String<'_, A> {
    #[track_caller]
    fn clone(&self) -> Self {
        String::from_str_in(self, self.arena())
    }

    #[track_caller]
    fn clone_from(&mut self, other: &Self) {
        self.clear();
        self.push_str(other);
    }
}

impl<A: Memory, B: Memory> PartialEq<String<'_, B>> for String<'_, A> {
    #[inline]
    fn eq(&self, other: &String<'_, B>) -> bool {
        self.as_str() == other.as_str()
    }
}

impl<A: Memory> Eq for String<'_, A> {}

impl<A: Memory, B: Memory> PartialOrd<String<'_, B>> for String<'_, A> {
    #[inline]
    fn partial_cmp(&self, other: &String<'_, B>) -> Option<Ordering> {
        self.as_str().partial_cmp(other.as_str())
    }
}

impl<A: Memory> Ord for String<'_, A> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

traits_of_target!([A: Memory] String<'_, A>, str);

impl<A: Memory> fmt::Display for String<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Fails if the arena has no memory.
impl<A: Memory> fmt::Write for String<'_, A> {
    #[inline]
    #[track_caller]
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.vec.try_reserve(s.len()).map_err(|_| fmt::Error)?;
        self.push_str(s);
        Ok(())
    }

    #[inline]
    #[track_caller]
    fn write_char(&mut self, c: char) -> fmt::Result {
        self.vec.try_reserve(c.len_utf8()).map_err(|_| fmt::Error)?;
        self.push(c);
        Ok(())
    }
}

impl<A: Memory> Add<&str> for String<'_, A> {
    type Output = Self;
    #[inline]
    #[track_caller]
    fn add(mut self, other: &str) -> Self {
        self.push_str(other);
        self
    }
}

impl<A: Memory> AddAssign<&str> for String<'_, A> {
    #[inline]
    #[track_caller]
    fn add_assign(&mut self, other: &str) {
        self.push_str(other)
    }
}

macro_rules! equal {
    ($other:ty) => {
        impl<'a, A: Memory> PartialEq<$other> for String<'_, A> {
            #[inline]
            fn eq(&self, other: &$other) -> bool {
                self.as_str() == &other[..]
            }
        }

        impl<'a, 'm, A: Memory> PartialEq<String<'m, A>> for $other {
            #[inline]
            fn eq(&self, other: &String<'m, A>) -> bool {
                &self[..] == other.as_str()
            }
        }
    };
}

equal!(str);
equal!(&'a str);
equal!(Cow<'a, str>);
equal!(alloc::string::String);

impl<A: Memory> AsRef<[u8]> for String<'_, A> {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<A: Memory> Extend<char> for String<'_, A> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = char>>(&mut self, iter: I) {
        let iter = iter.into_iter();
        self.reserve(iter.size_hint().0);
        iter.for_each(|c| self.push(c));
    }
}

impl<'a, A: Memory> Extend<&'a char> for String<'_, A> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'a char>>(&mut self, iter: I) {
        self.extend(iter.into_iter().copied())
    }
}

macro_rules! extend_by_strings {
    ($string:ty) => {
        impl<'a, 'm, A: Memory> Extend<$string> for String<'m, A> {
            fn extend<I: IntoIterator<Item = $string>>(&mut self, iter: I) {
                iter.into_iter().for_each(|s| self.push_str(&s));
            }
        }
    };
}

extend_by_strings!(&'a str);
extend_by_strings!(String<'m, A>);
extend_by_strings!(alloc::string::String);
extend_by_strings!(Cow<'a, str>);
extend_by_strings!(Box<'a, str>);
extend_by_strings!(alloc::boxed::Box<str>);

impl<'m, A: Memory> From<String<'m, A>> for Box<'m, str> {
    #[track_caller]
    fn from(string: String<'m, A>) -> Self {
        string.into_boxed_str()
    }
}

impl<'m, A: Memory> From<String<'m, A>> for Vec<'m, u8, A> {
    fn from(string: String<'m, A>) -> Self {
        string.into_bytes()
    }
}
