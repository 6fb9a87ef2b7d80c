//! The iterator over the elements of a vector by value.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use core::slice;

use super::Vec;
use crate::memory::by_layout::Memory;

/// The elements of a vector, by value. The memory stays in use until the arena frees it.
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

// SAFETY: it owns its elements, and does not use the arena.
unsafe impl<T: Send> Send for IntoIter<'_, T> {}
// SAFETY: a shared reference gives only shared references to elements.
unsafe impl<T: Sync> Sync for IntoIter<'_, T> {}

impl<T> IntoIter<'_, T> {
    /// Returns the elements that are left.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: initialised.
        unsafe { slice::from_raw_parts(self.at.as_ptr().add(self.front), self.len()) }
    }

    /// Returns the elements that are left, exclusively.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: initialised.
        unsafe { &mut *self.left() }
    }

    #[inline(always)]
    fn left(&mut self) -> *mut [T] {
        // SAFETY: within the memory.
        ptr::slice_from_raw_parts_mut(unsafe { self.at.as_ptr().add(self.front) }, self.len())
    }
}

impl<T> Iterator for IntoIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.front == self.back {
            return None;
        }
        self.front += 1;
        // SAFETY: initialised, and above the length now.
        Some(unsafe { self.at.as_ptr().add(self.front - 1).read() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.back - self.front, Some(self.back - self.front))
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<T> {
        let skipped = ptr::slice_from_raw_parts_mut(self.left().cast::<T>(), n.min(self.len()));
        self.front += skipped.len();
        // SAFETY: initialised, and above the length now.
        unsafe { ptr::drop_in_place(skipped) };
        self.next()
    }
}

impl<T> DoubleEndedIterator for IntoIter<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        if self.front == self.back {
            return None;
        }
        self.back -= 1;
        // SAFETY: initialised, and above the length now.
        Some(unsafe { self.at.as_ptr().add(self.back).read() })
    }
}

impl<T> ExactSizeIterator for IntoIter<'_, T> {}
impl<T> FusedIterator for IntoIter<'_, T> {}

impl<T> Drop for IntoIter<'_, T> {
    fn drop(&mut self) {
        // SAFETY: initialised, and not used any more.
        unsafe { ptr::drop_in_place(self.left()) }
    }
}

impl<T: fmt::Debug> fmt::Debug for IntoIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IntoIter").field(&self.as_slice()).finish()
    }
}

impl<'m, T: 'm, A: Memory> IntoIterator for Vec<'m, T, A> {
    type Item = T;
    type IntoIter = IntoIter<'m, T>;

    #[inline]
    fn into_iter(self) -> IntoIter<'m, T> {
        let len = self.len;
        IntoIter { at: self.into_buffer().into_parts().0.cast(), front: 0, back: len, lives: PhantomData }
    }
}

impl<'a, 'm, T, A: Memory> IntoIterator for &'a Vec<'m, T, A> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    #[inline]
    fn into_iter(self) -> slice::Iter<'a, T> {
        self.iter()
    }
}

impl<'a, 'm, T, A: Memory> IntoIterator for &'a mut Vec<'m, T, A> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    #[inline]
    fn into_iter(self) -> slice::IterMut<'a, T> {
        self.iter_mut()
    }
}
