//! Constructors and traits of the standard library for a list.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::List;
use crate::key::Handle;

crate::sequence::sequence!(
    List,
    "list",
    push_back,
    "push_back(Item { number: 1 })",
    "there is no memory or a handle cannot address as many slots"
);
crate::sequence::index_by!(List, Handle<T>, "list has no value under this handle");

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
