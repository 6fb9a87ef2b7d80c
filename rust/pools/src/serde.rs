//! `Serialize` and `Deserialize` for pools and handles.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::columnar::ColumnarClone;
use super::field_layout::{Columns, FieldLayout, Rows};
use super::key::{Generation, Handle, Key};
use super::pool::Pool;
use toft::Memory;

mod ordered;
mod secondary;
mod sequences;

/// A handle as its index and its generation.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Handle")]
struct Numbers {
    index: u32,
    generation: u32,
}

impl<T, G: Generation> Serialize for Handle<T, G> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bits = self.to_bits();
        Numbers { index: bits as u32, generation: (bits >> 32) as u32 }.serialize(serializer)
    }
}

impl<'de, T, G: Generation> Deserialize<'de> for Handle<T, G> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Numbers { index, generation } = Numbers::deserialize(deserializer)?;
        let handle = Handle::from_bits(u64::from(generation) << 32 | u64::from(index));
        handle.ok_or_else(|| D::Error::custom("a generation that no handle has"))
    }
}

/// The fields of a serialized pool: all generations, so that handles are valid in the deserialized pool and stale ones
/// stay stale; and the values with the indices of their slots.
const FIELDS: [&str; 4] = ["start", "unused", "generations", "values"];

/// A sequence, from an iterator.
struct Sequence<F>(F);

impl<F: Fn() -> I, I: ExactSizeIterator<Item: Serialize>> Serialize for Sequence<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let items = (self.0)();
        let mut sequence = serializer.serialize_seq(Some(items.len()))?;
        for item in items {
            sequence.serialize_element(&item)?;
        }
        sequence.end()
    }
}

fn store<'a, T, L: FieldLayout<T>, K: Key<T>, M: Memory, S: Serializer, V: Serialize>(
    pool: &'a Pool<T, L, K, M>,
    serializer: S,
    value: impl Fn(L::Ref<'a>) -> V,
) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_struct("Pool", FIELDS.len())?;
    let (generations, unused) = pool.generations();
    fields.serialize_field(FIELDS[0], &pool.start())?;
    fields.serialize_field(FIELDS[1], &unused.widen())?;
    fields.serialize_field(FIELDS[2], &Sequence(|| generations.iter().map(|generation| generation.widen())))?;
    fields.serialize_field(FIELDS[3], &Sequence(|| pool.iter().map(|(key, held)| (key.index(), value(held)))))?;
    fields.end()
}

impl<T: Serialize, K: Key<T>, M: Memory> Serialize for Pool<T, Rows, K, M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        store(self, serializer, |value| value)
    }
}

impl<T: Serialize + ColumnarClone, K: Key<T>, M: Memory> Serialize for Pool<T, Columns, K, M> {
    /// Each value is cloned from its columns.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        store(self, serializer, T::clone_ref)
    }
}

impl<'de, T: Deserialize<'de>, L: FieldLayout<T>, K: Key<T>, M: Memory + Default> Deserialize<'de>
    for Pool<T, L, K, M>
{
    /// A pool that grows, in which the keys of the serialized pool are valid.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Pool", &FIELDS, Parts(PhantomData))
    }
}

struct Parts<P>(PhantomData<P>);

impl<'de, T: Deserialize<'de>, L: FieldLayout<T>, K: Key<T>, M: Memory + Default> Visitor<'de>
    for Parts<Pool<T, L, K, M>>
{
    type Value = Pool<T, L, K, M>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the parts of a pool")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut start, mut unused, mut generations, mut values) = (None, None, None, None);
        while let Some(field) = map.next_key::<alloc::string::String>()? {
            let twice = match FIELDS.iter().position(|name| *name == field) {
                Some(0) => start.replace(map.next_value()?).is_some(),
                Some(1) => unused.replace(map.next_value()?).is_some(),
                Some(2) => generations.replace(map.next_value()?).is_some(),
                Some(3) => values.replace(map.next_value()?).is_some(),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    false
                }
            };
            if twice {
                return Err(A::Error::custom(format_args!("duplicate field `{field}`")));
            }
        }
        let missing = A::Error::missing_field;
        restore(
            start.ok_or_else(|| missing(FIELDS[0]))?,
            unused.ok_or_else(|| missing(FIELDS[1]))?,
            generations.ok_or_else(|| missing(FIELDS[2]))?,
            values.ok_or_else(|| missing(FIELDS[3]))?,
        )
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let short = |n| A::Error::invalid_length(n, &"the four parts of a pool");
        restore(
            seq.next_element()?.ok_or_else(|| short(0))?,
            seq.next_element()?.ok_or_else(|| short(1))?,
            seq.next_element()?.ok_or_else(|| short(2))?,
            seq.next_element()?.ok_or_else(|| short(3))?,
        )
    }
}

/// A pool of these parts, or an error. All parts are validated; slots are allocated for the generations that were read,
/// so the data cannot request more memory than it contains.
fn restore<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Default, E: Error>(
    start: u32,
    unused: u32,
    generations: Vec<u32>,
    values: Vec<(usize, T)>,
) -> Result<Pool<T, L, K, M>, E> {
    let wrong = || E::custom("a generation that no slot has");
    let retired = K::retired(start);
    let unused = K::Generation::narrow(unused).filter(|unused| !unused.is_odd()).ok_or_else(wrong)?;
    if retired.is_some_and(|retired| unused.is_worn(retired)) {
        return Err(wrong());
    }
    let slots = generations.len();
    let mut parsed = Vec::with_capacity(slots);
    let mut live = values.iter().map(|(i, _)| *i).peekable();
    for (i, stored) in generations.into_iter().enumerate() {
        let generation = K::Generation::narrow(stored).ok_or_else(wrong)?;
        if retired.is_some_and(|retired| generation == retired.next()) {
            return Err(wrong());
        }
        let has_value = live.next_if_eq(&i).is_some();
        if has_value != (stored % 2 == 1) {
            return Err(E::custom("a generation that does not say whether its slot has a value"));
        }
        parsed.push(generation);
    }
    if live.next().is_some() {
        return Err(E::custom("values of slots that are not there, or not in the order of the slots"));
    }
    Pool::restore(start, unused, &parsed, values).map_err(|_| E::custom("no memory for the pool"))
}
