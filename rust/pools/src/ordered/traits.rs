//! Traits of the standard library for a map.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Index;

use alloc::vec::Vec;

use super::map::OrderedMap;
use super::node::NodeLayout;
use super::tree::{row, Tree};
use crate::capacity_error::unwrap_capacity;
use crate::columnar::Columnar;
use crate::field_layout::{CloneIn, Columns, FieldLayout, Rows};
use toft::Memory;

impl<K, V, L: FieldLayout<V>, M: Memory> Tree<K, V, L, M> {
    /// Whether a key is greater than all keys of the map.
    #[inline]
    pub(super) fn is_behind(&self, key: &K) -> bool
    where
        K: Ord,
    {
        // SAFETY: there is a key at the last position.
        self.last_position().is_none_or(|position| key > unsafe { Self::key_at(position) })
    }

    /// Moves all keys and values to a vector with capacity for more; the nodes are kept.
    fn take_out(&mut self, more: usize) -> Vec<(K, V)> {
        let mut all = Vec::with_capacity(self.len.saturating_add(more));
        for position in self.forget() {
            // SAFETY: the tree no longer contains them, its nodes are as they were, and each position is returned once.
            all.push(unsafe { self.read_at(position) });
        }
        all
    }
}

impl<K, V, L: FieldLayout<V>, M: Memory + Default> Default for OrderedMap<K, V, L, M> {
    fn default() -> Self {
        Self::any_in(M::default())
    }
}

/// Appends keys while they ascend. At the first one that does not, sorts all pairs.
impl<K: Ord, V, L: FieldLayout<V>, M: Memory + Default> FromIterator<(K, V)> for OrderedMap<K, V, L, M> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::default();
        let mut pairs = pairs.into_iter();
        while let Some((key, value)) = pairs.next() {
            if map.tree.is_behind(&key) {
                unwrap_capacity(map.tree.push_last(key, value));
                continue;
            }
            let hint = pairs.size_hint().0.saturating_add(1);
            let mut all = map.tree.take_out(hint);
            all.push((key, value));
            all.extend(pairs);
            all.sort_by(|a, b| a.0.cmp(&b.0)); // stable: of equal keys the last one is kept
            let mut all = all.into_iter().peekable();
            while let Some(pair) = all.next() {
                if all.peek().is_none_or(|next| next.0 != pair.0) {
                    unwrap_capacity(map.tree.push_last(pair.0, pair.1));
                }
            }
            break;
        }
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for OrderedMap<K, V> {
    /// ```
    /// let map = toft_pools::OrderedMap::from([(1, 2), (3, 4)]);
    /// assert_eq!(map[&3], 4);
    /// ```
    fn from(pairs: [(K, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}

impl<K: Ord, V, L: FieldLayout<V>, M: Memory> Extend<(K, V)> for OrderedMap<K, V, L, M> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        pairs.into_iter().for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl<'a, K: Ord + Copy, V: Copy, L: FieldLayout<V>, M: Memory> Extend<(&'a K, &'a V)> for OrderedMap<K, V, L, M> {
    fn extend<I: IntoIterator<Item = (&'a K, &'a V)>>(&mut self, pairs: I) {
        self.extend(pairs.into_iter().map(|(key, value)| (*key, *value)));
    }
}

/// The clone has the smallest size, or the same fixed capacity.
impl<K: Clone, V, L: CloneIn<V>, M: Memory + Clone> Clone for OrderedMap<K, V, L, M> {
    fn clone(&self) -> Self {
        let memory = self.tree.memory().clone();
        let mut copy = Self::any_in(memory);
        if let Some(limit) = self.fixed_capacity() {
            unwrap_capacity(copy.fix(limit));
        }
        for position in self.tree.leaf_range() {
            // SAFETY: there is a key and a value, which are borrowed.
            let pair = unsafe {
                let key = Tree::<K, V, L, M>::key_at(position).clone();
                let value = match NodeLayout::<K, V, L>::INLINE {
                    true => L::clone_at(row::<V, L>(NodeLayout::<K, V, L>::value(position.leaf, position.i)), 0),
                    false => L::clone_at(
                        self.tree.raw(),
                        NodeLayout::<K, V, L>::slot(position.leaf, position.i).read() as usize,
                    ),
                };
                (key, value)
            };
            unwrap_capacity(copy.tree.push_last(pair.0, pair.1));
        }
        copy
    }
}

impl<K, Q: Ord + ?Sized, V, M: Memory> Index<&Q> for OrderedMap<K, V, Rows, M>
where
    K: Borrow<Q>,
{
    type Output = V;

    /// # Panics
    /// The map does not have the key.
    #[inline]
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key is not in the map")
    }
}

/// Defines comparisons for a field layout.
macro_rules! compared {
    ($layout:ty, [$($of:tt)*], $($separator:tt)*) => {
        impl<K: PartialEq, $($of)*, M: Memory> PartialEq for OrderedMap<K, V, $layout, M>
        where
            $($separator)*: PartialEq,
        {
            fn eq(&self, other: &Self) -> bool {
                self.len() == other.len() && self.iter().zip(other).all(|(a, b)| a == b)
            }
        }

        impl<K: Eq, $($of)*, M: Memory> Eq for OrderedMap<K, V, $layout, M> where $($separator)*: Eq {}

        impl<K: PartialOrd, $($of)*, M: Memory> PartialOrd for OrderedMap<K, V, $layout, M>
        where
            $($separator)*: PartialOrd,
        {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.iter().partial_cmp(other)
            }
        }

        impl<K: Ord, $($of)*, M: Memory> Ord for OrderedMap<K, V, $layout, M>
        where
            $($separator)*: Ord,
        {
            fn cmp(&self, other: &Self) -> Ordering {
                self.iter().cmp(other)
            }
        }

        impl<K: Hash, $($of)*, M: Memory> Hash for OrderedMap<K, V, $layout, M>
        where
            $($separator)*: Hash,
        {
            fn hash<H: Hasher>(&self, state: &mut H) {
                state.write_usize(self.len());
                self.iter().for_each(|pair| pair.hash(state));
            }
        }

        impl<K: fmt::Debug, $($of)*, M: Memory> fmt::Debug for OrderedMap<K, V, $layout, M>
        where
            $($separator)*: fmt::Debug,
        {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_map().entries(self).finish()
            }
        }
    };
}

compared!(Rows, [V], V);
compared!(Columns, [V: Columnar], for<'a> V::Ref<'a>);
