//! Iterators that consume a map.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;

use super::leaf_range::LeafRange;
use super::map::OrderedMap;
use super::tree::{key_of, value_of, Tree};
use crate::field_layout::{FieldLayout, Rows};
use toft::{Heap, Memory};

/// The pairs of a map by value, in the order of their keys. Dropping the iterator drops the remaining ones.
///
/// ```
/// let map = toft_pools::OrderedMap::from([(2, 'b'), (1, 'a')]);
/// let mut pairs = map.into_iter();
/// assert_eq!(pairs.next_back(), Some((2, 'b')));
/// assert_eq!(pairs.len(), 1);
/// ```
pub struct IntoIter<K, V, L: FieldLayout<V> = Rows, M: Memory = Heap> {
    tree: Tree<K, V, L, M>,
    leaf_range: LeafRange,
    remaining: usize,
}

// SAFETY: it owns the tree.
unsafe impl<K, V, L: FieldLayout<V>, M: Memory> Send for IntoIter<K, V, L, M> where Tree<K, V, L, M>: Send {}
// SAFETY: a shared reference gives no access to the tree.
unsafe impl<K, V, L: FieldLayout<V>, M: Memory> Sync for IntoIter<K, V, L, M> where Tree<K, V, L, M>: Sync {}

impl<K, V, L: FieldLayout<V>, M: Memory> Iterator for IntoIter<K, V, L, M> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<(K, V)> {
        let position = self.leaf_range.next()?;
        self.remaining -= 1;
        // SAFETY: the tree no longer contains its pairs, and its nodes are as they were; each position is returned
        // once.
        Some(unsafe { self.tree.read_at(position) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl<K, V, L: FieldLayout<V>, M: Memory> DoubleEndedIterator for IntoIter<K, V, L, M> {
    #[inline]
    fn next_back(&mut self) -> Option<(K, V)> {
        let position = self.leaf_range.next_back()?;
        self.remaining -= 1;
        // SAFETY: see next.
        Some(unsafe { self.tree.read_at(position) })
    }
}

impl<K, V, L: FieldLayout<V>, M: Memory> ExactSizeIterator for IntoIter<K, V, L, M> {}
impl<K, V, L: FieldLayout<V>, M: Memory> FusedIterator for IntoIter<K, V, L, M> {}

impl<K, V, L: FieldLayout<V>, M: Memory> Drop for IntoIter<K, V, L, M> {
    fn drop(&mut self) {
        // SAFETY: see next.
        unsafe { self.tree.drop_all(&mut self.leaf_range) }
    }
}

impl<K, V, L: FieldLayout<V>, M: Memory> fmt::Debug for IntoIter<K, V, L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IntoIter({} remaining)", self.remaining)
    }
}

impl<K, V, L: FieldLayout<V>, M: Memory> IntoIterator for OrderedMap<K, V, L, M> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V, L, M>;

    fn into_iter(mut self) -> IntoIter<K, V, L, M> {
        let remaining = self.len();
        let leaf_range = self.tree.forget();
        IntoIter { tree: self.tree, leaf_range, remaining }
    }
}

/// Defines an iterator over the keys or the values.
macro_rules! half {
    ($(#[$doc:meta])* $name:ident, $item:ident, $half:path) => {
        $(#[$doc])*
        pub struct $name<K, V, L: FieldLayout<V> = Rows, M: Memory = Heap>(IntoIter<K, V, L, M>);

        impl<K, V, L: FieldLayout<V>, M: Memory> Iterator for $name<K, V, L, M> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<$item> {
                self.0.next().map($half)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl<K, V, L: FieldLayout<V>, M: Memory> DoubleEndedIterator for $name<K, V, L, M> {
            #[inline]
            fn next_back(&mut self) -> Option<$item> {
                self.0.next_back().map($half)
            }
        }

        impl<K, V, L: FieldLayout<V>, M: Memory> ExactSizeIterator for $name<K, V, L, M> {}
        impl<K, V, L: FieldLayout<V>, M: Memory> FusedIterator for $name<K, V, L, M> {}

        impl<K, V, L: FieldLayout<V>, M: Memory> fmt::Debug for $name<K, V, L, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({} remaining)"), self.0.remaining)
            }
        }
    };
}

half!(
    /// The keys of a map by value: [`OrderedMap::into_keys`].
    IntoKeys, K, key_of
);
half!(
    /// The values of a map by value: [`OrderedMap::into_values`].
    IntoValues, V, value_of
);

impl<K, V, L: FieldLayout<V>, M: Memory> OrderedMap<K, V, L, M> {
    /// The keys of the map by value, in order.
    ///
    /// ```
    /// let map = toft_pools::OrderedMap::from([(2, "b"), (1, "a")]);
    /// assert_eq!(map.into_keys().collect::<Vec<_>>(), [1, 2]);
    /// ```
    pub fn into_keys(self) -> IntoKeys<K, V, L, M> {
        IntoKeys(self.into_iter())
    }

    /// The values of the map by value, in the order of their keys.
    ///
    /// ```
    /// let map = toft_pools::OrderedMap::from([(2, "b"), (1, "a")]);
    /// assert_eq!(map.into_values().collect::<Vec<_>>(), ["a", "b"]);
    /// ```
    pub fn into_values(self) -> IntoValues<K, V, L, M> {
        IntoValues(self.into_iter())
    }
}
