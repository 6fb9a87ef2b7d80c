//! A ring: slots taken and given back at either end. The index of a value is a count, and its slot the count modulo the
//! capacity, a power of two: so neither ever moves, whatever happens at the ends and however the ring grows.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::marker::PhantomData;
use core::ops::Range;

use super::full::{no_slot, Full};
use super::layout::{CloneIn, Layout, Rows};
use super::run::{drop_all, Runs};
use super::slots::Slots;
use toft::AllocError;
use toft::{Heap, Memory};

mod index;
mod iter;
mod room;
mod traits;

pub use index::RingIndex;
pub use iter::{Drain, Indices, IntoIter, Iter, IterMut};

/// Slots that are taken and given back at either end, each addressed by an index that is its value's for as long as it
/// is there: in rows or [`Columns`](super::Columns), growable or fixed, in any [`Memory`].
///
/// [`push_end`](Ring::push_end) numbers its values upwards from 0 and [`push_begin`](Ring::push_begin) downwards from
/// the largest number of the type `I`, where the numbers wrap: -1, as it were. There may be half as many values as there
/// are numbers: 32768 for `u16`. An index whose value is gone finds nothing until so many were pushed that its number
/// comes round again.
///
/// All calls at the ends are O(1), amortised where they push, and so is access by index.
/// [`Queue`](super::Queue) is a ring whose values are numbered by their distance from the front.
///
/// ```
/// use toft_pools::Ring;
///
/// // Packets that were sent and not acknowledged yet.
/// let mut sent = Ring::new();
/// let a: u32 = sent.push_end("a");
/// let b = sent.push_end("b");
/// assert_eq!(sent.pop_begin(), Some("a")); // acknowledged
/// assert_eq!((sent.get(a), sent.get(b)), (None, Some(&"b")));
/// ```
pub struct Ring<T, L: Layout<T> = Rows, I: RingIndex = u32, M: Memory = Heap> {
    pub(super) slots: Slots<T, L, (), M>,
    /// The counts of the first value, and of the next at the end. They wrap.
    pub(super) begin: usize,
    pub(super) end: usize,
    /// How many values there may be without growth.
    limit: usize,
    fixed: bool,
    index: PhantomData<I>,
}

impl<T> Ring<T> {
    /// An empty ring of rows on the heap, with indices of 32 bits; it takes no memory yet.
    ///
    /// ```
    /// let mut ring = toft_pools::Ring::new();
    /// assert_eq!(ring.push_end('a'), 0_u32);
    /// ```
    pub fn new() -> Ring<T> {
        Ring::new_in(Heap)
    }

    /// An empty ring with room for `n` values.
    ///
    /// ```
    /// let ring = toft_pools::Ring::<u8>::with_capacity(10);
    /// assert!(ring.capacity() >= 10);
    /// ```
    ///
    /// # Panics
    /// There is no memory, or indices cannot number as many.
    #[track_caller]
    pub fn with_capacity(n: usize) -> Ring<T> {
        Ring::with_capacity_in(n, Heap)
    }

    /// An empty ring, which holds `n` values at most.
    ///
    /// ```
    /// let mut ring = toft_pools::Ring::fixed(1);
    /// ring.push_end('a');
    /// assert!(ring.try_push_end('b').is_err());
    /// ```
    ///
    /// # Panics
    /// There is no memory, or indices cannot number as many.
    #[track_caller]
    pub fn fixed(n: usize) -> Ring<T> {
        Ring::fixed_in(n, Heap)
    }
}

impl<T, L: Layout<T>, I: RingIndex, M: Memory> Ring<T, L, I, M> {
    /// An empty ring; it takes no memory yet.
    ///
    /// ```
    /// use toft_pools::{Ring, Rows};
    /// let arena = toft::Arena::new();
    /// let mut ring: Ring<u64, Rows, u16, _> = Ring::new_in(&arena);
    /// ring.push_begin(1);
    /// ```
    pub fn new_in(memory: M) -> Self {
        Ring { slots: Slots::new_in(memory), begin: 0, end: 0, limit: 0, fixed: false, index: PhantomData }
    }

