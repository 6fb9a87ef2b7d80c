//! Secondary maps: values beside those of a pool, by its keys, with slotmap's interface.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::Flatten;
use core::ops::{Index, IndexMut};
use core::ptr::NonNull;

use super::capacity_error::{unwrap_capacity, CapacityError};
use super::field_layout::Rows;
use super::key::Key;
use super::ordered::{IntoValues, OrderedMap, Values, ValuesMut};
use super::stack::{self, Stack};
use toft::{Heap, Memory};

/// A value for each of some keys of a [`Pool`](crate::Pool) or [`DensePool`](crate::DensePool): a column that is added later, or
/// by another crate. It has a slot for each one of the pool up to the largest key, and is as fast as the pool; where few
/// keys have a value, [`SparseSecondaryMap`] is smaller.
///
/// The pool does not know the map: the value of a removed key stays until the key is removed here too, or until a later key
/// of the same slot is inserted. A key that is older than the present one of its slot is ignored: one with fewer uses, of
/// up to half of the uses that a slot has (2^30 of a handle's default), so that a map with a value of a removed key must
/// not be used for longer. Keys of two pools must not be mixed. The largest index, which no pool returns, is ignored.
///
/// ```
/// use toft_pools::{Pool, SecondaryMap};
///
/// let (mut players, mut health) = (Pool::new(), SecondaryMap::new());
/// let ada = players.insert("Ada");
/// health.insert(ada, 100);
/// health[ada] -= 10;
/// assert_eq!(health.get(ada), Some(&90));
///
/// players.remove(ada);
/// let bo = players.insert("Bo"); // in the same slot
/// assert!(!health.contains_key(bo));
/// health.insert(bo, 100);
/// assert_eq!((health.get(ada), health.len()), (None, 1));
/// ```
///
/// Its calls are those of a map:
///
/// ```
/// let mut map = toft_pools::SecondaryMap::new();
/// map.extend((0..4u32).map(|key| (key, key * 10)));
/// map.values_mut().for_each(|value| *value += 1);
/// map.iter_mut().for_each(|(key, value)| *value += key);
/// *map.get_mut(3).unwrap() = 7;
/// let [first, last] = map.get_disjoint_mut([0, 3]).unwrap();
/// std::mem::swap(first, last);
/// map.retain(|key, _| key != 1);
/// assert_eq!(map.values().copied().collect::<Vec<_>>(), [7, 23, 1]);
/// assert!(map.capacity() >= 4 && map.drain().eq([(0, 7), (2, 23), (3, 1)]));
/// map.clear();
/// assert!(map.is_empty());
/// ```
pub struct SecondaryMap<K, V, M: Memory = Heap> {
    slots: Stack<Option<(K, V)>, Rows, M>,
    len: usize,
}

/// A [`SecondaryMap`] whose memory is that of the keys that have a value: an ordered map by the slots of the keys. O(log n).
///
/// ```
/// use toft_pools::{Pool, SparseSecondaryMap};
///
/// let players: Pool<_> = (0..1000).collect();
/// let mut names = SparseSecondaryMap::new();
/// let last = players.keys().last().unwrap();
/// names.insert(last, "the last");
/// assert_eq!(names.iter().collect::<Vec<_>>(), [(last, &"the last")]);
/// ```
pub struct SparseSecondaryMap<K, V, M: Memory = Heap> {
    slots: OrderedMap<usize, (K, V), Rows, M>,
}

type Pairs<'a, K, V> = Flatten<core::slice::Iter<'a, Option<(K, V)>>>;
type Slots<K, V, M> = stack::IntoIter<Option<(K, V)>, Rows, M>;
type DrainedSlots<'a, K, V, M> = stack::Drain<'a, Option<(K, V)>, Rows, M>;
type PairsMut<'a, K, V> = Flatten<core::slice::IterMut<'a, Option<(K, V)>>>;

