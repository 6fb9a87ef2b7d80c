//! slab: values by plain indices, a free list in the vacant slots.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::payload::{Item, Value};
use crate::pools::{Pool, Pools};
use crate::sequences::{Front, Rows};
use slab::Slab;

impl<const REST: usize> Pool<REST> for Slab<Value<REST>> {
    type Key = usize;

    #[inline(always)]
    fn insert(&mut self, value: Value<REST>) -> usize {
        self.insert(value)
    }
    #[inline(always)]
    fn get(&self, key: usize) -> u64 {
        self[key].first
    }
    #[inline(always)]
    fn remove(&mut self, key: usize) -> Option<Value<REST>> {
        self.try_remove(key)
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        self.iter().map(|(_, value)| value.first).sum()
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

/// A manually linked list of cells.
struct Cells<const P: usize>(Slab<(Item<P>, Option<usize>)>);

impl<const P: usize> Front<P> for Cells<P> {
    type Begin = Option<usize>;

    #[inline(always)]
    fn put(&mut self, begin: &mut Option<usize>, item: Item<P>) {
        *begin = Some(self.0.insert((item, *begin)));
    }
    #[inline(always)]
    fn walk(&mut self, mut begin: Option<usize>) -> u64 {
        let mut sum = 0;
        while let Some(cell) = begin {
            let (item, next) = self.0.remove(cell);
            sum += item.number;
            begin = next;
        }
        sum
    }
}

pub fn pools<const REST: usize>(rows: &mut Pools<REST>) {
    rows.add("slab", Slab::new);
}

pub fn sequences<const P: usize>(rows: &mut Rows<P>) {
    rows.list("slab by hand", || Cells::<P>(Slab::new()));
}
