//! The ordered map.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::borrow::Borrow;

use super::capacity::capacity;
use super::tree::{value_at, value_at_mut, value_of, Position, Tree};
use crate::capacity_error::{unwrap_capacity, CapacityError};
use crate::columnar::Columnar;
use crate::field_layout::{Columns, FieldLayout, Rows};

/// A map whose keys are in order, with the interface of [`BTreeMap`](alloc::collections::BTreeMap). It is a B+ tree: up
/// to 64 keys are adjacent in a leaf, and so are their values; leaves are linked. Lookup, insertion and removal are
/// O(log n), the step to the next key O(1). Integers and `char` are searched without branches; other keys are compared
/// about log2(n) times. Insertion in order fills the leaves.
///
/// * `L`, the field layout of the values: [`Rows`], or [`Columns`] for each field in an array of its own. Rows of more
///   than 32 bytes, and columns, are in slots outside the leaves, and do not move when keys do;
/// * `M`, the memory: [`Heap`], `&Arena`, or [`Blocks`](toft::Blocks) of a source. The first key allocates a leaf of
///   about 1 KiB. Freed nodes are reused; [`shrink_to_fit`](OrderedMap::shrink_to_fit) deallocates them, as does
///   dropping the map. The order of keys must not change while they are in a map, and comparisons must be consistent.
///   Otherwise a key may not be found, or be present twice, as in `BTreeMap`; that is not undefined behaviour. If a
///   comparison, a closure or a destructor panics, the map stays usable, and each value is dropped once.
///
/// ```
/// use toft_pools::OrderedMap;
///
/// let mut heights = OrderedMap::new();
/// heights.insert("Ben Nevis", 1345);
/// heights.insert("Zugspitze", 2962);
/// heights.insert("Etna", 3403);
/// assert_eq!(heights["Etna"], 3403);
/// assert_eq!(heights.remove("Zugspitze"), Some(2962));
/// assert_eq!(heights.range("C"..).next(), Some((&"Etna", &3403)));
/// assert_eq!(heights.into_keys().collect::<Vec<_>>(), ["Ben Nevis", "Etna"]);
/// ```
pub struct OrderedMap<K, V, L: FieldLayout<V> = Rows, M: Memory = Heap> {
    pub(super) tree: Tree<K, V, L, M>,
}

capacity!(
    OrderedMap, "map", "keys", [tree], [K, V, L: FieldLayout<V>, M: Memory] [K, V, L, M],
    "OrderedMap::<u8, u8>"
);
crate::constructors::constructors! {
    OrderedMap, "map", "(1, 'a')";
    heap [K, V] OrderedMap<K, V>;
    rows [K, V, M: Memory] OrderedMap<K, V, Rows, M>;
    columns [K, V: Columnar] OrderedMap<K, V, Columns>, [K, V: Columnar, M: Memory] OrderedMap<K, V, Columns, M>, "insert(7, Item { number: 1 })";
    any [K, V, L: FieldLayout<V>, M: Memory] OrderedMap<K, V, L, M>
}

impl<K, V> OrderedMap<K, V> {
    /// A map of pairs in ascending order of their keys. O(n); fills all leaves.
    ///
    /// ```
    /// let squares = toft_pools::OrderedMap::from_sorted((0..1000).map(|i| (i, i * i)));
    /// assert_eq!(squares[&30], 900);
    /// ```
    ///
    /// # Panics
    /// A key is not greater than the one before, or there is no memory.
    #[track_caller]
    pub fn from_sorted(pairs: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Ord,
    {
        Self::from_sorted_in(pairs, Heap)
    }
}

impl<K, V, M: Memory> OrderedMap<K, V, Rows, M> {
    /// As [`from_sorted`](OrderedMap::from_sorted), in this memory.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let map = toft_pools::OrderedMap::from_sorted_in([(1, 'a'), (2, 'b')], &arena);
    /// assert_eq!(map.len(), 2);
    /// ```
    ///
    /// # Panics
    /// A key is not greater than the one before, or there is no memory.
    #[track_caller]
    pub fn from_sorted_in(pairs: impl IntoIterator<Item = (K, V)>, memory: M) -> Self
    where
        K: Ord,
    {
        Self::any_from_sorted_in(pairs, memory)
    }
}

impl<K, V, L: FieldLayout<V>, M: Memory> OrderedMap<K, V, L, M> {
    /// As [`from_sorted`](OrderedMap::from_sorted), of the layout of its type.
    ///
    /// # Panics
    /// A key is not greater than the one before, or there is no memory.
    #[track_caller]
    pub fn any_from_sorted_in(pairs: impl IntoIterator<Item = (K, V)>, memory: M) -> Self
    where
        K: Ord,
    {
        let mut map = Self::any_in(memory);
        for (key, value) in pairs {
            assert!(map.tree.is_behind(&key), "toft: keys must be sorted, and each there once");
            unwrap_capacity(map.tree.push_last(key, value));
        }
        map
    }

