//! A queue: a ring whose values are numbered by their distance from the front.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::RangeBounds;

use super::full::Full;
use super::layout::{CloneIn, Layout, Rows};
use super::ring::{Iter, IterMut, Ring};
use super::run::{drop_all, positions};
use toft::AllocError;
use toft::{Heap, Memory};

mod drain;
mod edit;
mod order;
mod retain;
mod traits;

pub use drain::Drain;

/// A queue with two ends, as `VecDeque` is: in rows or [`Columns`](super::Columns), growable or fixed, in any
/// [`Memory`].
///
/// Pushing at either end is O(1) amortised; taking from either end and access by position are O(1); what changes the
/// middle moves the values on the shorter side. The number of slots is a power of two, so that a position needs a mask
/// and no compare: [`capacity`](Queue::capacity) may be more than was asked for, and there is no `reserve_exact`. Values
/// are dropped when the queue is, from the front on.
///
/// ```
/// use toft_pools::Queue;
///
/// let mut queue = Queue::new();
/// queue.push_back("first");
/// queue.push_back("second");
/// queue.push_front("urgent");
/// assert_eq!(queue.pop_front(), Some("urgent"));
/// assert_eq!(queue, ["first", "second"]);
/// ```
pub struct Queue<T, L: Layout<T> = Rows, M: Memory = Heap> {
    ring: Ring<T, L, usize, M>,
}

impl<T> Queue<T> {
    /// An empty queue of rows on the heap; it takes no memory yet.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::new();
    /// queue.push_back(1);
    /// ```
    pub fn new() -> Queue<T> {
        Queue::new_in(Heap)
    }

    /// An empty queue with room for `n` values.
    ///
    /// ```
    /// let queue = toft_pools::Queue::<u8>::with_capacity(10);
    /// assert!(queue.capacity() >= 10);
    /// ```
    ///
    /// # Panics
    /// There is no memory.
    #[track_caller]
    pub fn with_capacity(n: usize) -> Queue<T> {
        Queue::with_capacity_in(n, Heap)
    }

    /// An empty queue, which holds `n` values at most.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(1);
    /// queue.push_back('a');
    /// assert!(queue.try_push_back('b').is_err());
    /// ```
    ///
    /// # Panics
    /// There is no memory.
    #[track_caller]
    pub fn fixed(n: usize) -> Queue<T> {
        Queue::fixed_in(n, Heap)
    }
}

impl<T, L: Layout<T>, M: Memory> Queue<T, L, M> {
    /// An empty queue; it takes no memory yet.
    ///
    /// ```
    /// use toft_pools::{Queue, Rows};
    /// let arena = toft::Arena::new();
    /// let mut queue: Queue<u64, Rows, _> = Queue::new_in(&arena);
    /// queue.push_back(1);
    /// ```
    pub fn new_in(memory: M) -> Self {
        Queue { ring: Ring::new_in(memory) }
    }

    /// An empty queue with room for `n` values.
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{Queue, Rows};
    /// let queue: Queue<u8, Rows, _> = Queue::with_capacity_in(10, Heap);
    /// assert!(queue.capacity() >= 10);
    /// ```
    ///
    /// # Panics
    /// There is no memory.
    #[track_caller]
    pub fn with_capacity_in(n: usize, memory: M) -> Self {
        Queue { ring: Ring::with_capacity_in(n, memory) }
    }

    /// As [`with_capacity_in`](Queue::with_capacity_in).
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{Queue, Rows};
    /// assert!(Queue::<u8, Rows, _>::try_with_capacity_in(usize::MAX, Heap).is_err());
    /// ```
    ///
    /// # Errors
    /// There is no memory.
    pub fn try_with_capacity_in(n: usize, memory: M) -> Result<Self, AllocError> {
        Ok(Queue { ring: Ring::try_with_capacity_in(n, memory)? })
    }

    /// An empty queue, which holds `n` values at most.
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{Queue, Rows};
    /// let queue: Queue<u8, Rows, _> = Queue::fixed_in(10, Heap);
    /// assert_eq!(queue.capacity(), 10);
    /// ```
    ///
    /// # Panics
    /// There is no memory.
    #[track_caller]
    pub fn fixed_in(n: usize, memory: M) -> Self {
        Queue { ring: Ring::fixed_in(n, memory) }
    }

    /// As [`fixed_in`](Queue::fixed_in).
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{Queue, Rows};
    /// assert!(Queue::<u8, Rows, _>::try_fixed_in(usize::MAX, Heap).is_err());
    /// ```
    ///
    /// # Errors
    /// There is no memory.
    pub fn try_fixed_in(n: usize, memory: M) -> Result<Self, AllocError> {
        Ok(Queue { ring: Ring::try_fixed_in(n, memory)? })
    }

    // ---- size ----

