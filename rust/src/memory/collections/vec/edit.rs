//! Insertion and removal of elements. If a closure or destructor panics, each remaining element is in the vector once;
//! some may be leaked, none is dropped twice.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::RangeBounds;
use core::ptr;

use super::{Drain, Splice, Vec};
use crate::base::error::AllocError;
use crate::collections::within;
use crate::memory::by_layout::Memory;

impl<'m, T: 'm, A: Memory> Vec<'m, T, A> {
    // ---- at the end ----

    /// Appends an element. Takes constant time unless the vector grows.
    #[inline(always)]
    #[track_caller]
    pub fn push(&mut self, value: T) {
        if self.len == self.buffer.capacity() {
            self.buffer.grow_by_one();
        }
        // Read once: the compiler cannot exclude that the value overwrites it.
        let len = self.len;
        // SAFETY: the length is below the capacity.
        unsafe { self.as_mut_ptr().add(len).write(value) };
        self.len = len + 1;
    }

    /// As [`push`](Vec::push); returns the element.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut v = arena.vec_from_iter(["a".to_string()]);
    /// v.push_mut("b".to_string()).push('c');
    /// assert_eq!(v, ["a", "bc"]);
    /// ```
    #[inline(always)]
    #[track_caller]
    #[must_use = "push appends an element without a reference to it"]
    pub fn push_mut(&mut self, value: T) -> &mut T {
        self.push(value);
        let last = self.len - 1;
        // SAFETY: just initialised.
        unsafe { &mut *self.as_mut_ptr().add(last) }
    }

    /// Removes and returns the last element.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        // SAFETY: initialised, and above the length now.
        Some(unsafe { self.as_ptr().add(self.len).read() })
    }

    /// Removes and returns the last element if the predicate accepts it.
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
            // SAFETY: initialised, and above the length now.
            unsafe { ptr::drop_in_place(rest) };
        }
    }

    /// Drops all elements. The capacity is unchanged.
    #[inline]
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Moves the elements from `at` on to a new vector.
    #[track_caller]
    pub fn split_off(&mut self, at: usize) -> Self {
        let (at, end) = within(at.., self.len);
        let mut rest = Vec::with_capacity_in(end - at, self.arena());
        self.len = at;
        // SAFETY: initialised, and the other vector's now, whose capacity suffices.
        unsafe {
            ptr::copy_nonoverlapping(self.as_ptr().add(at), rest.as_mut_ptr(), end - at);
            rest.set_len(end - at);
        }
        rest
    }

    // ---- at any position ----

    /// Inserts an element at `index`; those from there on move up.
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
        // SAFETY: within the elements, and the length is below the capacity.
        unsafe {
            let at = self.as_mut_ptr().add(index);
            ptr::copy(at, at.add(1), self.len - index);
            at.write(element);
        }
        self.len += 1;
    }

    /// As [`insert`](Vec::insert); returns the element.
    ///
    /// # Panics
    /// If `index` is above the length.
    #[inline]
    #[track_caller]
    #[must_use = "insert inserts an element without a reference to it"]
    pub fn insert_mut(&mut self, index: usize, element: T) -> &mut T {
        self.insert(index, element);
        &mut self[index]
    }

    /// As [`insert`](Vec::insert), or returns an error if there is no memory; `element` is dropped then.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(64).create()?;
    /// let mut v = tight.vec();
    /// while v.try_insert(0, v.len() as u64).is_ok() {}
    /// assert_eq!(v.last(), Some(&0));
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    ///
    /// # Panics
    /// If `index` is above the length.
    #[inline]
    #[track_caller]
    pub fn try_insert(&mut self, index: usize, element: T) -> Result<(), AllocError> {
        if index > self.len {
            out_of_bounds(index, self.len);
        }
        self.try_reserve(1).map_err(|_| AllocError)?;
        self.insert(index, element);
        Ok(())
    }

    /// Removes and returns the element at `index`; those after it move down.
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        if index >= self.len {
            out_of_bounds(index, self.len);
        }
        self.len -= 1;
        // SAFETY: initialised; the elements after it take its place.
        unsafe {
            let at = self.as_mut_ptr().add(index);
            let element = at.read();
            ptr::copy(at.add(1), at, self.len - index);
            element
        }
    }

    /// As [`remove`](Vec::remove); returns `None` if there is no such element.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut v = arena.vec_from_iter([1, 2]);
    /// assert_eq!((v.try_remove(0), v.try_remove(1)), (Some(1), None));
    /// ```
    #[inline]
    pub fn try_remove(&mut self, index: usize) -> Option<T> {
        (index < self.len).then(|| self.remove(index))
    }

    /// Removes and returns the element at `index`; the last one moves to its place. Takes constant time.
    #[inline]
    #[track_caller]
    pub fn swap_remove(&mut self, index: usize) -> T {
        if index >= self.len {
            out_of_bounds(index, self.len);
        }
        self.len -= 1;
        // SAFETY: both are initialised; the last one takes the place of the other.
        unsafe {
            let at = self.as_mut_ptr().add(index);
            let element = at.read();
            ptr::copy(self.as_ptr().add(self.len), at, 1);
            element
        }
    }

    /// Removes the elements of a range, and returns them by an iterator, which drops those that it did not return. If the
    /// iterator is leaked, the elements from the start of the range on are leaked too.
    #[track_caller]
    pub fn drain<R>(&mut self, range: R) -> Drain<'_, 'm, T, A>
    where
        R: RangeBounds<usize>,
    {
        let (start, end) = within(range, self.len);
        Drain::new(self, start, end)
    }

    /// As [`drain`](Vec::drain); when the returned iterator is dropped, the elements of `replace_with` are inserted.
    #[inline]
    #[track_caller]
    pub fn splice<R, I>(&mut self, range: R, replace_with: I) -> Splice<'_, 'm, I::IntoIter, A>
    where
        R: RangeBounds<usize>,
        I: IntoIterator<Item = T>,
    {
        Splice::new(self.drain(range), replace_with.into_iter())
    }

    // ---- all of them ----

    /// Drops the elements for which `f` returns false. Takes linear time; the others keep their order.
    #[track_caller]
    pub fn retain<F>(&mut self, mut f: F)
    where
        F: FnMut(&T) -> bool,
    {
        self.retain_mut(|element| f(element))
    }

    /// As [`retain`](Vec::retain), with exclusive references.
    #[track_caller]
    pub fn retain_mut<F>(&mut self, mut f: F)
    where
        F: FnMut(&mut T) -> bool,
    {
        let mut sieve = Sieve::new(self, 0);
        while sieve.read < sieve.len {
            // SAFETY: initialised, and not visited yet.
            let element = unsafe { &mut *sieve.at.add(sieve.read) };
            if f(element) {
                sieve.keep();
            } else {
                sieve.drop();
            }
        }
    }

    /// Drops all but the first of adjacent elements with equal keys.
    #[inline]
    #[track_caller]
    pub fn dedup_by_key<F, K>(&mut self, mut key: F)
    where
        F: FnMut(&mut T) -> K,
        K: PartialEq,
    {
        self.dedup_by(|a, b| key(a) == key(b))
    }

    /// Drops each element for which `same_bucket(element, kept)` returns true, where `kept` is the last one kept before.
    #[track_caller]
    pub fn dedup_by<F>(&mut self, mut same_bucket: F)
    where
        F: FnMut(&mut T, &mut T) -> bool,
    {
        let mut sieve = Sieve::new(self, 0);
        if sieve.len != 0 {
            sieve.keep();
        }
        while sieve.read < sieve.len {
            // SAFETY: one is not visited yet, the other is the last kept one.
            let same = unsafe { same_bucket(&mut *sieve.at.add(sieve.read), &mut *sieve.at.add(sieve.kept - 1)) };
            if same {
                sieve.drop();
            } else {
                sieve.keep();
            }
        }
    }

    /// Drops all but the first of adjacent equal elements.
    #[inline]
    #[track_caller]
    pub fn dedup(&mut self)
    where
        T: PartialEq,
    {
        self.dedup_by(|a, b| a == b)
    }

    /// Moves all elements of another vector to the end of this one.
    #[track_caller]
    pub fn append(&mut self, other: &mut Self) {
        self.reserve(other.len);
        let n = core::mem::take(&mut other.len);
        // SAFETY: the capacity suffices; the elements are not the other vector's any more.
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

/// A pass that keeps some elements and drops others. While it exists, the vector is empty; when it is dropped, also by a
/// panic, the kept elements and those not visited are the vector's again.
pub(super) struct Sieve<'a, 'm, T, A: Memory> {
    vec: &'a mut Vec<'m, T, A>,
    pub at: *mut T,
    pub len: usize,
    pub read: usize,
    pub kept: usize,
}

// SAFETY: it owns elements, and borrows their vector exclusively, whose arena it does not use.
unsafe impl<T: Send, A: Memory> Send for Sieve<'_, '_, T, A> {}
// SAFETY: a shared reference gives only shared references to elements.
unsafe impl<T: Sync, A: Memory> Sync for Sieve<'_, '_, T, A> {}

impl<'a, 'm, T, A: Memory> Sieve<'a, 'm, T, A> {
    /// Precondition: `start` is within the vector. The elements before it are kept.
    pub fn new(vec: &'a mut Vec<'m, T, A>, start: usize) -> Self {
        let (at, len) = (vec.as_mut_ptr(), core::mem::take(&mut vec.len));
        Sieve { vec, at, len, read: start, kept: start }
    }

    /// Keeps the next element.
    #[inline(always)]
    pub fn keep(&mut self) {
        // SAFETY: initialised; its new place is free, or its own.
        unsafe {
            if self.kept != self.read {
                ptr::copy_nonoverlapping(self.at.add(self.read), self.at.add(self.kept), 1);
            }
        }
        self.read += 1;
        self.kept += 1;
    }

    #[inline(always)]
    fn drop(&mut self) {
        self.read += 1;
        // SAFETY: initialised, and visited now.
        unsafe { ptr::drop_in_place(self.at.add(self.read - 1)) }
    }
}

impl<T, A: Memory> Drop for Sieve<'_, '_, T, A> {
    fn drop(&mut self) {
        let ahead = self.len - self.read;
        // SAFETY: the elements not visited close the gap.
        unsafe {
            if ahead != 0 && self.kept != self.read {
                ptr::copy(self.at.add(self.read), self.at.add(self.kept), ahead);
            }
            self.vec.set_len(self.kept + ahead);
        }
    }
}
