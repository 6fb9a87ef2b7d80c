//! A hash map and a sorted map in a file, and what builds them.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::borrow::Borrow;
use std::ffi::CStr;
use std::fmt;
use std::mem::offset_of;

use crate::{Content, Freeze, FrozenError, FrozenSlice, Image, Layout, Shape};

/// A key of a [`FrozenHashMap`]: its hash is the same in every program and every language.
///
/// The hash begins with the state 1. A word `w` of 64 bits changes the state `s` to
/// `rotate_left(s ^ w, 29) * 0x9e3779b97f4a7c15` modulo 2^64. An integer adds itself as a word, extended by its sign. Bytes and texts
/// add their words of 8 bytes in little-endian order, the last one filled up with zeros, and then their length. Arrays and
/// tuples add their elements in turn. The hash is `s ^ (s >> 32)`.
pub trait FrozenKey: Eq {
    /// Adds the words of the key.
    fn add_to(&self, hash: &mut KeyHash);
}

/// The hash of a [`FrozenKey`] while it is computed.
#[derive(Debug)]
pub struct KeyHash(u64);

impl KeyHash {
    fn of<K: FrozenKey + ?Sized>(key: &K) -> u64 {
        let mut hash = KeyHash(1);
        key.add_to(&mut hash);
        hash.0 ^ hash.0 >> 32
    }

    /// Adds a word.
    #[inline]
    pub fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    #[inline]
    fn add_bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.split_at(bytes.len() & !7);
        for word in words.chunks_exact(8) {
            self.add(u64::from_le_bytes(word.try_into().expect("eight bytes")));
        }
        if !rest.is_empty() {
            self.add(short_word(rest));
        }
        self.add(bytes.len() as u64);
    }
}

/// From 1 to 7 bytes, filled up with zeros. The two reads of each case may overlap.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    let (count, last) = (bytes.len(), bytes.len() - 1);
    if let (Some(first), Some(end)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*end)) << (8 * (count - 4));
    }
    let at = |i: usize| u64::from(bytes[i]) << (8 * i);
    at(0) | at(count / 2) | at(last)
}

macro_rules! keys {
    ($([$($generics:tt)*] $t:ty, |$key:ident, $hash:ident| $add:expr;)*) => {$(
        impl<$($generics)*> FrozenKey for $t {
            #[inline]
            fn add_to(&self, $hash: &mut KeyHash) {
                let $key = self;
                $add;
            }
        }
    )*};
}
keys! {
    [] u8, |key, hash| hash.add(u64::from(*key)); [] u16, |key, hash| hash.add(u64::from(*key));
    [] u32, |key, hash| hash.add(u64::from(*key)); [] u64, |key, hash| hash.add(*key);
    [] usize, |key, hash| hash.add(*key as u64); [] isize, |key, hash| hash.add(*key as u64);
    [] i8, |key, hash| hash.add(*key as u64); [] i16, |key, hash| hash.add(*key as u64);
    [] i32, |key, hash| hash.add(*key as u64); [] i64, |key, hash| hash.add(*key as u64);
    [] bool, |key, hash| hash.add(u64::from(*key)); [] char, |key, hash| hash.add(u64::from(*key));
    [] str, |key, hash| hash.add_bytes(key.as_bytes()); [] CStr, |key, hash| hash.add_bytes(key.to_bytes());
    [] [u8], |key, hash| hash.add_bytes(key);
    [] FrozenSlice<'_, u8>, |key, hash| hash.add_bytes(key);
    [K: FrozenKey, const N: usize] [K; N], |key, hash| key.iter().for_each(|key| key.add_to(hash));
    [K: FrozenKey + ?Sized] &K, |key, hash| (**key).add_to(hash);
    [A: FrozenKey, B: FrozenKey] (A, B), |key, hash| { key.0.add_to(hash); key.1.add_to(hash) };
    [A: FrozenKey, B: FrozenKey, C: FrozenKey] (A, B, C), |key, hash| {
        key.0.add_to(hash);
        key.1.add_to(hash);
        key.2.add_to(hash);
    };
}

/// A key and its value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Entry<K, V> {
    key: K,
    value: V,
}

