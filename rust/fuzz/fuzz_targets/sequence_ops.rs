//! The first byte says which collection of which kind, the rest are steps of three bytes each: the models of `rust/pools/tests/pools`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_main]

#[path = "../../pools/tests/pools/ledger.rs"]
mod ledger;
#[path = "../../pools/tests/pools/look.rs"]
mod look;
#[path = "../../pools/tests/pools/pair.rs"]
mod pair;
#[path = "../../tests/common/refusing.rs"]
mod refusing;
#[path = "../../pools/tests/pools/sequence_model.rs"]
mod sequence_model;

use libfuzzer_sys::fuzz_target;
use look::{Look, Step, Twin};
use refusing::Refusing;
use sequence_model::{kinds, Sequence};
use toft::Arena;
use toft::{Heap, Memory};
use toft_pools::{Columns, List, Queue, Rows, Stack};

fn play<S: Sequence>(values: S, bytes: &[u8]) {
    let step = |b: &[u8]| -> Step { (b[0] % kinds::<S>(), b[1], b[2]) };
    let steps: Vec<Step> = bytes[..bytes.len().min(900)].chunks_exact(3).map(step).collect();
    sequence_model::play(values, &steps);
}

fn run<M: Memory + Clone>(which: u8, memory: M, bytes: &[u8]) {
    match which {
        0 => play(Stack::<Twin, Columns, M>::any_in(memory), bytes),
        1 => play(Queue::<Twin, Columns, M>::any_in(memory), bytes),
        2 => play(List::<Twin, Columns, M>::any_in(memory), bytes),
        3 => play(List::<Twin, Rows, M>::any_in(memory), bytes),
        4..=6 => run_fixed::<Rows, M>(which - 4, memory, bytes),
        _ => run_fixed::<Columns, M>(which - 7, memory, bytes),
    }
}

fn run_fixed<L: Look, M: Memory + Clone>(which: u8, memory: M, bytes: &[u8]) {
    match which {
        0 => play(Stack::<Twin, L, M>::any_fixed_in(13, memory), bytes),
        1 => play(Queue::<Twin, L, M>::any_fixed_in(13, memory), bytes),
        _ => play(List::<Twin, L, M>::any_fixed_in(13, memory), bytes),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let which = kind / 3 % 10;
    match kind % 3 {
        0 => run(which, Heap, bytes),
        1 => run(which, &Arena::new(), bytes),
        _ => {
            let failing = Refusing::default();
            run(which, &failing, bytes);
            assert_eq!(failing.bytes(), 0);
        }
    }
});
