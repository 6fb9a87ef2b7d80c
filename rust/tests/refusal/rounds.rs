//! Objects are emptied and filled in rounds under a source that refuses once, from a call on, above a block size, or above
//! a sum of bytes: a round serves the same requests as the one before the refusal, and no part of a limit stays unused.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::Layout;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use toft::{Limited, Options};

use crate::kinds::{cases, Case, Kind, Object, CASES};
use crate::refusing::{with, Refuses, Refusing};
use crate::{KIB, MIB};

const ROUNDS: usize = 3;
/// Step between limits. Optimized builds try every limit that makes a difference; others try fewer.
const STEP: usize = match () {
    () if cfg!(miri) => 500 * 4 * KIB,
    () if cfg!(debug_assertions) => 61 * 4 * KIB,
    () => 4 * KIB,
};

/// A sequence of sizes, about `bytes` in total.
fn sequence(which: usize, bytes: usize) -> Vec<usize> {
    const MIXED: [usize; 13] = [10, 3000, 24, 70_000, 9000, 200_000, 100, 5000, 300_000, 40_000, MIB, 2000, 16];
    let sizes: &[usize] = match which {
        0 if cfg!(debug_assertions) => &[4000],
        0 => &[1000],
        1 => &[20_000],
        _ => &MIXED,
    };
    let mut sum = 0;
    let below = |size: &usize| {
        sum += size;
        sum - size < bytes
    };
    sizes.iter().copied().cycle().take_while(below).collect()
}

/// Serves the sequence until a request is refused.
fn serve(of: &mut dyn Kind, sizes: &[usize]) -> Vec<Object> {
    let layouts = sizes.iter().map(|size| Layout::from_size_align(*size, 8).unwrap());
    let objects: Vec<Object> = layouts.map_while(|layout| Some((of.alloc(layout).ok()?, layout))).collect();
    for (i, (p, _)) in objects.iter().enumerate() {
        // SAFETY: each allocation has at least one byte.
        unsafe { p.write(i as u8) };
    }
    // SAFETY: as above.
    assert!(objects.iter().enumerate().all(|(i, (p, _))| unsafe { p.read() } == i as u8));
    objects
}

/// Serves the sequence in rounds: no fewer requests than in the round before, unless the only refusal occurred in
/// between, or blocks that were returned before the source began to refuse for good are missing. Returns the requests
/// of the last round.
fn rounds(case: &Case, of: &mut dyn Kind, source: &Refusing, refuses: Refuses, sizes: &[usize]) -> usize {
    let mut served = 0;
    for round in 0..ROUNDS {
        let first = match refuses {
            Refuses::Once(k) | Refuses::From(k) => k,
            _ => 0,
        };
        let before = source.requests();
        let objects = serve(of, sizes);
        let compares = before >= first || source.requests() < first;
        let least = if case.recycles { served - served / 8 } else { served };
        let (name, now) = (case.name, objects.len());
        assert!(!compares || now >= least, "{name}: round {round} of {refuses:?} served {now} requests, not {served}");
        served = now;
        of.empty(&objects);
        assert_eq!(of.live(), 0, "{name}");
    }
    served
}

#[test]
fn a_limit_of_bytes_is_used_fully() {
    for case in CASES {
        for which in 0..3 {
            let step = if which == 0 && case.name != "checked" { STEP } else { 7 * STEP };
            for limit in (4 * KIB..=4 * MIB).step_by(step) {
                let refuses = Refuses::Beyond(limit);
                with(refuses, |source| {
                    let Ok(mut of) = (case.make)(source) else { return assert!(limit < 128 * KIB) };
                    let served = rounds(case, &mut *of, source, refuses, &sequence(which, 5 * MIB));
                    let unused = limit - source.peak();
                    assert!(
                        which != 0 || limit < case.least_limit() || unused <= limit / 8,
                        "{}: {unused} of {limit} bytes are not used, {served} requests are served",
                        case.name
                    );
                });
            }
        }
    }
}

#[test]
fn a_limit_of_block_sizes_is_used_fully() {
    for case in cases() {
        for which in 0..3 {
            let mut most = if cfg!(miri) { MIB } else { 4 * KIB };
            while most <= 4 * MIB {
                let refuses = Refuses::Above(most);
                with(refuses, |source| {
                    let Ok(mut of) = (case.make)(source) else { return };
                    let sizes = sequence(which, 3 * MIB);
                    let served = rounds(case, &mut *of, source, refuses, &sizes);
                    if which == 0 && most >= case.least_limit() {
                        assert_eq!(served, sizes.len(), "{}: all fits in small blocks", case.name);
                    }
                });
                most += (most / 3).next_multiple_of(4 * KIB);
            }
        }
    }
}

