//! thunderdome: an arena by indices with generations.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::payload::Value;
use crate::pools::{Pool, Pools};
use thunderdome::{Arena, Index};

impl<const REST: usize> Pool<REST> for Arena<Value<REST>> {
    type Key = Index;

    #[inline(always)]
    fn insert(&mut self, value: Value<REST>) -> Index {
        self.insert(value)
    }
    #[inline(always)]
    fn get(&self, key: Index) -> u64 {
        self[key].first
    }
    #[inline(always)]
    fn remove(&mut self, key: Index) -> Option<Value<REST>> {
        self.remove(key)
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

pub fn pools<const REST: usize>(rows: &mut Pools<REST>) {
    rows.add("thunderdome", Arena::new);
}
