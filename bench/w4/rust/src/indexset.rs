//! indexset: a tree of two levels, of sorted vectors.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::ordered::{Map, Ordered, COUNT};
use crate::payload::Payload;
use crate::sets::{Dict, Dicts, Scan, Scans, Set, Sets};
use crate::standard::{dict, map_verbs, set, set_verbs, sum_keys, sum_pairs, trees};
use indexset::{BTreeMap, BTreeSet};

trees!();

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
