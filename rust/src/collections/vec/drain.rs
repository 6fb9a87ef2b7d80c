//! Taking a range of elements out of a `Vec`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use core::slice;

use super::Vec;
use crate::arena::Arena;
use crate::memory::Memory;

/// [`Vec::drain`].
///
/// Meanwhile the `Vec` ends at the range's start; from `front` to `back` elements wait here; behind the gap, at `tail`,
/// are those that join the others again.
///
/// ```
/// let arena = toft::Arena::new();
/// let mut v = arena.vec_from_iter([1, 2, 3]);
/// assert!(v.drain(1..).eq([2, 3]));
/// assert_eq!(v, [1]);
/// ```
pub struct Drain<'a, 'm, T: 'a + 'm, A: Memory = Arena> {
    pub(super) vec: NonNull<Vec<'m, T, A>>,
    front: usize,
    back: usize,
    pub(super) tail: usize,
    pub(super) tail_len: usize,
    borrows: PhantomData<&'a T>,
}

// SAFETY: it has elements, and an exclusive borrow of their Vec, whose arena it does not use.
unsafe impl<T: Send, A: Memory> Send for Drain<'_, '_, T, A> {}
// SAFETY: shared, it shows elements.
unsafe impl<T: Sync, A: Memory> Sync for Drain<'_, '_, T, A> {}

impl<'a, 'm, T, A: Memory> Drain<'a, 'm, T, A> {
    /// The range is within the `Vec`.
    #[track_caller]
    pub(super) fn new(vec: &'a mut Vec<'m, T, A>, start: usize, end: usize) -> Self {
        let tail_len = vec.len - end;
        vec.len = start;
        Drain { vec: NonNull::from(vec), front: start, back: end, tail: end, tail_len, borrows: PhantomData }
    }

    #[inline(always)]
    #[track_caller]
    fn at(&self, index: usize) -> *mut T {
        // SAFETY: the Vec is borrowed for 'a; the index is within its room.
        unsafe { self.vec.as_ref().buffer.at().add(index) }
    }

    #[track_caller]
    fn waiting(&self) -> &[T] {
        // SAFETY: they are there.
        unsafe { slice::from_raw_parts(self.at(self.front), self.back - self.front) }
    }

    /// With nothing waiting: fills the gap, and says whether the iterator had enough.
    #[track_caller]
    pub(super) fn fill(&mut self, iter: &mut impl Iterator<Item = T>) -> bool {
        // SAFETY: the Vec is borrowed for 'a.
        let vec = unsafe { self.vec.as_mut() };
        while vec.len < self.tail {
            let Some(value) = iter.next() else { return false };
            // SAFETY: in the gap.
            unsafe { vec.buffer.at().add(vec.len).write(value) };
            vec.len += 1;
        }
        true
    }

    /// With nothing waiting: makes the gap larger by `more`.
    #[track_caller]
    pub(super) fn widen(&mut self, more: usize) {
        // SAFETY: the Vec is borrowed for 'a. All its room is kept as it is, the tail in it.
        unsafe {
            let vec = self.vec.as_mut();
            crate::error::unwrap_infallible(vec.buffer.reserve(self.tail + self.tail_len, more));
            let tail = vec.buffer.at().add(self.tail);
            ptr::copy(tail, tail.add(more), self.tail_len);
        }
        self.tail += more;
    }
}

impl<T, A: Memory> Iterator for Drain<'_, '_, T, A> {
    type Item = T;

    #[inline]
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        if self.front == self.back {
            return None;
        }
        self.front += 1;
        // SAFETY: it was waiting, and is not any more.
        Some(unsafe { self.at(self.front - 1).read() })
    }

    #[inline]
    #[track_caller]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.back - self.front, Some(self.back - self.front))
    }
}

impl<T, A: Memory> DoubleEndedIterator for Drain<'_, '_, T, A> {
    #[inline]
    #[track_caller]
    fn next_back(&mut self) -> Option<T> {
        if self.front == self.back {
            return None;
        }
        self.back -= 1;
        // SAFETY: it was waiting, and is not any more.
        Some(unsafe { self.at(self.back).read() })
    }
}

impl<T, A: Memory> ExactSizeIterator for Drain<'_, '_, T, A> {}
impl<T, A: Memory> FusedIterator for Drain<'_, '_, T, A> {}

impl<T, A: Memory> Drop for Drain<'_, '_, T, A> {
    #[track_caller]
    fn drop(&mut self) {
        /// The tail joins the others, whatever happens to those that wait.
        struct Join<'d, 'a, 'm, T, A: Memory>(&'d mut Drain<'a, 'm, T, A>);
        impl<T, A: Memory> Drop for Join<'_, '_, '_, T, A> {
            fn drop(&mut self) {
                let (tail, tail_len) = (self.0.at(self.0.tail), self.0.tail_len);
                // SAFETY: the Vec is borrowed; the tail is within its room.
                unsafe {
                    let vec = self.0.vec.as_mut();
                    if tail_len != 0 && vec.len != self.0.tail {
                        ptr::copy(tail, vec.buffer.at().add(vec.len), tail_len);
                    }
                    vec.len += tail_len;
                }
            }
        }
        let waiting = ptr::slice_from_raw_parts_mut(self.at(self.front), self.back - self.front);
        let _join = Join(self);
        // SAFETY: they were waiting, and nobody asks any more.
        unsafe { ptr::drop_in_place(waiting) }
    }
}

impl<T: fmt::Debug, A: Memory> fmt::Debug for Drain<'_, '_, T, A> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Drain").field(&self.waiting()).finish()
    }
}