impl<K: Key<()>, V, M: Memory> SecondaryMap<K, V, M> {
    /// An empty map in this memory.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut map = toft_pools::SecondaryMap::new_in(&arena);
    /// map.insert(7u32, 'a');
    /// ```
    pub fn new_in(memory: M) -> Self {
        SecondaryMap { slots: Stack::new_in(memory), len: 0 }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of slots for which there is memory.
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Drops all values. The memory is kept.
    pub fn clear(&mut self) {
        self.len = 0;
        self.slots.clear();
    }

    fn at(&self, i: usize) -> Option<&(K, V)> {
        self.slots.get(i)?.as_ref()
    }

    fn at_mut(&mut self, i: usize) -> Option<&mut (K, V)> {
        self.slots.get_mut(i)?.as_mut()
    }

    fn put(&mut self, i: usize, pair: (K, V)) -> Result<(), CapacityError<V>> {
        let more = (i + 1).saturating_sub(self.slots.len());
        if self.slots.try_reserve(more).is_err() {
            return Err(CapacityError(pair.1));
        }
        self.slots.extend((0..more).map(|_| None));
        self.len += usize::from(self.slots[i].is_none());
        self.slots[i] = Some(pair);
        Ok(())
    }

    fn take(&mut self, i: usize) -> Option<(K, V)> {
        let pair = self.slots.get_mut(i)?.take();
        self.len -= usize::from(pair.is_some());
        pair
    }

    /// Keeps the values for which `keep` returns true, and drops the others.
    pub fn retain(&mut self, mut keep: impl FnMut(K, &mut V) -> bool) {
        for slot in self.slots.iter_mut() {
            if slot.as_mut().is_some_and(|(key, value)| !keep(*key, value)) {
                self.len -= 1;
                *slot = None;
            }
        }
    }

    fn pairs(&self) -> Pairs<'_, K, V> {
        self.slots.as_slice().iter().flatten()
    }

    fn pairs_mut(&mut self) -> PairsMut<'_, K, V> {
        self.slots.as_mut_slice().iter_mut().flatten()
    }

    fn into_pairs(self) -> Flatten<Slots<K, V, M>> {
        self.slots.into_iter().flatten()
    }

    /// Removes all keys and values, and returns them.
    pub fn drain(&mut self) -> Entries<Flatten<DrainedSlots<'_, K, V, M>>> {
        let left = core::mem::take(&mut self.len);
        Entries { pairs: self.slots.drain(..).flatten(), left }
    }
}

impl<K: Key<()>, V, M: Memory> SparseSecondaryMap<K, V, M> {
    /// An empty map in this memory.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut map = toft_pools::SparseSecondaryMap::new_in(&arena);
    /// map.insert(7u32, 'a');
    /// ```
    pub fn new_in(memory: M) -> Self {
        SparseSecondaryMap { slots: OrderedMap::new_in(memory) }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Drops all values. The memory is kept.
    pub fn clear(&mut self) {
        self.slots.clear();
    }

    fn at(&self, i: usize) -> Option<&(K, V)> {
        self.slots.get(&i)
    }

    fn at_mut(&mut self, i: usize) -> Option<&mut (K, V)> {
        self.slots.get_mut(&i)
    }

    fn put(&mut self, i: usize, pair: (K, V)) -> Result<(), CapacityError<V>> {
        self.slots.try_insert(i, pair).map(drop).map_err(|CapacityError((_, (_, value)))| CapacityError(value))
    }

    fn take(&mut self, i: usize) -> Option<(K, V)> {
        self.slots.remove(&i)
    }

    /// Keeps the values for which `keep` returns true, and drops the others.
    pub fn retain(&mut self, mut keep: impl FnMut(K, &mut V) -> bool) {
        self.slots.retain(|_, (key, value)| keep(*key, value));
    }

    fn pairs(&self) -> Values<'_, usize, (K, V)> {
        self.slots.values()
    }

    fn pairs_mut(&mut self) -> ValuesMut<'_, usize, (K, V)> {
        self.slots.values_mut()
    }

    fn into_pairs(self) -> IntoValues<usize, (K, V), Rows, M> {
        self.slots.into_values()
    }
}

