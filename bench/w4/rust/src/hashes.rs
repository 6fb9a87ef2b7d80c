//! Hash maps of random 64-bit keys: lookups in a map that stays, and rounds of a map that is made, filled, read, half emptied
//! and dropped.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::measure::{Case, Contender};
use crate::ordered::Map;
use crate::random::{shuffled, Random};
use std::hint::black_box;

struct Keys {
    /// Each is there once.
    insert_order: Vec<u64>,
    lookup_order: Vec<u64>,
    sum: u64,
}

impl Keys {
    fn new(n: usize) -> Keys {
        let mut from = Random(11);
        let mut all: Vec<u64> = (0..n as u64).map(|i| from.next() << 24 | i).collect();
        all = shuffled(&all, 1);
        let sum = all.iter().fold(0, |sum: u64, &key| sum.wrapping_add(key));
        Keys { lookup_order: shuffled(&all, 2), insert_order: all, sum }
    }
}

#[inline(never)]
fn look(map: &impl Map, keys: &Keys) -> bool {
    let found = keys.lookup_order.iter().fold(0, |sum: u64, &key| sum.wrapping_add(map.get(key).unwrap_or(1)));
    found == keys.sum
}

/// A round of a map, whose end is the caller's.
#[inline(never)]
fn round(map: &mut impl Map, keys: &Keys) -> bool {
    let n = keys.insert_order.len();
    let mut right = keys.insert_order.iter().filter(|&&key| map.insert(key)).count() == n;
    right &= look(map, keys);
    let half = &keys.lookup_order[..n / 2];
    right & (half.iter().filter(|&&key| map.remove(key)).count() == n / 2)
}

pub struct Hashes {
    n: usize,
    pub all: Vec<Contender>,
}

impl Hashes {
    /// Lookups in this map.
    pub fn hits<M: Map + 'static>(&mut self, name: &str, mut map: M) {
        let keys = Keys::new(self.n);
        assert!(keys.insert_order.iter().all(|&key| map.insert(key)));
        self.all.push(Contender::whole(name, move || look(black_box(&map), &keys)));
    }

    /// Rounds, which `in_round` makes the map for and passes it.
    pub fn rounds(&mut self, name: &str, mut in_round: impl FnMut(&mut dyn FnMut(&mut dyn Round)) + 'static) {
        let keys = Keys::new(self.n);
        self.all.push(Contender::whole(name, move || {
            let mut right = false;
            in_round(&mut |map| right = map.round(&keys));
            right
        }));
    }
}

/// A map, by one indirect call for each round.
pub trait Round {
    #[allow(private_interfaces)]
    fn round(&mut self, keys: &Keys) -> bool;
}

impl<M: Map> Round for M {
    #[allow(private_interfaces)]
    fn round(&mut self, keys: &Keys) -> bool {
        round(self, keys)
    }
}

/// The contenders of the cases.
pub trait Contenders {
    fn hits(rows: &mut Hashes);
    fn rounds(rows: &mut Hashes);
}

pub fn cases<C: Contenders + 'static>(largest: usize) -> Vec<Case> {
    let mut cases = vec![];
    for (kind, add) in [("hash hit", C::hits as fn(&mut Hashes)), ("hash round", C::rounds)] {
        for n in [100, largest / 10, largest] {
            let contenders = move || {
                let mut rows = Hashes { n, all: vec![] };
                add(&mut rows);
                rows.all
            };
            cases.push(Case { rows: vec![(format!("{kind} {n}"), n)], contenders: Box::new(contenders) });
        }
    }
    cases
}
