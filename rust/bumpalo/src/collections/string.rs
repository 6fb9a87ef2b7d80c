//! Growing text in an arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::borrow::Cow;
use core::fmt;
use core::ops::{Add, AddAssign, Deref, DerefMut, Index, IndexMut, RangeBounds};
use core::slice::SliceIndex;
use core::str::Utf8Error;

use toft::collections as native;
#[doc(inline)]
pub use toft::collections::string::{Drain, FromUtf16Error};

use super::Vec;
use crate::forward::{forward_mut, forward_ref};
use crate::Bump;

/// Growing text in an arena: [`toft::collections::String`] under bumpalo's names.
///
/// ```
/// use toft_bumpalo::{collections::String, Bump};
///
/// let bump = Bump::new();
/// let mut greeting = String::from_str_in("Hej", &bump);
/// greeting.push_str(", Mads");
/// greeting += "!";
/// assert_eq!(greeting.into_bump_str(), "Hej, Mads!");
/// ```
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct String<'bump>(native::String<'bump>);

impl<'bump> String<'bump> {
    /// Creates an empty string. It takes no memory yet.
    #[inline(always)]
    pub fn new_in(bump: &'bump Bump) -> String<'bump> {
        String(native::String::new_in(bump.as_ref()))
    }

    /// Creates an empty string for `capacity` bytes.
    #[inline(always)]
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, bump: &'bump Bump) -> String<'bump> {
        String(native::String::with_capacity_in(capacity, bump.as_ref()))
    }

    /// Copies a string.
    #[inline(always)]
    #[track_caller]
    pub fn from_str_in(s: &str, bump: &'bump Bump) -> String<'bump> {
        String(native::String::from_str_in(s, bump.as_ref()))
    }

    /// Collects characters.
    #[inline(always)]
    #[track_caller]
    pub fn from_iter_in<I: IntoIterator<Item = char>>(iter: I, bump: &'bump Bump) -> String<'bump> {
        String(native::String::from_iter_in(iter, bump.as_ref()))
    }

    /// Converts bytes.
    ///
    /// # Errors
    /// The bytes, if they are not UTF-8.
    #[inline(always)]
    pub fn from_utf8(vec: Vec<'bump, u8>) -> Result<String<'bump>, FromUtf8Error<'bump>> {
        native::String::from_utf8(vec.0).map(String).map_err(FromUtf8Error)
    }

    /// Copies bytes, with U+FFFD in place of those that are not UTF-8.
    #[inline(always)]
    #[track_caller]
    pub fn from_utf8_lossy_in(v: &[u8], bump: &'bump Bump) -> String<'bump> {
        String(native::String::from_utf8_lossy_in(v, bump.as_ref()))
    }

    /// Converts UTF-16.
    ///
    /// # Errors
    /// If there is an unpaired surrogate.
    #[inline(always)]
    #[track_caller]
    pub fn from_utf16_in(v: &[u16], bump: &'bump Bump) -> Result<String<'bump>, FromUtf16Error> {
        native::String::from_utf16_in(v, bump.as_ref()).map(String)
    }

    /// Creates a string of its parts.
    ///
    /// # Safety
    /// As for [`Vec::from_raw_parts_in`]; and the bytes are UTF-8.
    #[inline(always)]
    pub unsafe fn from_raw_parts_in(buf: *mut u8, length: usize, capacity: usize, bump: &'bump Bump) -> String<'bump> {
        // SAFETY: the caller's contract.
        String(unsafe { native::String::from_raw_parts_in(buf, length, capacity, bump.as_ref()) })
    }

    /// Converts bytes without a check.
    ///
    /// # Safety
    /// The bytes are UTF-8.
    #[inline(always)]
    pub unsafe fn from_utf8_unchecked(bytes: Vec<'bump, u8>) -> String<'bump> {
        // SAFETY: the caller's contract.
        String(unsafe { native::String::from_utf8_unchecked(bytes.0) })
    }

    /// Returns its arena.
    #[inline(always)]
    pub fn bump(&self) -> &'bump Bump {
        Bump::from_ref(self.0.arena())
    }

    /// Returns the text for as long as the arena is borrowed.
    #[inline(always)]
    pub fn into_bump_str(self) -> &'bump str {
        self.0.into_str()
    }

    /// Returns the bytes.
    #[inline(always)]
    pub fn into_bytes(self) -> Vec<'bump, u8> {
        Vec(self.0.into_bytes())
    }

    /// Returns the bytes, exclusively.
    ///
    /// # Safety
    /// They are UTF-8 whenever the string is used again.
    #[inline(always)]
    pub unsafe fn as_mut_vec(&mut self) -> &mut Vec<'bump, u8> {
        // SAFETY: the caller's contract; a Vec is Toft's vector and nothing else (repr(transparent)).
        unsafe { &mut *core::ptr::from_mut(self.0.as_mut_vec()).cast() }
    }

    forward_ref! { self, "String":
        fn as_str() -> &str;
        fn as_bytes() -> &[u8];
        fn capacity() -> usize;
        fn len() -> usize;
        fn is_empty() -> bool;
    }

    forward_mut! { self, "String":
        fn as_mut_str() -> &mut str;
        fn push_str(string: &str);
        fn reserve(additional: usize);
        fn reserve_exact(additional: usize);
        fn shrink_to_fit();
        fn push(ch: char);
        fn truncate(new_len: usize);
        fn pop() -> Option<char>;
        fn remove(idx: usize) -> char;
        fn retain<F>(f: F) where [F: FnMut(char) -> bool];
        fn insert(idx: usize, ch: char);
        fn insert_str(idx: usize, string: &str);
        fn clear();
        fn drain<R>(range: R) -> Drain<'_, 'bump> where [R: RangeBounds<usize>];
        fn replace_range<R>(range: R, replace_with: &str) where [R: RangeBounds<usize>];
    }

    /// Moves the text from `at` on to a string of its own.
    #[inline(always)]
    #[track_caller]
    pub fn split_off(&mut self, at: usize) -> String<'bump> {
        String(self.0.split_off(at))
    }
}

/// The error of [`String::from_utf8`]: the bytes are not UTF-8.
///
/// ```
/// use toft_bumpalo::{collections::String, vec};
/// let bump = toft_bumpalo::Bump::new();
/// let error = String::from_utf8(vec![in &bump; b'a', 0xff]).unwrap_err();
/// assert_eq!(error.utf8_error().valid_up_to(), 1);
/// ```
#[derive(Debug)]
pub struct FromUtf8Error<'bump>(native::string::FromUtf8Error<'bump>);

impl<'bump> FromUtf8Error<'bump> {
    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Returns the bytes, which are unchanged.
    pub fn into_bytes(self) -> Vec<'bump, u8> {
        Vec(self.0.into_bytes())
    }

