//! Moving values from one list to another.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::List;
use crate::capacity_error::capacity_panic;
use crate::field_layout::FieldLayout;
use toft::Memory;

impl<T, L: FieldLayout<T>, M: Memory> List<T, L, M> {
    /// Moves all values of another list to the back, in their order. O(n) in their number, since each list has its own
    /// pool; their handles are stale.
    ///
    /// ```
    /// use toft_pools::List;
    /// let (mut list, mut other) = (List::from([1]), List::from([2, 3]));
    /// list.append(&mut other);
    /// assert!(list.iter().eq(&[1, 2, 3]) && other.is_empty());
    /// ```
    ///
    /// # Panics
    /// The list is fixed and its capacity is too small, a handle cannot address as many slots, or there is no memory.
    /// Nothing has changed.
    #[track_caller]
    pub fn append<N: Memory>(&mut self, other: &mut List<T, L, N>) {
        self.reserve(other.len());
        while let Some(value) = other.pop_front() {
            self.push_back(value);
        }
        debug_assert!(self.verify());
    }

    /// Removes the values from a position on and returns them as another list in the same memory; it is fixed, with the
    /// same capacity, if this one is. O(n). The handles of these values are stale.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2, 3]);
    /// let rest = list.split_off(1);
    /// assert!(list.iter().eq(&[1]) && rest.iter().eq(&[2, 3]));
    /// ```
    ///
    /// # Panics
    /// The position is past the end, or there is no memory.
    #[track_caller]
    pub fn split_off(&mut self, at: usize) -> Self
    where
        M: Clone,
    {
        assert!(at <= self.len(), "toft: position {at} is past the end of {} values", self.len());
        let (memory, more) = (self.memory().clone(), self.len() - at);
        let mut rest = Self::any_in(memory);
        let made = if self.is_fixed() { rest.fix(self.capacity()) } else { rest.try_reserve(more) };
        if made.is_err() {
            capacity_panic()
        }
        for _ in 0..more {
            if let Some(value) = self.pop_back() {
                rest.push_front(value);
            }
        }
        debug_assert!(rest.verify());
        rest
    }
}
