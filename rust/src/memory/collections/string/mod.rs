//! Growing text in an arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod drain;
mod edit;
mod error;
mod traits;

pub use drain::Drain;
pub use error::{FromUtf16Error, FromUtf8Error};

use core::str;

use super::{TryReserveError, Vec};
use crate::base::error::AllocError;
use crate::memory::arena::Arena;
use crate::memory::boxed::Box;
use crate::memory::by_layout::Memory;

/// Growing text in an arena, by default an [`Arena`], or in other [`Memory`]: the standard library's `String`.
///
/// It is a [`Vec`] of bytes that are UTF-8, and grows as that does. Positions are in bytes; calls that take one panic
/// if it is out of bounds, or not a character boundary.
///
/// ```
/// let arena = toft::Arena::new();
/// let mut greeting = arena.string_from("Hej");
/// greeting.push_str(", Mads");
/// greeting += "!";
/// assert_eq!(greeting.into_str(), "Hej, Mads!");
/// ```
pub struct String<'m, A: Memory = Arena> {
    vec: Vec<'m, u8, A>,
}

impl<'m, A: Memory> String<'m, A> {
    // ---- creation ----

    /// Creates an empty string. It takes no memory yet.
    #[inline]
    pub fn new_in(memory: &'m A) -> String<'m, A> {
        String { vec: Vec::new_in(memory) }
    }

    /// Creates an empty string for `capacity` bytes.
    #[inline]
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, memory: &'m A) -> String<'m, A> {
        String { vec: Vec::with_capacity_in(capacity, memory) }
    }

    /// Copies a string.
    #[inline]
    #[track_caller]
    pub fn from_str_in(s: &str, memory: &'m A) -> String<'m, A> {
        let mut string = String::with_capacity_in(s.len(), memory);
        string.push_str(s);
        string
    }

    /// Collects characters.
    #[track_caller]
    pub fn from_iter_in<I: IntoIterator<Item = char>>(iter: I, memory: &'m A) -> String<'m, A> {
        let mut string = String::new_in(memory);
        string.extend(iter);
        string
    }

    /// Converts bytes.
    ///
    /// # Errors
    /// The bytes, if they are not UTF-8.
    #[inline]
    pub fn from_utf8(vec: Vec<'m, u8, A>) -> Result<String<'m, A>, FromUtf8Error<'m, A>> {
        match str::from_utf8(&vec) {
            Ok(_) => Ok(String { vec }),
            Err(e) => Err(FromUtf8Error::new(vec, e)),
        }
    }

    /// Copies bytes, with U+FFFD in place of those that are not UTF-8.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(toft::collections::String::from_utf8_lossy_in(b"to\xFFft", &arena), "to\u{FFFD}ft");
    /// ```
    #[track_caller]
    pub fn from_utf8_lossy_in(v: &[u8], memory: &'m A) -> String<'m, A> {
        let mut string = String::with_capacity_in(v.len(), memory);
        for chunk in v.utf8_chunks() {
            string.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                string.push(char::REPLACEMENT_CHARACTER);
            }
        }
        string
    }

    /// Converts bytes, with U+FFFD in place of those that are not UTF-8. Copies nothing if all are.
    #[track_caller]
    pub fn from_utf8_lossy_owned(v: Vec<'m, u8, A>) -> String<'m, A> {
        String::from_utf8(v).unwrap_or_else(|e| {
            let bytes = e.into_bytes();
            String::from_utf8_lossy_in(&bytes, bytes.arena())
        })
    }

    /// Converts UTF-16.
    ///
    /// # Errors
    /// If there is an unpaired surrogate.
    #[track_caller]
    pub fn from_utf16_in(v: &[u16], memory: &'m A) -> Result<String<'m, A>, FromUtf16Error> {
        let mut string = String::with_capacity_in(v.len(), memory);
        for c in char::decode_utf16(v.iter().copied()) {
            string.push(c.map_err(|_| FromUtf16Error(()))?);
        }
        Ok(string)
    }

    /// Converts UTF-16, with U+FFFD in place of unpaired surrogates.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(toft::collections::String::from_utf16_lossy_in(&[0x74, 0xd800, 0x74], &arena), "t\u{FFFD}t");
    /// ```
    #[track_caller]
    pub fn from_utf16_lossy_in(v: &[u16], memory: &'m A) -> String<'m, A> {
        let mut string = String::with_capacity_in(v.len(), memory);
        let chars = char::decode_utf16(v.iter().copied());
        string.extend(chars.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        string
    }

    /// Creates a string of its parts.
    ///
    /// # Safety
    /// As for [`Vec::from_raw_parts_in`]; and the bytes are UTF-8.
    #[inline]
    pub unsafe fn from_raw_parts_in(buf: *mut u8, length: usize, capacity: usize, memory: &'m A) -> String<'m, A> {
        // SAFETY: the caller's contract.
        String { vec: unsafe { Vec::from_raw_parts_in(buf, length, capacity, memory) } }
    }

    /// Converts bytes without a check.
    ///
    /// # Safety
    /// The bytes are UTF-8.
    #[inline]
    pub unsafe fn from_utf8_unchecked(bytes: Vec<'m, u8, A>) -> String<'m, A> {
        String { vec: bytes }
    }

    // ---- conversions ----

    /// Returns the text for as long as the arena is borrowed.
    #[inline]
    #[track_caller]
    pub fn into_str(self) -> &'m mut str {
        // SAFETY: the bytes are UTF-8.
        unsafe { str::from_utf8_unchecked_mut(self.vec.into_slice()) }
    }

    /// As [`into_str`](String::into_str), by the standard library's name.
    #[inline]
    #[track_caller]
    pub fn leak(self) -> &'m mut str {
        self.into_str()
    }

    /// Returns the text in a box.
    #[inline]
    #[track_caller]
    pub fn into_boxed_str(self) -> Box<'m, str> {
        // SAFETY: no other code uses the text.
        unsafe { Box::from_raw(self.into_str()) }
    }

    /// Returns an iterator over the characters, for as long as the arena is borrowed.
    #[inline]
    #[track_caller]
    pub fn into_chars(self) -> str::Chars<'m> {
        self.into_str().chars()
    }

    /// Returns the address of the first byte, the length and the capacity:
    /// [`from_raw_parts_in`](String::from_raw_parts_in) makes a string of them.
    #[inline]
    #[must_use = "the text is leaked unless a string is made of the parts"]
    pub fn into_raw_parts(self) -> (*mut u8, usize, usize) {
        self.vec.into_raw_parts()
    }

    /// Returns the bytes.
    #[inline]
    pub fn into_bytes(self) -> Vec<'m, u8, A> {
        self.vec
    }

    // ---- fallible additions ----

    /// As [`reserve`](String::reserve), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        // SAFETY: reserving capacity does not change the bytes.
        unsafe { self.as_mut_vec() }.try_reserve(additional)
    }

    /// Appends a string, or returns an error if there is no memory.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(32).create()?;
    /// let mut s = tight.string();
    /// while s.try_push_str("word ").is_ok() {}
    /// assert!(s.starts_with("word ") && s.len() % 5 == 0);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_push_str(&mut self, s: &str) -> Result<(), AllocError> {
        self.try_reserve(s.len()).map_err(|_| AllocError)?;
        self.push_str(s);
        Ok(())
    }

    /// As [`reserve_exact`](String::reserve_exact), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_reserve_exact(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.vec.try_reserve_exact(additional)
    }

    // ---- queries ----

    /// Returns the text.
    #[inline(always)]
    pub fn as_str(&self) -> &str {
        // SAFETY: the bytes are UTF-8.
        unsafe { str::from_utf8_unchecked(&self.vec) }
    }

    /// Returns the text, exclusively.
    #[inline(always)]
    pub fn as_mut_str(&mut self) -> &mut str {
        // SAFETY: the bytes are UTF-8.
        unsafe { str::from_utf8_unchecked_mut(&mut self.vec) }
    }

    /// Returns the bytes.
    #[inline(always)]
    pub fn as_bytes(&self) -> &[u8] {
        &self.vec
    }

    /// Returns the bytes, exclusively.
    ///
    /// # Safety
    /// They are UTF-8 whenever the string is used again.
    #[inline(always)]
    pub unsafe fn as_mut_vec(&mut self) -> &mut Vec<'m, u8, A> {
        &mut self.vec
    }

    /// Returns the length in bytes.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.vec.len()
    }

    /// Returns whether there is no text.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.vec.is_empty()
    }

    // ---- capacity ----

    /// Returns the arena.
    #[inline]
    pub fn arena(&self) -> &'m A {
        self.vec.arena()
    }

    /// Returns the number of bytes that it can hold without growing.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.vec.capacity()
    }

    /// Makes room for `additional` more bytes; at least doubles the capacity if it grows.
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.vec.reserve(additional)
    }

    /// Makes room for `additional` more bytes.
    #[inline]
    #[track_caller]
    pub fn reserve_exact(&mut self, additional: usize) {
        self.vec.reserve_exact(additional)
    }

    /// Frees the unused capacity, if the arena can free it.
    #[inline]
    #[track_caller]
    pub fn shrink_to_fit(&mut self) {
        self.vec.shrink_to_fit()
    }

    /// Frees the capacity above `capacity`, or above the length if that is larger, if the arena can free it.
    #[inline]
    #[track_caller]
    pub fn shrink_to(&mut self, capacity: usize) {
        self.vec.shrink_to(capacity)
    }
}
