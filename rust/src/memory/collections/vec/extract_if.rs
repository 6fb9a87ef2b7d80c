//! The iterator of [`Vec::extract_if`].
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::ops::RangeBounds;
use core::slice;

use super::edit::Sieve;
use super::Vec;
use crate::collections::within;
use crate::memory::arena::Arena;
use crate::memory::by_layout::Memory;

/// The iterator of [`Vec::extract_if`]. Elements that were not visited when it is dropped stay in the vector.
///
/// ```
/// let arena = toft::Arena::new();
/// let mut v = arena.vec_from_iter([1, 2, 3, 4]);
/// assert_eq!(v.extract_if(.., |n| *n % 2 == 0).next(), Some(2));
/// assert_eq!(v, [1, 3, 4]);
/// ```
#[must_use = "it removes nothing until it is iterated; retain_mut drops elements"]
pub struct ExtractIf<'a, 'm, T: 'm, F, A: Memory = Arena> {
    sieve: Sieve<'a, 'm, T, A>,
    /// The end of the range.
    end: usize,
    filter: F,
}

impl<'m, T: 'm, A: Memory> Vec<'m, T, A> {
    /// Removes the elements of a range for which `filter` returns true, and returns them by an iterator, which calls it
    /// for one element after another. Takes linear time; the others keep their order.
    ///
    /// If `filter` panics, its element stays in the vector. If the iterator is leaked, all elements are leaked too.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut v = arena.vec_from_iter(0..10);
    /// let odd = arena.vec_from_iter(v.extract_if(4.., |n| *n % 2 == 1));
    /// assert_eq!((&odd[..], &v[..]), (&[5, 7, 9][..], &[0, 1, 2, 3, 4, 6, 8][..]));
    /// ```
    #[track_caller]
    pub fn extract_if<F, R>(&mut self, range: R, filter: F) -> ExtractIf<'_, 'm, T, F, A>
    where
        F: FnMut(&mut T) -> bool,
        R: RangeBounds<usize>,
    {
        let (start, end) = within(range, self.len);
        ExtractIf { sieve: Sieve::new(self, start), end, filter }
    }
}

impl<T, F, A: Memory> Iterator for ExtractIf<'_, '_, T, F, A>
where
    F: FnMut(&mut T) -> bool,
{
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let sieve = &mut self.sieve;
        while sieve.read < self.end {
            // SAFETY: initialised, and not visited yet.
            let element = unsafe { &mut *sieve.at.add(sieve.read) };
            if (self.filter)(element) {
                sieve.read += 1;
                // SAFETY: initialised, and visited now, so it is returned once.
                return Some(unsafe { sieve.at.add(sieve.read - 1).read() });
            }
            sieve.keep();
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.end - self.sieve.read))
    }
}

impl<T: fmt::Debug, F, A: Memory> fmt::Debug for ExtractIf<'_, '_, T, F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sieve = &self.sieve;
        // SAFETY: the kept elements are initialised, and those not visited.
        let (kept, ahead) = unsafe {
            let ahead = slice::from_raw_parts(sieve.at.add(sieve.read), sieve.len - sieve.read);
            (slice::from_raw_parts(sieve.at, sieve.kept), ahead)
        };
        f.debug_struct("ExtractIf").field("kept", &kept).field("ahead", &ahead).finish_non_exhaustive()
    }
}
