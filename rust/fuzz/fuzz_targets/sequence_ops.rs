//! The first byte says which collection of which kind, the rest are steps of three bytes each: the models of `rust/pools/tests/pools`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_main]

#[path = "../../pools/tests/pools/failing.rs"]
mod failing;
#[path = "../../pools/tests/pools/ledger.rs"]
mod ledger;
#[path = "../../pools/tests/pools/list_model.rs"]
mod list_model;
#[path = "../../pools/tests/pools/look.rs"]
mod look;
#[path = "../../pools/tests/pools/pair.rs"]
mod pair;
#[path = "../../pools/tests/pools/queue_model.rs"]
mod queue_model;
#[path = "../../pools/tests/pools/stack_model.rs"]
mod stack_model;

use failing::{Failing, Shared};
use libfuzzer_sys::fuzz_target;
use look::{Look, Step};
use toft::Arena;
use toft::{Heap, Memory};
use toft_pools::{Columns, List, Queue, Rows, Stack};

fn run<L: Look, M: Memory + Clone>(which: u8, memory: M, bytes: &[u8]) {
    let steps = |kinds: u8| -> Vec<Step> {
        bytes[..bytes.len().min(900)].chunks_exact(3).map(|b| (b[0] % kinds, b[1], b[2])).collect()
    };
    match which {
        0 => stack_model::play::<L, M>(Stack::new_in(memory), &steps(stack_model::KINDS)),
        1 => stack_model::play::<L, M>(Stack::fixed_in(13, memory), &steps(stack_model::KINDS)),
        2 => queue_model::play::<L, M>(Queue::new_in(memory), &steps(queue_model::KINDS)),
        3 => queue_model::play::<L, M>(Queue::fixed_in(13, memory), &steps(queue_model::KINDS)),
        4 => list_model::play::<L, M>(List::new_in(memory), &steps(list_model::KINDS)),
        _ => list_model::play::<L, M>(List::fixed_in(13, memory), &steps(list_model::KINDS)),
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
