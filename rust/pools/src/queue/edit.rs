//! Changes of a queue at other positions than its ends.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::Queue;
use crate::capacity_error::CapacityError;
use crate::contiguous::SlotRanges;
use crate::field_layout::FieldLayout;
use toft::Memory;

impl<T, L: FieldLayout<T>, M: Memory> Queue<T, L, M> {
    /// Swaps the values at two positions.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2, 3]);
    /// queue.swap(0, 2);
    /// assert_eq!(queue, [3, 2, 1]);
    /// ```
    ///
    /// # Panics
    /// A position has no value.
    #[track_caller]
    pub fn swap(&mut self, i: usize, j: usize) {
        assert!(i < self.len() && j < self.len(), "toft: resolve_range {i} and {j} of {} values", self.len());
        // SAFETY: both have values.
        unsafe { self.swap_slots(self.slot_at(i), self.slot_at(j)) }
    }

    /// # Safety
    /// Both have values.
    #[inline]
    unsafe fn swap_slots(&mut self, a: usize, b: usize) {
        let raw = self.slots.raw();
        // SAFETY: the caller's contract; nothing panics between.
        unsafe {
            let (x, y) = (L::read(raw, a), L::read(raw, b));
            L::write(raw, a, y);
            L::write(raw, b, x);
        }
    }

