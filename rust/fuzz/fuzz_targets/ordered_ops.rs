//! Bytes as streams of operations on ordered maps, against std's: ../../tests/common/ordered.rs.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_main]

#[path = "../../pools/tests/pools/ledger.rs"]
mod ledger;
#[path = "../../pools/tests/pools/ordered_model.rs"]
mod ordered_model;
#[path = "../../pools/tests/pools/pair.rs"]
mod pair;

use ledger::Counted;
use libfuzzer_sys::fuzz_target;
use ordered_model::{Large, Look, Step, TestKey, TestValue, World, KINDS};
use pair::Pair;
use toft::Heap;
use toft_pools::{Columns, OrderedMap, Rows};

fn play<K: TestKey, V: TestValue, L: Look<V>>(limit: u8, steps: &[Step]) {
    World::new(match limit {
        0..=200 => OrderedMap::<K, V, L, Heap>::any_in(Heap),
        limit => OrderedMap::any_fixed_in((usize::from(limit) - 200) * 8, Heap),
    })
    .play(steps);
}

fuzz_target!(|bytes: &[u8]| {
    let [kind, limit, bytes @ ..] = bytes else { return };
    let word = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]);
    let steps: Vec<Step> = bytes.chunks_exact(5).map(|b| (b[0] % KINDS, word(&b[1..]), word(&b[3..]))).collect();
    match kind % 6 {
        0 => play::<i64, Pair<Counted, i64>, Rows>(*limit, &steps),
        1 => play::<u8, Pair<Counted, [i64; 9]>, Rows>(*limit, &steps),
        2 => play::<String, Pair<Counted, i64>, Columns>(*limit, &steps),
        3 => play::<Large, Pair<Counted, i64>, Rows>(*limit, &steps),
        4 => play::<u64, Pair<Counted, i64>, Columns>(*limit, &steps),
        _ => play::<Large, Pair<Counted, [i64; 9]>, Rows>(*limit, &steps),
    }
});
