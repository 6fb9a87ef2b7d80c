//! Entries: the position of a key in a map, for several operations with one search.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::marker::PhantomData;

use super::map::OrderedMap;
use super::tree::{value_at, value_at_mut, value_of, Position, Tree};
use crate::capacity_error::{unwrap_capacity, CapacityError};
use crate::columnar::Columnar;
use crate::field_layout::{Columns, FieldLayout, Rows};
use toft::{Heap, Memory};

/// The position of a key in a map: [`OrderedMap::entry`].
///
/// ```
/// use toft_pools::ordered_map::Entry;
/// let mut map = toft_pools::OrderedMap::from([(1, 'a')]);
/// assert!(matches!(map.entry(1), Entry::Occupied(_)));
/// assert!(matches!(map.entry(2), Entry::Vacant(_)));
/// ```
pub enum Entry<'a, K, V, L: FieldLayout<V> = Rows, M: Memory = Heap> {
    /// The key is not in the map.
    Vacant(VacantEntry<'a, K, V, L, M>),
    /// The key is in the map.
    Occupied(OccupiedEntry<'a, K, V, L, M>),
}

/// The entry of a key that is not in the map.
///
/// ```
/// use toft_pools::ordered_map::Entry;
/// let mut map = toft_pools::OrderedMap::new();
/// if let Entry::Vacant(entry) = map.entry("a") {
///     entry.insert(1);
/// }
/// assert_eq!(map["a"], 1);
/// ```
pub struct VacantEntry<'a, K, V, L: FieldLayout<V> = Rows, M: Memory = Heap> {
    tree: &'a mut Tree<K, V, L, M>,
    position: Option<Position>,
    key: K,
}

/// The entry of a key in the map.
///
/// ```
/// use toft_pools::ordered_map::Entry;
/// let mut map = toft_pools::OrderedMap::from([("a", 1)]);
/// if let Entry::Occupied(entry) = map.entry("a") {
///     assert_eq!(entry.remove(), 1);
/// }
/// assert!(map.is_empty());
/// ```
pub struct OccupiedEntry<'a, K, V, L: FieldLayout<V> = Rows, M: Memory = Heap> {
    tree: &'a mut Tree<K, V, L, M>,
    position: Position,
    of: PhantomData<K>,
}

// SAFETY: they borrow the tree, and a vacant one has a key.
unsafe impl<K: Send, V, L: FieldLayout<V>, M: Memory> Send for VacantEntry<'_, K, V, L, M> where Tree<K, V, L, M>: Send {}
// SAFETY: as above.
unsafe impl<K: Sync, V, L: FieldLayout<V>, M: Memory> Sync for VacantEntry<'_, K, V, L, M> where Tree<K, V, L, M>: Sync {}
// SAFETY: as above.
unsafe impl<K, V, L: FieldLayout<V>, M: Memory> Send for OccupiedEntry<'_, K, V, L, M> where Tree<K, V, L, M>: Send {}
// SAFETY: as above.
unsafe impl<K, V, L: FieldLayout<V>, M: Memory> Sync for OccupiedEntry<'_, K, V, L, M> where Tree<K, V, L, M>: Sync {}

impl<K, V, L: FieldLayout<V>, M: Memory> OrderedMap<K, V, L, M> {
    /// The entry of a key, to read, change, insert or remove it.
    ///
    /// ```
    /// let mut counts = toft_pools::OrderedMap::new();
    /// for letter in "abbacca".chars() {
    ///     *counts.entry(letter).or_insert(0) += 1;
    /// }
    /// assert_eq!(counts, toft_pools::OrderedMap::from([('a', 3), ('b', 2), ('c', 2)]));
    /// ```
    #[inline]
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V, L, M>
    where
        K: Ord,
    {
        match self.tree.search_to_insert(&key) {
            Some((position, true)) => Entry::Occupied(OccupiedEntry::new(&mut self.tree, position)),
            position => Entry::Vacant(VacantEntry {
                tree: &mut self.tree,
                position: position.map(|(position, _)| position),
                key,
            }),
        }
    }

    /// The entry of the smallest key.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([(1, 'a'), (2, 'b')]);
    /// *map.first_entry().unwrap().get_mut() = 'c';
    /// assert_eq!(map[&1], 'c');
    /// ```
    pub fn first_entry(&mut self) -> Option<OccupiedEntry<'_, K, V, L, M>> {
        self.tree.first_position().map(|position| OccupiedEntry::new(&mut self.tree, position))
    }

    /// The entry of the greatest key.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([(1, 'a'), (2, 'b')]);
    /// assert_eq!(map.last_entry().unwrap().remove(), 'b');
    /// ```
    pub fn last_entry(&mut self) -> Option<OccupiedEntry<'_, K, V, L, M>> {
        self.tree.last_position().map(|position| OccupiedEntry::new(&mut self.tree, position))
    }
}

