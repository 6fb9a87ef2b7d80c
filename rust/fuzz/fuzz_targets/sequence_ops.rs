//! The first byte says which collection of which kind, the rest are steps of three bytes each: the models of `rust/pools/tests/pools`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_main]

#[path = "../../pools/tests/pools/failing.rs"]
mod failing;
#[path = "../../pools/tests/pools/ledger.rs"]
mod ledger;
#[path = "../../pools/tests/pools/look.rs"]
mod look;
#[path = "../../pools/tests/pools/pair.rs"]
mod pair;
#[path = "../../pools/tests/pools/sequence_model.rs"]
mod sequence_model;

use failing::{Failing, Shared};
use libfuzzer_sys::fuzz_target;
use look::{Look, Step, Twin};
use sequence_model::{kinds, Sequence};
use toft::Arena;
use toft::{Heap, Memory};
use toft_pools::{Columns, List, Queue, Rows, Stack};

fn play<S: Sequence>(values: S, bytes: &[u8]) {
    let step = |b: &[u8]| -> Step { (b[0] % kinds::<S>(), b[1], b[2]) };
    let steps: Vec<Step> = bytes[..bytes.len().min(900)].chunks_exact(3).map(step).collect();
    sequence_model::play(values, &steps);
}

fn run<L: Look, M: Memory + Clone>(which: u8, memory: M, bytes: &[u8]) {
    match which {
        0 => play(Stack::<Twin, L, M>::new_in(memory), bytes),
        1 => play(Stack::<Twin, L, M>::fixed_in(13, memory), bytes),
        2 => play(Queue::<Twin, L, M>::new_in(memory), bytes),
        3 => play(Queue::<Twin, L, M>::fixed_in(13, memory), bytes),
        4 => play(List::<Twin, L, M>::new_in(memory), bytes),
        _ => play(List::<Twin, L, M>::fixed_in(13, memory), bytes),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let which = kind / 6 % 6;
    match kind % 6 {
        0 => run::<Rows, _>(which, Heap, bytes),
        1 => run::<Columns, _>(which, Heap, bytes),
        2 => run::<Rows, _>(which, &Arena::new(), bytes),
        3 => run::<Columns, _>(which, &Arena::new(), bytes),
        rows => {
            let failing = Failing::new();
            if rows == 4 {
                run::<Rows, _>(which, Shared(&failing), bytes);
            } else {
                run::<Columns, _>(which, Shared(&failing), bytes);
            }
            assert_eq!(failing.bytes_out(), 0);
        }
    }
});
