//! Collections of the standard library.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::hashes::Hashes;
use crate::ordered::{Map, Ordered, COUNT};
use crate::payload::{Item, Payload};
use crate::sequences::{Ends, Front, Rows};
use crate::sets::{Dict, Dicts, Scan, Scans, Set, Sets};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};

// ---- lists, stacks and queues ----

/// The newest are at the end.
impl<const P: usize> Front<P> for Vec<Item<P>> {
    type Begin = ();

    #[inline(always)]
    fn put(&mut self, (): &mut (), item: Item<P>) {
        self.push(item);
    }
    #[inline(always)]
    fn walk(&mut self, (): ()) -> u64 {
        let sum = self.iter().rev().map(|item| item.number).sum();
        self.clear();
        sum
    }
}

impl<const P: usize> Front<P> for LinkedList<Item<P>> {
    type Begin = ();

    #[inline(always)]
    fn put(&mut self, (): &mut (), item: Item<P>) {
        self.push_front(item);
    }
    #[inline(always)]
    fn walk(&mut self, (): ()) -> u64 {
        let sum = self.iter().map(|item| item.number).sum();
        self.clear();
        sum
    }
}

impl<const P: usize> Ends<P> for Vec<Item<P>> {
    #[inline(always)]
    fn push(&mut self, item: Item<P>) {
        self.push(item);
    }
    #[inline(always)]
    fn pop(&mut self) -> Option<Item<P>> {
        self.pop()
    }
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

/// A queue: pushed at the back.
impl<const P: usize> Ends<P> for VecDeque<Item<P>> {
    #[inline(always)]
    fn push(&mut self, item: Item<P>) {
        self.push_back(item);
    }
    #[inline(always)]
    fn pop(&mut self) -> Option<Item<P>> {
        self.pop_front()
    }
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

pub fn sequences<const P: usize>(rows: &mut Rows<P>) {
    rows.list("LinkedList", LinkedList::<Item<P>>::new);
    rows.list("Vec", Vec::<Item<P>>::new);
    rows.fresh_list("Vec fresh", Vec::<Item<P>>::new);
    rows.stack("Vec", Vec::<Item<P>>::new);
    rows.fresh_stack("Vec fresh", Vec::<Item<P>>::new);
    rows.queue("VecDeque", VecDeque::<Item<P>>::new);
    rows.fresh_queue("VecDeque fresh", VecDeque::<Item<P>>::new);
}

// ---- sets and dictionaries ----

macro_rules! set {
    ($type:ty $(, $state:ident: $bound:path)?) => {
        impl$(<$state: $bound>)? Set for $type {
            #[inline(always)]
            fn add(&mut self, key: i64) {
                self.insert(key);
            }
            #[inline(always)]
            fn has(&self, key: i64) -> bool {
                self.contains(&key)
            }
            #[inline(always)]
            fn remove(&mut self, key: i64) {
                self.remove(&key);
            }
            #[inline(always)]
            fn is_empty(&self) -> bool {
                self.is_empty()
            }
        }
    };
}

macro_rules! dict {
    ($type:ty $(, $state:ident: $bound:path)?) => {
        impl<V: PartialEq $(, $state: $bound)?> Dict<V> for $type {
            #[inline(always)]
            fn put(&mut self, key: i64, value: V) {
                self.insert(key, value);
            }
            #[inline(always)]
            fn has(&self, key: i64) -> bool {
                self.contains_key(&key)
            }
            #[inline(always)]
            fn agrees(&self, key: i64, value: &V) -> bool {
                self.get(&key) == Some(value)
            }
            #[inline(always)]
            fn remove(&mut self, key: i64) {
                self.remove(&key);
            }
            #[inline(always)]
            fn is_empty(&self) -> bool {
                self.is_empty()
            }
        }
    };
}

#[allow(unused_imports)] // where all rivals are left out
pub(crate) use {dict, set};

set!(HashSet<i64, S>, S: BuildHasher);
dict!(HashMap<i64, V, S>, S: BuildHasher);

pub fn sets(rows: &mut Sets) {
    let most = rows.most();
    rows.add("BTreeSet", BTreeSet::new);
    rows.add("HashSet", move || HashSet::with_capacity(most));
    rows.fresh("HashSet fresh", HashSet::<i64>::new);
}

pub fn dicts<const P: usize>(rows: &mut Dicts<P>) {
    let most = rows.most();
    rows.add("BTreeMap", BTreeMap::<i64, Payload<P>>::new);
    rows.add("HashMap", move || HashMap::<i64, Payload<P>>::with_capacity(most));
    rows.fresh("HashMap fresh", HashMap::<i64, Payload<P>>::new);
}

pub fn scans(rows: &mut Scans) {
    rows.add("BTreeSet", BTreeSet::new(), |c, j| c.insert(j));
    rows.add("BTreeMap", BTreeMap::new(), |c, j| c.insert(j, Payload::<1>::filled(0.0)).is_none());
}

// ---- ordered ----

/// The sum of pairs.
pub fn sum_pairs<'a>(pairs: impl Iterator<Item = (&'a u64, &'a u64)>) -> u64 {
    pairs.fold(0, |sum, (key, value)| sum.wrapping_add(*key).wrapping_add(*value))
}

pub fn sum_keys<'a>(keys: impl Iterator<Item = &'a u64>) -> u64 {
    keys.fold(0, |sum, key| sum.wrapping_add(*key))
}

