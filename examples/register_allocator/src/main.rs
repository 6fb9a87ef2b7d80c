//! Allocates registers for functions that regalloc2's generator makes from a fixed stream of bytes. `check` verifies the
//! results by regalloc2's checker and prints a hash of them. `ROUNDS` measures rounds, with one context for all functions,
//! and prints them in the format of ../measure.h.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint::black_box;

use arbitrary::Unstructured;
use regalloc2::checker::Checker;
use regalloc2::fuzzing::func::{Func, Options, machine_env};
use regalloc2::{Ctx, MachineEnv, Output, RegallocOptions, run_with_ctx};

mod measure;

const FUNCTIONS: usize = 40;
const BYTES: usize = 400_000; // for a function: more than the largest needs

/// The functions, from bytes of a generator with a fixed seed.
fn functions() -> Vec<Func> {
    let options = Options {
        reused_inputs: true,
        fixed_regs: true,
        fixed_nonallocatable: true,
        clobbers: true,
        reftypes: true,
        callsite_ish_constraints: true,
        num_blocks: 20..=200,
        ..Options::DEFAULT
    };
    let mut state = 1u64;
    let mut byte = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    let mut made = Vec::new();
    while made.len() < FUNCTIONS {
        let bytes: Vec<u8> = (0..BYTES).map(|_| byte()).collect();
        made.extend(Func::arbitrary_with_options(&mut Unstructured::new(&bytes), &options));
    }
    made
}

/// Allocates the registers of every function, and calls `each` with the results.
fn allocate(functions: &[Func], env: &MachineEnv, context: &mut Ctx, mut each: impl FnMut(&Func, &Output)) {
    for function in functions {
        each(function, run_with_ctx(function, env, &RegallocOptions::default(), context).expect("registers"));
    }
}

fn main() {
    let mode = std::env::args().nth(1).expect("check, or a number of rounds");
    let (functions, env, mut context) = (functions(), machine_env(), Ctx::default());
    let mut hash = DefaultHasher::new();
    if mode == "check" {
        allocate(&functions, &env, &mut context, |function, output| {
            output.allocs.hash(&mut hash);
            format!("{:?}", output.edits).hash(&mut hash);
            let mut checker = Checker::new(function, &env);
            checker.prepare(output);
            checker.run().expect("correct registers");
        });
        println!("{} {:016x}", functions.len(), hash.finish());
        return;
    }
    println!("parts");
    for _ in 0..mode.parse().expect("a number of rounds") {
        measure::round(|| allocate(&functions, &env, &mut context, |_, output| _ = black_box(output)));
    }
    let peak = measure::peak_kib();
    allocate(&functions, &env, &mut context, |_, output| output.allocs.hash(&mut hash));
    println!("total {:016x} {peak}", hash.finish());
}
