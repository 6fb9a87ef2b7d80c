//! The iterator of [`Vec::splice`](super::Vec::splice).
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::memory::by_layout::Memory;
use core::fmt;
use core::marker::PhantomData;

use super::{Drain, Vec};
use crate::memory::arena::Arena;

/// The iterator of [`Vec::splice`].
///
/// ```
/// let arena = toft::Arena::new();
/// let mut v = arena.vec_from_iter([1, 2, 3]);
/// assert!(v.splice(1..2, [7, 8]).eq([2]));
/// assert_eq!(v, [1, 7, 8, 3]);
/// ```
pub struct Splice<'a, 'm, I, A: Memory = Arena>
where
    I: Iterator,
    I::Item: 'a + 'm,
{
    drain: Drain<'a, 'm, I::Item, A>,
    others: I,
    /// The drop allocates, so this value may be sent only if a reference to the memory may.
    grows: PhantomData<&'m A>,
}

impl<'a, 'm, I: Iterator, A: Memory> Splice<'a, 'm, I, A> {
    pub(super) fn new(drain: Drain<'a, 'm, I::Item, A>, others: I) -> Self {
        Splice { drain, others, grows: PhantomData }
    }
}

impl<I: Iterator, A: Memory> Iterator for Splice<'_, '_, I, A> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        self.drain.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.drain.size_hint()
    }
}

impl<I: Iterator, A: Memory> DoubleEndedIterator for Splice<'_, '_, I, A> {
    #[inline]
    fn next_back(&mut self) -> Option<I::Item> {
        self.drain.next_back()
    }
}

impl<I: Iterator, A: Memory> ExactSizeIterator for Splice<'_, '_, I, A> {}

/// Fills the gap; if that is too small, enlarges it by the size hint of the other iterator, then by the number of its
/// remaining elements. The drain closes it.
impl<I: Iterator, A: Memory> Drop for Splice<'_, '_, I, A> {
    fn drop(&mut self) {
        let Splice { drain, others, .. } = self;
        drain.by_ref().for_each(drop);
        if drain.tail_len == 0 {
            // SAFETY: the drain borrows the vector, and no element is behind the range.
            unsafe { drain.vec.as_mut() }.extend(others);
            return;
        }
        if !drain.fill(others) {
            return;
        }
        let least = others.size_hint().0;
        if least != 0 {
            drain.widen(least);
            if !drain.fill(others) {
                return;
            }
        }
        // SAFETY: the drain borrows the vector.
        let mut rest = Vec::from_iter_in(others, unsafe { drain.vec.as_ref() }.arena());
        if !rest.is_empty() {
            drain.widen(rest.len());
            drain.fill(&mut rest.drain(..));
        }
    }
}

impl<I: Iterator + fmt::Debug, A: Memory> fmt::Debug for Splice<'_, '_, I, A>
where
    I::Item: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Splice").field("drain", &self.drain).field("others", &self.others).finish_non_exhaustive()
    }
}
