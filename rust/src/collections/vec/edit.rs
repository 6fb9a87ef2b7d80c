//! Changing a `Vec` element by element. A closure or destructor that panics leaves it with elements that are all there
//! once; some may be lost, none is dropped twice.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::RangeBounds;
use core::ptr;

use super::{Drain, DrainFilter, Splice, Vec};
use crate::collections::within;
use crate::memory::Memory;

impl<'m, T: 'm, A: Memory> Vec<'m, T, A> {
    // ---- at the end ----

    /// Puts an element at the end. Constant time, but when there is no room left.
    #[inline(always)]
    #[track_caller]
    pub fn push(&mut self, value: T) {
        if self.len == self.buffer.capacity() {
            return self.push_and_grow(value);
        }
        // SAFETY: there is room for one more.
        unsafe { self.as_mut_ptr().add(self.len).write(value) };
        self.len += 1;
    }

    /// As the last call of `push`, so that the rest of it needs no frame.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn push_and_grow(&mut self, value: T) {
        self.buffer.grow_by_one();
        // SAFETY: there is room for one more.
        unsafe { self.as_mut_ptr().add(self.len).write(value) };
        self.len += 1;
    }

    /// Takes the last element.
    #[inline(always)]
    #[track_caller]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        // SAFETY: it was there, and is not any more.
        Some(unsafe { self.as_ptr().add(self.len).read() })
    }

    /// Takes the last element if it is as wanted.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut v = arena.vec_from_iter([1, 2]);
    /// assert_eq!((v.pop_if(|n| *n % 2 == 0), v.pop_if(|n| *n % 2 == 0)), (Some(2), None));
    /// ```
    #[track_caller]
    pub fn pop_if(&mut self, predicate: impl FnOnce(&mut T) -> bool) -> Option<T> {
        let last = self.last_mut()?;
        if predicate(last) {
            self.pop()
        } else {
            None
        }
    }

    /// Drops all but the first `len` elements.
    #[inline]
    #[track_caller]
    pub fn truncate(&mut self, len: usize) {
        if len < self.len {
            let rest = ptr::slice_from_raw_parts_mut(self.as_mut_ptr().wrapping_add(len), self.len - len);
            self.len = len;
            // SAFETY: they were there, and are not any more.
            unsafe { ptr::drop_in_place(rest) };
        }
    }

    /// Drops all elements. The room stays.
    #[inline]
    #[track_caller]
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Takes the elements from `at` on, in a `Vec` of their own.
    #[track_caller]
    pub fn split_off(&mut self, at: usize) -> Self {
        let (at, end) = within(at.., self.len);
        let mut rest = Vec::with_capacity_in(end - at, self.arena());
        self.len = at;
        // SAFETY: they were there and are now the other's, which has room.
        unsafe {
            ptr::copy_nonoverlapping(self.as_ptr().add(at), rest.as_mut_ptr(), end - at);
            rest.set_len(end - at);
        }
        rest
    }

    // ---- in the midst ----

    /// Puts an element at `index`; those from there on move up.
    ///
    /// # Panics
    /// If `index` is above the length.
    #[track_caller]
    pub fn insert(&mut self, index: usize, element: T) {
        if index > self.len {
            out_of_bounds(index, self.len);
        }
        if self.len == self.buffer.capacity() {
            self.buffer.grow_by_one();
        }
        // SAFETY: within the elements, and there is room for one more.
        unsafe {
            let at = self.as_mut_ptr().add(index);
            ptr::copy(at, at.add(1), self.len - index);
            at.write(element);
        }
        self.len += 1;
    }

    /// Takes the element at `index`; those after it move down.
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        if index >= self.len {
            out_of_bounds(index, self.len);
        }
        self.len -= 1;
        // SAFETY: it was there, and those after it take its place.
        unsafe {
            let at = self.as_mut_ptr().add(index);
            let element = at.read();
            ptr::copy(at.add(1), at, self.len - index);
            element
        }
    }

    /// Takes the element at `index`; the last one takes its place. Constant time.
    #[inline]
    #[track_caller]
    pub fn swap_remove(&mut self, index: usize) -> T {
        if index >= self.len {
            out_of_bounds(index, self.len);
        }
        self.len -= 1;
        // SAFETY: both were there; the last one is where the other was now.
        unsafe {
            let at = self.as_mut_ptr().add(index);
            let element = at.read();
            ptr::copy(self.as_ptr().add(self.len), at, 1);
            element
        }
    }

    /// Takes the elements of a range, by an iterator; what it is not asked for is dropped with it. If it is leaked, so
    /// are elements from the range's start on.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut v = arena.vec_from_iter([1, 2, 3, 4]);
    /// assert!(v.drain(1..3).eq([2, 3]));
    /// assert_eq!(v, [1, 4]);
    /// ```
    #[track_caller]
    pub fn drain<R>(&mut self, range: R) -> Drain<'_, 'm, T, A>
    where
        R: RangeBounds<usize>,
    {
        let (start, end) = within(range, self.len);
        Drain::new(self, start, end)
    }

    /// As [`drain`](Vec::drain), and puts what another iterator yields in their place, when the first is dropped.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut v = arena.vec_from_iter([1, 2, 3]);
    /// assert!(v.splice(..2, [7, 8, 9]).eq([1, 2]));
    /// assert_eq!(v, [7, 8, 9, 3]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn splice<R, I>(&mut self, range: R, replace_with: I) -> Splice<'_, 'm, I::IntoIter, A>
    where
        R: RangeBounds<usize>,
        I: IntoIterator<Item = T>,
    {
        Splice::new(self.drain(range), replace_with.into_iter())
    }

    /// Takes the elements that are as wanted, by an iterator; dropping it drops those that it was not asked for.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut v = arena.vec_from_iter(0..6);
    /// assert!(v.drain_filter(|n| *n % 2 == 0).eq([0, 2, 4]));
    /// assert_eq!(v, [1, 3, 5]);
    /// ```
    #[track_caller]
    pub fn drain_filter<F>(&mut self, filter: F) -> DrainFilter<'_, 'm, T, F, A>
    where
        F: FnMut(&mut T) -> bool,
    {
        DrainFilter::new(self, filter)
    }

    // ---- all of them ----

    /// Drops the elements for which `f` says no. Linear; the others stay in order.
    #[track_caller]
    pub fn retain<F>(&mut self, mut f: F)
    where
        F: FnMut(&T) -> bool,
    {
        self.retain_mut(|element| f(element))
    }

    /// As [`retain`](Vec::retain), with elements that `f` may change.
    #[track_caller]
    pub fn retain_mut<F>(&mut self, mut f: F)
    where
        F: FnMut(&mut T) -> bool,
    {
        let mut sieve = Sieve::new(self);
        while sieve.read < sieve.len {
            // SAFETY: it is there, and not read yet.
            let element = unsafe { &mut *sieve.at.add(sieve.read) };
            if f(element) {
                sieve.keep();
            } else {
                sieve.drop();
            }
        }
    }

    /// Drops all but the first of neighbours with equal keys.
    #[inline]
    #[track_caller]
    pub fn dedup_by_key<F, K>(&mut self, mut key: F)
    where
        F: FnMut(&mut T) -> K,
        K: PartialEq,
    {
        self.dedup_by(|a, b| key(a) == key(b))
    }

    /// Drops the elements that `same_bucket` finds equal to the one kept before them, which it gets second.
    #[track_caller]
    pub fn dedup_by<F>(&mut self, mut same_bucket: F)
    where
        F: FnMut(&mut T, &mut T) -> bool,
    {
        let mut sieve = Sieve::new(self);
        if sieve.len != 0 {
            sieve.keep();
        }
        while sieve.read < sieve.len {
            // SAFETY: one is not read yet, the other is the last that was kept.
            let same = unsafe { same_bucket(&mut *sieve.at.add(sieve.read), &mut *sieve.at.add(sieve.kept - 1)) };
            if same {
                sieve.drop();
            } else {
                sieve.keep();
            }
        }
    }

    /// Drops all but the first of equal neighbours.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut v = arena.vec_from_iter([1, 1, 2, 1]);
    /// v.dedup();
    /// assert_eq!(v, [1, 2, 1]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn dedup(&mut self)
    where
        T: PartialEq,
    {
        self.dedup_by(|a, b| a == b)
    }

    /// Moves all elements of another here.
    #[track_caller]
    pub fn append(&mut self, other: &mut Self) {
        self.reserve(other.len);
        let n = core::mem::take(&mut other.len);
        // SAFETY: there is room; they are the other's no more.
        unsafe { ptr::copy_nonoverlapping(other.as_ptr(), self.as_mut_ptr().add(self.len), n) };
        self.len += n;
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn out_of_bounds(index: usize, len: usize) -> ! {
    panic!("toft: the index {index} is not within a length of {len}")
}

/// A walk that keeps some elements and drops others. Meanwhile the `Vec` is empty; when the walk ends, if by a panic,
/// what was kept and what was not looked at are its elements again.
pub(super) struct Sieve<'a, 'm, T, A: Memory> {
    vec: &'a mut Vec<'m, T, A>,
    pub at: *mut T,
    pub len: usize,
    pub read: usize,
    pub kept: usize,
}

impl<'a, 'm, T, A: Memory> Sieve<'a, 'm, T, A> {
    #[track_caller]
    pub fn new(vec: &'a mut Vec<'m, T, A>) -> Self {
        let (at, len) = (vec.as_mut_ptr(), core::mem::take(&mut vec.len));
        Sieve { vec, at, len, read: 0, kept: 0 }
    }

    /// The next one stays.
    #[inline(always)]
    #[track_caller]
    pub fn keep(&mut self) {
        // SAFETY: it is there; its new place is free, or its own.
        unsafe {
            if self.kept != self.read {
                ptr::copy_nonoverlapping(self.at.add(self.read), self.at.add(self.kept), 1);
            }
        }
        self.read += 1;
        self.kept += 1;
    }

    /// The next one goes.
    #[inline(always)]
    #[track_caller]
    pub fn take(&mut self) -> T {
        self.read += 1;
        // SAFETY: it was there, and is passed now.
        unsafe { self.at.add(self.read - 1).read() }
    }

    #[inline(always)]
    #[track_caller]
    fn drop(&mut self) {
        self.read += 1;
        // SAFETY: as in `take`.
        unsafe { ptr::drop_in_place(self.at.add(self.read - 1)) }
    }

    /// The elements that the walk looked at and kept, and those ahead of it.
    #[track_caller]
    pub fn rest(&self) -> (&[T], &[T]) {
        // SAFETY: both are there.
        unsafe {
            (
                core::slice::from_raw_parts(self.at, self.kept),
                core::slice::from_raw_parts(self.at.add(self.read), self.len - self.read),
            )
        }
    }
}

impl<T, A: Memory> Drop for Sieve<'_, '_, T, A> {
    #[track_caller]
    fn drop(&mut self) {
        let ahead = self.len - self.read;
        // SAFETY: those that are ahead close the gap.
        unsafe {
            if ahead != 0 && self.kept != self.read {
                ptr::copy(self.at.add(self.read), self.at.add(self.kept), ahead);
            }
            self.vec.set_len(self.kept + ahead);
        }
    }
}