macro_rules! map_verbs {
    () => {
        #[inline(always)]
        fn insert(&mut self, key: u64) -> bool {
            self.insert(key, key).is_none()
        }
        #[inline(always)]
        fn get(&self, key: u64) -> Option<u64> {
            self.get(&key).copied()
        }
        #[inline(always)]
        fn remove(&mut self, key: u64) -> bool {
            self.remove(&key).is_some()
        }
        #[inline(always)]
        fn sum(&self) -> u64 {
            $crate::standard::sum_pairs(self.iter())
        }
        #[inline(always)]
        fn len(&self) -> usize {
            self.len()
        }
    };
}

macro_rules! set_verbs {
    () => {
        #[inline(always)]
        fn insert(&mut self, key: u64) -> bool {
            self.insert(key)
        }
        #[inline(always)]
        fn get(&self, key: u64) -> Option<u64> {
            self.contains(&key).then_some(key)
        }
        #[inline(always)]
        fn remove(&mut self, key: u64) -> bool {
            self.remove(&key)
        }
        #[inline(always)]
        fn sum(&self) -> u64 {
            $crate::standard::sum_keys(self.iter())
        }
        #[inline(always)]
        fn len(&self) -> usize {
            self.len()
        }
    };
}

/// The traits of `BTreeMap` and `BTreeSet`, which two crates have.
macro_rules! trees {
    () => {
        set!(BTreeSet<i64>);
        dict!(BTreeMap<i64, V>);

        impl Scan for BTreeSet<i64> {
            #[inline(always)]
            fn between(&self, low: i64, high: i64) -> i64 {
                self.range(low..=high).sum()
            }
        }

        impl<V> Scan for BTreeMap<i64, V> {
            #[inline(always)]
            fn between(&self, low: i64, high: i64) -> i64 {
                self.range(low..=high).map(|(key, _)| key).sum()
            }
        }

        impl Map for BTreeMap<u64, u64> {
            map_verbs!();
            #[inline(always)]
            fn range(&self, from: u64) -> Option<u64> {
                Some(sum_pairs(self.range(from..).take(COUNT)))
            }
            fn bulk(ascending: &[u64]) -> Option<Self> {
                Some(ascending.iter().map(|&key| (key, key)).collect())
            }
        }

        impl Map for BTreeSet<u64> {
            set_verbs!();
            #[inline(always)]
            fn range(&self, from: u64) -> Option<u64> {
                Some(sum_keys(self.range(from..).take(COUNT)))
            }
            fn bulk(ascending: &[u64]) -> Option<Self> {
                Some(ascending.iter().copied().collect())
            }
        }
    };
}

#[allow(unused_imports)]
pub(crate) use {map_verbs, set_verbs, trees};

trees!();

impl<S: BuildHasher> Map for HashMap<u64, u64, S>
where
    u64: Hash,
{
    map_verbs!();
}

impl<S: BuildHasher> Map for HashSet<u64, S> {
    set_verbs!();
}

pub fn maps(rows: &mut Ordered) {
    let n = rows.n();
    rows.add("BTreeMap", BTreeMap::new);
    rows.add("HashMap", move || HashMap::<u64, u64>::with_capacity(n));
}

pub fn ordered_sets(rows: &mut Ordered) {
    let n = rows.n();
    rows.add("BTreeSet", BTreeSet::new);
    rows.add("HashSet", move || HashSet::<u64>::with_capacity(n));
}

pub fn hash_hits(rows: &mut Hashes) {
    rows.hits("HashMap", HashMap::<u64, u64>::new());
}

pub fn hash_rounds(rows: &mut Hashes) {
    rows.rounds("HashMap", |round| round(&mut HashMap::<u64, u64>::new()));
}
