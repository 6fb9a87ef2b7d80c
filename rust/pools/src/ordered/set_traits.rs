//! Traits of the standard library for a set.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::set::OrderedSet;
use toft::Memory;

impl<T, M: Memory + Default> Default for OrderedSet<T, M> {
    fn default() -> Self {
        Self::any_in(M::default())
    }
}

/// Appends elements while they ascend. At the first one that does not, sorts all.
impl<T: Ord, M: Memory + Default> FromIterator<T> for OrderedSet<T, M> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        OrderedSet { map: elements.into_iter().map(|element| (element, ())).collect() }
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for OrderedSet<T> {
    /// ```
    /// assert_eq!(toft_pools::OrderedSet::from([1, 2]).len(), 2);
    /// ```
    fn from(elements: [T; N]) -> Self {
        elements.into_iter().collect()
    }
}

impl<T: Ord, M: Memory> Extend<T> for OrderedSet<T, M> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        elements.into_iter().for_each(|element| {
            self.insert(element);
        });
    }
}

impl<'a, T: Ord + Copy, M: Memory> Extend<&'a T> for OrderedSet<T, M> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, elements: I) {
        self.extend(elements.into_iter().copied());
    }
}

impl<T: Clone, M: Memory + Clone> Clone for OrderedSet<T, M> {
    fn clone(&self) -> Self {
        OrderedSet { map: self.map.clone() }
    }
}

impl<T: PartialEq, M: Memory> PartialEq for OrderedSet<T, M> {
    fn eq(&self, other: &Self) -> bool {
        self.map == other.map
    }
}

impl<T: Eq, M: Memory> Eq for OrderedSet<T, M> {}

impl<T: PartialOrd, M: Memory> PartialOrd for OrderedSet<T, M> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.iter().partial_cmp(other)
    }
}

impl<T: Ord, M: Memory> Ord for OrderedSet<T, M> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other)
    }
}

impl<T: Hash, M: Memory> Hash for OrderedSet<T, M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.map.hash(state);
    }
}

impl<T: fmt::Debug, M: Memory> fmt::Debug for OrderedSet<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}
