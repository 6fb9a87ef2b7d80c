//! The iterator of [`Vec::drain_filter`](super::Vec::drain_filter).
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::fmt;
use core::iter::FusedIterator;

use toft::collections::vec::ExtractIf;
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
    extracted: ExtractIf<'a, 'bump, T, F>,
    /// The filter is running; if it panics, it is not called again.
    filtering: bool,
}

impl<'a, 'bump, T, F> DrainFilter<'a, 'bump, T, F>
where
    F: FnMut(&mut T) -> bool,
{
    pub(super) fn new(vec: &'a mut Vec<'bump, T>, filter: F) -> Self {
        DrainFilter { extracted: vec.extract_if(.., filter), filtering: false }
    }
}

impl<T, F> Iterator for DrainFilter<'_, '_, T, F>
where
    F: FnMut(&mut T) -> bool,
{
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.filtering = true;
        let element = self.extracted.next();
        self.filtering = false;
        element
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.extracted.size_hint()
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
        f.debug_tuple("DrainFilter").field(&self.extracted).finish()
    }
}
