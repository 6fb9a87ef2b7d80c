//! Why bytes are not text.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::str::Utf8Error;

use crate::bumpalo::collections::Vec;

/// [`String::from_utf8`](super::String::from_utf8): the bytes are not UTF-8.
///
/// ```
/// use toft::bumpalo::{collections::String, vec};
/// let bump = toft::bumpalo::Bump::new();
/// let error = String::from_utf8(vec![in &bump; b'a', 0xff]).unwrap_err();
/// assert_eq!(error.utf8_error().valid_up_to(), 1);
/// ```
#[derive(Debug)]
pub struct FromUtf8Error<'bump> {
    bytes: Vec<'bump, u8>,
    error: Utf8Error,
}

impl<'bump> FromUtf8Error<'bump> {
    #[track_caller]
    pub(super) fn new(bytes: Vec<'bump, u8>, error: Utf8Error) -> Self {
        FromUtf8Error { bytes, error }
    }

    /// The bytes.
    #[track_caller]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, as they were.
    #[track_caller]
    pub fn into_bytes(self) -> Vec<'bump, u8> {
        self.bytes
    }

    /// Where they stop being UTF-8.
    #[track_caller]
    pub fn utf8_error(&self) -> Utf8Error {
        self.error
    }
}

impl fmt::Display for FromUtf8Error<'_> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl core::error::Error for FromUtf8Error<'_> {}

/// [`String::from_utf16_in`](super::String::from_utf16_in): a surrogate stands alone.
///
/// ```
/// use toft::bumpalo::collections::String;
/// let bump = toft::bumpalo::Bump::new();
/// assert!(String::from_utf16_in(&[0xd800], &bump).is_err());
/// ```
#[derive(Debug)]
pub struct FromUtf16Error(pub(super) ());

impl fmt::Display for FromUtf16Error {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a surrogate of UTF-16 stands alone")
    }
}

impl core::error::Error for FromUtf16Error {}