    /// How many values it has.
    ///
    /// ```
    /// assert_eq!(toft_pools::Queue::from([1, 2]).len(), 2);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether it has none.
    ///
    /// ```
    /// assert!(toft_pools::Queue::<u8>::new().is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// How many values it can have before it must grow; of a fixed queue: at all.
    ///
    /// ```
    /// assert_eq!(toft_pools::Queue::<u8>::fixed(3).capacity(), 3);
    /// ```
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Whether it cannot grow.
    ///
    /// ```
    /// assert!(toft_pools::Queue::<u8>::fixed(3).is_fixed());
    /// ```
    pub fn is_fixed(&self) -> bool {
        self.ring.is_fixed()
    }

    /// Where its slots come from.
    ///
    /// ```
    /// assert_eq!(toft_pools::Queue::<u8>::new().memory(), &toft::Heap);
    /// ```
    pub fn memory(&self) -> &M {
        self.ring.memory()
    }

    /// Makes room for `more` values.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1]);
    /// queue.reserve(10);
    /// assert!(queue.capacity() >= 11);
    /// ```
    ///
    /// # Panics
    /// The queue is fixed and has no room for them, or there is no memory.
    #[track_caller]
    pub fn reserve(&mut self, more: usize) {
        self.ring.reserve(more);
    }

    /// As [`reserve`](Queue::reserve).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::<u8>::fixed(2);
    /// assert!(queue.try_reserve(2).is_ok() && queue.try_reserve(3).is_err());
    /// ```
    ///
    /// # Errors
    /// The queue is fixed and has no room for them, or there is no memory.
    pub fn try_reserve(&mut self, more: usize) -> Result<(), AllocError> {
        self.ring.try_reserve(more)
    }

    /// Gives back what memory is not used, as far as the capacity is a power of two. Nothing happens if the queue is
    /// fixed, or there is no memory to move to.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::with_capacity(100);
    /// queue.extend([1, 2, 3]);
    /// queue.shrink_to_fit();
    /// assert_eq!(queue.capacity(), 4);
    /// ```
    pub fn shrink_to_fit(&mut self) {
        self.ring.shrink_to_fit();
    }

    /// The same, but keeps room for `least` values.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::<u8>::with_capacity(100);
    /// queue.shrink_to(10);
    /// assert_eq!(queue.capacity(), 16);
    /// ```
    pub fn shrink_to(&mut self, least: usize) {
        self.ring.shrink_to(least);
    }

    // ---- the ends ----

    /// Adds a value at the back. O(1) amortised.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1]);
    /// queue.push_back(2);
    /// assert_eq!(queue, [1, 2]);
    /// ```
    ///
    /// # Panics
    /// The queue is fixed and full, or there is no memory.
    #[inline]
    #[track_caller]
    pub fn push_back(&mut self, value: T) {
        self.ring.push_end(value);
    }

    /// As [`push_back`](Queue::push_back).
    ///
    /// ```
    /// use toft_pools::{Full, Queue};
    /// assert_eq!(Queue::fixed(0).try_push_back('a'), Err(Full('a')));
    /// ```
    ///
    /// # Errors
    /// The value comes back: the queue is fixed and full, or there is no memory.
    #[inline]
    pub fn try_push_back(&mut self, value: T) -> Result<(), Full<T>> {
        self.ring.try_push_end(value).map(drop)
    }

    /// Adds a value at the front. O(1) amortised.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1]);
    /// queue.push_front(0);
    /// assert_eq!(queue, [0, 1]);
    /// ```
    ///
    /// # Panics
    /// The queue is fixed and full, or there is no memory.
    #[inline]
    #[track_caller]
    pub fn push_front(&mut self, value: T) {
        self.ring.push_begin(value);
    }

    /// As [`push_front`](Queue::push_front).
    ///
    /// ```
    /// use toft_pools::{Full, Queue};
    /// assert_eq!(Queue::fixed(0).try_push_front('a'), Err(Full('a')));
    /// ```
    ///
    /// # Errors
    /// The value comes back: the queue is fixed and full, or there is no memory.
    #[inline]
    pub fn try_push_front(&mut self, value: T) -> Result<(), Full<T>> {
        self.ring.try_push_begin(value).map(drop)
    }

    /// Takes the value at the back. O(1).
    ///
    /// ```
    /// assert_eq!(toft_pools::Queue::from([1, 2]).pop_back(), Some(2));
    /// ```
    #[inline]
    pub fn pop_back(&mut self) -> Option<T> {
        self.ring.pop_end()
    }

