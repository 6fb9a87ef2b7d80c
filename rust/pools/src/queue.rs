//! A double-ended queue in a ring buffer. The first and the last value have counters that wrap, and the slot of a
//! counter is the counter modulo the number of slots, which is a power of two. So growth moves few values.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::Range;

use super::capacity_error::{capacity_panic, CapacityError};
use super::contiguous::{drop_all, fill, SlotRanges};
use super::field_layout::{CloneIn, FieldLayout, Rows};
use super::slots::Slots;
use toft::{Heap, Memory};

mod capacity;
mod edit;
mod iter;
mod traits;

pub use iter::{IntoIter, Iter, IterMut};

/// A double-ended queue in a ring buffer, growing or fixed, in any [`Memory`], with the names of
/// [`VecDeque`](alloc::collections::VecDeque). Insertion at either end is O(1) amortised; removal at either end and access
/// by position are O(1).
/// The number of slots is a power of two, so that a position needs a mask and no comparison:
/// [`capacity`](Queue::capacity) of a queue that grows may be larger than requested. Values are dropped with the queue,
/// from the front on.
///
/// ```
/// use toft_pools::Queue;
///
/// let mut queue = Queue::fixed(3);
/// queue.push_back("first");
/// queue.push_back("second");
/// queue.push_front("urgent");
/// assert_eq!(queue.pop_front(), Some("urgent"));
/// assert_eq!(queue, ["first", "second"]);
/// ```
pub struct Queue<T, L: FieldLayout<T> = Rows, M: Memory = Heap> {
    slots: Slots<T, L, (), M>,
    /// The counters of the first value, and of the next one at the back. They wrap.
    head: usize,
    tail: usize,
    /// The number of values that fit without growth.
    limit: usize,
    fixed: bool,
}

impl<T, L: FieldLayout<T>, M: Memory> Queue<T, L, M> {
    /// An empty queue that grows, of the layout of its type.
    ///
    /// ```
    /// let mut values: toft_pools::Queue<u8> = toft_pools::Queue::any_in(toft::Heap);
    /// values.push_back(1);
    /// ```
    pub fn any_in(memory: M) -> Self {
        Queue { slots: Slots::new_in(memory), head: 0, tail: 0, limit: 0, fixed: false }
    }

    // ---- the ends ----

    /// Adds a value at the back. O(1) amortised.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(2);
    /// queue.extend([1]);
    /// queue.push_back(2);
    /// assert_eq!(queue, [1, 2]);
    /// ```
    ///
    /// # Panics
    /// The queue is fixed and full, or there is no memory.
    #[inline]
    #[track_caller]
    pub fn push_back(&mut self, value: T) {
        if self.len() == self.limit && self.grow(1).is_err() {
            capacity_panic()
        }
        // SAFETY: there is a free slot.
        unsafe { self.write_back(value) }
    }

    /// As [`push_back`](Queue::push_back), with an error instead of a panic.
    ///
    /// ```
    /// use toft_pools::{CapacityError, Queue};
    /// assert_eq!(Queue::fixed(0).try_push_back('a'), Err(CapacityError('a')));
    /// ```
    ///
    /// # Errors
    /// The value is returned in the error: the queue is fixed and full, or there is no memory.
    #[inline]
    pub fn try_push_back(&mut self, value: T) -> Result<(), CapacityError<T>> {
        if self.len() == self.limit && self.grow(1).is_err() {
            return Err(CapacityError(value));
        }
        // SAFETY: there is a free slot.
        unsafe { self.write_back(value) }
        Ok(())
    }

    /// Adds a value at the front. O(1) amortised.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(2);
    /// queue.extend([1]);
    /// queue.push_front(0);
    /// assert_eq!(queue, [0, 1]);
    /// ```
    ///
    /// # Panics
    /// The queue is fixed and full, or there is no memory.
    #[inline]
    #[track_caller]
    pub fn push_front(&mut self, value: T) {
        if self.len() == self.limit && self.grow(1).is_err() {
            capacity_panic()
        }
        // SAFETY: there is a free slot.
        unsafe { self.write_front(value) }
    }

    /// As [`push_front`](Queue::push_front), with an error instead of a panic.
    ///
    /// ```
    /// use toft_pools::{CapacityError, Queue};
    /// assert_eq!(Queue::fixed(0).try_push_front('a'), Err(CapacityError('a')));
    /// ```
    ///
    /// # Errors
    /// The value is returned in the error: the queue is fixed and full, or there is no memory.
    #[inline]
    pub fn try_push_front(&mut self, value: T) -> Result<(), CapacityError<T>> {
        if self.len() == self.limit && self.grow(1).is_err() {
            return Err(CapacityError(value));
        }
        // SAFETY: there is a free slot.
        unsafe { self.write_front(value) }
        Ok(())
    }