/// What both maps have.
macro_rules! secondary {
    ($Name:ident, $Iter:ty, $IterMut:ty, $IntoIter:ty, $pairs:ident, $pairs_mut:ident, $into_pairs:ident) => {
        impl<K: Key<()>, V> $Name<K, V> {
            /// An empty map on the heap.
            pub fn new() -> Self {
                Self::new_in(Heap)
            }

            /// As [`new`](Self::new), with memory for `n` values.
            ///
            /// # Panics
            /// There is no memory.
            #[track_caller]
            pub fn with_capacity(n: usize) -> Self {
                Self::with_capacity_in(n, Heap)
            }
        }

        impl<K: Key<()>, V, M: Memory> $Name<K, V, M> {
            /// As [`new`](Self::new), with memory for `n` values.
            ///
            /// # Panics
            /// There is no memory.
            #[track_caller]
            pub fn with_capacity_in(n: usize, memory: M) -> Self {
                let mut map = Self::new_in(memory);
                map.slots.reserve(n);
                map
            }

            /// Whether there are no values.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Whether the key has a value.
            pub fn contains_key(&self, key: K) -> bool {
                self.get(key).is_some()
            }

            /// The value of a key.
            #[inline]
            pub fn get(&self, key: K) -> Option<&V> {
                self.at(key.index()).filter(|(its, _)| *its == key).map(|(_, value)| value)
            }

            /// The value of a key, mutable.
            #[inline]
            pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
                self.at_mut(key.index()).filter(|(its, _)| *its == key).map(|(_, value)| value)
            }

            /// Inserts the value of a key, and returns the one it had. A key that is null, or older than that of the slot, is
            /// ignored. The value of an older key is dropped.
            ///
            /// # Panics
            /// There is no memory.
            #[track_caller]
            pub fn insert(&mut self, key: K, value: V) -> Option<V> {
                unwrap_capacity(self.try_insert(key, value))
            }

            /// As [`insert`](Self::insert), with an error instead of a panic.
            ///
            /// # Errors
            /// The value is returned in the error: there is no memory.
            pub fn try_insert(&mut self, key: K, value: V) -> Result<Option<V>, CapacityError<V>> {
                if !self.takes(key) {
                    return Ok(None);
                }
                if let Some(present) = self.get_mut(key) {
                    return Ok(Some(core::mem::replace(present, value)));
                }
                self.put(key.index(), (key, value)).map(|()| None)
            }

            /// Whether a value can be inserted under the key.
            fn takes(&self, key: K) -> bool {
                key.index() < K::SLOTS && !self.at(key.index()).is_some_and(|(its, _)| key.is_older(*its))
            }

            /// Removes a key and returns its value.
            pub fn remove(&mut self, key: K) -> Option<V> {
                self.get(key)?;
                self.take(key.index()).map(|(_, value)| value)
            }

            /// The entry of a key; `None` if it is null, or older than that of the slot.
            pub fn entry(&mut self, key: K) -> Option<Entry<'_, K, Self>> {
                if !self.takes(key) {
                    return None;
                }
                Some(match self.contains_key(key) {
                    true => Entry::Occupied(OccupiedEntry { map: self, key }),
                    false => Entry::Vacant(VacantEntry { map: self, key }),
                })
            }

            /// The values of different keys, mutable; `None` if two keys are the same, or one has no value.
            pub fn get_disjoint_mut<const N: usize>(&mut self, keys: [K; N]) -> Option<[&mut V; N]> {
                let mut values = [NonNull::dangling(); N];
                for (i, key) in keys.iter().enumerate() {
                    if keys[..i].iter().any(|other| other.index() == key.index()) {
                        return None;
                    }
                    values[i] = NonNull::from(self.get_mut(*key)?);
                }
                // SAFETY: different values, since a slot has the value of one key, and borrowed with the map.
                Some(values.map(|mut value| unsafe { value.as_mut() }))
            }

            /// The keys and values, in the order of the slots.
            pub fn iter(&self) -> <&Self as IntoIterator>::IntoIter {
                self.into_iter()
            }

            /// The keys and values, mutable, in the order of the slots.
            pub fn iter_mut(&mut self) -> <&mut Self as IntoIterator>::IntoIter {
                self.into_iter()
            }

            /// The keys, in the order of the slots.
            pub fn keys(&self) -> impl Iterator<Item = K> + Clone + '_ {
                self.iter().map(|(key, _)| key)
            }

            /// The values, in the order of the slots.
            pub fn values(&self) -> impl Iterator<Item = &V> + Clone + '_ {
                self.iter().map(|(_, value)| value)
            }

            /// The values, mutable, in the order of the slots.
            pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> + '_ {
                self.iter_mut().map(|(_, value)| value)
            }
        }

        impl<'a, K: Key<()>, V, M: Memory> IntoIterator for &'a $Name<K, V, M> {
            type Item = (K, &'a V);
            type IntoIter = Entries<$Iter>;

            fn into_iter(self) -> Self::IntoIter {
                Entries { left: self.len(), pairs: self.$pairs() }
            }
        }

        impl<'a, K: Key<()>, V, M: Memory> IntoIterator for &'a mut $Name<K, V, M> {
            type Item = (K, &'a mut V);
            type IntoIter = Entries<$IterMut>;

            fn into_iter(self) -> Self::IntoIter {
                Entries { left: self.len(), pairs: self.$pairs_mut() }
            }
        }

        impl<K: Key<()>, V, M: Memory> IntoIterator for $Name<K, V, M> {
            type Item = (K, V);
            type IntoIter = Entries<$IntoIter>;

            fn into_iter(self) -> Self::IntoIter {
                Entries { left: self.len(), pairs: self.$into_pairs() }
            }
        }

        impl<K: Key<()>, V, M: Memory> Index<K> for $Name<K, V, M> {
            type Output = V;

            /// # Panics
            /// The key has no value.
            #[track_caller]
            fn index(&self, key: K) -> &V {
                self.get(key).expect("toft: the key has no value")
            }
        }

        impl<K: Key<()>, V, M: Memory> IndexMut<K> for $Name<K, V, M> {
            #[track_caller]
            fn index_mut(&mut self, key: K) -> &mut V {
                self.get_mut(key).expect("toft: the key has no value")
            }
        }

        impl<K: Key<()>, V, M: Memory> Extend<(K, V)> for $Name<K, V, M> {
            #[track_caller]
            fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
                for (key, value) in pairs {
                    self.insert(key, value);
                }
            }
        }

        impl<K: Key<()>, V, M: Memory + Default> Default for $Name<K, V, M> {
            fn default() -> Self {
                Self::new_in(M::default())
            }
        }

        impl<K: Key<()>, V, M: Memory + Default> FromIterator<(K, V)> for $Name<K, V, M> {
            #[track_caller]
            fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
                let mut map = Self::default();
                map.extend(pairs);
                map
            }
        }

        impl<K: Key<()> + fmt::Debug, V: fmt::Debug, M: Memory> fmt::Debug for $Name<K, V, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_map().entries(self).finish()
            }
        }

        impl<K: Key<()>, V: PartialEq, M: Memory> PartialEq for $Name<K, V, M> {
            fn eq(&self, other: &Self) -> bool {
                self.len() == other.len() && self.iter().eq(other.iter())
            }
        }

        impl<K: Key<()>, V: Eq, M: Memory> Eq for $Name<K, V, M> {}

        impl<K: Key<()>, V, M: Memory> Map<K> for $Name<K, V, M> {
            type Value = V;

            fn value(&mut self, key: K) -> Option<&mut V> {
                self.get_mut(key)
            }

            #[track_caller]
            fn add(&mut self, key: K, value: V) -> Option<V> {
                self.insert(key, value)
            }

            fn remove_value(&mut self, key: K) -> Option<V> {
                self.remove(key)
            }
        }
    };
}

