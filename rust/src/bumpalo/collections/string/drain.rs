//! Taking a range of characters out of a `String`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::str::Chars;

use super::String;

/// [`String::drain`]. The text is as it was until this is dropped.
///
/// ```
/// use toft::bumpalo::collections::String;
/// let bump = toft::bumpalo::Bump::new();
/// let mut s = String::from_str_in("a plot", &bump);
/// assert!(s.drain(..2).eq("a ".chars()));
/// assert_eq!(s, "plot");
/// ```
pub struct Drain<'a, 'bump> {
    string: NonNull<String<'bump>>,
    start: usize,
    end: usize,
    chars: Chars<'a>,
    borrows: PhantomData<&'a mut String<'bump>>,
}

// SAFETY: it has an exclusive borrow of the text, and does not use the arena: text gets no longer.
unsafe impl Send for Drain<'_, '_> {}
// SAFETY: shared, it shows characters.
unsafe impl Sync for Drain<'_, '_> {}

impl<'a, 'bump> Drain<'a, 'bump> {
    /// The range is within the text, and its ends are borders.
    #[track_caller]
    pub(super) fn new(string: &'a mut String<'bump>, start: usize, end: usize) -> Self {
        let string = NonNull::from(string);
        // SAFETY: borrowed for 'a; nobody changes it before `chars` is done with.
        let chars = unsafe { string.as_ref().get_unchecked(start..end).chars() };
        Drain { string, start, end, chars, borrows: PhantomData }
    }
}

impl Drop for Drain<'_, '_> {
    #[track_caller]
    fn drop(&mut self) {
        self.chars = "".chars();
        // SAFETY: borrowed for 'a, and `chars` is done with.
        unsafe { self.string.as_mut() }.replace_bytes(self.start, self.end, "");
    }
}

impl Iterator for Drain<'_, '_> {
    type Item = char;

    #[inline]
    #[track_caller]
    fn next(&mut self) -> Option<char> {
        self.chars.next()
    }

    #[inline]
    #[track_caller]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.chars.size_hint()
    }
}

impl DoubleEndedIterator for Drain<'_, '_> {
    #[inline]
    #[track_caller]
    fn next_back(&mut self) -> Option<char> {
        self.chars.next_back()
    }
}

impl FusedIterator for Drain<'_, '_> {}

impl fmt::Debug for Drain<'_, '_> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Drain").field(&self.chars.as_str()).finish()
    }
}