    /// # Safety
    /// `len` is less than the limit.
    #[inline(always)]
    unsafe fn write_back(&mut self, value: T) {
        debug_assert!(self.len() < self.limit);
        let tail = self.tail;
        // SAFETY: the slot has no value.
        unsafe { L::write(self.slots.raw(), self.slot(tail), value) }
        self.tail = tail.wrapping_add(1);
    }

    /// # Safety
    /// `len` is less than the limit.
    #[inline(always)]
    unsafe fn write_front(&mut self, value: T) {
        debug_assert!(self.len() < self.limit);
        let head = self.head.wrapping_sub(1);
        // SAFETY: the slot has no value.
        unsafe { L::write(self.slots.raw(), self.slot(head), value) }
        self.head = head;
    }

    /// Appends values while there are free slots up to the end of the memory, or of the ring, and returns the next one.
    #[inline(always)]
    fn fill(&mut self, values: &mut impl Iterator<Item = T>) -> Option<T> {
        let start = self.slot(self.tail);
        let end = self.slots.capacity().min(start + (self.limit - self.len()));
        // SAFETY: these slots have no values.
        unsafe { fill::<T, L>(self.slots.raw(), start..end, &mut self.tail, values) }
    }

    /// Removes and returns the value at the back. O(1).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(2);
    /// queue.extend([1, 2]);
    /// assert_eq!(queue.pop_back(), Some(2));
    /// ```
    #[inline]
    pub fn pop_back(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.tail = self.tail.wrapping_sub(1);
        // SAFETY: the slot had a value and is outside the range of values now.
        Some(unsafe { L::read(self.slots.raw(), self.slot(self.tail)) })
    }

