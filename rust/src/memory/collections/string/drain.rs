//! The iterator of [`String::drain`].
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::str::Chars;

use super::String;
use crate::memory::arena::Arena;
use crate::memory::by_layout::Memory;

/// The iterator of [`String::drain`]. The text is unchanged until it is dropped.
///
/// ```
/// let arena = toft::Arena::new();
/// let mut s = arena.string_from("a plot");
/// assert!(s.drain(..2).eq("a ".chars()));
/// assert_eq!(s, "plot");
/// ```
pub struct Drain<'a, 'm, A: Memory = Arena> {
    string: NonNull<String<'m, A>>,
    start: usize,
    end: usize,
    chars: Chars<'a>,
    borrows: PhantomData<&'a mut String<'m, A>>,
}

// SAFETY: it borrows the text exclusively, which does not grow, so the arena is not used.
unsafe impl<A: Memory> Send for Drain<'_, '_, A> {}
// SAFETY: a shared reference gives only characters.
unsafe impl<A: Memory> Sync for Drain<'_, '_, A> {}

impl<'a, 'm, A: Memory> Drain<'a, 'm, A> {
    /// Precondition: the range is within the text, and its ends are character boundaries.
    pub(super) fn new(string: &'a mut String<'m, A>, start: usize, end: usize) -> Self {
        let string = NonNull::from(string);
        // SAFETY: borrowed for 'a; it is not changed while `chars` is used.
        let chars = unsafe { string.as_ref().get_unchecked(start..end).chars() };
        Drain { string, start, end, chars, borrows: PhantomData }
    }
}

impl<A: Memory> Drop for Drain<'_, '_, A> {
    fn drop(&mut self) {
        self.chars = "".chars();
        // SAFETY: borrowed for 'a, and `chars` is not used any more.
        unsafe { self.string.as_mut() }.replace_bytes(self.start, self.end, "");
    }
}

impl<A: Memory> Iterator for Drain<'_, '_, A> {
    type Item = char;

    #[inline]
    fn next(&mut self) -> Option<char> {
        self.chars.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.chars.size_hint()
    }
}

impl<A: Memory> DoubleEndedIterator for Drain<'_, '_, A> {
    #[inline]
    fn next_back(&mut self) -> Option<char> {
        self.chars.next_back()
    }
}

impl<A: Memory> FusedIterator for Drain<'_, '_, A> {}

impl<A: Memory> fmt::Debug for Drain<'_, '_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Drain").field(&self.chars.as_str()).finish()
    }
}
