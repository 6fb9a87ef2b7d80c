//! Union, intersection and differences of sets, by a merge of both.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::cmp::Ordering;
use core::fmt;
use core::iter::{FusedIterator, Peekable};
use core::ops::{BitAnd, BitOr, BitXor, Sub};

use super::set::{Iter, OrderedSet};
use toft::Memory;

/// A merge of two sets: the next element of one set, of the other, or of both.
struct Merge<'a, T> {
    left: Peekable<Iter<'a, T>>,
    right: Peekable<Iter<'a, T>>,
}

impl<'a, T: Ord> Merge<'a, T> {
    fn next(&mut self) -> (Option<&'a T>, Option<&'a T>) {
        match (self.left.peek(), self.right.peek()) {
            (Some(a), Some(b)) => match a.cmp(b) {
                Ordering::Less => (self.left.next(), None),
                Ordering::Greater => (None, self.right.next()),
                Ordering::Equal => (self.left.next(), self.right.next()),
            },
            _ => (self.left.next(), self.right.next()),
        }
    }
}

/// Defines an iterator by the elements of the merge that it returns, and its size hint.
macro_rules! merge {
    ($(#[$doc:meta])* $name:ident, ($a:ident, $b:ident) $through:expr, ($m:ident, $n:ident) $hint:expr) => {
        $(#[$doc])*
        pub struct $name<'a, T>(Merge<'a, T>);

        impl<'a, T: Ord> Iterator for $name<'a, T> {
            type Item = &'a T;

            fn next(&mut self) -> Option<&'a T> {
                loop {
                    let ($a, $b) = self.0.next();
                    if $a.is_none() && $b.is_none() {
                        return None;
                    }
                    if let through @ Some(_) = $through {
                        return through;
                    }
                }
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                let ($m, $n) = (self.0.left.len(), self.0.right.len());
                $hint
            }
        }

        impl<T: Ord> FusedIterator for $name<'_, T> {}

        impl<T> Clone for $name<'_, T> {
            fn clone(&self) -> Self {
                $name(Merge { left: self.0.left.clone(), right: self.0.right.clone() })
            }
        }

        impl<T: Ord + fmt::Debug> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.clone()).finish()
            }
        }
    };
}

merge!(
    /// The elements of either set, each once: [`OrderedSet::union`].
    Union, (a, b) a.or(b), (m, n) (m.max(n), m.checked_add(n))
);
merge!(
    /// The elements that both sets have: [`OrderedSet::intersection`].
    Intersection, (a, b) a.filter(|_| b.is_some()), (m, n) (0, Some(m.min(n)))
);
merge!(
    /// The elements that are not in the second set: [`OrderedSet::difference`].
    Difference, (a, b) a.filter(|_| b.is_none()), (m, n) (m.saturating_sub(n), Some(m))
);
merge!(
    /// The elements that only one of the sets has: [`OrderedSet::symmetric_difference`].
    SymmetricDifference, (a, b) a.xor(b), (m, n) (0, m.checked_add(n))
);

/// A set that is larger than the other by this factor is searched rather than merged.
const LARGER: usize = 16;

impl<T: Ord, M: Memory> OrderedSet<T, M> {
    fn merge<'a, N: Memory>(&'a self, other: &'a OrderedSet<T, N>) -> Merge<'a, T> {
        Merge { left: self.iter().peekable(), right: other.iter().peekable() }
    }

    /// The elements of either set in their order, each once; of two that are equal, this set's. O(m + n).
    ///
    /// ```
    /// let (a, b) = (toft_pools::OrderedSet::from([1, 2]), toft_pools::OrderedSet::from([2, 3]));
    /// assert_eq!(a.union(&b).copied().collect::<Vec<_>>(), [1, 2, 3]);
    /// ```
    pub fn union<'a, N: Memory>(&'a self, other: &'a OrderedSet<T, N>) -> Union<'a, T> {
        Union(self.merge(other))
    }

    /// The elements that both sets have, in their order. O(m + n).
    ///
    /// ```
    /// let (a, b) = (toft_pools::OrderedSet::from([1, 2]), toft_pools::OrderedSet::from([2, 3]));
    /// assert_eq!(a.intersection(&b).copied().collect::<Vec<_>>(), [2]);
    /// ```
    pub fn intersection<'a, N: Memory>(&'a self, other: &'a OrderedSet<T, N>) -> Intersection<'a, T> {
        Intersection(self.merge(other))
    }

    /// The elements that are not in the other set, in their order. O(m + n).
    ///
    /// ```
    /// let (a, b) = (toft_pools::OrderedSet::from([1, 2]), toft_pools::OrderedSet::from([2, 3]));
    /// assert_eq!(a.difference(&b).copied().collect::<Vec<_>>(), [1]);
    /// ```
    pub fn difference<'a, N: Memory>(&'a self, other: &'a OrderedSet<T, N>) -> Difference<'a, T> {
        Difference(self.merge(other))
    }

    /// The elements that only one of the sets has, in their order. O(m + n).
    ///
    /// ```
    /// let (a, b) = (toft_pools::OrderedSet::from([1, 2]), toft_pools::OrderedSet::from([2, 3]));
    /// assert_eq!(a.symmetric_difference(&b).copied().collect::<Vec<_>>(), [1, 3]);
    /// ```
    pub fn symmetric_difference<'a, N: Memory>(&'a self, other: &'a OrderedSet<T, N>) -> SymmetricDifference<'a, T> {
        SymmetricDifference(self.merge(other))
    }

    /// Whether the sets have no element in common.
    ///
    /// ```
    /// let (a, b) = (toft_pools::OrderedSet::from([1, 2]), toft_pools::OrderedSet::from([2, 3]));
    /// assert!(!a.is_disjoint(&b));
    /// ```
    pub fn is_disjoint<N: Memory>(&self, other: &OrderedSet<T, N>) -> bool {
        self.intersection(other).next().is_none()
    }

    /// Whether the other set has all elements of this one.
    ///
    /// ```
    /// assert!(toft_pools::OrderedSet::from([1, 2]).is_subset(&toft_pools::OrderedSet::from([1, 2, 3])));
    /// ```
    pub fn is_subset<N: Memory>(&self, other: &OrderedSet<T, N>) -> bool {
        if self.len() > other.len() {
            return false;
        }
        if self.len() < other.len() / LARGER {
            return self.iter().all(|element| other.contains(element));
        }
        self.difference(other).next().is_none()
    }

    /// Whether this set has all elements of the other one.
    ///
    /// ```
    /// assert!(toft_pools::OrderedSet::from([1, 2, 3]).is_superset(&toft_pools::OrderedSet::from([1, 2])));
    /// ```
    pub fn is_superset<N: Memory>(&self, other: &OrderedSet<T, N>) -> bool {
        other.is_subset(self)
    }
}

/// Defines an operator: a set of the elements of an iterator, in the first set's memory.
macro_rules! operator {
    ($($trait:ident $name:ident $method:ident)*) => {$(
        impl<T: Ord + Clone, M: Memory + Clone, N: Memory> $trait<&OrderedSet<T, N>> for &OrderedSet<T, M> {
            type Output = OrderedSet<T, M>;

            fn $name(self, other: &OrderedSet<T, N>) -> OrderedSet<T, M> {
                OrderedSet::from_sorted_in(self.$method(other).cloned(), self.map.tree.memory().clone())
            }
        }
    )*};
}

operator!(BitOr bitor union BitAnd bitand intersection Sub sub difference BitXor bitxor symmetric_difference);