impl<'a, K, V, L: FieldLayout<V>, M: Memory> Entry<'a, K, V, L, M> {
    /// The value of the key; inserts `value` if there is none.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::new();
    /// *map.entry("a").or_insert(1) += 10;
    /// *map.entry("a").or_insert(2) += 10;
    /// assert_eq!(map["a"], 21);
    /// ```
    ///
    /// # Panics
    /// As [`OrderedMap::insert`], here and below.
    #[track_caller]
    pub fn or_insert(self, value: V) -> L::Mut<'a> {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(value),
        }
    }

    /// The value of the key; inserts the result of the closure if there is none.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::new();
    /// map.entry("a").or_insert_with(|| "value".to_string()).push('!');
    /// assert_eq!(map["a"], "value!");
    /// ```
    #[track_caller]
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> L::Mut<'a> {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(value()),
        }
    }

    /// The value of the key; inserts the result of the closure for the key if there is none.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::new();
    /// assert_eq!(*map.entry("four").or_insert_with_key(|key| key.len()), 4);
    /// ```
    #[track_caller]
    pub fn or_insert_with_key(self, value: impl FnOnce(&K) -> V) -> L::Mut<'a> {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let value = value(&entry.key);
                entry.insert(value)
            }
        }
    }

    /// The value of the key; inserts the default of its type if there is none.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::<_, Vec<u8>>::new();
    /// map.entry("a").or_default().push(1);
    /// assert_eq!(map["a"], [1]);
    /// ```
    #[track_caller]
    pub fn or_default(self) -> L::Mut<'a>
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// The key: that of the map if it has one, otherwise the one that was passed to `entry`.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::<_, u8>::new();
    /// assert_eq!(map.entry("a").key(), &"a");
    /// ```
    pub fn key(&self) -> &K {
        match self {
            Entry::Occupied(entry) => entry.key(),
            Entry::Vacant(entry) => entry.key(),
        }
    }

    /// Inserts or replaces the value.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([("a", 1)]);
    /// assert_eq!(map.entry("a").insert_entry(2).get(), &2);
    /// ```
    #[track_caller]
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'a, K, V, L, M> {
        match self {
            Entry::Occupied(mut entry) => {
                entry.insert(value);
                entry
            }
            Entry::Vacant(entry) => entry.insert_entry(value),
        }
    }
}

impl<K, V, M: Memory> Entry<'_, K, V, Rows, M> {
    /// Changes the value, if there is one.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::new();
    /// for _ in 0..3 {
    ///     map.entry("a").and_modify(|value| *value *= 2).or_insert(10);
    /// }
    /// assert_eq!(map["a"], 40);
    /// ```
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }
}

impl<K, V: Columnar, M: Memory> Entry<'_, K, V, Columns, M> {
    /// Changes the value, if there is one.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use toft_pools::{Columns, Columnar, OrderedMap};
    ///
    /// #[derive(Columnar)]
    /// struct Generation {
    ///     seen: u32,
    /// }
    ///
    /// let mut counts: OrderedMap<char, Generation, Columns> = OrderedMap::default();
    /// for letter in "abba".chars() {
    ///     counts.entry(letter).and_modify(|count| *count.seen += 1).or_insert(Generation { seen: 1 });
    /// }
    /// assert_eq!(counts.get(&'a').unwrap().seen, &2);
    /// # }
    /// ```
    pub fn and_modify(mut self, change: impl FnOnce(V::Mut<'_>)) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }
}

impl<'a, K, V, L: FieldLayout<V>, M: Memory> VacantEntry<'a, K, V, L, M> {
    /// The key that `insert` would insert.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::<_, u8>::new();
    /// assert_eq!(map.entry("a").key(), &"a");
    /// ```
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Returns the key.
    ///
    /// ```
    /// # use toft_pools::ordered_map::Entry;
    /// let mut map = toft_pools::OrderedMap::<_, u8>::new();
    /// let Entry::Vacant(entry) = map.entry("a".to_string()) else { unreachable!() };
    /// assert_eq!(entry.into_key(), "a");
    /// ```
    pub fn into_key(self) -> K {
        self.key
    }

    /// Inserts the key with a value.
    ///
    /// ```
    /// # use toft_pools::ordered_map::Entry;
    /// let mut map = toft_pools::OrderedMap::new();
    /// let Entry::Vacant(entry) = map.entry("a") else { unreachable!() };
    /// *entry.insert(1) += 1;
    /// assert_eq!(map["a"], 2);
    /// ```
    ///
    /// # Panics
    /// The map is fixed and full, or there is no memory.
    #[track_caller]
    pub fn insert(self, value: V) -> L::Mut<'a> {
        self.insert_entry(value).into_mut()
    }

    /// As [`insert`](VacantEntry::insert); returns the occupied entry.
    ///
    /// ```
    /// # use toft_pools::ordered_map::Entry;
    /// let mut map = toft_pools::OrderedMap::new();
    /// let Entry::Vacant(entry) = map.entry("a") else { unreachable!() };
    /// assert_eq!(entry.insert_entry(1).remove_entry(), ("a", 1));
    /// ```
    ///
    /// # Panics
    /// The map is fixed and full, or there is no memory.
    #[track_caller]
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'a, K, V, L, M> {
        unwrap_capacity(self.try_insert(value))
    }

    /// As [`insert_entry`](VacantEntry::insert_entry), with an error that returns key and value instead of a panic.
    ///
    /// ```
    /// # use toft_pools::{ordered_map::Entry, CapacityError};
    /// let mut map = toft_pools::OrderedMap::fixed(0);
    /// let Entry::Vacant(entry) = map.entry("a") else { unreachable!() };
    /// assert_eq!(entry.try_insert(1).unwrap_err(), CapacityError(("a", 1)));
    /// ```
    #[allow(clippy::type_complexity)]
    pub fn try_insert(self, value: V) -> Result<OccupiedEntry<'a, K, V, L, M>, CapacityError<(K, V)>> {
        let position = self.tree.insert_at(self.position, self.key, value)?;
        Ok(OccupiedEntry::new(self.tree, position))
    }
}

