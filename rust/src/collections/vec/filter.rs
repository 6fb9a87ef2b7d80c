//! Taking out the elements that a closure picks.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;

use super::edit::Sieve;
use super::Vec;
use crate::arena::Arena;
use crate::memory::Memory;

/// [`Vec::drain_filter`].
///
/// ```
/// let arena = toft::Arena::new();
/// let mut v = arena.vec_from_iter([1, 2, 3, 4]);
/// assert!(v.drain_filter(|n| *n % 2 == 0).eq([2, 4]));
/// assert_eq!(v, [1, 3]);
/// ```
pub struct DrainFilter<'a, 'm: 'a, T: 'a + 'm, F, A: Memory = Arena>
where
    F: FnMut(&mut T) -> bool,
{
    sieve: Sieve<'a, 'm, T, A>,
    filter: F,
    /// The filter is running; if it panics, it is not asked again.
    asking: bool,
}

impl<'a, 'm, T, F, A: Memory> DrainFilter<'a, 'm, T, F, A>
where
    F: FnMut(&mut T) -> bool,
{
    #[track_caller]
    pub(super) fn new(vec: &'a mut Vec<'m, T, A>, filter: F) -> Self {
        DrainFilter { sieve: Sieve::new(vec), filter, asking: false }
    }
}

impl<T, F, A: Memory> Iterator for DrainFilter<'_, '_, T, F, A>
where
    F: FnMut(&mut T) -> bool,
{
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        while self.sieve.read < self.sieve.len {
            // SAFETY: it is there, and not read yet.
            let element = unsafe { &mut *self.sieve.at.add(self.sieve.read) };
            self.asking = true;
            let wanted = (self.filter)(element);
            self.asking = false;
            if wanted {
                return Some(self.sieve.take());
            }
            self.sieve.keep();
        }
        None
    }

    #[track_caller]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.sieve.len - self.sieve.read))
    }
}

impl<T, F, A: Memory> FusedIterator for DrainFilter<'_, '_, T, F, A> where F: FnMut(&mut T) -> bool {}

impl<T, F, A: Memory> Drop for DrainFilter<'_, '_, T, F, A>
where
    F: FnMut(&mut T) -> bool,
{
    #[track_caller]
    fn drop(&mut self) {
        if !self.asking {
            self.for_each(drop);
        }
    }
}

impl<T: fmt::Debug, F, A: Memory> fmt::Debug for DrainFilter<'_, '_, T, F, A>
where
    F: FnMut(&mut T) -> bool,
{
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kept, ahead) = self.sieve.rest();
        f.debug_struct("DrainFilter").field("kept", &kept).field("ahead", &ahead).finish_non_exhaustive()
    }
}
