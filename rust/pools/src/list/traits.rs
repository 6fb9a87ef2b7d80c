//! Constructors and traits of the standard library for a list.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::List;
use crate::key::Handle;

crate::sequence::sequence!(
    List,
    "list",
    push_back,
    try_push_back,
    "there is no memory or a handle cannot address as many slots"
);
crate::sequence::index_by!(List, Handle<T>, "list has no value under this handle");

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
