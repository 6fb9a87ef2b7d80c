//! indexset: a tree of two levels, of sorted vectors.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::ordered::{Map, Ordered, COUNT};
use crate::payload::Payload;
use crate::sets::{Dict, Dicts, Scan, Scans, Set, Sets};
use crate::standard::{dict, map_verbs, set, set_verbs, sum_keys, sum_pairs};
use indexset::{BTreeMap, BTreeSet};

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

pub fn sets(rows: &mut Sets) {
    rows.add("indexset", BTreeSet::new);
}

pub fn dicts<const P: usize>(rows: &mut Dicts<P>) {
    rows.add("indexset", BTreeMap::<i64, Payload<P>>::new);
}

pub fn scans(rows: &mut Scans) {
    rows.add("indexset set", BTreeSet::new(), |c, j| c.insert(j));
    rows.add("indexset map", BTreeMap::new(), |c, j| c.insert(j, Payload::<1>::filled(0.0)).is_none());
}

pub fn maps(rows: &mut Ordered) {
    rows.add("indexset", BTreeMap::new);
}

pub fn ordered_sets(rows: &mut Ordered) {
    rows.add("indexset", BTreeSet::new);
}