    /// An empty map that grows, of the layout of its type.
    ///
    /// ```
    /// let mut map: toft_pools::OrderedMap<u8, char> = toft_pools::OrderedMap::any_in(toft::Heap);
    /// map.insert(1, 'a');
    /// ```
    pub fn any_in(memory: M) -> Self {
        OrderedMap { tree: Tree::new_in(memory) }
    }

    /// The value of a key.
    ///
    /// ```
    /// let map = toft_pools::OrderedMap::from([(1, "a")]);
    /// assert_eq!(map.get(&1), Some(&"a"));
    /// assert_eq!(map.get(&2), None);
    /// ```
    #[inline]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<L::Ref<'_>>
    where
        K: Borrow<Q>,
    {
        let position = self.tree.find(key)?;
        // SAFETY: there is a key, and the tree is borrowed.
        Some(unsafe { value_at::<K, V, L>(self.tree.raw(), position) })
    }

    /// The key that is in the map, and its value.
    ///
    /// ```
    /// let map = toft_pools::OrderedMap::from([("a".to_string(), 1)]);
    /// assert_eq!(map.get_key_value("a"), Some((&"a".to_string(), &1)));
    /// ```
    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, L::Ref<'_>)>
    where
        K: Borrow<Q>,
    {
        self.tree.find(key).map(|position| self.pair(position))
    }

    /// The value of a key, mutable.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([(1, 10)]);
    /// *map.get_mut(&1).unwrap() += 1;
    /// assert_eq!(map[&1], 11);
    /// ```
    #[inline]
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<L::Mut<'_>>
    where
        K: Borrow<Q>,
    {
        let position = self.tree.find(key)?;
        // SAFETY: there is a key, and the tree is borrowed exclusively.
        Some(unsafe { value_at_mut::<K, V, L>(self.tree.raw(), position) })
    }

    /// Whether the map has a key.
    ///
    /// ```
    /// assert!(toft_pools::OrderedMap::from([(1, "a")]).contains_key(&1));
    /// ```
    #[inline]
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.tree.find(key).is_some()
    }

    #[inline(always)]
    fn pair(&self, position: Position) -> (&K, L::Ref<'_>) {
        // SAFETY: there is a key, and the tree is borrowed.
        unsafe { (Tree::<K, V, L, M>::key_at(position), value_at::<K, V, L>(self.tree.raw(), position)) }
    }

    /// The smallest key and its value. O(1).
    ///
    /// ```
    /// let map = toft_pools::OrderedMap::from([(2, 'b'), (1, 'a')]);
    /// assert_eq!(map.first_key_value(), Some((&1, &'a')));
    /// ```
    pub fn first_key_value(&self) -> Option<(&K, L::Ref<'_>)> {
        self.tree.first_position().map(|position| self.pair(position))
    }

    /// The greatest key and its value. O(1).
    ///
    /// ```
    /// let map = toft_pools::OrderedMap::from([(2, 'b'), (1, 'a')]);
    /// assert_eq!(map.last_key_value(), Some((&2, &'b')));
    /// ```
    pub fn last_key_value(&self) -> Option<(&K, L::Ref<'_>)> {
        self.tree.last_position().map(|position| self.pair(position))
    }

