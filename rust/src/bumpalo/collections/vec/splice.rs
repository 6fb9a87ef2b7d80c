//! Taking a range of elements out of a `Vec` and putting others in.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{Drain, Vec};

/// [`Vec::splice`].
///
/// ```
/// use toft::bumpalo::vec;
/// let bump = toft::bumpalo::Bump::new();
/// let mut v = vec![in &bump; 1, 2, 3];
/// assert!(v.splice(1..2, [7, 8]).eq([2]));
/// assert_eq!(v, [1, 7, 8, 3]);
/// ```
#[derive(Debug)]
pub struct Splice<'a, 'bump, I>
where
    I: Iterator,
    I::Item: 'a + 'bump,
{
    drain: Drain<'a, 'bump, I::Item>,
    others: I,
}

impl<'a, 'bump, I: Iterator> Splice<'a, 'bump, I> {
    #[track_caller]
    pub(super) fn new(drain: Drain<'a, 'bump, I::Item>, others: I) -> Self {
        Splice { drain, others }
    }
}

impl<I: Iterator> Iterator for Splice<'_, '_, I> {
    type Item = I::Item;

    #[inline]
    #[track_caller]
    fn next(&mut self) -> Option<I::Item> {
        self.drain.next()
    }

    #[inline]
    #[track_caller]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.drain.size_hint()
    }
}

impl<I: Iterator> DoubleEndedIterator for Splice<'_, '_, I> {
    #[inline]
    #[track_caller]
    fn next_back(&mut self) -> Option<I::Item> {
        self.drain.next_back()
    }
}

impl<I: Iterator> ExactSizeIterator for Splice<'_, '_, I> {}

/// The gap is filled, and made larger: by what the others promise, then by what they come to. The drain closes it.
impl<I: Iterator> Drop for Splice<'_, '_, I> {
    #[track_caller]
    fn drop(&mut self) {
        let Splice { drain, others } = self;
        drain.by_ref().for_each(drop);
        if drain.tail_len == 0 {
            // SAFETY: the drain has the Vec, and there is nothing behind its end.
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
        // SAFETY: the drain has the Vec.
        let mut rest = Vec::from_iter_in(others, unsafe { drain.vec.as_ref() }.bump());
        if !rest.is_empty() {
            drain.widen(rest.len());
            drain.fill(&mut rest.drain(..));
        }
    }
}
