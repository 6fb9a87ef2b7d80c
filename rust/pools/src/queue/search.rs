//! Searching in a queue.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use super::Queue;
use crate::field_layout::{FieldLayout, Rows};
use toft::Memory;

impl<T, L: FieldLayout<T>, M: Memory> Queue<T, L, M> {
    /// Searches a queue that is sorted by a comparison function. See [`binary_search`](Queue::binary_search).
    ///
    /// ```
    /// let queue = toft_pools::Queue::from([1, 4, 9]);
    /// assert_eq!(queue.binary_search_by(|value| value.cmp(&4)), Ok(1));
    /// ```
    pub fn binary_search_by<'a>(&'a self, mut compare: impl FnMut(L::Ref<'a>) -> Ordering) -> Result<usize, usize> {
        let (mut start, mut end) = (0, self.len());
        while start < end {
            let middle = start + (end - start) / 2;
            let Some(value) = self.get(middle) else { break };
            match compare(value) {
                Ordering::Less => start = middle + 1,
                Ordering::Greater => end = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(start)
    }

    /// Searches a queue that is sorted by a key. See [`binary_search`](Queue::binary_search).
    ///
    /// ```
    /// let queue = toft_pools::Queue::from([(1, 'x'), (4, 'y'), (9, 'z')]);
    /// assert_eq!(queue.binary_search_by_key(&9, |&(number, _)| number), Ok(2));
    /// ```
    pub fn binary_search_by_key<'a, K: Ord>(
        &'a self,
        key: &K,
        mut key_of: impl FnMut(L::Ref<'a>) -> K,
    ) -> Result<usize, usize> {
        self.binary_search_by(|value| key_of(value).cmp(key))
    }

    /// The position of the first value for which the function returns false; it must return true for all values before.
    /// O(log n).
    ///
    /// ```
    /// let queue = toft_pools::Queue::from([1, 4, 9]);
    /// assert_eq!(queue.partition_point(|&value| value < 5), 2);
    /// ```
    pub fn partition_point<'a>(&'a self, mut before: impl FnMut(L::Ref<'a>) -> bool) -> usize {
        let found = self.binary_search_by(|value| if before(value) { Ordering::Less } else { Ordering::Greater });
        found.unwrap_or_else(|position| position)
    }
}

impl<T, M: Memory> Queue<T, Rows, M> {
    /// Whether a value is equal. O(n).
    ///
    /// ```
    /// assert!(toft_pools::Queue::from([1, 2]).contains(&2));
    /// ```
    pub fn contains(&self, value: &T) -> bool
    where
        T: PartialEq,
    {
        let (front, back) = self.as_slices();
        front.contains(value) || back.contains(value)
    }

    /// Searches a queue that is sorted: the position of an equal value, or `Err` of where one would have to be
    /// inserted. If several are equal it is any of them. O(log n).
    ///
    /// ```
    /// let queue = toft_pools::Queue::from([1, 4, 9]);
    /// assert_eq!((queue.binary_search(&4), queue.binary_search(&5)), (Ok(1), Err(2)));
    /// ```
    pub fn binary_search(&self, value: &T) -> Result<usize, usize>
    where
        T: Ord,
    {
        self.binary_search_by(|other| other.cmp(value))
    }
}
