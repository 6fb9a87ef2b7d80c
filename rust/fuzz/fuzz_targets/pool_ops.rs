//! The first byte says what kind of pool, the rest are steps of three bytes each: `rust/pools/tests/pools/pool_model.rs`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_main]

#[path = "../../pools/tests/pools/ledger.rs"]
mod ledger;
#[path = "../../pools/tests/pools/pair.rs"]
mod pair;
#[path = "../../pools/tests/pools/pool_model.rs"]
mod pool_model;
#[path = "../../tests/common/refusing.rs"]
mod refusing;

use ledger::Counted;
use libfuzzer_sys::fuzz_target;
use pair::Pair;
use pool_model::{play, Step, KINDS};
use refusing::Refusing;
use toft::Arena;
use toft::Heap;
use toft_pools::{Columns, Handle, Pool, Rows};

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let step = |b: &[u8]| -> Step { (b[0] % KINDS, u16::from_le_bytes([b[1], b[2]])) };
    let steps: Vec<Step> = bytes[..bytes.len().min(2000)].chunks_exact(3).map(step).collect();
    type Values = Pair<u8, Counted>;
    match kind % 9 {
        0 => play::<Rows, Handle<Counted>, _>(Pool::any_in(Heap), &steps),
        1 => play::<Rows, Handle<Counted, u16>, _>(Pool::any_fixed_in(70, Heap), &steps),
        2 => play::<Rows, u16, _>(Pool::any_in(Heap), &steps),
        3 => play::<Rows, u64, _>(Pool::any_fixed_in(65, Heap), &steps),
        4 => play::<Columns, Handle<Values>, _>(Pool::any_in(Heap), &steps),
        5 => play::<Columns, u32, _>(Pool::any_fixed_in(9, Heap), &steps),
        6 => play::<Rows, Handle<Counted>, _>(Pool::any_in(&Arena::new()), &steps),
        7 => play::<Columns, usize, _>(Pool::any_in(&Arena::new()), &steps),
        _ => {
            let failing = Refusing::default();
            play::<Columns, Handle<Values>, _>(Pool::any_in(&failing), &steps);
            assert_eq!(failing.bytes(), 0);
        }
    }
});