    /// As [`insert`](Queue::insert); returns the value in its slot.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 3]);
    /// *queue.insert_mut(1, 0) += 2;
    /// assert_eq!(queue, [1, 2, 3]);
    /// ```
    ///
    /// # Panics
    /// As `insert`.
    #[track_caller]
    #[must_use = "insert inserts a value without a reference to it"]
    pub fn insert_mut(&mut self, i: usize, value: T) -> L::Mut<'_> {
        self.insert(i, value);
        // SAFETY: the position has a value, which is borrowed with the queue.
        unsafe { L::get_mut(self.slots.raw(), self.slot_at(i)) }
    }

    /// As [`insert`](Queue::insert), with an error instead of a panic.
    ///
    /// ```
    /// use toft_pools::{CapacityError, Queue};
    /// assert_eq!(Queue::fixed(0).try_insert(0, 'a'), Err(CapacityError('a')));
    /// ```
    ///
    /// # Errors
    /// The value is returned in the error: the queue is fixed and full, or there is no memory.
    ///
    /// # Panics
    /// The position is past the end.
    #[track_caller]
    pub fn try_insert(&mut self, i: usize, value: T) -> Result<(), CapacityError<T>> {
        let len = self.len();
        assert!(i <= len, "toft: position {i} is past the end of {len} values");
        if self.try_reserve(1).is_err() {
            return Err(CapacityError(value));
        }
        // SAFETY: there is a free slot at either end; the value of the slot that is written has been moved.
        unsafe {
            if i < len - i {
                let begin = self.head.wrapping_sub(1);
                self.shift(self.head, begin, i);
                self.head = begin;
            } else {
                let at = self.head.wrapping_add(i);
                self.shift(at, at.wrapping_add(1), len - i);
                self.tail = self.tail.wrapping_add(1);
            }
            L::write(self.slots.raw(), self.slot_at(i), value);
        }
        Ok(())
    }

    /// Removes and returns the value at a position; those after it move. O(min(i, n - i)).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from(['a', 'b', 'c']);
    /// assert_eq!(queue.remove(1), Some('b'));
    /// assert_eq!(queue, ['a', 'c']);
    /// assert_eq!(queue.remove(2), None);
    /// ```
    pub fn remove(&mut self, i: usize) -> Option<T> {
        if i >= self.len() {
            return None;
        }
        // SAFETY: the slot has a value, which the caller owns.
        let value = unsafe { L::read(self.slots.raw(), self.slot_at(i)) };
        // SAFETY: the slot has no value now; the others have.
        unsafe { self.close(i, 1, self.len()) }
        Some(value)
    }

    /// Removes and returns the value at a position, and moves the first value there. O(1).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from(['a', 'b', 'c']);
    /// assert_eq!(queue.swap_remove_front(2), Some('c'));
    /// assert_eq!(queue, ['b', 'a']);
    /// ```
    pub fn swap_remove_front(&mut self, i: usize) -> Option<T> {
        if i >= self.len() {
            return None;
        }
        self.swap(0, i);
        self.pop_front()
    }

    /// Removes and returns the value at a position, and moves the last value there. O(1).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from(['a', 'b', 'c']);
    /// assert_eq!(queue.swap_remove_back(0), Some('a'));
    /// assert_eq!(queue, ['c', 'b']);
    /// ```
    pub fn swap_remove_back(&mut self, i: usize) -> Option<T> {
        if i >= self.len() {
            return None;
        }
        self.swap(i, self.len() - 1);
        self.pop_back()
    }

    /// Removes the values from a position on and returns them as another queue in the same memory; it is fixed, with
    /// the same capacity, if this one is.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from(['a', 'b', 'c']);
    /// let rest = queue.split_off(1);
    /// assert_eq!((queue.len(), rest), (1, ['b', 'c'].into()));
    /// ```
    ///
    /// # Panics
    /// The position is past the end, or there is no memory.
    #[track_caller]
    pub fn split_off(&mut self, at: usize) -> Self
    where
        M: Clone,
    {
        let len = self.len();
        assert!(at <= len, "toft: position {at} is past the end of {len} values");
        let memory = self.memory().clone();
        let mut rest = if self.is_fixed() {
            Self::fixed_in(self.capacity(), memory)
        } else {
            Self::with_capacity_in(len - at, memory)
        };
        let from = self.slot_ranges_of(at..len);
        self.tail = self.head.wrapping_add(at);
        // SAFETY: there is memory for them; the values are no longer in this queue.
        unsafe { rest.move_here(self.slots.raw(), from) }
        rest
    }

    /// Moves all values of another queue to the back, in their order.
    ///
    /// ```
    /// use toft_pools::Queue;
    /// let (mut queue, mut other) = (Queue::from([1]), Queue::from([2, 3]));
    /// queue.append(&mut other);
    /// assert_eq!((queue.len(), other.len()), (3, 0));
    /// ```
    ///
    /// # Panics
    /// The queue is fixed and its capacity is too small, or there is no memory.
    #[track_caller]
    pub fn append<N: Memory>(&mut self, other: &mut Queue<T, L, N>) {
        self.reserve(other.len());
        let from = other.in_order();
        other.head = other.tail;
        // SAFETY: there is memory for them; the values are no longer in the other queue.
        unsafe { self.move_here(other.slots.raw(), from) }
    }

    /// # Safety
    /// The queue has memory for the values, which are in other memory and are owned by the caller.
    unsafe fn move_here(&mut self, from: L::Raw<()>, runs: SlotRanges) {
        for run in [runs.front, runs.back] {
            let mut at = run.start;
            while at < run.end {
                let to = self.slot(self.tail);
                let n = (run.end - at).min(self.slots.capacity() - to);
                // SAFETY: the caller's contract.
                unsafe { L::copy(from, at, self.slots.raw(), to, n) }
                self.tail = self.tail.wrapping_add(n);
                at += n;
            }
        }
    }

    /// Makes the values contiguous: `as_slices().0` has all of them. O(n); allocates nothing.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([2, 3]);
    /// queue.push_front(1);
    /// queue.make_contiguous().reverse();
    /// assert_eq!(queue.as_slices(), (&[3, 2, 1][..], &[][..]));
    /// ```
    pub fn make_contiguous(&mut self) -> L::SlicesMut<'_> {
        let (SlotRanges { front, back }, raw, len) = (self.in_order(), self.slots.raw(), self.len());
        if !back.is_empty() {
            // SAFETY: the front part is at the end of the memory, and the back part at its beginning. The slots between
            // them have no values.
            unsafe {
                if len <= front.start {
                    L::shift(raw, 0, front.len(), back.len());
                    L::copy(raw, front.start, raw, 0, front.len());
                } else {
                    // Makes the parts adjacent in the wrong order, then reverses each part and the whole.
                    L::shift(raw, front.start, back.len(), front.len());
                    self.reverse(0, back.len());
                    self.reverse(back.len(), len);
                    self.reverse(0, len);
                }
            }
            (self.head, self.tail) = (0, len);
        }
        self.as_mut_slices().0
    }

    /// # Safety
    /// The slots from `start` to `end` have values.
    unsafe fn reverse(&mut self, mut start: usize, mut end: usize) {
        while start + 1 < end {
            end -= 1;
            // SAFETY: the caller's contract.
            unsafe { self.swap_slots(start, end) }
            start += 1;
        }
    }

    /// Moves the first `n` values to the back. O(min(n, len - n)).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2, 3, 4]);
    /// queue.rotate_left(1);
    /// assert_eq!(queue, [2, 3, 4, 1]);
    /// ```
    ///
    /// # Panics
    /// There are fewer than `n`.
    #[track_caller]
    pub fn rotate_left(&mut self, n: usize) {
        let len = self.len();
        assert!(n <= len, "toft: {n} of {len} values");
        if n <= len - n {
            self.first_to_back(n);
        } else {
            self.last_to_front(len - n);
        }
    }

    /// Moves the last `n` values to the front. O(min(n, len - n)).
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2, 3, 4]);
    /// queue.rotate_right(1);
    /// assert_eq!(queue, [4, 1, 2, 3]);
    /// ```
    ///
    /// # Panics
    /// There are fewer than `n`.
    #[track_caller]
    pub fn rotate_right(&mut self, n: usize) {
        let len = self.len();
        assert!(n <= len, "toft: {n} of {len} values");
        if n <= len - n {
            self.last_to_front(n);
        } else {
            self.first_to_back(len - n);
        }
    }

    fn first_to_back(&mut self, n: usize) {
        for _ in 0..n {
            let (from, to) = (self.slot(self.head), self.slot(self.tail));
            // SAFETY: the first slot has a value; the slot after the last has none, or is the first one of a full
            // queue.
            unsafe { L::shift(self.slots.raw(), from, to, 1) }
            self.head = self.head.wrapping_add(1);
            self.tail = self.tail.wrapping_add(1);
        }
    }

    fn last_to_front(&mut self, n: usize) {
        for _ in 0..n {
            self.head = self.head.wrapping_sub(1);
            self.tail = self.tail.wrapping_sub(1);
            let (from, to) = (self.slot(self.tail), self.slot(self.head));
            // SAFETY: see first_to_back.
            unsafe { L::shift(self.slots.raw(), from, to, 1) }
        }
    }

    /// Closes a gap of `n` positions from `i` on, in a queue of `len`: the shorter side moves.
    ///
    /// # Safety
    /// The others have values.
    pub(super) unsafe fn close(&mut self, i: usize, n: usize, len: usize) {
        let (begin, behind) = (self.head, len - i - n);
        // SAFETY: the caller's contract.
        unsafe {
            if i < behind {
                self.head = begin.wrapping_add(n);
                self.shift(begin, self.head, i);
            } else {
                self.shift(begin.wrapping_add(i + n), begin.wrapping_add(i), behind);
            }
        }
        self.tail = self.head.wrapping_add(len - n);
    }

    /// Moves `n` values, whose counters begin at `from`, to those that begin at `to`; they may overlap.
    ///
    /// # Safety
    /// The range from the first source or target to the last has at most as many counters as there are slots.
    pub(super) unsafe fn shift(&mut self, from: usize, to: usize, n: usize) {
        let (raw, capacity) = (self.slots.raw(), self.slots.capacity());
        let mut remaining = n;
        let back = (to.wrapping_sub(from) as isize) < 0;
        while remaining > 0 {
            // Moves pieces that wrap neither at the source nor at the target: towards lower counters from the first on,
            // towards higher ones from the last on, so that no value is overwritten before it is moved.
            let (i, j, piece);
            if back {
                (i, j) = (self.slot(from.wrapping_add(n - remaining)), self.slot(to.wrapping_add(n - remaining)));
                piece = remaining.min(capacity - i).min(capacity - j);
                // SAFETY: within the slots.
                unsafe { L::shift(raw, i, j, piece) }
            } else {
                (i, j) = (self.slot(from.wrapping_add(remaining - 1)), self.slot(to.wrapping_add(remaining - 1)));
                piece = remaining.min(i + 1).min(j + 1);
                // SAFETY: within the slots.
                unsafe { L::shift(raw, i + 1 - piece, j + 1 - piece, piece) }
            }
            remaining -= piece;
        }
    }
}
