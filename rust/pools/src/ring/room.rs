//! How many values a ring has, and room for how many: its growth.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::super::full::no_slot;
use super::super::layout::Layout;
use super::super::run::grown;
use super::{Ring, RingIndex};
use toft::AllocError;
use toft::Memory;

impl<T, L: Layout<T>, I: RingIndex, M: Memory> Ring<T, L, I, M> {
    /// How many values it has.
    ///
    /// ```
    /// assert_eq!(toft_pools::Ring::<u8>::new().len(), 0);
    /// ```
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.end.wrapping_sub(self.begin)
    }

    /// Whether it has none.
    ///
    /// ```
    /// assert!(toft_pools::Ring::<u8>::new().is_empty());
    /// ```
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.begin == self.end
    }

    /// How many values it can have before it must grow; of a fixed ring: at all.
    ///
    /// ```
    /// assert_eq!(toft_pools::Ring::<u8>::fixed(3).capacity(), 3);
    /// ```
    pub fn capacity(&self) -> usize {
        self.limit
    }

    /// Whether it cannot grow.
    ///
    /// ```
    /// assert!(toft_pools::Ring::<u8>::fixed(3).is_fixed());
    /// ```
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// Where its slots come from.
    ///
    /// ```
    /// assert_eq!(toft_pools::Ring::<u8>::new().memory(), &toft::Heap);
    /// ```
    pub fn memory(&self) -> &M {
        self.slots.memory()
    }

    /// Makes room for `more` values.
    ///
    /// ```
    /// let mut ring = toft_pools::Ring::<u8>::new();
    /// ring.reserve(100);
    /// assert!(ring.capacity() >= 100);
    /// ```
    ///
    /// # Panics
    /// The ring is fixed and has no room for them, indices cannot number as many, or there is no memory.
    #[track_caller]
    pub fn reserve(&mut self, more: usize) {
        if self.try_reserve(more).is_err() {
            no_slot()
        }
    }

    /// As [`reserve`](Ring::reserve).
    ///
    /// ```
    /// let mut ring = toft_pools::Ring::<u8>::fixed(2);
    /// assert!(ring.try_reserve(2).is_ok() && ring.try_reserve(3).is_err());
    /// ```
    ///
    /// # Errors
    /// The ring is fixed and has no room for them, indices cannot number as many, or there is no memory.
    pub fn try_reserve(&mut self, more: usize) -> Result<(), AllocError> {
        if more > self.limit - self.len() {
            self.grow(more)?;
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    pub(super) fn grow(&mut self, more: usize) -> Result<(), AllocError> {
        let wanted = self.len().checked_add(more).ok_or(AllocError)?;
        if self.fixed || wanted > I::MOST {
            return Err(AllocError);
        }
        self.grow_to(grown::<T>(self.slots.capacity(), self.len(), more)?.min(I::MOST))
    }

    pub(super) fn grow_to(&mut self, n: usize) -> Result<(), AllocError> {
        let (old, new) = (self.slots.capacity(), n.checked_next_power_of_two().ok_or(AllocError)?);
        if n > I::MOST {
            return Err(AllocError);
        }
        if !L::ROWS || old == 0 {
            self.replace(new)?;
        } else {
            self.slots.grow(new, old)?;
            // Both runs begin at multiples of `old` from where they lay; with twice the slots one of them is there already.
            let (at, len, raw) = (self.begin & (old - 1), self.len(), self.slots.raw());
            let front = len.min(old - at);
            let (goes, back) = (self.begin & (new - 1), self.begin.wrapping_add(front) & (new - 1));
            // SAFETY: what moves goes to slots beyond the old ones.
            unsafe {
                if goes != at {
                    L::copy(raw, at, raw, goes, front);
                }
                if back != 0 && front < len {
                    L::copy(raw, 0, raw, back, len - front);
                }
            }
        }
        self.limit = new.min(I::MOST);
        Ok(())
    }

    /// Moves to other memory, of a capacity that is a power of two, or 0, and not less than there are values.
    fn replace(&mut self, capacity: usize) -> Result<(), AllocError> {
        let (old, mut begin, end) = (self.slots.capacity(), self.begin, self.end);
        self.slots.replace(capacity, |from, to| {
            while begin != end {
                let (at, goes) = (begin & (old - 1), begin & (capacity - 1));
                let n = end.wrapping_sub(begin).min(old - at).min(capacity - goes);
                // SAFETY: within both.
                unsafe { L::copy(from, at, to, goes, n) }
                begin = begin.wrapping_add(n);
            }
        })
    }

    /// Gives back what memory is not used, as far as the capacity is a power of two. Indices stay. Nothing happens if the
    /// ring is fixed, or there is no memory to move to.
    ///
    /// ```
    /// let mut ring = toft_pools::Ring::with_capacity(100);
    /// let i = ring.push_end('a');
    /// ring.shrink_to_fit();
    /// assert_eq!((ring.capacity(), ring.get(i)), (1, Some(&'a')));
    /// ```
    pub fn shrink_to_fit(&mut self) {
        self.shrink_to(0);
    }

    /// The same, but keeps room for `least` values.
    ///
    /// ```
    /// let mut ring = toft_pools::Ring::<u8>::with_capacity(100);
    /// ring.shrink_to(10);
    /// assert_eq!(ring.capacity(), 16);
    /// ```
    pub fn shrink_to(&mut self, least: usize) {
        let n = match self.len().max(least) {
            0 => 0,
            n if n > self.slots.capacity() => return,
            n => n.next_power_of_two(),
        };
        if !self.fixed && n < self.slots.capacity() && self.replace(n).is_ok() {
            self.limit = n.min(I::MOST);
        }
    }
}
