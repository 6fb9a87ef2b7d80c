//! Secondary maps: the dense one as a sequence of its slots, each empty or a key and its value, so that the data cannot request
//! more memory than it contains; the sparse one as a sequence of keys and values.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::key::Key;
use crate::secondary::{SecondaryMap, SparseSecondaryMap};
use toft::Memory;

impl<K: Key<()> + Serialize, V: Serialize, M: Memory> Serialize for SecondaryMap<K, V, M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut next = self.iter().peekable();
        let end = self.keys().last().map_or(0, |key| key.index() + 1);
        serializer.collect_seq((0..end).map(|i| next.next_if(|(key, _)| key.index() == i)))
    }
}

impl<'de, K: Key<()> + Deserialize<'de>, V: Deserialize<'de>, M: Memory + Default> Deserialize<'de>
    for SecondaryMap<K, V, M>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Self::default();
        for (i, slot) in Vec::<Option<(K, V)>>::deserialize(deserializer)?.into_iter().enumerate() {
            let Some((key, value)) = slot else { continue };
            if key.index() != i {
                return Err(D::Error::custom("a key that is not of its slot"));
            }
            map.try_insert(key, value).map_err(D::Error::custom)?;
        }
        Ok(map)
    }
}

impl<K: Key<()> + Serialize, V: Serialize, M: Memory> Serialize for SparseSecondaryMap<K, V, M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, K: Key<()> + Deserialize<'de>, V: Deserialize<'de>, M: Memory + Default> Deserialize<'de>
    for SparseSecondaryMap<K, V, M>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Self::default();
        for (key, value) in Vec::<(K, V)>::deserialize(deserializer)? {
            map.try_insert(key, value).map_err(D::Error::custom)?;
        }
        Ok(map)
    }
}
