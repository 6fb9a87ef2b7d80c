//! Ordered maps and sets of 64-bit numbers: the lifetime of n keys, with a row for each part.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::measure::{weigh, Case, Contender, Phases};
use crate::random::{shuffled, Random};
use std::hint::black_box;

/// A map of numbers to equal numbers, or a set.
pub trait Map {
    /// True: the key is new.
    fn insert(&mut self, key: u64) -> bool;
    /// The value.
    fn get(&self, key: u64) -> Option<u64>;
    fn remove(&mut self, key: u64) -> bool;
    /// The sum of all keys and values.
    fn sum(&self) -> u64;
    /// The sum of the first `COUNT` keys from this one on, and of their values.
    fn range(&self, _from: u64) -> Option<u64> {
        None
    }
    /// Made of ascending keys.
    fn bulk(_ascending: &[u64]) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
    fn len(&self) -> usize;
}

/// The names of the rows.
const PARTS: [&str; 7] = ["insert", "hit", "miss", "iterate", "range", "delete", "bulk"];
/// The number of ranges, and of keys in each.
const RANGES: usize = 1000;
pub const COUNT: usize = 100;

// Each is compiled once for each type: its code must not depend on the construction of the contender.

#[inline(never)]
fn insert(c: &mut impl Map, keys: &[u64]) -> usize {
    keys.iter().filter(|&&key| c.insert(key)).count()
}

/// The number of keys found, and the sum of their values.
#[inline(never)]
fn look(c: &impl Map, keys: &[u64]) -> (usize, u64) {
    keys.iter().fold((0, 0), |(found, sum), &key| match c.get(key) {
        Some(value) => (found + 1, value.wrapping_add(sum)),
        None => (found, sum),
    })
}

#[inline(never)]
fn sum_of(c: &impl Map) -> u64 {
    c.sum()
}

#[inline(never)]
fn ranges(c: &impl Map, starts: &[u64]) -> u64 {
    starts.iter().fold(0, |sum: u64, &from| sum.wrapping_add(c.range(from).unwrap_or(1)))
}

#[inline(never)]
fn remove(c: &mut impl Map, keys: &[u64]) -> usize {
    keys.iter().filter(|&&key| c.remove(key)).count()
}

struct Keys {
    ascending: Vec<u64>,
    insert_order: Vec<u64>,
    lookup_order: Vec<u64>,
    absent: Vec<u64>,
    remove_order: Vec<u64>,
    starts: Vec<u64>,
    sum_of_ranges: u64,
}

impl Keys {
    /// Even keys exist, odd ones do not.
    fn new(n: usize, random: bool) -> Keys {
        let mut from = Random(7);
        let mut ascending: Vec<u64> = (0..n as u64).map(|i| 2 * i).collect();
        if random {
            let mut left = n;
            while left > 0 {
                ascending[n - left..].iter_mut().for_each(|key| *key = from.next() & !1);
                ascending.sort_unstable();
                ascending.dedup();
                left = n - ascending.len();
                ascending.resize(n, 0);
            }
            ascending.sort_unstable();
        }
        let order = |seed| if random { shuffled(&ascending, seed) } else { ascending.clone() };
        let [insert_order, lookup_order, remove_order] = [order(1), order(2), order(3)];
        let absent = lookup_order.iter().map(|key| key + 1).collect();
        let begins: Vec<usize> = (0..RANGES).map(|_| from.below(n)).collect();
        let range = |&i: &usize| ascending[i..n.min(i + COUNT)].iter().sum::<u64>();
        let sum_of_ranges = begins.iter().map(range).fold(0, u64::wrapping_add);
        let starts = begins.iter().map(|&i| ascending[i]).collect();
        Keys { insert_order, lookup_order, absent, remove_order, starts, sum_of_ranges, ascending }
    }

    /// `columns`: 2 for a map, whose values equal the keys; 1 for a set.
    fn live<C: Map>(&self, c: &mut C, columns: u64, phases: &mut Phases) {
        let n = self.ascending.len();
        let sum = self.ascending.iter().fold(0, |sum: u64, &key| sum.wrapping_add(key));
        let new = phases.time(0, || insert(c, &self.insert_order));
        phases.check(new == n && c.len() == n);
        let found = phases.time(1, || look(c, &self.lookup_order));
        phases.check(found == (n, sum));
        let found = phases.time(2, || look(c, &self.absent));
        phases.check(found == (0, 0));
        let found = phases.time(3, || sum_of(c));
        phases.check(found == sum.wrapping_mul(columns));
        if c.range(0).is_some() {
            let found = phases.time(4, || ranges(c, &self.starts));
            phases.check(found == self.sum_of_ranges.wrapping_mul(columns));
        }
        let removed = phases.time(5, || remove(c, &self.remove_order));
        phases.check(removed == n && c.len() == 0);
        if C::bulk(&[]).is_some() {
            // Its drop is part of the time.
            let len = phases.time(6, || C::bulk(&self.ascending).map_or(0, |c| black_box(c).len()));
            phases.check(len == n);
        }
    }
}

pub struct Ordered {
    n: usize,
    random: bool,
    columns: u64,
    pub all: Vec<Contender>,
}

impl Ordered {
    pub fn add<C: Map + 'static>(&mut self, name: &str, make: impl Fn() -> C) {
        let (mut c, keys, columns) = (make(), Keys::new(self.n, self.random), self.columns);
        let held = weigh(self.n, || {
            let mut c = make();
            keys.insert_order.iter().for_each(|&key| assert!(c.insert(key)));
            c
        });
        self.all.push(Contender::life(name, move |phases| keys.live(&mut c, columns, phases)).holding(held));
    }

    pub fn n(&self) -> usize {
        self.n
    }
}

/// The contenders of the cases.
pub trait Contenders {
    fn maps(rows: &mut Ordered);
    fn ordered_sets(rows: &mut Ordered);
}

fn contenders(n: usize, random: bool, columns: u64, add: fn(&mut Ordered)) -> Vec<Contender> {
    let mut rows = Ordered { n, random, columns, all: vec![] };
    add(&mut rows);
    rows.all
}

pub fn cases<C: Contenders + 'static>(larges: [usize; 2]) -> Vec<Case> {
    let mut cases = vec![];
    for (kind, columns, add) in [("omap", 2, C::maps as fn(&mut Ordered)), ("oset", 1, C::ordered_sets)] {
        for n in larges {
            for (order, random) in [("random", true), ("sequential", false)] {
                let operations = |part: &str| if part == "range" { RANGES } else { n };
                let rows = PARTS.iter().map(|part| (format!("{kind} {order} {part} {n}"), operations(part))).collect();
                cases.push(Case { rows, contenders: Box::new(move || contenders(n, random, columns, add)) });
            }
        }
    }
    cases
}