    /// Takes the value at the front. O(1).
    ///
    /// ```
    /// assert_eq!(toft_pools::Queue::from([1, 2]).pop_front(), Some(1));
    /// ```
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        self.ring.pop_begin()
    }

    /// The value at the front.
    ///
    /// ```
    /// assert_eq!(toft_pools::Queue::from([1, 2]).front(), Some(&1));
    /// ```
    #[inline]
    pub fn front(&self) -> Option<L::Ref<'_>> {
        self.get(0)
    }

    /// The value at the front, to change it.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2]);
    /// *queue.front_mut().unwrap() = 7;
    /// assert_eq!(queue, [7, 2]);
    /// ```
    #[inline]
    pub fn front_mut(&mut self) -> Option<L::Mut<'_>> {
        self.get_mut(0)
    }

    /// The value at the back.
    ///
    /// ```
    /// assert_eq!(toft_pools::Queue::from([1, 2]).back(), Some(&2));
    /// ```
    #[inline]
    pub fn back(&self) -> Option<L::Ref<'_>> {
        self.get(self.len().wrapping_sub(1))
    }

    /// The value at the back, to change it.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2]);
    /// *queue.back_mut().unwrap() = 7;
    /// assert_eq!(queue, [1, 7]);
    /// ```
    #[inline]
    pub fn back_mut(&mut self) -> Option<L::Mut<'_>> {
        self.get_mut(self.len().wrapping_sub(1))
    }

    // ---- access ----

    /// The value at a position, 0 being the front. O(1).
    ///
    /// ```
    /// let queue = toft_pools::Queue::from([1, 2]);
    /// assert_eq!((queue.get(1), queue.get(2)), (Some(&2), None));
    /// ```
    #[inline]
    pub fn get(&self, i: usize) -> Option<L::Ref<'_>> {
        // SAFETY: the value is there, and borrowed with the queue; here and below.
        (i < self.len()).then(|| unsafe { L::get(self.ring.slots.raw(), self.slot(i)) })
    }

    /// The value at a position, to change it. O(1).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2]);
    /// *queue.get_mut(1).unwrap() = 7;
    /// assert_eq!(queue, [1, 7]);
    /// ```
    #[inline]
    pub fn get_mut(&mut self, i: usize) -> Option<L::Mut<'_>> {
        // SAFETY: see get.
        (i < self.len()).then(|| unsafe { L::get_mut(self.ring.slots.raw(), self.slot(i)) })
    }

    /// All values in two parts, each a slice, or a slice of each column: the front is in the first, the second may be
    /// empty.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2]);
    /// queue.push_front(0);
    /// let (a, b) = queue.as_slices();
    /// assert_eq!([a, b].concat(), [0, 1, 2]);
    /// ```
    #[inline]
    pub fn as_slices(&self) -> (L::Slices<'_>, L::Slices<'_>) {
        self.ring.slices()
    }

    /// The same, to change them.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2]);
    /// queue.as_mut_slices().0[0] = 7;
    /// assert_eq!(queue, [7, 2]);
    /// ```
    #[inline]
    pub fn as_mut_slices(&mut self) -> (L::SlicesMut<'_>, L::SlicesMut<'_>) {
        self.ring.slices_mut()
    }

    /// The values, from the front on.
    ///
    /// ```
    /// let queue = toft_pools::Queue::from([1, 2]);
    /// assert!(queue.iter().rev().eq(&[2, 1]));
    /// ```
    #[inline]
    pub fn iter(&self) -> Iter<'_, T, L> {
        self.ring.iter()
    }

    /// The values, to change them, from the front on.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2]);
    /// queue.iter_mut().for_each(|value| *value *= 10);
    /// assert_eq!(queue, [10, 20]);
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, T, L> {
        self.ring.iter_mut()
    }

    /// The values of a range of positions.
    ///
    /// ```
    /// let queue = toft_pools::Queue::from([1, 2, 3]);
    /// assert!(queue.range(1..).eq(&[2, 3]));
    /// ```
    ///
    /// # Panics
    /// The range is not within the queue.
    #[track_caller]
    pub fn range(&self, range: impl RangeBounds<usize>) -> Iter<'_, T, L> {
        let at = self.ring.runs_of(positions(range, self.len()));
        // SAFETY: see get.
        unsafe { Iter::new(self.ring.slots.raw(), at) }
    }

    /// The values of a range of positions, to change them.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2, 3]);
    /// queue.range_mut(1..).for_each(|value| *value = 0);
    /// assert_eq!(queue, [1, 0, 0]);
    /// ```
    ///
    /// # Panics
    /// The range is not within the queue.
    #[track_caller]
    pub fn range_mut(&mut self, range: impl RangeBounds<usize>) -> IterMut<'_, T, L> {
        let at = self.ring.runs_of(positions(range, self.len()));
        // SAFETY: see get.
        unsafe { IterMut::new(self.ring.slots.raw(), at) }
    }

    /// Drops all but the first `len` values.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2, 3]);
    /// queue.truncate(1);
    /// assert_eq!(queue, [1]);
    /// ```
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            let gone = self.ring.runs_of(len..self.len());
            self.ring.end = self.ring.begin.wrapping_add(len);
            // SAFETY: they had values, and count no more.
            unsafe { drop_all::<T, L, ()>(self.ring.slots.raw(), gone) }
        }
    }

    /// Drops all values. The memory stays.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2]);
    /// queue.clear();
    /// assert!(queue.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.ring.clear();
    }

    /// The slot of the value at a position.
    #[inline(always)]
    fn slot(&self, position: usize) -> usize {
        self.ring.slot(self.ring.begin.wrapping_add(position))
    }
}

impl<T, L: CloneIn<T>, M: Memory + Clone> Clone for Queue<T, L, M> {
    /// # Panics
    /// There is no memory.
    fn clone(&self) -> Self {
        Queue { ring: self.ring.clone() }
    }
}