// SAFETY: its fields.
unsafe impl<K: Freeze, V: Freeze> Freeze for Entry<K, V> {
    type At<'x> = Entry<K::At<'x>, V::At<'x>>;
    const SHAPE: Shape = Shape::PLAIN.with(offset_of!(Self, key), K::SHAPE).with(offset_of!(Self, value), V::SHAPE);
    fn freeze(&self, image: &mut Image, at: usize) {
        self.key.freeze(image, at + offset_of!(Self, key));
        self.value.freeze(image, at + offset_of!(Self, value));
    }
    /// What the keys refer to lies together, so that searches read few pages.
    fn freeze_all(values: &[Self], image: &mut Image, at: usize) {
        for (i, entry) in values.iter().enumerate() {
            entry.key.freeze(image, at + i * size_of::<Self>() + offset_of!(Self, key));
        }
        for (i, entry) in values.iter().enumerate() {
            entry.value.freeze(image, at + i * size_of::<Self>() + offset_of!(Self, value));
        }
    }
    fn describe(layout: &mut Layout) {
        if layout.begin::<Self>("Entry") {
            layout.field::<K>("key", offset_of!(Self, key));
            layout.field::<V>("value", offset_of!(Self, value));
        }
    }
    #[inline]
    fn check(content: &mut Content<'_>, at: usize) -> bool {
        K::check(content, at + offset_of!(Self, key)) && V::check(content, at + offset_of!(Self, value))
    }
}

/// Keys of a bucket, on average at most.
const BUCKET: usize = 4;

/// A hash map that was built once, by a [`MapBuilder`]. A search takes constant time on average. It compares a few bytes of two
/// small tables, and reads the entry and what its key refers to.
///
/// In memory it is three slices, each a pointer and a length:
/// * the entries, `struct { K key; V value; }` as in C, in the order of their buckets;
/// * the tags, the lowest byte of the hash of each entry's key;
/// * the ends of the buckets, numbers of 32 bits: bucket `b` has the entries from `ends[b - 1]`, or 0, to `ends[b]`. There are 2^n of
///   them, and a key's bucket is the highest n bits of its hash. Without a key there is none.
pub struct FrozenHashMap<'a, K, V> {
    entries: FrozenSlice<'a, Entry<K, V>>,
    tags: FrozenSlice<'a, u8>,
    ends: FrozenSlice<'a, u32>,
}

/// Precondition: there are buckets; in a file that is no map their number may be no power of two.
fn bucket_of(hash: u64, buckets: usize) -> usize {
    // Two shifts, since there may be one bucket.
    (hash >> 1 >> (63 - buckets.ilog2())) as usize
}

impl<'a, K, V> FrozenHashMap<'a, K, V> {
    /// The value of a key.
    #[inline]
    pub fn get<Q: FrozenKey + ?Sized>(&self, key: &Q) -> Option<&'a V>
    where
        K: Borrow<Q>,
    {
        let ends = self.ends.get();
        if ends.is_empty() {
            return None;
        }
        let hash = KeyHash::of(key);
        let bucket = bucket_of(hash, ends.len());
        let end = *ends.get(bucket)? as usize;
        let start = if bucket == 0 { 0 } else { ends[bucket - 1] as usize };
        let tags = self.tags.get().get(start..end)?;
        let entries = self.entries.get().get(start..end)?;
        let mut candidates = tags.iter().zip(entries).filter(|(tag, _)| **tag == hash as u8);
        candidates.find(|(_, entry)| entry.key.borrow() == key).map(|(_, entry)| &entry.value)
    }

    /// Whether there is a value of a key.
    pub fn contains_key<Q: FrozenKey + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The keys and values, in an order that depends on the keys alone.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'a K, &'a V)> + use<'a, K, V> {
        self.entries.get().iter().map(|entry| (&entry.key, &entry.value))
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A map in the order of its keys, of a [`MapBuilder`]. A search compares as many keys as the number of keys has bits.
///
/// In memory it is two slices, each a pointer and a length: the keys in their order, and their values.
pub struct FrozenSortedMap<'a, K, V> {
    keys: FrozenSlice<'a, K>,
    values: FrozenSlice<'a, V>,
}

impl<'a, K, V> FrozenSortedMap<'a, K, V> {
    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&'a V>
    where
        K: Borrow<Q>,
    {
        let found = self.keys.get().binary_search_by(|other| other.borrow().cmp(key)).ok()?;
        self.values.get().get(found)
    }

    /// The keys from `first` on, in their order, with their values.
    pub fn from<Q: Ord + ?Sized>(&self, first: &Q) -> impl ExactSizeIterator<Item = (&'a K, &'a V)> + use<'a, K, V, Q>
    where
        K: Borrow<Q>,
    {
        let start = self.keys.get().partition_point(|key| key.borrow() < first);
        self.keys.get()[start..].iter().zip(self.values.get().get(start..).unwrap_or_default())
    }