secondary!(SecondaryMap, Pairs<'a, K, V>, PairsMut<'a, K, V>, Flatten<Slots<K, V, M>>, pairs, pairs_mut, into_pairs);
secondary!(
    SparseSecondaryMap,
    Values<'a, usize, (K, V)>,
    ValuesMut<'a, usize, (K, V)>,
    IntoValues<usize, (K, V), Rows, M>,
    pairs,
    pairs_mut,
    into_pairs
);

impl<K: Clone, V: Clone, M: Memory + Clone> Clone for SecondaryMap<K, V, M> {
    fn clone(&self) -> Self {
        SecondaryMap { slots: self.slots.clone(), len: self.len }
    }
}

impl<K: Clone, V: Clone, M: Memory + Clone> Clone for SparseSecondaryMap<K, V, M> {
    fn clone(&self) -> Self {
        SparseSecondaryMap { slots: self.slots.clone() }
    }
}

// ---- iteration ----

/// The keys and values in the order of the slots, shared, mutable or by value, of a map: [`SecondaryMap`].
#[derive(Clone, Debug)]
pub struct Entries<I> {
    pairs: I,
    left: usize,
}

/// A key and a value, or references to them.
#[doc(hidden)]
pub trait Pair {
    type Entry;
    fn entry(self) -> Self::Entry;
}

