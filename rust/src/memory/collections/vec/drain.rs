//! The iterator of [`Vec::drain`].
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use core::slice;

use super::Vec;
use crate::memory::arena::Arena;
use crate::memory::by_layout::Memory;

/// The iterator of [`Vec::drain`].
///
/// While it exists, the vector's length is the start of the range. The elements from `front` to `back` are still to be
/// returned; those from `tail` on are moved down when the iterator is dropped.
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

// SAFETY: it owns elements, and borrows their vector exclusively, whose arena it does not use.
unsafe impl<T: Send, A: Memory> Send for Drain<'_, '_, T, A> {}
// SAFETY: a shared reference gives only shared references to elements.
unsafe impl<T: Sync, A: Memory> Sync for Drain<'_, '_, T, A> {}

impl<'a, 'm, T, A: Memory> Drain<'a, 'm, T, A> {
    /// Precondition: the range is within the vector.
    pub(super) fn new(vec: &'a mut Vec<'m, T, A>, start: usize, end: usize) -> Self {
        let tail_len = vec.len - end;
        vec.len = start;
        Drain { vec: NonNull::from(vec), front: start, back: end, tail: end, tail_len, borrows: PhantomData }
    }

    #[inline(always)]
    fn at(&self, index: usize) -> *mut T {
        // SAFETY: the vector is borrowed for 'a; the index is within its capacity.
        unsafe { self.vec.as_ref().buffer.at().add(index) }
    }

    fn waiting(&self) -> &[T] {
        // SAFETY: initialised.
        unsafe { slice::from_raw_parts(self.at(self.front), self.back - self.front) }
    }

    /// Fills the gap, and returns whether the iterator had enough elements. Precondition: all elements were returned.
    pub(super) fn fill(&mut self, iter: &mut impl Iterator<Item = T>) -> bool {
        // SAFETY: the vector is borrowed for 'a.
        let vec = unsafe { self.vec.as_mut() };
        while vec.len < self.tail {
            let Some(value) = iter.next() else { return false };
            // SAFETY: in the gap.
            unsafe { vec.buffer.at().add(vec.len).write(value) };
            vec.len += 1;
        }
        true
    }

    /// Makes the gap larger by `more`. Precondition: all elements were returned.
    #[track_caller]
    pub(super) fn widen(&mut self, more: usize) {
        // SAFETY: the vector is borrowed for 'a. A growth keeps the whole capacity, the tail included.
        unsafe {
            let vec = self.vec.as_mut();
            crate::base::error::unwrap_infallible(vec.buffer.reserve(self.tail + self.tail_len, more));
            let tail = vec.buffer.at().add(self.tail);
            ptr::copy(tail, tail.add(more), self.tail_len);
        }
        self.tail += more;
    }
}

impl<T, A: Memory> Iterator for Drain<'_, '_, T, A> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.front == self.back {
            return None;
        }
        self.front += 1;
        // SAFETY: initialised, and returned once.
        Some(unsafe { self.at(self.front - 1).read() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.back - self.front, Some(self.back - self.front))
    }
}

impl<T, A: Memory> DoubleEndedIterator for Drain<'_, '_, T, A> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        if self.front == self.back {
            return None;
        }
        self.back -= 1;
        // SAFETY: initialised, and returned once.
        Some(unsafe { self.at(self.back).read() })
    }
}

impl<T, A: Memory> ExactSizeIterator for Drain<'_, '_, T, A> {}
impl<T, A: Memory> FusedIterator for Drain<'_, '_, T, A> {}

impl<T, A: Memory> Drop for Drain<'_, '_, T, A> {
    fn drop(&mut self) {
        /// Moves the tail down, also if a destructor panics.
        struct Join<'d, 'a, 'm, T, A: Memory>(&'d mut Drain<'a, 'm, T, A>);
        impl<T, A: Memory> Drop for Join<'_, '_, '_, T, A> {
            fn drop(&mut self) {
                let (tail, tail_len) = (self.0.at(self.0.tail), self.0.tail_len);
                // SAFETY: the vector is borrowed; the tail is within its capacity.
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
        // SAFETY: initialised, and not used any more.
        unsafe { ptr::drop_in_place(waiting) }
    }
}

impl<T: fmt::Debug, A: Memory> fmt::Debug for Drain<'_, '_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Drain").field(&self.waiting()).finish()
    }
}
