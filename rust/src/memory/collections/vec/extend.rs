//! Appending many elements. If an iterator or a clone panics, the elements appended before stay.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::{ControlFlow, RangeBounds};
use core::ptr;

use super::Vec;
use crate::collections::within;
use crate::memory::by_layout::Memory;

/// Appends elements within the capacity. The length is a member of this value, which the compiler keeps in a register; it
/// is stored when this is dropped.
pub(super) struct Filling<'a, 'm, T, A: Memory> {
    vec: &'a mut Vec<'m, T, A>,
    at: *mut T,
    len: usize,
}

impl<'a, 'm, T, A: Memory> Filling<'a, 'm, T, A> {
    #[inline(always)]
    pub fn new(vec: &'a mut Vec<'m, T, A>) -> Self {
        let (at, len) = (vec.as_mut_ptr(), vec.len);
        Filling { vec, at, len }
    }

    /// # Safety
    /// The length is below the capacity.
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
    fn drop(&mut self) {
        self.vec.len = self.len;
    }
}

impl<'m, T: 'm, A: Memory> Vec<'m, T, A> {
    /// Appends the elements of an iterator, which may allocate in the same arena.
    #[inline]
    #[track_caller]
    fn extend_by(&mut self, mut iter: impl Iterator<Item = T>) {
        self.reserve(iter.size_hint().0);
        loop {
            let room = self.buffer.capacity();
            let mut filling = Filling::new(self);
            // Iterators of several parts visit each part in a loop of its own.
            let rest = iter.try_for_each(|value| {
                if filling.len == room {
                    return ControlFlow::Break(value);
                }
                // SAFETY: the length is below the capacity.
                unsafe { filling.push(value) };
                ControlFlow::Continue(())
            });
            drop(filling);
            let ControlFlow::Break(value) = rest else { return };
            self.reserve(iter.size_hint().0.saturating_add(1));
            self.push(value);
        }
    }

    /// Changes the length: appends clones of `value`, or drops the last elements.
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
            // SAFETY: the capacity suffices.
            unsafe { filling.push(value.clone()) };
        }
        // SAFETY: the capacity suffices.
        unsafe { filling.push(value) };
    }

    /// Changes the length: appends what `f` returns, or drops the last elements.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut v = arena.vec_from_iter([1]);
    /// v.resize_with(3, Default::default);
    /// assert_eq!(v, [1, 0, 0]);
    /// ```
    #[track_caller]
    pub fn resize_with<F>(&mut self, new_len: usize, mut f: F)
    where
        F: FnMut() -> T,
    {
        if new_len <= self.len {
            return self.truncate(new_len);
        }
        self.reserve(new_len - self.len);
        let mut filling = Filling::new(self);
        while filling.len < new_len {
            // SAFETY: the capacity suffices.
            unsafe { filling.push(f()) };
        }
    }

    /// Appends clones of the elements of a range.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut v = arena.vec_from_iter([1, 2, 3]);
    /// v.extend_from_within(1..);
    /// assert_eq!(v, [1, 2, 3, 2, 3]);
    /// ```
    #[track_caller]
    pub fn extend_from_within<R>(&mut self, src: R)
    where
        T: Clone,
        R: RangeBounds<usize>,
    {
        let (start, end) = within(src, self.len);
        self.reserve(end - start);
        let mut filling = Filling::new(self);
        for i in start..end {
            // SAFETY: initialised; the capacity suffices, so the element does not move.
            unsafe { filling.push((*filling.at.add(i)).clone()) };
        }
    }

    /// Appends clones of the elements of a slice.
    #[track_caller]
    pub fn extend_from_slice(&mut self, other: &[T])
    where
        T: Clone,
    {
        self.reserve(other.len());
        let mut filling = Filling::new(self);
        for value in other {
            // SAFETY: the capacity suffices.
            unsafe { filling.push(value.clone()) };
        }
    }

    /// As [`extend_from_slice`](Vec::extend_from_slice), for types that are `Copy`.
    #[inline]
    #[track_caller]
    pub fn extend_from_slice_copy(&mut self, other: &[T])
    where
        T: Copy,
    {
        self.reserve(other.len());
        // SAFETY: the capacity suffices.
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