impl<'a, K, V, L: FieldLayout<V>, M: Memory> OccupiedEntry<'a, K, V, L, M> {
    /// There is a key at the position.
    #[inline(always)]
    fn new(tree: &'a mut Tree<K, V, L, M>, position: Position) -> Self {
        OccupiedEntry { tree, position, of: PhantomData }
    }

    /// The key that is in the map.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([("a", 1)]);
    /// assert_eq!(map.first_entry().unwrap().key(), &"a");
    /// ```
    pub fn key(&self) -> &K {
        // SAFETY: there is a key at the position, and the tree is borrowed.
        unsafe { Tree::<K, V, L, M>::key_at(self.position) }
    }

    /// The value.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([("a", 1)]);
    /// assert_eq!(map.first_entry().unwrap().get(), &1);
    /// ```
    pub fn get(&self) -> L::Ref<'_> {
        // SAFETY: there is a value at the position, and the tree is borrowed.
        unsafe { value_at::<K, V, L>(self.tree.raw(), self.position) }
    }

    /// The value, mutable.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([("a", 1)]);
    /// *map.first_entry().unwrap().get_mut() += 1;
    /// assert_eq!(map["a"], 2);
    /// ```
    pub fn get_mut(&mut self) -> L::Mut<'_> {
        // SAFETY: there is a value at the position, and the entry is borrowed exclusively.
        unsafe { value_at_mut::<K, V, L>(self.tree.raw(), self.position) }
    }

    /// The value, mutable, with the lifetime of the borrow of the map.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([("a", 1)]);
    /// let value: &mut i32 = map.first_entry().unwrap().into_mut();
    /// *value += 1;
    /// assert_eq!(map["a"], 2);
    /// ```
    pub fn into_mut(self) -> L::Mut<'a> {
        // SAFETY: there is a value at the position; the borrow of the tree moves to the result.
        unsafe { value_at_mut::<K, V, L>(self.tree.raw(), self.position) }
    }

    /// Replaces the value and returns the previous one.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([("a", 1)]);
    /// assert_eq!(map.first_entry().unwrap().insert(2), 1);
    /// ```
    pub fn insert(&mut self, value: V) -> V {
        // SAFETY: there is a value at the position.
        unsafe { self.tree.replace_value(self.position, value) }
    }

    /// Removes the key and returns its value.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([("a", 1)]);
    /// assert_eq!(map.first_entry().unwrap().remove(), 1);
    /// ```
    pub fn remove(self) -> V {
        value_of(self.remove_entry())
    }

    /// Removes the key and returns it with its value.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([("a", 1)]);
    /// assert_eq!(map.first_entry().unwrap().remove_entry(), ("a", 1));
    /// ```
    pub fn remove_entry(self) -> (K, V) {
        // SAFETY: there is a key at the position, and the entry is not used again.
        unsafe { self.tree.remove_at(self.position) }
    }
}

impl<K: fmt::Debug, V, L: FieldLayout<V>, M: Memory> fmt::Debug for VacantEntry<'_, K, V, L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VacantEntry").field(self.key()).finish()
    }
}

impl<K: fmt::Debug, V: fmt::Debug, M: Memory> fmt::Debug for OccupiedEntry<'_, K, V, Rows, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OccupiedEntry").field("key", self.key()).field("value", self.get()).finish()
    }
}

impl<K: fmt::Debug, V: fmt::Debug, M: Memory> fmt::Debug for Entry<'_, K, V, Rows, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Vacant(entry) => f.debug_tuple("Entry").field(entry).finish(),
            Entry::Occupied(entry) => f.debug_tuple("Entry").field(entry).finish(),
        }
    }
}
