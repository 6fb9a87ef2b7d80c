//! Constructors and traits of the standard library for a list.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::List;
use crate::key::Handle;

crate::sequence::sequence!(
    List,
    "list",
    new_in,
    push_back,
    try_push_back,
    "there is no memory or a handle cannot address as many slots"
);
crate::sequence::index_by!(List, Handle<T>, "list has no value under this handle");

impl<T> List<T> {
    /// An empty list of rows on the heap, which has allocated nothing yet.
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// list.push_back(1);
    /// assert_eq!(list.len(), 1);
    /// ```
    pub fn new() -> Self {
        Self::new_in(Heap)
    }

    /// An empty list of rows on the heap, with memory for `n` values.
    ///
    /// ```
    /// assert!(toft_pools::List::<u8>::with_capacity(10).capacity() >= 10);
    /// ```
    ///
    /// # Panics
    /// If there is no memory or a handle cannot address as many slots.
    #[track_caller]
    pub fn with_capacity(n: usize) -> Self {
        Self::with_capacity_in(n, Heap)
    }
}

impl<T, L: FieldLayout<T>, M: Memory> List<T, L, M> {
    /// An empty list with memory for `n` values.
    ///
    /// ```
    /// use toft_pools::{Heap, List};
    /// assert!(List::<u8>::with_capacity_in(10, Heap).capacity() >= 10);
    /// ```
    ///
    /// # Panics
    /// If there is no memory or a handle cannot address as many slots.
    #[track_caller]
    pub fn with_capacity_in(n: usize, memory: M) -> Self {
        Self::try_with_capacity_in(n, memory).expect("toft: no memory for a list")
    }

    /// As [`with_capacity_in`](Self::with_capacity_in), with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no memory or a handle cannot address as many slots.
    pub fn try_with_capacity_in(n: usize, memory: M) -> Result<Self, AllocError> {
        Self::allocated_in(n, memory)
    }
}

impl<T, L: FieldLayout<T>, M: Memory + Default> Default for List<T, L, M> {
    fn default() -> Self {
        Self::new_in(M::default())
    }
}

impl<T, L: FieldLayout<T>, M: Memory + Default> FromIterator<T> for List<T, L, M> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut list = Self::default();
        list.extend(values);
        list
    }
}

// Only for rows on the heap, so that the parameters of a call of `from` can be inferred.
impl<T, const N: usize> From<[T; N]> for List<T> {
    fn from(values: [T; N]) -> Self {
        let mut list = Self::with_capacity(N);
        list.extend(values);
        list
    }
}

impl<T, M: Memory> List<T, Rows, M> {
    /// Whether a value is equal. O(n).
    ///
    /// ```
    /// assert!(toft_pools::List::from([1, 2]).contains(&2));
    /// ```
    pub fn contains(&self, value: &T) -> bool
    where
        T: PartialEq,
    {
        self.iter().any(|other| other == value)
    }
}
