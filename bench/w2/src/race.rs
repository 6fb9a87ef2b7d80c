//! Threads that do the same at the same time.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::loops::{faults, Outcome};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Samples of threads are longer, since threads do not begin at the same moment.
pub const LONG: u32 = 8;

/// The measurement of one thread.
pub struct Span {
    pub begin: Instant,
    pub end: Instant,
    pub good: bool,
}

/// The number of processors at work.
pub fn at_work(threads: usize) -> u32 {
    thread::available_parallelism().map_or(1, |cores| cores.get().min(threads)) as u32
}

fn outcome(spans: &[Span], threads: usize, faults: u64) -> Outcome {
    let begin = spans.iter().map(|span| span.begin).min();
    let end = spans.iter().map(|span| span.end).max();
    let wall = begin.zip(end).map_or(Duration::MAX, |(begin, end)| end - begin);
    let verified = spans.len() == threads && spans.iter().all(|span| span.good);
    // Bytes of its own allocations only; a row divides by those of all threads.
    let slowest = spans.iter().map(|span| span.end - span.begin).max().map(|slowest| slowest * threads as u32);
    Outcome { slowest, ..Outcome::new(wall * at_work(threads), verified, faults) }
}

/// Runs threads that do the same. Each starts its clock when all have reached the first barrier, and none continues
/// after the second before all have reached it.
pub fn race(threads: usize, thread: impl Fn(&Barrier, &Barrier) -> Span + Sync) -> Outcome {
    let (start, done, before) = (Barrier::new(threads), Barrier::new(threads), faults());
    let spans: Vec<Span> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| thread(&start, &done))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    outcome(&spans, threads, faults() - before)
}