    /// An empty ring with room for `n` values.
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{Ring, Rows};
    /// let ring: Ring<u8, Rows, u16> = Ring::with_capacity_in(10, Heap);
    /// assert!(ring.capacity() >= 10);
    /// ```
    ///
    /// # Panics
    /// There is no memory, or indices cannot number as many.
    #[track_caller]
    pub fn with_capacity_in(n: usize, memory: M) -> Self {
        Self::try_with_capacity_in(n, memory).expect("toft: no memory for a ring, or its indices are too narrow")
    }

    /// As [`with_capacity_in`](Ring::with_capacity_in).
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{Ring, Rows};
    /// assert!(Ring::<u8, Rows, u16>::try_with_capacity_in(40_000, Heap).is_err());
    /// ```
    ///
    /// # Errors
    /// There is no memory, or indices cannot number as many.
    pub fn try_with_capacity_in(n: usize, memory: M) -> Result<Self, AllocError> {
        let mut ring = Self::new_in(memory);
        if n > 0 {
            ring.grow_to(n)?;
        }
        Ok(ring)
    }

    /// An empty ring, which holds `n` values at most.
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{Ring, Rows};
    /// let ring: Ring<u8, Rows, u16> = Ring::fixed_in(10, Heap);
    /// assert_eq!(ring.capacity(), 10);
    /// ```
    ///
    /// # Panics
    /// There is no memory, or indices cannot number as many.
    #[track_caller]
    pub fn fixed_in(n: usize, memory: M) -> Self {
        Self::try_fixed_in(n, memory).expect("toft: no memory for a ring, or its indices are too narrow")
    }

    /// As [`fixed_in`](Ring::fixed_in).
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{Ring, Rows};
    /// assert!(Ring::<u8, Rows, u16>::try_fixed_in(32_768, Heap).is_ok());
    /// assert!(Ring::<u8, Rows, u16>::try_fixed_in(32_769, Heap).is_err());
    /// ```
    ///
    /// # Errors
    /// There is no memory, or indices cannot number as many.
    pub fn try_fixed_in(n: usize, memory: M) -> Result<Self, AllocError> {
        let mut ring = Self::try_with_capacity_in(n, memory)?;
        (ring.limit, ring.fixed) = (n, true);
        Ok(ring)
    }

    // ---- the ends ----

    /// Adds a value at the end, whose index is one more than the last. O(1) amortised.
    ///
    /// ```
    /// let mut ring = toft_pools::Ring::new();
    /// assert_eq!((ring.push_end('a'), ring.push_end('b')), (0, 1));
    /// ```
    ///
    /// # Panics
    /// The ring is fixed and full, indices cannot number more, or there is no memory.
    #[inline]
    #[track_caller]
    pub fn push_end(&mut self, value: T) -> I {
        if self.len() == self.limit && self.grow(1).is_err() {
            no_slot()
        }
        // SAFETY: there is room.
        unsafe { self.put_end(value) }
    }

    /// As [`push_end`](Ring::push_end).
    ///
    /// ```
    /// use toft_pools::Full;
    /// assert_eq!(toft_pools::Ring::fixed(0).try_push_end('a'), Err(Full('a')));
    /// ```
    ///
    /// # Errors
    /// The value comes back: the ring is fixed and full, indices cannot number more, or there is no memory.
    #[inline]
    pub fn try_push_end(&mut self, value: T) -> Result<I, Full<T>> {
        if self.len() == self.limit && self.grow(1).is_err() {
            return Err(Full(value));
        }
        // SAFETY: there is room.
        Ok(unsafe { self.put_end(value) })
    }

