//! The iterator of [`Vec::drain_filter`](super::Vec::drain_filter).
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;
use core::ptr;
use core::slice;

use toft::collections::Vec;

/// The iterator of [`Vec::drain_filter`](super::Vec::drain_filter).
///
/// ```
/// let bump = toft_bumpalo::Bump::new();
/// let mut v = toft_bumpalo::vec![in &bump; 1, 2, 3, 4];
/// assert!(v.drain_filter(|n| *n % 2 == 0).eq([2, 4]));
/// assert_eq!(v, [1, 3]);
/// ```
pub struct DrainFilter<'a, 'bump: 'a, T: 'a + 'bump, F>
where
    F: FnMut(&mut T) -> bool,
{
    sieve: Sieve<'a, 'bump, T>,
    filter: F,
    /// The filter is running; if it panics, it is not called again.
    filtering: bool,
}

/// While it exists, the vector is empty; when it is dropped, also by a panic, the kept elements and those not visited
/// are the vector's again.
struct Sieve<'a, 'bump, T> {
    vec: &'a mut Vec<'bump, T>,
    len: usize,
    visited: usize,
    kept: usize,
}

impl<T> Sieve<'_, '_, T> {
    fn at(&self, index: usize) -> *const T {
        self.vec.as_ptr().wrapping_add(index)
    }
}

impl<T> Drop for Sieve<'_, '_, T> {
    fn drop(&mut self) {
        let (at, ahead) = (self.vec.as_mut_ptr(), self.len - self.visited);
        // SAFETY: the elements not visited are initialised, and close the gap behind the kept ones.
        unsafe {
            ptr::copy(at.add(self.visited), at.add(self.kept), ahead);
            self.vec.set_len(self.kept + ahead);
        }
    }
}

impl<'a, 'bump, T, F> DrainFilter<'a, 'bump, T, F>
where
    F: FnMut(&mut T) -> bool,
{
    pub(super) fn new(vec: &'a mut Vec<'bump, T>, filter: F) -> Self {
        let len = vec.len();
        // SAFETY: fewer elements; the sieve owns them.
        unsafe { vec.set_len(0) };
        DrainFilter { sieve: Sieve { vec, len, visited: 0, kept: 0 }, filter, filtering: false }
    }
}

impl<T, F> Iterator for DrainFilter<'_, '_, T, F>
where
    F: FnMut(&mut T) -> bool,
{
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let sieve = &mut self.sieve;
        let at = sieve.vec.as_mut_ptr();
        while sieve.visited < sieve.len {
            // SAFETY: within the elements, initialised, and not visited yet.
            let element = unsafe { at.add(sieve.visited) };
            self.filtering = true;
            // SAFETY: as above; no other reference to it exists.
            let accepted = (self.filter)(unsafe { &mut *element });
            self.filtering = false;
            sieve.visited += 1;
            if accepted {
                // SAFETY: as above; it is visited now, so it is returned once.
                return Some(unsafe { element.read() });
            }
            // SAFETY: its new place is free, or its own.
            unsafe { ptr::copy(element, at.add(sieve.kept), 1) };
            sieve.kept += 1;
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.sieve.len - self.sieve.visited))
    }
}

impl<T, F> FusedIterator for DrainFilter<'_, '_, T, F> where F: FnMut(&mut T) -> bool {}

impl<T, F> Drop for DrainFilter<'_, '_, T, F>
where
    F: FnMut(&mut T) -> bool,
{
    fn drop(&mut self) {
        if !self.filtering {
            self.for_each(drop);
        }
    }
}

impl<T: fmt::Debug, F> fmt::Debug for DrainFilter<'_, '_, T, F>
where
    F: FnMut(&mut T) -> bool,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sieve = &self.sieve;
        // SAFETY: both are initialised.
        let (kept, ahead) = unsafe {
            (
                slice::from_raw_parts(sieve.at(0), sieve.kept),
                slice::from_raw_parts(sieve.at(sieve.visited), sieve.len - sieve.visited),
            )
        };
        f.debug_struct("DrainFilter").field("kept", &kept).field("ahead", &ahead).finish_non_exhaustive()
    }
}
