//! slotmap: its maps, by keys with versions.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::payload::{Item, Value};
use crate::pools::{Pool, Pools};
use crate::sequences::{Front, Rows};
use slotmap::{DefaultKey, DenseSlotMap, SlotMap};

macro_rules! pool {
    ($($map:ident)*) => {$(
        impl<const REST: usize> Pool<REST> for $map<DefaultKey, Value<REST>> {
            type Key = DefaultKey;

            #[inline(always)]
            fn insert(&mut self, value: Value<REST>) -> DefaultKey {
                self.insert(value)
            }
            #[inline(always)]
            fn get(&self, key: DefaultKey) -> u64 {
                self[key].first
            }
            #[inline(always)]
            fn remove(&mut self, key: DefaultKey) -> Option<Value<REST>> {
                self.remove(key)
            }
            #[inline(always)]
            fn sum(&self) -> u64 {
                self.values().map(|value| value.first).sum()
            }
            #[inline(always)]
            fn clear(&mut self) {
                self.clear();
            }
            #[inline(always)]
            fn len(&self) -> usize {
                self.len()
            }
        }
    )*};
}

pool!(SlotMap DenseSlotMap);

/// A manually linked list of cells.
struct Cells<const P: usize>(SlotMap<DefaultKey, (Item<P>, Option<DefaultKey>)>);

impl<const P: usize> Front<P> for Cells<P> {
    type Begin = Option<DefaultKey>;

    #[inline(always)]
    fn put(&mut self, begin: &mut Option<DefaultKey>, item: Item<P>) {
        *begin = Some(self.0.insert((item, *begin)));
    }
    #[inline(always)]
    fn walk(&mut self, mut begin: Option<DefaultKey>) -> u64 {
        let mut sum = 0;
        while let Some((item, next)) = begin.and_then(|cell| self.0.remove(cell)) {
            sum += item.number;
            begin = next;
        }
        sum
    }
}

pub fn pools<const REST: usize>(rows: &mut Pools<REST>) {
    rows.add("slotmap SlotMap", SlotMap::new);
    rows.add("slotmap DenseSlotMap", DenseSlotMap::new);
}

pub fn sequences<const P: usize>(rows: &mut Rows<P>) {
    rows.list("slotmap by hand", || Cells::<P>(SlotMap::new()));
}