    /// Adds a value at the beginning, whose index is one less than the first. O(1) amortised.
    ///
    /// ```
    /// let mut ring = toft_pools::Ring::new();
    /// assert_eq!((ring.push_begin('a'), ring.push_begin('b')), (u32::MAX, u32::MAX - 1));
    /// ```
    ///
    /// # Panics
    /// The ring is fixed and full, indices cannot number more, or there is no memory.
    #[inline]
    #[track_caller]
    pub fn push_begin(&mut self, value: T) -> I {
        if self.len() == self.limit && self.grow(1).is_err() {
            no_slot()
        }
        // SAFETY: there is room.
        unsafe { self.put_begin(value) }
    }

    /// As [`push_begin`](Ring::push_begin).
    ///
    /// ```
    /// use toft_pools::Full;
    /// assert_eq!(toft_pools::Ring::fixed(0).try_push_begin('a'), Err(Full('a')));
    /// ```
    ///
    /// # Errors
    /// The value comes back: the ring is fixed and full, indices cannot number more, or there is no memory.
    #[inline]
    pub fn try_push_begin(&mut self, value: T) -> Result<I, Full<T>> {
        if self.len() == self.limit && self.grow(1).is_err() {
            return Err(Full(value));
        }
        // SAFETY: there is room.
        Ok(unsafe { self.put_begin(value) })
    }

    /// # Safety
    /// There is room.
    #[inline(always)]
    unsafe fn put_end(&mut self, value: T) -> I {
        let count = self.end;
        // SAFETY: the slot has no value.
        unsafe { L::write(self.slots.raw(), self.slot(count), value) }
        self.end = count.wrapping_add(1);
        I::new(count)
    }

    /// # Safety
    /// There is room.
    #[inline(always)]
    unsafe fn put_begin(&mut self, value: T) -> I {
        let count = self.begin.wrapping_sub(1);
        // SAFETY: the slot has no value.
        unsafe { L::write(self.slots.raw(), self.slot(count), value) }
        self.begin = count;
        I::new(count)
    }

    /// Takes the last value. O(1).
    ///
    /// ```
    /// let mut ring: toft_pools::Ring<_> = ['a', 'b'].into_iter().collect();
    /// assert_eq!(ring.pop_end(), Some('b'));
    /// ```
    #[inline]
    pub fn pop_end(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.end = self.end.wrapping_sub(1);
        // SAFETY: the slot had a value; it counts no more.
        Some(unsafe { L::read(self.slots.raw(), self.slot(self.end)) })
    }

    /// Takes the first value. O(1).
    ///
    /// ```
    /// let mut ring: toft_pools::Ring<_> = ['a', 'b'].into_iter().collect();
    /// assert_eq!(ring.pop_begin(), Some('a'));
    /// ```
    #[inline]
    pub fn pop_begin(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let count = self.begin;
        self.begin = count.wrapping_add(1);
        // SAFETY: the slot had a value; it counts no more.
        Some(unsafe { L::read(self.slots.raw(), self.slot(count)) })
    }

    /// Drops all values. The memory stays, and the next value at the end gets the number it would have got.
    ///
    /// ```
    /// let mut ring: toft_pools::Ring<_> = ['a', 'b'].into_iter().collect();
    /// ring.clear();
    /// assert_eq!((ring.len(), ring.push_end('c')), (0, 2));
    /// ```
    pub fn clear(&mut self) {
        let runs = self.runs();
        self.begin = self.end;
        // SAFETY: they had values, and count no more.
        unsafe { drop_all::<T, L, ()>(self.slots.raw(), runs) }
    }

