//! slotmap: its three maps, by keys with versions.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

#![allow(deprecated)] // HopSlotMap

use crate::payload::{Item, Value};
use crate::pools::{Pool, Pools};
use crate::sequences::{Front, Rows};
use slotmap::{DefaultKey, DenseSlotMap, HopSlotMap, SlotMap};

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

pool!(SlotMap HopSlotMap DenseSlotMap);

/// Cells that one links oneself.
struct Cells<const P: usize> {
    cells: SlotMap<DefaultKey, (Item<P>, Option<DefaultKey>)>,
    first: Option<DefaultKey>,
}

impl<const P: usize> Front<P> for Cells<P> {
    #[inline(always)]
    fn put(&mut self, item: Item<P>) {
        self.first = Some(self.cells.insert((item, self.first)));
    }
    #[inline(always)]
    fn walk(&mut self) -> u64 {
        let mut sum = 0;
        while let Some((item, next)) = self.first.and_then(|cell| self.cells.remove(cell)) {
            sum += item.number;
            self.first = next;
        }
        sum
    }
}

pub fn pools<const REST: usize>(rows: &mut Pools<REST>) {
    rows.add("slotmap SlotMap", SlotMap::new);
    rows.add("slotmap HopSlotMap", HopSlotMap::new);
    rows.add("slotmap DenseSlotMap", DenseSlotMap::new);
}

pub fn sequences<const P: usize>(rows: &mut Rows<P>) {
    rows.list("slotmap by hand", || Cells::<P> { cells: SlotMap::new(), first: None });
}