impl<'a, K: Copy, V> Pair for &'a (K, V) {
    type Entry = (K, &'a V);
    fn entry(self) -> (K, &'a V) {
        (self.0, &self.1)
    }
}

impl<'a, K: Copy, V> Pair for &'a mut (K, V) {
    type Entry = (K, &'a mut V);
    fn entry(self) -> (K, &'a mut V) {
        (self.0, &mut self.1)
    }
}

impl<K, V> Pair for (K, V) {
    type Entry = (K, V);
    fn entry(self) -> (K, V) {
        self
    }
}

impl<I: Iterator<Item: Pair>> Iterator for Entries<I> {
    type Item = <I::Item as Pair>::Entry;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let pair = self.pairs.next()?;
        self.left -= 1;
        Some(pair.entry())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<I: Iterator<Item: Pair>> ExactSizeIterator for Entries<I> {}

// ---- entries ----

/// A map in which entries are.
#[doc(hidden)]
pub trait Map<K> {
    type Value;
    fn value(&mut self, key: K) -> Option<&mut Self::Value>;
    fn add(&mut self, key: K, value: Self::Value) -> Option<Self::Value>;
    fn remove_value(&mut self, key: K) -> Option<Self::Value>;
}

/// A key in a secondary map, which has a value or not: the result of `entry`.
///
/// ```
/// let mut map = toft_pools::SecondaryMap::new();
/// for key in [1u32, 2, 1] {
///     *map.entry(key).unwrap().or_insert(0) += 1;
/// }
/// assert_eq!((map[1], map[2]), (2, 1));
///
/// let entry = map.entry(3).unwrap().and_modify(|value| *value = 9);
/// assert_eq!((entry.key(), *entry.or_insert_with(|| 5), *map.entry(4).unwrap().or_default()), (3, 5, 0));
/// let Some(Entry::Occupied(entry)) = map.entry(3) else { panic!() };
/// *entry.into_mut() += 1;
/// assert_eq!(map[3], 6);
/// # use toft_pools::secondary::Entry;
/// ```
#[derive(Debug)]
pub enum Entry<'a, K, S> {
    /// The key has a value.
    Occupied(OccupiedEntry<'a, K, S>),
    /// The key has no value.
    Vacant(VacantEntry<'a, K, S>),
}

/// A key that has a value: [`Entry::Occupied`].
#[derive(Debug)]
pub struct OccupiedEntry<'a, K, S> {
    map: &'a mut S,
    key: K,
}

/// A key that has no value: [`Entry::Vacant`].
#[derive(Debug)]
pub struct VacantEntry<'a, K, S> {
    map: &'a mut S,
    key: K,
}

impl<'a, K: Copy, S: Map<K>> Entry<'a, K, S> {
    /// The key.
    pub fn key(&self) -> K {
        match self {
            Entry::Occupied(OccupiedEntry { key, .. }) | Entry::Vacant(VacantEntry { key, .. }) => *key,
        }
    }

    /// The value, after inserting this one if there is none.
    ///
    /// # Panics
    /// There is no memory; here and below.
    #[track_caller]
    pub fn or_insert(self, value: S::Value) -> &'a mut S::Value {
        self.or_insert_with(|| value)
    }

    /// The value, after inserting the function's if there is none.
    #[track_caller]
    pub fn or_insert_with(self, value: impl FnOnce() -> S::Value) -> &'a mut S::Value {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(value()),
        }
    }

    /// The value, after inserting the default if there is none.
    #[track_caller]
    pub fn or_default(self) -> &'a mut S::Value
    where
        S::Value: Default,
    {
        self.or_insert_with(Default::default)
    }

    /// Changes the value if there is one.
    pub fn and_modify(mut self, change: impl FnOnce(&mut S::Value)) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }
}

const PRESENT: &str = "the key of the entry has a value";

impl<'a, K: Copy, S: Map<K>> OccupiedEntry<'a, K, S> {
    /// The key.
    pub fn key(&self) -> K {
        self.key
    }

    /// The value, mutable.
    pub fn get_mut(&mut self) -> &mut S::Value {
        self.map.value(self.key).expect(PRESENT)
    }

    /// The value, as long as the map is borrowed.
    pub fn into_mut(self) -> &'a mut S::Value {
        self.map.value(self.key).expect(PRESENT)
    }

    /// Replaces the value and returns the one before.
    pub fn insert(&mut self, value: S::Value) -> S::Value {
        core::mem::replace(self.get_mut(), value)
    }

    /// Removes the key and returns its value.
    pub fn remove(self) -> S::Value {
        self.map.remove_value(self.key).expect(PRESENT)
    }
}

impl<'a, K: Copy, S: Map<K>> VacantEntry<'a, K, S> {
    /// The key.
    pub fn key(&self) -> K {
        self.key
    }

    /// Inserts a value.
    #[track_caller]
    pub fn insert(self, value: S::Value) -> &'a mut S::Value {
        self.map.add(self.key, value);
        self.map.value(self.key).expect(PRESENT)
    }
}