    /// Takes all values out, one after the other; those that are left when the iterator is dropped are dropped as well.
    ///
    /// ```
    /// let mut ring: toft_pools::Ring<_> = ['a', 'b'].into_iter().collect();
    /// assert!(ring.drain().eq(['a', 'b']));
    /// assert!(ring.is_empty());
    /// ```
    pub fn drain(&mut self) -> Drain<'_, T, L, I, M> {
        let at = self.runs();
        self.begin = self.end; // if the iterator is leaked, so are its values
        Drain::new(self, at)
    }

    // ---- access ----

    /// The index of the first value.
    ///
    /// ```
    /// let mut ring: toft_pools::Ring<_> = ['a', 'b'].into_iter().collect();
    /// ring.pop_begin();
    /// assert_eq!(ring.first_index(), Some(1));
    /// ```
    #[inline]
    pub fn first_index(&self) -> Option<I> {
        (!self.is_empty()).then(|| I::new(self.begin))
    }

    /// The index of the last value.
    ///
    /// ```
    /// let ring: toft_pools::Ring<_> = ['a', 'b'].into_iter().collect();
    /// assert_eq!(ring.last_index(), Some(1));
    /// ```
    #[inline]
    pub fn last_index(&self) -> Option<I> {
        (!self.is_empty()).then(|| I::new(self.end.wrapping_sub(1)))
    }

    /// Whether the value of an index is there.
    ///
    /// ```
    /// let ring: toft_pools::Ring<_> = ['a', 'b'].into_iter().collect();
    /// assert!(ring.contains_index(1) && !ring.contains_index(2));
    /// ```
    #[inline]
    pub fn contains_index(&self, index: I) -> bool {
        index.after(self.begin) < self.len()
    }

    /// The value of an index, or `None`: it is gone, or was not pushed yet. O(1).
    ///
    /// ```
    /// let mut ring = toft_pools::Ring::new();
    /// let i = ring.push_end('a');
    /// assert_eq!(ring.get(i), Some(&'a'));
    /// ring.pop_end();
    /// assert_eq!(ring.get(i), None);
    /// ```
    #[inline]
    pub fn get(&self, index: I) -> Option<L::Ref<'_>> {
        let after = index.after(self.begin);
        // SAFETY: the value is there, and borrowed with the ring; here and below.
        (after < self.len()).then(|| unsafe { L::get(self.slots.raw(), self.slot(self.begin.wrapping_add(after))) })
    }

    /// The value of an index, to change it.
    ///
    /// ```
    /// let mut ring = toft_pools::Ring::new();
    /// let i = ring.push_end('a');
    /// *ring.get_mut(i).unwrap() = 'b';
    /// assert_eq!(ring[i], 'b');
    /// ```
    #[inline]
    pub fn get_mut(&mut self, index: I) -> Option<L::Mut<'_>> {
        let after = index.after(self.begin);
        // SAFETY: see get.
        (after < self.len()).then(|| unsafe { L::get_mut(self.slots.raw(), self.slot(self.begin.wrapping_add(after))) })
    }

    /// Several values at once, to change them; `None` when one is not there, or two indices are the same.
    ///
    /// ```
    /// let mut ring: toft_pools::Ring<_> = [1, 2].into_iter().collect();
    /// let [a, b] = ring.get_disjoint_mut([0, 1]).unwrap();
    /// std::mem::swap(a, b);
    /// assert_eq!((ring[0], ring[1]), (2, 1));
    /// assert!(ring.get_disjoint_mut([0, 0]).is_none());
    /// ```
    pub fn get_disjoint_mut<const N: usize>(&mut self, indices: [I; N]) -> Option<[L::Mut<'_>; N]> {
        let alone = |(n, i): (usize, &I)| self.contains_index(*i) && !indices[..n].contains(i);
        if !indices.iter().enumerate().all(alone) {
            return None;
        }
        let (raw, begin) = (self.slots.raw(), self.begin);
        // SAFETY: each value is there, and no two are the same.
        Some(indices.map(|i| unsafe { L::get_mut(raw, self.slot(begin.wrapping_add(i.after(begin)))) }))
    }

    /// The indices of the values, the first one first.
    ///
    /// ```
    /// let ring: toft_pools::Ring<_> = ['a', 'b'].into_iter().collect();
    /// assert!(ring.indices().eq([0, 1]));
    /// ```
    pub fn indices(&self) -> Indices<I> {
        Indices::new(self.begin, self.len())
    }

    /// The values, the first one first. `ring.indices().zip(&ring)` has the indices as well.
    ///
    /// ```
    /// let ring: toft_pools::Ring<_> = ['a', 'b'].into_iter().collect();
    /// assert!(ring.iter().rev().eq(&['b', 'a']));
    /// ```
    #[inline]
    pub fn iter(&self) -> Iter<'_, T, L> {
        // SAFETY: the values are borrowed with the ring.
        unsafe { Iter::new(self.slots.raw(), self.runs()) }
    }

    /// The values, to change them, the first one first.
    ///
    /// ```
    /// let mut ring: toft_pools::Ring<_> = [1, 2].into_iter().collect();
    /// ring.iter_mut().for_each(|value| *value *= 10);
    /// assert!(ring.iter().eq(&[10, 20]));
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, T, L> {
        // SAFETY: see iter.
        unsafe { IterMut::new(self.slots.raw(), self.runs()) }
    }

    /// All values in two parts, each a slice, or a slice of each column: the first part first, the other may be empty.
    ///
    /// ```
    /// let ring: toft_pools::Ring<_> = [1, 2, 3].into_iter().collect();
    /// assert_eq!([ring.slices().0, ring.slices().1].concat(), [1, 2, 3]);
    /// ```
    #[inline]
    pub fn slices(&self) -> (L::Slices<'_>, L::Slices<'_>) {
        let (Runs { front, back }, raw) = (self.runs(), self.slots.raw());
        // SAFETY: see iter.
        unsafe { (L::slices(raw, front.start, front.len()), L::slices(raw, back.start, back.len())) }
    }

    /// The same, to change them.
    ///
    /// ```
    /// let mut ring: toft_pools::Ring<_> = [1, 2, 3].into_iter().collect();
    /// ring.slices_mut().0[0] = 7;
    /// assert_eq!(ring[0], 7);
    /// ```
    #[inline]
    pub fn slices_mut(&mut self) -> (L::SlicesMut<'_>, L::SlicesMut<'_>) {
        let (Runs { front, back }, raw) = (self.runs(), self.slots.raw());
        // SAFETY: see iter; the two have no slot in common.
        unsafe { (L::slices_mut(raw, front.start, front.len()), L::slices_mut(raw, back.start, back.len())) }
    }

    // ---- counts and slots, also for the queue ----

    #[inline(always)]
    pub(super) fn slot(&self, count: usize) -> usize {
        count & self.slots.capacity().wrapping_sub(1)
    }

    #[inline]
    pub(super) fn runs(&self) -> Runs {
        self.runs_of(0..self.len())
    }

    /// The slots of the values that have these positions, counted from the first.
    #[inline]
    pub(super) fn runs_of(&self, positions: Range<usize>) -> Runs {
        let len = positions.len();
        if len == 0 {
            return Runs { front: 0..0, back: 0..0 }; // there may be no slots at all
        }
        let start = self.slot(self.begin.wrapping_add(positions.start));
        let to_end = self.slots.capacity() - start;
        if len <= to_end {
            Runs { front: start..start + len, back: 0..0 }
        } else {
            Runs { front: start..self.slots.capacity(), back: 0..len - to_end }
        }
    }
}

impl<T, L: CloneIn<T>, I: RingIndex, M: Memory + Clone> Clone for Ring<T, L, I, M> {
    /// With the same indices.
    ///
    /// # Panics
    /// There is no memory.
    fn clone(&self) -> Self {
        let n = if self.fixed { self.limit } else { self.len() };
        let mut clone = Self::with_capacity_in(n, self.memory().clone());
        if self.fixed {
            (clone.limit, clone.fixed) = (n, true);
        }
        (clone.begin, clone.end) = (self.begin, self.begin);
        for slot in self.runs() {
            // SAFETY: the slot has a value, and the clone room for as many. Each counts as soon as it is there: the next
            // clone may panic.
            unsafe { clone.put_end(L::clone_at(self.slots.raw(), slot)) };
        }
        clone
    }
}

impl<T, L: Layout<T>, I: RingIndex, M: Memory> Drop for Ring<T, L, I, M> {
    fn drop(&mut self) {
        self.clear();
    }
}