    /// The keys and values, in the order of the keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'a K, &'a V)> + use<'a, K, V> {
        self.keys.get().iter().zip(self.values.get())
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

macro_rules! maps {
    ($($map:ident $name:literal $($field:ident: $of:ty),*;)*) => {$(
        impl<K, V> Clone for $map<'_, K, V> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<K, V> Copy for $map<'_, K, V> {}

        impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for $map<'_, K, V> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_map().entries(self.iter()).finish()
            }
        }

        // SAFETY: its fields.
        unsafe impl<K: Freeze, V: Freeze> Freeze for $map<'_, K, V> {
            type At<'x> = $map<'x, K::At<'x>, V::At<'x>>;
            const SHAPE: Shape = <FrozenSlice<'_, u8> as Freeze>::SHAPE;
            fn freeze(&self, image: &mut Image, at: usize) {
                $(self.$field.freeze(image, at + offset_of!(Self, $field));)*
            }
            fn describe(layout: &mut Layout) {
                if layout.begin::<Self>($name) {
                    $(layout.field::<FrozenSlice<'_, $of>>(stringify!($field), offset_of!(Self, $field));)*
                }
            }
            fn check(content: &mut Content<'_>, at: usize) -> bool {
                true $(&& <FrozenSlice<'_, $of>>::check(content, at + offset_of!(Self, $field)))*
            }
        }
    )*};
}
maps! {
    FrozenHashMap "FrozenHashMap" entries: Entry<K, V>, tags: u8, ends: u32;
    FrozenSortedMap "FrozenSortedMap" keys: K, values: V;
}

/// Builds maps for a file: collects keys and values, and lends them as a map, to be frozen as a part of another value. A key
/// that comes twice has its last value.
///
/// ```
/// use toft_frozen::{freeze_to_vec, Freeze, Frozen, FrozenHashMap, FrozenSortedMap, MapBuilder};
///
/// #[derive(Freeze)]
/// struct Index<'a> {
///     by_name: FrozenHashMap<'a, &'a str, u32>,
///     by_number: FrozenSortedMap<'a, u32, &'a str>,
/// }
///
/// let mut names: MapBuilder<_, _> = [("one", 1), ("two", 2), ("ten", 10)].into_iter().collect();
/// let mut numbers: MapBuilder<_, _> = names.iter().map(|(name, number)| (*number, *name)).collect();
/// let index = Index { by_name: names.hash_map()?, by_number: numbers.sorted_map()? };
/// let bytes = freeze_to_vec(&index, "index")?;
///
/// let file = Frozen::<Index>::from_bytes_checked(&bytes, "index")?;
/// let index = file.get();
/// assert_eq!((index.by_name.get("two"), index.by_name.get("six")), (Some(&2), None));
/// assert!(index.by_name.contains_key("one") && index.by_name.len() == 3 && !index.by_name.is_empty());
/// assert_eq!(index.by_number.get(&10), Some(&"ten"));
/// assert_eq!(index.by_number.from(&2).next(), Some((&2, &"two")));
/// assert!(index.by_number.iter().map(|(number, _)| number).is_sorted() && index.by_number.len() == 3);
/// # assert!(!index.by_number.is_empty() && index.by_name.iter().len() == 3);
/// # let mut more = MapBuilder::new();
/// # more.insert(1u8, 2u8)?;
/// # more.extend([(1, 3)]);
/// # assert_eq!(more.hash_map()?.get(&1), Some(&3));
/// # assert_eq!(more.sorted_map()?.get(&1), Some(&3));
/// # Ok::<(), toft_frozen::FrozenError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MapBuilder<K, V> {
    entries: Vec<Entry<K, V>>,
    tags: Vec<u8>,
    ends: Vec<u32>,
    keys: Vec<K>,
    values: Vec<V>,
}

impl<K, V> Default for MapBuilder<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> MapBuilder<K, V> {
    /// Without a key.
    pub const fn new() -> MapBuilder<K, V> {
        MapBuilder { entries: Vec::new(), tags: Vec::new(), ends: Vec::new(), keys: Vec::new(), values: Vec::new() }
    }

    /// Adds a key and its value. As [`MapBuilder`] shows.
    ///
    /// # Errors
    /// [`FrozenError::Memory`]
    pub fn insert(&mut self, key: K, value: V) -> Result<(), FrozenError> {
        self.entries.try_reserve(1).map_err(|_| FrozenError::Memory)?;
        self.entries.push(Entry { key, value });
        Ok(())
    }

    /// The keys and values that were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&K, &V)> {
        self.entries.iter().map(|entry| (&entry.key, &entry.value))
    }
}

