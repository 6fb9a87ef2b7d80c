//! Insertion and removal of text.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::RangeBounds;
use core::ptr;

use super::{Drain, String};
use crate::collections::within;
use crate::memory::by_layout::Memory;

impl<'m, A: Memory> String<'m, A> {
    // ---- at the end ----

    /// Appends a string.
    #[inline]
    #[track_caller]
    pub fn push_str(&mut self, string: &str) {
        self.vec.extend_from_slice_copy(string.as_bytes())
    }

    /// Appends the text of a range.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut s = arena.string_from("a plot");
    /// s.extend_from_within(1..);
    /// assert_eq!(s, "a plot plot");
    /// ```
    #[track_caller]
    pub fn extend_from_within<R>(&mut self, src: R)
    where
        R: RangeBounds<usize>,
    {
        let (start, end) = within(src, self.len());
        self.border(start);
        self.border(end);
        self.vec.extend_from_within(start..end);
    }

    /// Appends a character.
    #[inline(always)]
    #[track_caller]
    pub fn push(&mut self, ch: char) {
        if ch.is_ascii() {
            self.vec.push(ch as u8);
        } else {
            self.push_beyond_ascii(ch);
        }
    }

    /// Of each length by itself, since a copy of a length that the compiler does not know is a call.
    #[inline]
    #[track_caller]
    fn push_beyond_ascii(&mut self, ch: char) {
        let bits = |from: u32| (ch as u32 >> from) as u8;
        let next = |from| 0x80 | bits(from) & 0x3F;
        let n = ch.len_utf8();
        self.vec.reserve(n);
        // SAFETY: the capacity suffices.
        unsafe {
            let end = self.vec.as_mut_ptr().add(self.len());
            match n {
                2 => end.cast::<[u8; 2]>().write([0xC0 | bits(6), next(0)]),
                3 => end.cast::<[u8; 3]>().write([0xE0 | bits(12), next(6), next(0)]),
                _ => end.cast::<[u8; 4]>().write([0xF0 | bits(18), next(12), next(6), next(0)]),
            }
            self.vec.set_len(self.len() + n);
        }
    }

    /// Removes and returns the last character.
    #[inline]
    pub fn pop(&mut self) -> Option<char> {
        let ch = self.chars().next_back()?;
        self.vec.truncate(self.len() - ch.len_utf8());
        Some(ch)
    }

    /// Removes all but the first `new_len` bytes.
    #[track_caller]
    pub fn truncate(&mut self, new_len: usize) {
        if new_len < self.len() {
            self.border(new_len);
            self.vec.truncate(new_len);
        }
    }

    /// Removes all of the text. The capacity is unchanged.
    #[inline]
    pub fn clear(&mut self) {
        self.vec.clear()
    }

    /// Moves the text from `at` on to a new string.
    #[track_caller]
    pub fn split_off(&mut self, at: usize) -> String<'m, A> {
        self.border(at);
        String { vec: self.vec.split_off(at) }
    }

    // ---- at any position ----

    /// Inserts a character at `idx`.
    #[track_caller]
    pub fn insert(&mut self, idx: usize, ch: char) {
        self.insert_str(idx, ch.encode_utf8(&mut [0; 4]))
    }

    /// Inserts a string at `idx`.
    #[track_caller]
    pub fn insert_str(&mut self, idx: usize, string: &str) {
        self.border(idx);
        self.replace_bytes(idx, idx, string);
    }

    /// Removes and returns the character at `idx`.
    #[track_caller]
    pub fn remove(&mut self, idx: usize) -> char {
        let Some(ch) = self[idx..].chars().next() else { panic!("toft: there is no character at the text's end") };
        self.replace_bytes(idx, idx + ch.len_utf8(), "");
        ch
    }

    /// Removes the characters of a range, when the returned iterator over them is dropped.
    #[track_caller]
    pub fn drain<R>(&mut self, range: R) -> Drain<'_, 'm, A>
    where
        R: RangeBounds<usize>,
    {
        let (start, end) = within(range, self.len());
        self.border(start);
        self.border(end);
        Drain::new(self, start, end)
    }

    /// Replaces a range by a string.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut s = arena.string_from("a plot");
    /// s.replace_range(..1, "the");
    /// assert_eq!(s, "the plot");
    /// ```
    #[track_caller]
    pub fn replace_range<R>(&mut self, range: R, replace_with: &str)
    where
        R: RangeBounds<usize>,
    {
        let (start, end) = within(range, self.len());
        self.border(start);
        self.border(end);
        self.replace_bytes(start, end, replace_with);
    }

    /// Removes the characters for which `f` returns false.
    #[track_caller]
    pub fn retain<F>(&mut self, mut f: F)
    where
        F: FnMut(char) -> bool,
    {
        /// Also if `f` panics, the text is what was kept and what was not visited.
        struct Sieve<'a, 'm, A: Memory> {
            string: &'a mut String<'m, A>,
            read: usize,
            kept: usize,
            len: usize,
        }
        impl<A: Memory> Drop for Sieve<'_, '_, A> {
            fn drop(&mut self) {
                self.move_down(self.len - self.read);
                // SAFETY: as many bytes are initialised.
                unsafe { self.string.vec.set_len(self.kept) };
            }
        }
        impl<A: Memory> Sieve<'_, '_, A> {
            fn move_down(&mut self, bytes: usize) {
                let at = self.string.vec.as_mut_ptr();
                // SAFETY: within the text.
                unsafe { ptr::copy(at.add(self.read), at.add(self.kept), bytes) };
                (self.read, self.kept) = (self.read + bytes, self.kept + bytes);
            }
        }
        let len = self.len();
        let mut sieve = Sieve { string: self, read: 0, kept: 0, len };
        while sieve.read < len {
            // SAFETY: the text not visited is unchanged.
            let ch = unsafe { sieve.string.get_unchecked(sieve.read..).chars().next().unwrap_unchecked() };
            if f(ch) {
                sieve.move_down(ch.len_utf8());
            } else {
                sieve.read += ch.len_utf8();
            }
        }
    }

    // ---- the bytes ----

    /// Precondition: the range is within the text, and its ends are character boundaries.
    #[track_caller]
    pub(super) fn replace_bytes(&mut self, start: usize, end: usize, with: &str) {
        let rest = self.len() - end;
        self.vec.reserve(with.len().saturating_sub(end - start));
        // SAFETY: the capacity suffices; the text behind the range moves to the end of the new bytes.
        unsafe {
            let at = self.vec.as_mut_ptr().add(start);
            ptr::copy(at.add(end - start), at.add(with.len()), rest);
            ptr::copy_nonoverlapping(with.as_ptr(), at, with.len());
            self.vec.set_len(start + with.len() + rest);
        }
    }

    #[inline]
    #[track_caller]
    fn border(&self, at: usize) {
        if !self.is_char_boundary(at) {
            no_border(at, self.len());
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn no_border(at: usize, len: usize) -> ! {
    panic!("toft: byte {at} is not at a character's border in a text of {len}")
}
