//! Ordered maps as maps and ordered sets as sequences, in the order of their keys. A deserialized collection grows.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::columnar::ColumnarClone;
use crate::field_layout::{Columns, FieldLayout, Rows};
use crate::ordered::{OrderedMap, OrderedSet};
use toft::Memory;

impl<K: Serialize, V: Serialize, M: Memory> Serialize for OrderedMap<K, V, Rows, M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<K: Serialize, V: Serialize + ColumnarClone, M: Memory> Serialize for OrderedMap<K, V, Columns, M> {
    /// Each value is cloned from its columns.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(key, value)| (key, V::clone_ref(value))))
    }
}

impl<T: Serialize, M: Memory> Serialize for OrderedSet<T, M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

struct Entries<C>(PhantomData<C>);

impl<'de, K, V, L, M> Deserialize<'de> for OrderedMap<K, V, L, M>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
    L: FieldLayout<V>,
    M: Memory + Default,
{
    /// Of equal keys the last value is kept.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries::<Self>(PhantomData))
    }
}

impl<'de, K, V, L, M> Visitor<'de> for Entries<OrderedMap<K, V, L, M>>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
    L: FieldLayout<V>,
    M: Memory + Default,
{
    type Value = OrderedMap<K, V, L, M>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    // Grows with the entries: the length that the data claims is ignored.
    fn visit_map<A: MapAccess<'de>>(self, mut data: A) -> Result<Self::Value, A::Error> {
        let mut map = OrderedMap::default();
        while let Some((key, value)) = data.next_entry()? {
            map.try_insert(key, value).map_err(A::Error::custom)?;
        }
        Ok(map)
    }
}

impl<'de, T: Deserialize<'de> + Ord, M: Memory + Default> Deserialize<'de> for OrderedSet<T, M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Entries::<Self>(PhantomData))
    }
}

impl<'de, T: Deserialize<'de> + Ord, M: Memory + Default> Visitor<'de> for Entries<OrderedSet<T, M>> {
    type Value = OrderedSet<T, M>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut data: A) -> Result<Self::Value, A::Error> {
        let mut set = OrderedSet::default();
        while let Some(element) = data.next_element()? {
            set.try_insert(element).map_err(A::Error::custom)?;
        }
        Ok(set)
    }
}