/// An object that is empty when its source refuses is retried without the refused requests.
#[test]
fn the_source_refuses_once_or_permanently() {
    for case in cases() {
        for which in 0..3 {
            for k in if cfg!(miri) { 3..5 } else { 2..20 } {
                for refuses in [Refuses::Once(k), Refuses::From(k)] {
                    with(refuses, |source| {
                        let Ok(mut of) = (case.make)(source) else { return };
                        rounds(case, &mut *of, source, refuses, &sequence(which, 3 * MIB));
                    });
                }
            }
        }
    }
}

/// The refusal occurs in a later round of an object that keeps memory from earlier rounds.
#[test]
fn the_source_refuses_after_rounds_of_other_sizes() {
    for case in cases() {
        for limit in (MIB..=4 * MIB).step_by(if cfg!(miri) { 3 * MIB } else { 300 * KIB }) {
            for part in 8..=10 {
                with(Refuses::Beyond(limit), |source| {
                    let mut of = (case.make)(source).unwrap();
                    // Below the limit, with small and large requests in turn.
                    for round in 0..12 {
                        let sizes = sequence(round % 2, limit * part / if case.recycles { 32 } else { 16 });
                        let objects = serve(&mut *of, &sizes);
                        assert_eq!(objects.len(), sizes.len(), "{}: limit {limit}, round {round}", case.name);
                        of.empty(&objects);
                    }
                    let half = serve(&mut *of, &[limit / 2]); // one request, when nothing is live
                    assert_eq!(half.len(), 1, "{}: half of {limit} bytes are not served", case.name);
                    of.empty(&half);
                });
            }
        }
    }
}

// ---- several arenas ----

#[test]
fn arenas_of_one_limit_do_not_starve_each_other() {
    const ALL: usize = if cfg!(miri) { 2 * MIB } else { 16 * MIB };
    for case in cases().filter(|case| !case.recycles) {
        with(Refuses::Nothing, |source| {
            let limited = Box::into_raw(Box::new(Limited::new(source, ALL)));
            // SAFETY: the box is dropped below, when it is not borrowed any more.
            let mut both = [0, 1].map(|_| (case.make)(unsafe { &*limited }).unwrap());
            for round in 0..10 {
                let bytes = if round % 3 == 0 { ALL / 4 } else { ALL / 4 * 3 };
                let (of, sizes) = (&mut both[round % 2], sequence(round % 3, bytes));
                let objects = serve(&mut **of, &sizes);
                assert_eq!(objects.len(), sizes.len(), "{}: round {round}", case.name);
                of.empty(&objects);
            }
            drop(both);
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(limited) });
        });
    }
}

/// An arena fails above the limit, and serves the small requests of later rounds.
#[test]
fn small_rounds_follow_one_that_was_too_large() {
    with(Refuses::Nothing, |source| {
        let source = Limited::new(source, MIB);
        let mut arena = toft::Scope::from_source(&source).unwrap();
        for bytes in [20_000, 2_000_000, 20_000, 20_000, 20_000] {
            let served = (0..bytes / 500).filter(|_| arena.try_alloc_slice_fill(500, 1u8).is_ok()).count();
            assert!(served * 500 >= bytes.min(MIB / 8 * 7), "{served} of {bytes} bytes");
            arena.reset();
            assert!(source.used() <= 64 * KIB, "{}", source.used());
        }
    });
}

// ---- the hook ----

#[test]
fn the_refusal_handler_is_called_for_the_source() {
    with(Refuses::Beyond(64 * KIB), |source| {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let lifted = AtomicUsize::new(64 * KIB);
        let arena = Options::new().source(source).create().unwrap();
        arena
            .on_refusal(move |refusal| {
                CALLS.fetch_add(1, SeqCst);
                assert!(refusal.live + refusal.size as u64 <= refusal.budget, "the budget is not the cause");
                let more = if refusal.size < 2 * MIB { 2 * MIB } else { 0 };
                source.refuse(Refuses::Beyond(lifted.fetch_add(more, SeqCst) + more));
                None
            })
            .unwrap();
        assert!(arena.try_alloc_uninit_slice::<u8>(200_000).is_ok());
        assert_eq!(CALLS.swap(0, SeqCst), 1);
        assert!(arena.scope(|inner| inner.try_alloc_uninit_slice::<u8>(1_960_000).is_ok()));
        assert_eq!(CALLS.swap(0, SeqCst), 1);
        assert!(arena.try_alloc_uninit_slice::<u8>(9 * MIB).is_err());
        assert_eq!(CALLS.swap(0, SeqCst), 1);
        assert!(arena.try_alloc_uninit_slice::<u8>(usize::MAX / 2).is_err()); // larger than any source
        assert_eq!(CALLS.swap(0, SeqCst), 0);
    });
}
