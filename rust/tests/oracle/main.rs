//! Reports of instrumented arenas, compared with counts taken at each call.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![allow(clippy::undocumented_unsafe_blocks)]

#[path = "../common/oracle.rs"]
mod oracle;

mod bytes;
mod frames;
mod functions;
mod samples;
mod streams;
mod tags;

use std::collections::BTreeSet;

use oracle::{Counted, Granules, Tally, COUNTED, NON_ALLOCATING};
use proptest::prelude::*;
use proptest::test_runner::Config;
use toft::{abi, Arena, Finding, Frames, Mark, Options, Report, Scope};

const MIRI: bool = cfg!(miri);
const TAGS: [&str; 4] = ["", "world", "sound", "ai"];

fn is_short() -> bool {
    MIRI || std::env::var_os("TOFT_SHORT").is_some()
}

fn config(cases: u32) -> Config {
    Config { cases: if is_short() { 4 } else { cases }, failure_persistence: None, ..Config::default() }
}

/// The bytes of a vector that its arena drops: a cleanup of four words, and the vector.
const DROPPED: usize = (7 * size_of::<usize>()).next_multiple_of(8);

#[derive(Clone, Debug)]
enum Op {
    /// A call of the list.
    Call(usize, usize),
    Alloc(usize),
    Drops,
    /// Grows or shrinks the newest allocation.
    Resize(usize),
    Free,
    Cursor(usize),
    Tag(usize),
    Untag,
    Phase(usize),
    Unphase,
    Open,
    Close(usize),
    Mark,
    Rewind(usize),
    Take,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (any::<usize>(), 1..300usize).prop_map(|(k, n)| Op::Call(k, n)),
        6 => prop_oneof![9 => 1..300usize, 1 => 1..20_000usize].prop_map(Op::Alloc),
        1 => Just(Op::Drops),
        2 => (1..600usize).prop_map(Op::Resize),
        1 => Just(Op::Free),
        1 => (1..30usize).prop_map(Op::Cursor),
        3 => (0..TAGS.len()).prop_map(Op::Tag),
        2 => Just(Op::Untag),
        1 => (0..2usize).prop_map(Op::Phase),
        1 => Just(Op::Unphase),
        1 => Just(Op::Open),
        1 => (0..9usize).prop_map(Op::Close),
        1 => Just(Op::Mark),
        1 => (0..9usize).prop_map(Op::Rewind),
        1 => Just(Op::Take),
    ]
}

fn rounds() -> impl Strategy<Value = Vec<Vec<Op>>> {
    prop::collection::vec(prop::collection::vec(op(), if MIRI { 1..15 } else { 1..120 }), 1..5)
}
