//! hashbrown, with its own hasher, foldhash.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::hashes::Hashes;
use crate::ordered::{Map, Ordered};
use crate::payload::Payload;
use crate::sets::{Dict, Dicts, Set, Sets};
use crate::standard::{dict, map_verbs, set, set_verbs};
use hashbrown::{HashMap, HashSet};
use std::hash::BuildHasher;

set!(HashSet<i64, S>, S: BuildHasher);
dict!(HashMap<i64, V, S>, S: BuildHasher);

impl<S: BuildHasher> Map for HashMap<u64, u64, S> {
    map_verbs!();
}

impl<S: BuildHasher> Map for HashSet<u64, S> {
    set_verbs!();
}

pub fn sets(rows: &mut Sets) {
    let most = rows.most();
    rows.add("hashbrown", move || HashSet::<i64>::with_capacity(most));
    rows.fresh("hashbrown fresh", HashSet::<i64>::new);
}

pub fn dicts<const P: usize>(rows: &mut Dicts<P>) {
    let most = rows.most();
    rows.add("hashbrown", move || HashMap::<i64, Payload<P>>::with_capacity(most));
    rows.fresh("hashbrown fresh", HashMap::<i64, Payload<P>>::new);
}

pub fn maps(rows: &mut Ordered) {
    let n = rows.n();
    rows.add("hashbrown", move || HashMap::<u64, u64>::with_capacity(n));
}

pub fn ordered_sets(rows: &mut Ordered) {
    let n = rows.n();
    rows.add("hashbrown", move || HashSet::<u64>::with_capacity(n));
}

pub fn hash_hits(rows: &mut Hashes) {
    rows.hits("hashbrown", HashMap::<u64, u64>::new());
}

pub fn hash_rounds(rows: &mut Hashes) {
    rows.rounds("hashbrown", |round| round(&mut HashMap::<u64, u64>::new()));
}
