//! Adding many elements. An iterator or a clone that panics leaves what was added before.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr;

use super::Vec;
use crate::error::{unwrap_infallible, ErrorMode, Never};
use crate::memory::Memory;

/// Writes elements in room that is there; they are the `Vec`'s when this is dropped. Its length is in a register so
/// long.
pub(super) struct Filling<'a, 'm, T, A: Memory> {
    vec: &'a mut Vec<'m, T, A>,
    at: *mut T,
    len: usize,
}

impl<'a, 'm, T, A: Memory> Filling<'a, 'm, T, A> {
    #[inline(always)]
    #[track_caller]
    pub fn new(vec: &'a mut Vec<'m, T, A>) -> Self {
        let (at, len) = (vec.as_mut_ptr(), vec.len);
        Filling { vec, at, len }
    }

    /// # Safety
    /// There is room for one more.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn push(&mut self, value: T) {
        // SAFETY: the caller's contract.
        unsafe { self.at.add(self.len).write(value) };
        self.len += 1;
    }
}

impl<T, A: Memory> Drop for Filling<'_, '_, T, A> {
    #[inline(always)]
    #[track_caller]
    fn drop(&mut self) {
        self.vec.len = self.len;
    }
}

impl<'m, T: 'm, A: Memory> Vec<'m, T, A> {
    /// All that an iterator yields. It may allocate in the same arena.
    #[inline]
    #[track_caller]
    fn extend_by(&mut self, mut iter: impl Iterator<Item = T>) {
        self.reserve(iter.size_hint().0);
        loop {
            let room = self.buffer.capacity();
            let mut filling = Filling::new(self);
            while filling.len < room {
                let Some(value) = iter.next() else { return };
                // SAFETY: just asked.
                unsafe { filling.push(value) };
            }
            drop(filling);
            let Some(value) = iter.next() else { return };
            self.reserve(iter.size_hint().0.saturating_add(1));
            self.push(value);
        }
    }

    /// As many as `new_len`: clones of `value` are added, or the last elements dropped.
    #[track_caller]
    pub fn resize(&mut self, new_len: usize, value: T)
    where
        T: Clone,
    {
        if new_len <= self.len {
            return self.truncate(new_len);
        }
        self.reserve(new_len - self.len);
        let mut filling = Filling::new(self);
        while filling.len + 1 < new_len {
            // SAFETY: room was made.
            unsafe { filling.push(value.clone()) };
        }
        // SAFETY: room was made.
        unsafe { filling.push(value) };
    }

    /// Clones of all elements of a slice.
    #[track_caller]
    pub fn extend_from_slice(&mut self, other: &[T])
    where
        T: Clone,
    {
        self.reserve(other.len());
        let mut filling = Filling::new(self);
        for value in other {
            // SAFETY: room was made.
            unsafe { filling.push(value.clone()) };
        }
    }

    /// As [`extend_from_slice`](Vec::extend_from_slice), for types that are copied as bytes are.
    #[inline]
    #[track_caller]
    pub fn extend_from_slice_copy(&mut self, other: &[T])
    where
        T: Copy,
    {
        self.reserve(other.len());
        // SAFETY: room was made.
        unsafe { self.copy_to_end(other) };
    }

    /// Copies of several slices, one after the other; room is made once.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut v = arena.vec_from_iter([1]);
    /// v.extend_from_slices_copy(&[&[2, 3], &[], &[4]]);
    /// assert_eq!(v, [1, 2, 3, 4]);
    /// ```
    #[track_caller]
    pub fn extend_from_slices_copy(&mut self, slices: &[&[T]])
    where
        T: Copy,
    {
        // They may come to more than there is, and of types without a size to more than can be counted.
        let sum = slices.iter().try_fold(0usize, |sum, slice| sum.checked_add(slice.len()));
        self.reserve(unwrap_infallible(sum.ok_or_else(Never::overflow)));
        for slice in slices {
            // SAFETY: room was made for all of them.
            unsafe { self.copy_to_end(slice) };
        }
    }

    /// # Safety
    /// There is room for as many.
    #[inline(always)]
    #[track_caller]
    unsafe fn copy_to_end(&mut self, other: &[T])
    where
        T: Copy,
    {
        // SAFETY: the caller's contract.
        unsafe { ptr::copy_nonoverlapping(other.as_ptr(), self.as_mut_ptr().add(self.len), other.len()) };
        self.len += other.len();
    }
}

impl<'m, T: 'm, A: Memory> Extend<T> for Vec<'m, T, A> {
    #[inline]
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, iter: I) {
        self.extend_by(iter.into_iter())
    }
}

impl<'a, 'm, T: 'a + Copy, A: Memory> Extend<&'a T> for Vec<'m, T, A> {
    #[inline]
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, iter: I) {
        self.extend_by(iter.into_iter().copied())
    }
}
