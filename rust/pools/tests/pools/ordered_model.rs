//! Streams of operations on an ordered map and on std's, compared after each step.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use core::fmt::Debug;
use core::ops::{Bound, RangeBounds};
use std::collections::BTreeMap;

use crate::ledger::{Counted, Ledger};
use crate::pair::Pair;
use toft::Memory;
use toft_pools::ordered_map::Entry;
use toft_pools::{CapacityError, CloneIn, Columns, OrderedMap, Rows};

/// Keys made of numbers, in the order of the numbers.
pub trait TestKey: Ord + Clone + Debug {
    fn key(ledger: &Ledger, n: u16) -> Self;
}

impl TestKey for u8 {
    fn key(_: &Ledger, n: u16) -> u8 {
        n as u8 // more numbers than keys: most keys exist already
    }
}

/// With both ends of the type among them: unused places also hold the greatest number.
impl TestKey for i64 {
    fn key(_: &Ledger, n: u16) -> i64 {
        match n % 1024 {
            0 => i64::MIN,
            1023 => i64::MAX,
            n => i64::from(n) - 500,
        }
    }
}

impl TestKey for u64 {
    fn key(_: &Ledger, n: u16) -> u64 {
        u64::MAX - u64::from(1023 - n % 1024)
    }
}

impl TestKey for char {
    fn key(_: &Ledger, n: u16) -> char {
        char::from_u32(u32::from(char::MAX) - u32::from(1023 - n % 1024)).unwrap()
    }
}

impl TestKey for u128 {
    fn key(_: &Ledger, n: u16) -> u128 {
        u128::from(n % 1024) << 100
    }
}

impl TestKey for String {
    fn key(_: &Ledger, n: u16) -> String {
        format!("{:04}", n % 1024)
    }
}

impl TestKey for (u32, u32) {
    fn key(_: &Ledger, n: u16) -> (u32, u32) {
        (u32::from(n % 1024) / 32, u32::from(n) % 32)
    }
}

impl TestKey for Counted {
    fn key(ledger: &Ledger, n: u16) -> Counted {
        ledger.value(i64::from(n % 1024))
    }
}

/// So large that nodes have 4 places, which makes the tree deep.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(align(128))]
pub struct Large([u16; 100]);

impl TestKey for Large {
    fn key(_: &Ledger, n: u16) -> Large {
        Large([n % 512; 100])
    }
}

/// Counted values that hold their number twice.
pub trait TestValue: Sized + Clone {
    fn value(ledger: &Ledger, number: i64) -> Self;
    fn number(&self) -> i64;
}

impl TestValue for Pair<Counted, i64> {
    fn value(ledger: &Ledger, number: i64) -> Self {
        Pair(ledger.value(number), number)
    }
    fn number(&self) -> i64 {
        assert_eq!(self.0.number, self.1);
        self.1
    }
}

/// Too large for leaves.
impl TestValue for Pair<Counted, [i64; 9]> {
    fn value(ledger: &Ledger, number: i64) -> Self {
        Pair(ledger.value(number), [number; 9])
    }
    fn number(&self) -> i64 {
        assert_eq!([self.0.number; 9], self.1);
        self.0.number
    }
}

