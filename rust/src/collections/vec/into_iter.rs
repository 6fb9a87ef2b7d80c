//! The elements of a `Vec`, one by one.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use core::slice;

use super::Vec;
use crate::memory::Memory;

/// A `Vec`'s elements, by value. The memory stays with the arena.
///
/// ```
/// let arena = toft::Arena::new();
/// let mut iter = arena.vec_from_iter([1, 2, 3]).into_iter();
/// assert_eq!((iter.next(), iter.as_slice()), (Some(1), &[2, 3][..]));
/// ```
pub struct IntoIter<'m, T> {
    at: NonNull<T>,
    front: usize,
    back: usize,
    lives: PhantomData<&'m [T]>,
}

// SAFETY: it has elements, and nothing of the arena but the memory that they are in.
unsafe impl<T: Send> Send for IntoIter<'_, T> {}
// SAFETY: shared, it shows elements.
unsafe impl<T: Sync> Sync for IntoIter<'_, T> {}

impl<T> IntoIter<'_, T> {
    /// The elements that are left.
    #[track_caller]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: they are there.
        unsafe { slice::from_raw_parts(self.at.as_ptr().add(self.front), self.len()) }
    }

    /// The elements that are left, to be changed.
    #[track_caller]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: they are there.
        unsafe { &mut *self.left() }
    }

    #[inline(always)]
    #[track_caller]
    fn left(&mut self) -> *mut [T] {
        // SAFETY: within the memory.
        ptr::slice_from_raw_parts_mut(unsafe { self.at.as_ptr().add(self.front) }, self.len())
    }
}

impl<T> Iterator for IntoIter<'_, T> {
    type Item = T;

    #[inline]
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        if self.front == self.back {
            return None;
        }
        self.front += 1;
        // SAFETY: it was there, and is not any more.
        Some(unsafe { self.at.as_ptr().add(self.front - 1).read() })
    }

    #[inline]
    #[track_caller]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.back - self.front, Some(self.back - self.front))
    }

    #[inline]
    #[track_caller]
    fn count(self) -> usize {
        self.len()
    }

    #[inline]
    #[track_caller]
    fn nth(&mut self, n: usize) -> Option<T> {
        let skipped = ptr::slice_from_raw_parts_mut(self.left().cast::<T>(), n.min(self.len()));
        self.front += skipped.len();
        // SAFETY: they were there, and are not any more.
        unsafe { ptr::drop_in_place(skipped) };
        self.next()
    }
}

impl<T> DoubleEndedIterator for IntoIter<'_, T> {
    #[inline]
    #[track_caller]
    fn next_back(&mut self) -> Option<T> {
        if self.front == self.back {
            return None;
        }
        self.back -= 1;
        // SAFETY: it was there, and is not any more.
        Some(unsafe { self.at.as_ptr().add(self.back).read() })
    }
}

impl<T> ExactSizeIterator for IntoIter<'_, T> {}
impl<T> FusedIterator for IntoIter<'_, T> {}

impl<T> Drop for IntoIter<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        // SAFETY: they are there, and nobody asks any more.
        unsafe { ptr::drop_in_place(self.left()) }
    }
}

impl<T: fmt::Debug> fmt::Debug for IntoIter<'_, T> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IntoIter").field(&self.as_slice()).finish()
    }
}

impl<'m, T: 'm, A: Memory> IntoIterator for Vec<'m, T, A> {
    type Item = T;
    type IntoIter = IntoIter<'m, T>;

    #[inline]
    #[track_caller]
    fn into_iter(self) -> IntoIter<'m, T> {
        let len = self.len;
        IntoIter { at: self.into_buffer().into_parts().0, front: 0, back: len, lives: PhantomData }
    }
}

impl<'a, 'm, T, A: Memory> IntoIterator for &'a Vec<'m, T, A> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    #[inline]
    #[track_caller]
    fn into_iter(self) -> slice::Iter<'a, T> {
        self.iter()
    }
}

impl<'a, 'm, T, A: Memory> IntoIterator for &'a mut Vec<'m, T, A> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    #[inline]
    #[track_caller]
    fn into_iter(self) -> slice::IterMut<'a, T> {
        self.iter_mut()
    }
}
