//! Stack, queue and list as sequences, in order. A deserialized collection grows. Handles of a list are not serialized.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::columnar::ColumnarClone;
use crate::field_layout::{Columns, FieldLayout, Rows};
use crate::list::List;
use crate::queue::Queue;
use crate::stack::Stack;
use toft::Memory;

struct Values<S>(PhantomData<S>);

macro_rules! sequence {
    ($($name:ident $push:ident)*) => {$(
        impl<T: Serialize, M: Memory> Serialize for $name<T, Rows, M> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.iter())
            }
        }

        impl<T: Serialize + ColumnarClone, M: Memory> Serialize for $name<T, Columns, M> {
            /// Each value is cloned from its columns.
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.iter().map(T::clone_ref))
            }
        }

        impl<'de, T: Deserialize<'de>, L: FieldLayout<T>, M: Memory + Default> Deserialize<'de> for $name<T, L, M> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_seq(Values::<Self>(PhantomData))
            }
        }

        impl<'de, T: Deserialize<'de>, L: FieldLayout<T>, M: Memory + Default> Visitor<'de> for Values<$name<T, L, M>> {
            type Value = $name<T, L, M>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            // Grows with the values: the length that the data claims is ignored.
            fn visit_seq<A: SeqAccess<'de>>(self, mut data: A) -> Result<Self::Value, A::Error> {
                let mut values = $name::<T, L, M>::default();
                while let Some(value) = data.next_element()? {
                    values.$push(value).map_err(A::Error::custom)?;
                }
                Ok(values)
            }
        }
    )*};
}

sequence!(Stack try_push Queue try_push_back List try_push_back);