/// Access to values for tests that are generic over layouts.
pub trait Look<V>: CloneIn<V> {
    fn number(value: Self::Ref<'_>) -> i64;
    fn set(value: Self::Mut<'_>, new: V);
    fn retain<K, M: Memory>(map: &mut OrderedMap<K, V, Self, M>, keeps: impl FnMut(&K) -> bool)
    where
        Self: Sized;
    /// The first `n` pairs that `extract_if` returns.
    fn extract<K: Ord, M: Memory>(
        map: &mut OrderedMap<K, V, Self, M>,
        range: impl RangeBounds<K>,
        n: usize,
        takes: impl FnMut(&K) -> bool,
    ) -> Vec<(K, V)>
    where
        Self: Sized;
}

impl<V: TestValue> Look<V> for Rows {
    fn number(value: &V) -> i64 {
        value.number()
    }
    fn set(value: &mut V, new: V) {
        *value = new;
    }
    fn retain<K, M: Memory>(map: &mut OrderedMap<K, V, Rows, M>, mut keeps: impl FnMut(&K) -> bool) {
        map.retain(|key, value| {
            value.number();
            keeps(key)
        });
    }
    fn extract<K: Ord, M: Memory>(
        map: &mut OrderedMap<K, V, Rows, M>,
        range: impl RangeBounds<K>,
        n: usize,
        mut takes: impl FnMut(&K) -> bool,
    ) -> Vec<(K, V)> {
        let takes = |key: &K, value: &mut V| value.number() == value.number() && takes(key);
        map.extract_if(range, takes).take(n).collect()
    }
}

impl Look<Pair<Counted, i64>> for Columns {
    fn number((counted, number): (&Counted, &i64)) -> i64 {
        assert_eq!(counted.number, *number);
        *number
    }
    fn set((counted, number): (&mut Counted, &mut i64), new: Pair<Counted, i64>) {
        (*counted, *number) = (new.0, new.1);
    }
    fn retain<K, M: Memory>(
        map: &mut OrderedMap<K, Pair<Counted, i64>, Columns, M>,
        mut keeps: impl FnMut(&K) -> bool,
    ) {
        map.retain(|key, (counted, number)| {
            assert_eq!(counted.number, *number);
            keeps(key)
        });
    }
    fn extract<K: Ord, M: Memory>(
        map: &mut OrderedMap<K, Pair<Counted, i64>, Columns, M>,
        range: impl RangeBounds<K>,
        n: usize,
        mut takes: impl FnMut(&K) -> bool,
    ) -> Vec<(K, Pair<Counted, i64>)> {
        map.extract_if(range, |key, (counted, number)| counted.number == *number && takes(key)).take(n).collect()
    }
}

/// An operation, a key, and a distance from it.
pub type Step = (u8, u16, u16);

/// The number of kinds of steps.
pub const KINDS: u8 = 25;

pub struct World<K, V, L: Look<V>, M: Memory> {
    pub ledger: Ledger,
    pub map: OrderedMap<K, V, L, M>,
    pub model: BTreeMap<K, i64>,
    next: i64,
}

impl<K: TestKey, V: TestValue, L: Look<V>, M: Memory + Clone> World<K, V, L, M> {
    pub fn new(map: OrderedMap<K, V, L, M>) -> Self {
        World { ledger: Ledger::new(), map, model: BTreeMap::new(), next: 0 }
    }

    fn value(&mut self) -> (i64, V) {
        self.next += 1;
        (self.next, V::value(&self.ledger, self.next))
    }

    fn key(&self, n: u16) -> K {
        K::key(&self.ledger, n)
    }

    fn is_full(&self) -> bool {
        self.map.fixed_capacity().is_some_and(|limit| self.model.len() == limit)
    }

    fn insert(&mut self, n: u16) {
        let (number, value) = self.value();
        let key = self.key(n);
        if self.is_full() && !self.model.contains_key(&key) {
            let Err(CapacityError((k, v))) = self.map.try_insert(key.clone(), value) else {
                panic!("more than there may be")
            };
            assert_eq!((k, v.number()), (key, number));
            return;
        }
        let old = self.map.insert(key.clone(), value);
        assert_eq!(old.map(|old| old.number()), self.model.insert(key, number));
    }

    fn remove(&mut self, n: u16) {
        let key = self.key(n);
        match self.map.remove_entry(&key) {
            Some((k, v)) => {
                assert_eq!(k, key);
                assert_eq!(Some(v.number()), self.model.remove(&key));
            }
            None => assert!(!self.model.contains_key(&key)),
        }
    }

    fn entry(&mut self, n: u16, how: u16) {
        let key = self.key(n);
        let (number, value) = self.value();
        let full = self.is_full();
        match (self.map.entry(key.clone()), self.model.get_mut(&key)) {
            (Entry::Occupied(mut entry), Some(old)) => {
                assert_eq!(entry.key(), &key);
                assert_eq!(L::number(entry.get()), *old);
                match how % 3 {
                    0 => {
                        assert_eq!(entry.insert(value).number(), *old);
                        *old = number;
                    }
                    1 => {
                        L::set(entry.into_mut(), value);
                        *old = number;
                    }
                    _ => {
                        assert_eq!(entry.remove().number(), *old);
                        self.model.remove(&key);
                    }
                }
            }
            (Entry::Vacant(entry), None) => {
                assert_eq!(entry.key(), &key);
                if full {
                    assert!(entry.try_insert(value).is_err());
                    return;
                }
                let entry = entry.insert_entry(value);
                assert_eq!((entry.key(), L::number(entry.get())), (&key, number));
                self.model.insert(key, number);
            }
            (entry, model) => panic!("{} {model:?}", matches!(entry, Entry::Vacant(_))),
        }
    }

    fn range(&mut self, a: u16, b: u16) {
        let (a, b) = (self.key(a), self.key(b));
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        let bounds = match self.next % 5 {
            0 => (Bound::Included(&low), Bound::Included(&high)),
            1 => (Bound::Included(&low), Bound::Excluded(&high)),
            2 => (Bound::Excluded(&low), Bound::Included(&high)),
            3 => (Bound::Unbounded, Bound::Excluded(&high)),
            _ => (Bound::Excluded(&low), Bound::Unbounded),
        };
        let expected: Vec<_> = self.model.range::<K, _>(bounds).map(|(k, v)| (k.clone(), *v)).collect();
        let found = self.map.range::<K, _>(bounds).map(|(k, v)| (k.clone(), L::number(v)));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let found = self.map.range::<K, _>(bounds).rev().map(|(k, v)| (k.clone(), L::number(v)));
        assert!(found.eq(expected.iter().rev().cloned()));
        // From both ends to the middle.
        let mut found = self.map.range_mut::<K, _>(bounds);
        let mut expected = expected.into_iter();
        for i in 0.. {
            let ((x, y), end) = match i % 3 {
                0 => ((found.next_back(), expected.next_back()), self.next),
                _ => ((found.next(), expected.next()), self.next),
            };
            let over = y.is_none();
            if let Some((_, value)) = x {
                L::set(value, V::value(&self.ledger, end));
                self.model.insert(y.unwrap().0, end);
            } else {
                assert!(over);
            }
            if over {
                break;
            }
        }
    }

    fn all(&mut self) {
        assert!(self
            .map
            .iter()
            .map(|(k, v)| (k.clone(), L::number(v)))
            .eq(self.model.iter().map(|(k, v)| (k.clone(), *v))));
        assert!(self.map.keys().rev().eq(self.model.keys().rev()));
        assert_eq!(self.map.values().map(L::number).sum::<i64>(), self.model.values().sum::<i64>());
        let mut walked = Vec::new();
        self.map.iter().for_each(|(k, _)| walked.push(k.clone())); // by fold
        assert!(walked.iter().eq(self.model.keys()));
        let mut mixed = self.map.iter_mut();
        let mut left = self.model.len();
        while mixed.len() > 0 {
            let pair = if left % 3 == 0 { mixed.next_back() } else { mixed.next() };
            left -= 1;
            assert!(pair.is_some());
            assert_eq!(mixed.len(), left);
        }
        assert!(mixed.next().is_none() && mixed.next_back().is_none());
    }

    pub fn step(&mut self, (kind, a, b): Step) {
        match kind {
            0..=2 => self.insert(a),
            3 | 4 => self.remove(a),
            5 => (0..b % 300).for_each(|i| self.insert(a.wrapping_add(i))),
            6 => (0..b % 300).for_each(|i| self.insert(a.wrapping_sub(i))),
            7 => (0..b % 300).for_each(|i| self.insert(a.wrapping_add(i.wrapping_mul(7919)))),
            8 => (0..b % 300).for_each(|i| self.remove(a.wrapping_add(i))),
            9 => (0..b % 300).for_each(|i| self.remove(a.wrapping_sub(i))),
            10 => (0..b % 300).for_each(|i| self.remove(a.wrapping_add(i.wrapping_mul(7919)))),
            11 => {
                let key = self.key(a);
                assert_eq!(self.map.get(&key).map(L::number), self.model.get(&key).copied());
                assert_eq!(self.map.contains_key(&key), self.model.contains_key(&key));
                assert_eq!(
                    self.map.get_key_value(&key).map(|(k, _)| k),
                    self.model.get_key_value(&key).map(|(k, _)| k)
                );
            }
            12 => {
                let key = self.key(a);
                let (number, value) = self.value();
                if let Some(old) = self.map.get_mut(&key) {
                    L::set(old, value);
                    *self.model.get_mut(&key).unwrap() = number;
                }
            }
            13 => self.entry(a, b),
            14 => self.range(a, b),
            15.. => self.step_of_all(kind, a, b),
        }
        assert_eq!(self.map.len(), self.model.len());
        self.map.check();
    }

    /// Splits the map at a key; the part from there on returns or is dropped.
    fn split(&mut self, a: u16, returns: bool) {
        let key = self.key(a);
        let mut high = self.map.split_off(&key);
        let expected = self.model.split_off(&key);
        self.map.check();
        high.check();
        assert!(high.iter().map(|(k, v)| (k.clone(), L::number(v))).eq(expected.clone()));
        if returns {
            self.map.append(&mut high);
            assert!(high.is_empty());
            self.model.extend(expected);
        }
    }

    /// Steps that concern many keys.
    fn step_of_all(&mut self, kind: u8, a: u16, b: u16) {
        match kind {
            15 => {
                for _ in 0..b % 40 {
                    assert_eq!(self.map.first_key_value().map(|(k, _)| k), self.model.keys().next());
                    let popped = self.map.pop_first().map(|(k, v)| (k, v.number()));
                    assert_eq!(popped, self.model.pop_first());
                }
            }
            16 => {
                for _ in 0..b % 40 {
                    assert_eq!(self.map.last_key_value().map(|(k, _)| k), self.model.keys().next_back());
                    let popped = self.map.pop_last().map(|(k, v)| (k, v.number()));
                    assert_eq!(popped, self.model.pop_last());
                }
            }
            17 => {
                let mut n = 0;
                let mut keeps = |_: &K| {
                    n += 1;
                    (n * (usize::from(b) | 1)) % 5 != 0
                };
                let kept: Vec<bool> = self.model.keys().map(&mut keeps).collect();
                let (mut x, mut y) = (kept.iter(), kept.iter());
                L::retain(&mut self.map, |_| *x.next().unwrap());
                self.model.retain(|_, _| *y.next().unwrap());
            }
            18 => self.split(a, b % 2 == 0),
            19 if b % 8 == 0 => {
                self.map.clear();
                self.model.clear();
            }
            20 => {
                let copy = self.map.clone();
                copy.check();
                assert!(copy
                    .iter()
                    .map(|(k, v)| (k, L::number(v)))
                    .eq(self.map.iter().map(|(k, v)| (k, L::number(v)))));
                if b % 2 == 0 {
                    self.map = copy;
                }
            }
            21 => self.map.shrink_to_fit(),
            22 => {
                let copy = self.map.clone();
                let mut pairs = copy.into_iter();
                let mut expected = self.model.clone().into_iter();
                for i in 0..b % 100 {
                    let (x, y) = match i % 3 {
                        0 => (pairs.next_back(), expected.next_back()),
                        _ => (pairs.next(), expected.next()),
                    };
                    assert_eq!(x.map(|(k, v)| (k, v.number())), y);
                    assert_eq!(pairs.len(), expected.len());
                }
            }
            23 => self.extract(a, b),
            _ => self.all(),
        }
    }

    /// Some of the pairs of a range, and perhaps not all of those are taken.
    fn extract(&mut self, a: u16, b: u16) {
        let (a, z) = (self.key(a), self.key(a.saturating_add(b % 200)));
        let (from, to) = if a <= z { (a, z) } else { (z, a) };
        let most = usize::from(b % 3) * 30;
        let filter = || {
            let mut n = 0;
            move |_: &K| {
                n += 1;
                (n * (usize::from(b) | 1)) % 5 != 0
            }
        };
        let (keys, mut takes) = (self.model.range(&from..&to).map(|(k, _)| k.clone()), filter());
        let taken: Vec<K> = keys.filter(|key| takes(key)).take(most).collect();
        let found = L::extract(&mut self.map, &from..&to, most, filter());
        assert_eq!(found.len(), taken.len());
        for ((key, value), expected) in found.into_iter().zip(taken) {
            assert!(key == expected);
            assert_eq!(Some(value.number()), self.model.remove(&expected));
        }
    }

    pub fn play(mut self, steps: &[Step]) {
        for step in steps {
            self.step(*step);
        }
        self.all();
        let World { ledger, map, model, .. } = self;
        drop(map);
        drop(model);
        ledger.assert_empty();
    }
}