    /// Removes and returns the value at the front. O(1).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(2);
    /// queue.extend([1, 2]);
    /// assert_eq!(queue.pop_front(), Some(1));
    /// ```
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let head = self.head;
        self.head = head.wrapping_add(1);
        // SAFETY: the slot had a value and is outside the range of values now.
        Some(unsafe { L::read(self.slots.raw(), self.slot(head)) })
    }

    /// The value at the front.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(2);
    /// queue.extend([1, 2]);
    /// assert_eq!(queue.front(), Some(&1));
    /// ```
    #[inline]
    pub fn front(&self) -> Option<L::Ref<'_>> {
        self.get(0)
    }

    /// The value at the front, mutable.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(2);
    /// queue.extend([1, 2]);
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
    /// let mut queue = toft_pools::Queue::fixed(2);
    /// queue.extend([1, 2]);
    /// assert_eq!(queue.back(), Some(&2));
    /// ```
    #[inline]
    pub fn back(&self) -> Option<L::Ref<'_>> {
        self.get(self.len().wrapping_sub(1))
    }

    /// The value at the back, mutable.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(2);
    /// queue.extend([1, 2]);
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
    /// let mut queue = toft_pools::Queue::fixed(2);
    /// queue.extend([1, 2]);
    /// assert_eq!((queue.get(1), queue.get(2)), (Some(&2), None));
    /// ```
    #[inline]
    pub fn get(&self, i: usize) -> Option<L::Ref<'_>> {
        // SAFETY: the position has a value, which is borrowed with the queue; here and below.
        (i < self.len()).then(|| unsafe { L::get(self.slots.raw(), self.slot_at(i)) })
    }

    /// The value at a position, mutable. O(1).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(2);
    /// queue.extend([1, 2]);
    /// *queue.get_mut(1).unwrap() = 7;
    /// assert_eq!(queue, [1, 7]);
    /// ```
    #[inline]
    pub fn get_mut(&mut self, i: usize) -> Option<L::Mut<'_>> {
        // SAFETY: see get.
        (i < self.len()).then(|| unsafe { L::get_mut(self.slots.raw(), self.slot_at(i)) })
    }

    /// All values in two parts, each a slice, or a slice of each column: the front is in the first, the second may be
    /// empty.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(3);
    /// queue.extend([1, 2]);
    /// queue.push_front(0);
    /// let (a, b) = queue.as_slices();
    /// assert_eq!([a, b].concat(), [0, 1, 2]);
    /// ```
    #[inline]
    pub fn as_slices(&self) -> (L::Slices<'_>, L::Slices<'_>) {
        let (SlotRanges { front, back }, raw) = (self.in_order(), self.slots.raw());
        // SAFETY: see get.
        unsafe { (L::slices(raw, front.start, front.len()), L::slices(raw, back.start, back.len())) }
    }

    /// As `as_slices`, mutable.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(2);
    /// queue.extend([1, 2]);
    /// queue.as_mut_slices().0[0] = 7;
    /// assert_eq!(queue, [7, 2]);
    /// ```
    #[inline]
    pub fn as_mut_slices(&mut self) -> (L::SlicesMut<'_>, L::SlicesMut<'_>) {
        let (SlotRanges { front, back }, raw) = (self.in_order(), self.slots.raw());
        // SAFETY: see get; the two have no slot in common.
        unsafe { (L::slices_mut(raw, front.start, front.len()), L::slices_mut(raw, back.start, back.len())) }
    }

    /// Drops all but the first `len` values.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::fixed(3);
    /// queue.extend([1, 2, 3]);
    /// queue.truncate(1);
    /// assert_eq!(queue, [1]);
    /// ```
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            let removed = self.slot_ranges_of(len..self.len());
            self.tail = self.head.wrapping_add(len);
            debug_assert!(self.len() == len);
            // SAFETY: they had values and are outside the range of values now.
            unsafe { drop_all::<T, L, ()>(self.slots.raw(), removed) }
        }
    }

    /// Moves all values of another queue to the back, in their order.
    ///
    /// ```
    /// let (mut queue, mut other) = (toft_pools::Queue::fixed(2), toft_pools::Queue::fixed(2));
    /// other.extend([2, 3]);
    /// queue.append(&mut other);
    /// assert_eq!((queue.len(), other.len()), (2, 0));
    /// ```
    ///
    /// # Panics
    /// The queue is fixed and its capacity is too small, or there is no memory.
    #[track_caller]
    pub fn append<N: Memory>(&mut self, other: &mut Queue<T, L, N>) {
        self.reserve(other.len());
        let from = other.in_order();
        other.head = other.tail;
        for run in [from.front, from.back] {
            let mut at = run.start;
            while at < run.end {
                let to = self.slot(self.tail);
                let n = (run.end - at).min(self.slots.capacity() - to);
                // SAFETY: there is memory for them; the values are no longer in the other queue.
                unsafe { L::copy(other.slots.raw(), at, self.slots.raw(), to, n) }
                self.tail = self.tail.wrapping_add(n);
                at += n;
            }
        }
        debug_assert!(self.verify());
    }

    // ---- counters and slots ----

    /// The slot of a counter.
    #[inline(always)]
    fn slot(&self, counter: usize) -> usize {
        counter & self.slots.capacity().wrapping_sub(1)
    }

    /// The slots of the values, in their order.
    #[inline]
    fn in_order(&self) -> SlotRanges {
        self.slot_ranges_of(0..self.len())
    }

    /// The slots of the values at these positions, in their order.
    #[inline]
    fn slot_ranges_of(&self, positions: Range<usize>) -> SlotRanges {
        let len = positions.len();
        if len == 0 {
            return SlotRanges { front: 0..0, back: 0..0 }; // there may be no slots at all
        }
        let start = self.slot_at(positions.start);
        let to_end = self.slots.capacity() - start;
        if len <= to_end {
            SlotRanges { front: start..start + len, back: 0..0 }
        } else {
            SlotRanges { front: start..self.slots.capacity(), back: 0..len - to_end }
        }
    }

    /// The slot of the value at a position.
    #[inline(always)]
    fn slot_at(&self, position: usize) -> usize {
        self.slot(self.head.wrapping_add(position))
    }
}

impl<T, L: CloneIn<T>, M: Memory + Clone> Clone for Queue<T, L, M> {
    /// # Panics
    /// There is no memory.
    fn clone(&self) -> Self {
        let n = if self.fixed { self.limit } else { self.len() };
        let mut clone = Self::any_in(self.memory().clone());
        let made = match n {
            _ if self.fixed => clone.fix(n),
            0 => Ok(()),
            _ => clone.allocate(n),
        };
        if made.is_err() {
            capacity_panic()
        }
        // SAFETY: the slots have values.
        clone.fill(&mut self.in_order().map(|slot| unsafe { L::clone_at(self.slots.raw(), slot) }));
        clone
    }
}

impl<T, L: FieldLayout<T>, M: Memory> Drop for Queue<T, L, M> {
    fn drop(&mut self) {
        self.clear();
    }
}