/// An empty vector with room for as many elements.
fn with_room<T>(count: usize) -> Result<Vec<T>, FrozenError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(count).map_err(|_| FrozenError::Memory)?;
    Ok(vec)
}

impl<K: FrozenKey, V> MapBuilder<K, V> {
    /// Lends a hash map of the keys and values, which the builder orders by the hashes of the keys. That takes the time of sorting,
    /// and 32 bytes for each key until it returns; the map takes 2 to 3 bytes for each key beside the entries.
    /// Keys of one hash are compared with each other. The hash is no secret: for keys from others, which may
    /// all have one hash, [`MapBuilder::sorted_map`] keeps its time.
    ///
    /// # Errors
    /// [`FrozenError::Memory`]; [`FrozenError::Argument`]: 2^32 keys or more.
    pub fn hash_map(&mut self) -> Result<FrozenHashMap<'_, K, V>, FrozenError> {
        let count = self.entries.len();
        if u32::try_from(count).is_err() {
            return Err(FrozenError::Argument);
        }
        let buckets = if count == 0 { 0 } else { count.div_ceil(BUCKET).next_power_of_two() };
        (self.tags, self.ends) = (with_room(count)?, with_room(buckets)?);
        let mut hashes = self.sort_by_hash()?;
        self.keep_last_of_equal_keys(&mut hashes);
        self.ends.resize(buckets, 0);
        for (i, hash) in hashes.iter().enumerate() {
            self.tags.push(*hash as u8);
            self.ends[bucket_of(*hash, buckets)] = i as u32 + 1;
        }
        let mut end = 0;
        for this in &mut self.ends {
            end = end.max(*this);
            *this = end;
        }
        Ok(FrozenHashMap { entries: self.entries[..].into(), tags: self.tags[..].into(), ends: self.ends[..].into() })
    }

    /// Returns the hashes. Entries of one hash keep their order.
    fn sort_by_hash(&mut self) -> Result<Vec<u64>, FrozenError> {
        let count = self.entries.len();
        let (mut order, mut places, mut hashes) = (with_room(count)?, with_room(count)?, with_room(count)?);
        order.extend(self.entries.iter().zip(0u32..).map(|(entry, i)| (KeyHash::of(&entry.key), i)));
        order.sort_unstable();
        places.resize(count, 0);
        for (place, (hash, i)) in order.iter().enumerate() {
            places[*i as usize] = place;
            hashes.push(*hash);
        }
        for i in 0..count {
            while places[i] != i {
                let place = places[i];
                self.entries.swap(i, place);
                places.swap(i, place);
            }
        }
        Ok(hashes)
    }

    fn keep_last_of_equal_keys(&mut self, hashes: &mut Vec<u64>) {
        let mut kept = 0;
        for i in 0..hashes.len() {
            let same = (0..kept).rev().take_while(|k| hashes[*k] == hashes[i]);
            let mut same = same.filter(|k| self.entries[*k].key == self.entries[i].key);
            let place = same.next();
            drop(same);
            self.entries.swap(place.unwrap_or(kept), i);
            if place.is_none() {
                hashes.swap(kept, i);
                kept += 1;
            }
        }
        self.entries.truncate(kept);
        hashes.truncate(kept);
    }
}

impl<K: Ord + Copy, V: Copy> MapBuilder<K, V> {
    /// Lends a map of the keys and values that is sorted by the keys.
    ///
    /// # Errors
    /// [`FrozenError::Memory`]
    pub fn sorted_map(&mut self) -> Result<FrozenSortedMap<'_, K, V>, FrozenError> {
        let count = self.entries.len();
        let mut order = with_room(count)?;
        (self.keys, self.values) = (with_room(count)?, with_room(count)?);
        order.extend(self.entries.iter().enumerate().map(|(i, entry)| (entry.key, i)));
        order.sort_unstable();
        for run in order.chunk_by(|a, b| a.0 == b.0) {
            let (key, last) = run[run.len() - 1];
            self.keys.push(key);
            self.values.push(self.entries[last].value);
        }
        Ok(FrozenSortedMap { keys: self.keys[..].into(), values: self.values[..].into() })
    }
}

impl<K, V> Extend<(K, V)> for MapBuilder<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.entries.extend(entries.into_iter().map(|(key, value)| Entry { key, value }));
    }
}

impl<K, V> FromIterator<(K, V)> for MapBuilder<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> MapBuilder<K, V> {
        let mut builder = MapBuilder::new();
        builder.extend(entries);
        builder
    }
}