    /// Returns where they stop being UTF-8.
    pub fn utf8_error(&self) -> Utf8Error {
        self.0.utf8_error()
    }
}

impl fmt::Display for FromUtf8Error<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl core::error::Error for FromUtf8Error<'_> {}

impl<'bump> From<native::String<'bump>> for String<'bump> {
    fn from(string: native::String<'bump>) -> Self {
        String(string)
    }
}

impl<'bump> From<String<'bump>> for native::String<'bump> {
    fn from(string: String<'bump>) -> Self {
        string.0
    }
}

// ---- what the standard library's `String` does ----

impl Deref for String<'_> {
    type Target = str;
    #[inline(always)]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl DerefMut for String<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut str {
        self.as_mut_str()
    }
}

impl<I: SliceIndex<str>> Index<I> for String<'_> {
    type Output = I::Output;
    #[inline]
    #[track_caller]
    fn index(&self, index: I) -> &I::Output {
        &self.as_str()[index]
    }
}

impl<I: SliceIndex<str>> IndexMut<I> for String<'_> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: I) -> &mut I::Output {
        &mut self.as_mut_str()[index]
    }
}

/// In the same arena.
impl Clone for String<'_> {
    #[track_caller]
    fn clone(&self) -> Self {
        String(self.0.clone())
    }

    #[track_caller]
    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0)
    }
}

impl fmt::Display for String<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Write for String<'_> {
    #[inline(always)]
    #[track_caller]
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.0.write_str(s)
    }

    #[inline(always)]
    #[track_caller]
    fn write_char(&mut self, c: char) -> fmt::Result {
        self.0.write_char(c)
    }
}

impl Add<&str> for String<'_> {
    type Output = Self;
    #[track_caller]
    fn add(mut self, other: &str) -> Self {
        self.push_str(other);
        self
    }
}

impl AddAssign<&str> for String<'_> {
    #[inline]
    #[track_caller]
    fn add_assign(&mut self, other: &str) {
        self.push_str(other)
    }
}

toft::__traits_of_target!([] String<'_>, str);

macro_rules! equal {
    ($other:ty) => {
        impl<'a, 'bump> PartialEq<$other> for String<'bump> {
            #[inline]
            fn eq(&self, other: &$other) -> bool {
                self.as_str() == &other[..]
            }
        }

        impl<'a, 'bump> PartialEq<String<'bump>> for $other {
            #[inline]
            fn eq(&self, other: &String<'bump>) -> bool {
                &self[..] == other.as_str()
            }
        }
    };
}

equal!(str);
equal!(&'a str);
equal!(Cow<'a, str>);
equal!(alloc::string::String);

impl AsRef<[u8]> for String<'_> {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

macro_rules! extend_by {
    ($item:ty) => {
        impl<'a, 'bump> Extend<$item> for String<'bump> {
            #[track_caller]
            fn extend<I: IntoIterator<Item = $item>>(&mut self, iter: I) {
                self.0.extend(iter)
            }
        }
    };
}

extend_by!(char);
extend_by!(&'a char);
extend_by!(&'a str);
extend_by!(alloc::string::String);
extend_by!(Cow<'a, str>);

impl<'bump> Extend<String<'bump>> for String<'bump> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = String<'bump>>>(&mut self, iter: I) {
        iter.into_iter().for_each(|s| self.push_str(&s));
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for String<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}