    /// Removes and returns the smallest key and its value.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([(2, 'b'), (1, 'a')]);
    /// assert_eq!(map.pop_first(), Some((1, 'a')));
    /// ```
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        // SAFETY: there is a key.
        self.tree.first_position().map(|position| unsafe { self.tree.remove_at(position) })
    }

    /// Removes and returns the greatest key and its value.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([(2, 'b'), (1, 'a')]);
    /// assert_eq!(map.pop_last(), Some((2, 'b')));
    /// ```
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        // SAFETY: there is a key.
        self.tree.last_position().map(|position| unsafe { self.tree.remove_at(position) })
    }

    /// Inserts a value and returns the previous one of the key. The key in the map is not replaced.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::new();
    /// assert_eq!(map.insert(1, 'a'), None);
    /// assert_eq!(map.insert(1, 'b'), Some('a'));
    /// ```
    ///
    /// # Panics
    /// The key is new, and the map is fixed and full, or there is no memory.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, key: K, value: V) -> Option<V>
    where
        K: Ord,
    {
        unwrap_capacity(self.try_insert(key, value))
    }

    /// As [`insert`](OrderedMap::insert), with an error that returns key and value instead of a panic.
    ///
    /// ```
    /// use toft_pools::CapacityError;
    /// let mut map = toft_pools::OrderedMap::fixed(1);
    /// assert_eq!(map.try_insert(1, 'a'), Ok(None));
    /// assert_eq!(map.try_insert(2, 'b'), Err(CapacityError((2, 'b'))));
    /// assert_eq!(map.try_insert(1, 'c'), Ok(Some('a')));
    /// ```
    #[inline]
    pub fn try_insert(&mut self, key: K, value: V) -> Result<Option<V>, CapacityError<(K, V)>>
    where
        K: Ord,
    {
        match self.tree.search_to_insert(&key) {
            Some((position, true)) => {
                drop(key); // if that panics, nothing has changed
                           // SAFETY: there is a value.
                Ok(Some(unsafe { self.tree.replace_value(position, value) }))
            }
            position => self.tree.insert_at(position.map(|(position, _)| position), key, value).map(|_| None),
        }
    }

    /// Removes a key and returns its value.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([(1, 'a')]);
    /// assert_eq!(map.remove(&1), Some('a'));
    /// assert_eq!(map.remove(&1), None);
    /// ```
    #[inline]
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.remove_entry(key).map(value_of)
    }

    /// Removes and returns a key and its value.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([("a".to_string(), 1)]);
    /// assert_eq!(map.remove_entry("a"), Some(("a".to_string(), 1)));
    /// ```
    #[inline]
    pub fn remove_entry<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        let position = self.tree.find_to_remove(key)?;
        // SAFETY: there is a key.
        Some(unsafe { self.tree.remove_at(position) })
    }

    /// Moves all pairs of another map into this one. Of a key in both, this map's key and the other's value stay.
    ///
    /// ```
    /// let mut a = toft_pools::OrderedMap::from([(1, "a"), (2, "b")]);
    /// let mut b = toft_pools::OrderedMap::from([(2, "c"), (3, "d")]);
    /// a.append(&mut b);
    /// assert!(b.is_empty());
    /// assert_eq!(a, toft_pools::OrderedMap::from([(1, "a"), (2, "c"), (3, "d")]));
    /// ```
    ///
    /// # Panics
    /// As [`insert`](OrderedMap::insert). The pair that did not fit is dropped, and the other map has the remaining
    /// ones.
    #[track_caller]
    pub fn append<N: Memory>(&mut self, other: &mut OrderedMap<K, V, L, N>)
    where
        K: Ord,
    {
        while let Some((key, value)) = other.pop_first() {
            self.insert(key, value);
        }
    }

    /// Moves `key` and all greater keys to a new map in the same memory, which is not fixed. O(n).
    ///
    /// ```
    /// let mut low: toft_pools::OrderedMap<_, _> = (0..100).map(|i| (i, i)).collect();
    /// let high = low.split_off(&40);
    /// assert_eq!((low.len(), high.len()), (40, 60));
    /// assert_eq!(high.first_key_value(), Some((&40, &40)));
    /// ```
    ///
    /// # Panics
    /// There is no memory; nothing has changed.
    #[track_caller]
    pub fn split_off<Q: Ord + ?Sized>(&mut self, key: &Q) -> Self
    where
        K: Borrow<Q>,
        M: Clone,
    {
        let mut other = Self::any_in(self.tree.memory().clone());
        if let Some((position, _)) = self.tree.search(key) {
            unwrap_capacity(self.tree.cut(position, &mut other.tree));
        }
        other
    }

    /// Verifies the invariants of the tree, for tests.
    #[doc(hidden)]
    pub fn check(&self)
    where
        K: Ord,
    {
        self.tree.check()
    }
}

impl<K, V, M: Memory> OrderedMap<K, V, Rows, M> {
    /// Keeps the pairs for which the closure returns true, in the order of their keys, and drops the others. O(n).
    ///
    /// If the closure panics, the pairs that it was not called for are kept.
    ///
    /// ```
    /// let mut map: toft_pools::OrderedMap<_, _> = (0..8).map(|i| (i, i * 10)).collect();
    /// map.retain(|key, value| {
    ///     *value += 1;
    ///     key % 2 == 0
    /// });
    /// assert_eq!(map.into_iter().collect::<Vec<_>>(), [(0, 1), (2, 21), (4, 41), (6, 61)]);
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        // SAFETY: no other reference to the position exists until the closure returns.
        self.tree.retain(|position, raw| unsafe {
            keep(Tree::<K, V, Rows, M>::key_at(position), value_at_mut::<K, V, Rows>(raw, position))
        })
    }
}

impl<K, V: Columnar, M: Memory> OrderedMap<K, V, Columns, M> {
    /// Keeps the pairs for which the closure returns true, in the order of their keys, and drops the others. O(n).
    ///
    /// If the closure panics, the pairs that it was not called for are kept.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use toft_pools::{Columns, Columnar, OrderedMap};
    ///
    /// #[derive(Columnar)]
    /// struct Account {
    ///     balance: i64,
    ///     limit: i64,
    /// }
    ///
    /// let mut accounts: OrderedMap<u32, Account, Columns> = OrderedMap::default();
    /// accounts.insert(1, Account { balance: -20, limit: 100 });
    /// accounts.insert(2, Account { balance: -20, limit: 10 });
    /// accounts.retain(|_, account| *account.balance + *account.limit >= 0);
    /// assert_eq!(accounts.len(), 1);
    /// # }
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&K, V::Mut<'_>) -> bool) {
        // SAFETY: no other reference to the position exists until the closure returns.
        self.tree.retain(|position, raw| unsafe {
            keep(Tree::<K, V, Columns, M>::key_at(position), value_at_mut::<K, V, Columns>(raw, position))
        })
    }
}
