//! The error of a conversion to text.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::fmt;
use core::str::Utf8Error;

use crate::collections::Vec;
use crate::memory::arena::Arena;
use crate::memory::by_layout::Memory;

/// The error of [`String::from_utf8`](super::String::from_utf8): the bytes are not UTF-8.
///
/// ```
/// let arena = toft::Arena::new();
/// let error = toft::collections::String::from_utf8(arena.vec_from_iter([b'a', 0xff])).unwrap_err();
/// assert_eq!(error.utf8_error().valid_up_to(), 1);
/// ```
pub struct FromUtf8Error<'m, A: Memory = Arena> {
    bytes: Vec<'m, u8, A>,
    error: Utf8Error,
}

impl<'m, A: Memory> FromUtf8Error<'m, A> {
    pub(super) fn new(bytes: Vec<'m, u8, A>, error: Utf8Error) -> Self {
        FromUtf8Error { bytes, error }
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes, which are unchanged.
    pub fn into_bytes(self) -> Vec<'m, u8, A> {
        self.bytes
    }

    /// Returns where they stop being UTF-8.
    pub fn utf8_error(&self) -> Utf8Error {
        self.error
    }
}

/// The error of [`String::from_utf16_in`](super::String::from_utf16_in): there is an unpaired surrogate.
///
/// ```
/// let arena = toft::Arena::new();
/// assert!(toft::collections::String::from_utf16_in(&[0xd800], &arena).is_err());
/// ```
#[derive(Debug)]
pub struct FromUtf16Error(pub(super) ());

impl fmt::Display for FromUtf16Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unpaired surrogate in UTF-16")
    }
}

impl core::error::Error for FromUtf16Error {}

impl<A: Memory> fmt::Debug for FromUtf8Error<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromUtf8Error").field("bytes", &self.bytes).field("error", &self.error).finish()
    }
}

impl<A: Memory> fmt::Display for FromUtf8Error<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<A: Memory> core::error::Error for FromUtf8Error<'_, A> {}
