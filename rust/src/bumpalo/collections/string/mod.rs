//! Growing text in an arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod drain;
mod edit;
mod error;
mod traits;

pub use drain::Drain;
pub use error::{FromUtf16Error, FromUtf8Error};

use core::str;

use super::Vec;
use crate::bumpalo::Bump;

/// Growing text in an arena: the standard library's `String`, made with a reference to a [`Bump`].
///
/// It is a [`Vec`] of bytes that are UTF-8, and grows as that does. Positions are in bytes; calls that take one panic
/// if it is not at the border of a character, or out of bounds.
///
/// ```
/// use toft::bumpalo::{collections::String, Bump};
///
/// let bump = Bump::new();
/// let mut greeting = String::from_str_in("Hej", &bump);
/// greeting.push_str(", Mads");
/// greeting += "!";
/// assert_eq!(greeting.into_bump_str(), "Hej, Mads!");
/// ```
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct String<'bump> {
    vec: Vec<'bump, u8>,
}

impl<'bump> String<'bump> {
    // ---- making ----

    /// An empty one, which takes no memory yet.
    #[inline]
    #[track_caller]
    pub fn new_in(bump: &'bump Bump) -> String<'bump> {
        String { vec: Vec::new_in(bump) }
    }

    /// An empty one with room for `capacity` bytes.
    #[inline]
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, bump: &'bump Bump) -> String<'bump> {
        String { vec: Vec::with_capacity_in(capacity, bump) }
    }

    /// A copy of a string.
    #[inline]
    #[track_caller]
    pub fn from_str_in(s: &str, bump: &'bump Bump) -> String<'bump> {
        let mut string = String::with_capacity_in(s.len(), bump);
        string.push_str(s);
        string
    }

    /// All characters that an iterator yields.
    #[track_caller]
    pub fn from_iter_in<I: IntoIterator<Item = char>>(iter: I, bump: &'bump Bump) -> String<'bump> {
        let mut string = String::new_in(bump);
        string.extend(iter);
        string
    }

    /// Bytes that may be text.
    ///
    /// # Errors
    /// The bytes, if they are not UTF-8.
    #[inline]
    #[track_caller]
    pub fn from_utf8(vec: Vec<'bump, u8>) -> Result<String<'bump>, FromUtf8Error<'bump>> {
        match str::from_utf8(&vec) {
            Ok(_) => Ok(String { vec }),
            Err(e) => Err(FromUtf8Error::new(vec, e)),
        }
    }

    /// Bytes as text, with U+FFFD for what is not UTF-8.
    ///
    /// ```
    /// # use toft::bumpalo::{collections::String, Bump};
    /// let bump = Bump::new();
    /// assert_eq!(String::from_utf8_lossy_in(b"to\xFFft", &bump), "to\u{FFFD}ft");
    /// ```
    #[track_caller]
    pub fn from_utf8_lossy_in(v: &[u8], bump: &'bump Bump) -> String<'bump> {
        let mut string = String::with_capacity_in(v.len(), bump);
        for chunk in v.utf8_chunks() {
            string.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                string.push(char::REPLACEMENT_CHARACTER);
            }
        }
        string
    }

    /// UTF-16 as text.
    ///
    /// # Errors
    /// If a surrogate stands alone.
    #[track_caller]
    pub fn from_utf16_in(v: &[u16], bump: &'bump Bump) -> Result<String<'bump>, FromUtf16Error> {
        let mut string = String::with_capacity_in(v.len(), bump);
        for c in char::decode_utf16(v.iter().copied()) {
            string.push(c.map_err(|_| FromUtf16Error(()))?);
        }
        Ok(string)
    }

    /// Of its parts.
    ///
    /// # Safety
    /// As for [`Vec::from_raw_parts_in`]; and the bytes are UTF-8.
    #[inline]
    #[track_caller]
    pub unsafe fn from_raw_parts_in(buf: *mut u8, length: usize, capacity: usize, bump: &'bump Bump) -> String<'bump> {
        // SAFETY: the caller's contract.
        String { vec: unsafe { Vec::from_raw_parts_in(buf, length, capacity, bump) } }
    }

    /// Bytes as text, unchecked.
    ///
    /// # Safety
    /// The bytes are UTF-8.
    #[inline]
    #[track_caller]
    pub unsafe fn from_utf8_unchecked(bytes: Vec<'bump, u8>) -> String<'bump> {
        String { vec: bytes }
    }

    // ---- becoming something else ----

    /// The text, for as long as the arena is borrowed.
    #[inline]
    #[track_caller]
    pub fn into_bump_str(self) -> &'bump str {
        // SAFETY: the bytes are UTF-8.
        unsafe { str::from_utf8_unchecked(self.vec.into_bump_slice()) }
    }

    /// The bytes.
    #[inline]
    #[track_caller]
    pub fn into_bytes(self) -> Vec<'bump, u8> {
        self.vec
    }

    // ---- looking ----

    /// The text.
    #[inline(always)]
    #[track_caller]
    pub fn as_str(&self) -> &str {
        // SAFETY: the bytes are UTF-8.
        unsafe { str::from_utf8_unchecked(&self.vec) }
    }

    /// The text, to be changed.
    #[inline(always)]
    #[track_caller]
    pub fn as_mut_str(&mut self) -> &mut str {
        // SAFETY: the bytes are UTF-8.
        unsafe { str::from_utf8_unchecked_mut(&mut self.vec) }
    }

    /// The bytes.
    #[inline(always)]
    #[track_caller]
    pub fn as_bytes(&self) -> &[u8] {
        &self.vec
    }

    /// The bytes, to be changed.
    ///
    /// # Safety
    /// They are UTF-8 whenever the string is used again.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn as_mut_vec(&mut self) -> &mut Vec<'bump, u8> {
        &mut self.vec
    }

    /// How many bytes there are.
    #[inline(always)]
    #[track_caller]
    pub fn len(&self) -> usize {
        self.vec.len()
    }

    /// Whether there are none.
    #[inline(always)]
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.vec.is_empty()
    }

    // ---- room ----

    /// The arena.
    #[inline]
    #[track_caller]
    pub fn bump(&self) -> &'bump Bump {
        self.vec.bump()
    }

    /// Bytes that it can hold without growing.
    #[inline]
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.vec.capacity()
    }

    /// Room for `additional` more bytes, and for further ones to come.
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.vec.reserve(additional)
    }

    /// Room for `additional` more bytes.
    #[inline]
    #[track_caller]
    pub fn reserve_exact(&mut self, additional: usize) {
        self.vec.reserve_exact(additional)
    }

    /// Gives back the room that is not used, if the text is the arena's newest allocation.
    #[inline]
    #[track_caller]
    pub fn shrink_to_fit(&mut self) {
        self.vec.shrink_to_fit()
    }
}
