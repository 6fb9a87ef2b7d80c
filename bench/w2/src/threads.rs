//! Concurrent threads, each with its own arena. They are started in advance, make their arenas, warm them up and wait for
//! each other; then the clock starts.
//!
//! An operation is one allocation, and its time is processor time: wall time, times the processors at work. Without
//! contention a row is the same for all numbers of threads.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::cases::{batch_of, slots, Entry};
use crate::contender::{Batch, Contender};
use crate::loops::{is_correct, many, repeat, Content, Outcome, Times, WRITTEN};
use crate::race::{race, Span, LONG};
use std::alloc::Layout;
use std::time::Instant;

type Value = [u64; 8];
/// Allocations of 64 B, written, in a batch or frame of one thread.
const BATCH: usize = 1000;

fn layout_of(_: usize) -> Layout {
    Layout::new::<Value>()
}

fn batch() -> Batch {
    batch_of(BATCH, layout_of)
}

/// An arena for each thread.
fn apart<A: Contender, const THREADS: usize>(repetitions: usize, _place: &mut Vec<*mut u8>) -> Outcome {
    race(THREADS, |start, done| {
        let mut place = Vec::new();
        let slots = slots(&mut place, BATCH);
        let mut arena = A::with_batch(batch());
        let mut run = |repetitions, keep| {
            repeat::<A, false>(&mut arena, slots, Times { repetitions, keep }, layout_of, |arena, slots, tag| {
                many::<A, Value, WRITTEN, false>(&mut arena.handle(), slots, tag)
            })
        };
        let warm = run(2, false);
        start.wait();
        let begin = Instant::now();
        let good = run(repetitions, false);
        let end = Instant::now();
        done.wait();
        let kept = run(2, true);
        let right = kept && is_correct(slots, layout_of, Content::Tag, 1);
        // SAFETY: the batch that was kept.
        unsafe { arena.reset(slots.iter().map(|&data| (data, Layout::new::<Value>()))) };
        Span { begin, end, good: warm && good && right }
    })
}

fn entry(case: &'static str, contender: &'static str, threads: usize, run: crate::cases::Run) -> Entry {
    Entry { case, contender, operations: threads * BATCH, alone: false, weighs: false, long: LONG, run: Ok(run) }
}

/// Each thread with its own arena.
pub fn entries_apart<A: Contender>() -> Vec<Entry> {
    vec![
        entry("1 thread", A::NAME, 1, apart::<A, 1>),
        entry("2 threads", A::NAME, 2, apart::<A, 2>),
        entry("4 threads", A::NAME, 4, apart::<A, 4>),
        entry("8 threads", A::NAME, 8, apart::<A, 8>),
        entry("16 threads", A::NAME, 16, apart::<A, 16>),
    ]
}
