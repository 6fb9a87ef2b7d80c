//! Estimates of sampled arenas.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

fn count_at(report: &Report, line: u32) -> (f64, f64) {
    let sites = report.sites.iter().filter(|site| site.site.line == line);
    sites.fold((0.0, 0.0), |sum, site| (sum.0 + site.count as f64, sum.1 + site.bytes as f64))
}

/// Within six deviations of `hits` samples; rounding to bytes adds an error for short periods.
#[track_caller]
fn about(reported: f64, expected: f64, hits: f64, what: &str) {
    let bound = (6.0 / hits.sqrt()).max(0.02);
    assert!(
        (reported - expected).abs() <= expected * bound,
        "{what}: reported {reported}, expected {expected}, within {bound}"
    );
}

#[test]
fn estimates_are_accurate_for_each_size_and_period() {
    let n = if MIRI { 2000 } else { 100_000u64 };
    for period in [8, 64, 1000, 4096, 65_536] {
        let mut arena = Arena::new();
        arena.set_sampling(period).unwrap();
        let lines = [6, 7, 8].map(|below| line!() + below);
        // A repeating pattern: 32, 8 and 64 + 8 bytes.
        for i in 0..n {
            if i % 1000 == 999 {
                arena.reset();
            }
            arena.alloc([i; 4]);
            arena.alloc([i as u8; 3]);
            arena.alloc([i; 9]);
        }
        let report = arena.report();
        for (line, expected, charge) in [(lines[0], 32, 32), (lines[1], 3, 8), (lines[2], 72, 72)] {
            let (count, bytes) = count_at(&report, line);
            let hits = (n * charge) as f64 / period as f64;
            about(count, n as f64, hits, &format!("count of {expected}, period {period}"));
            about(bytes, (n * expected) as f64, hits, &format!("bytes of {expected}, period {period}"));
        }
    }
}

#[test]
fn estimates_are_accurate_for_the_shortest_periods() {
    let most = if is_short() { 20_000 } else { 100_000u64 };
    let n = if MIRI { 10 } else { most };
    for period in [1, 2, 4] {
        let mut arena = Arena::new();
        arena.set_sampling(period).unwrap();
        let line = line!() + 5;
        for i in 0..n {
            if i % 1000 == 999 {
                arena.reset();
            }
            arena.alloc([i; 16]);
        }
        let (count, bytes) = count_at(&arena.report(), line);
        let bound = n as f64 * if MIRI { 0.5 } else { 0.005 };
        assert!((count - n as f64).abs() < bound && (bytes / 128.0 - n as f64).abs() < bound, "{period}: {count}");
    }
}

#[test]
fn an_allocation_after_a_large_one_is_sampled_by_its_size() {
    let (n, period) = (if MIRI { 20 } else { 20_000u64 }, 4096);
    let mut arena = Arena::new();
    arena.set_sampling(period).unwrap();
    let line = line!() + 4;
    for i in 0..n {
        arena.reset();
        arena.try_alloc_uninit_slice::<u8>(2 << 20).unwrap();
        arena.alloc(i);
    }
    about(count_at(&arena.report(), line).0, n as f64, (n * 8) as f64 / period as f64, "small ones");
}

#[test]
fn each_site_of_a_repeating_program_is_sampled() {
    let rounds = if MIRI { 40 } else { 20_000u64 };
    for period in [512, 4096] {
        // Rounds of exactly a period, of half a period, and less.
        for words in [8, period / 16, period / 8] {
            let mut arena = Arena::new();
            arena.set_sampling(period).unwrap();
            let line = line!() + 4;
            for _ in 0..rounds {
                arena.reset();
                for i in 0..words {
                    arena.alloc(i);
                }
            }
            let expected = (rounds * words) as f64;
            about(count_at(&arena.report(), line).0, expected, expected * 8.0 / period as f64, "resets");
        }
    }
}

#[test]
fn scopes_are_sampled_like_the_arena_around_them() {
    let rounds = if MIRI { 40 } else { 20_000u64 };
    for period in [512, 4096] {
        for words in [8, period / 16, period / 8] {
            let arena = Arena::new();
            arena.set_sampling(period).unwrap();
            let line = line!() + 4;
            for _ in 0..rounds {
                arena.scope(|inner| {
                    for i in 0..words {
                        inner.alloc(i);
                    }
                });
            }
            let expected = (rounds * words) as f64;
            about(count_at(&arena.report(), line).0, expected, expected * 8.0 / period as f64, "scopes");
        }
    }
}

#[test]
fn sibling_scopes_are_both_sampled() {
    let rounds = if MIRI { 150 } else { 100_000u64 };
    let arena = Arena::new();
    arena.set_sampling(1024).unwrap();
    let below = line!();
    for i in 0..rounds {
        let (one, other) = (arena.scope_guard(), arena.scope_guard());
        one.alloc([i; 4]);
        if i % 2 == 0 {
            other.alloc([i; 2]);
        }
        arena.alloc(i); // outside of both
        if i % 3 == 0 {
            drop((one, other));
        } else {
            drop((other, one));
        }
        arena.scope(|inner| inner.alloc([i; 3]).len());
    }
    let report = arena.report();
    for (line, times, size) in [(3, rounds, 32), (5, rounds / 2, 16), (7, rounds, 8), (13, rounds, 24)] {
        let reported = count_at(&report, below + line).0;
        about(reported, times as f64, (times * size) as f64 / 1024.0, &format!("{size} bytes"));
    }
}

#[test]
fn empty_scopes_do_not_change_the_estimate() {
    let rounds = if MIRI { 150 } else { 100_000u64 };
    let (beside, around) = (Arena::new(), Arena::new());
    beside.set_sampling(1024).unwrap();
    around.set_sampling(1024).unwrap();
    let below = line!();
    for i in 0..rounds {
        let (one, other) = (beside.scope_guard(), beside.scope_guard());
        one.alloc([i; 4]);
        drop(one);
        drop(other);
        let scope = around.scope_guard();
        around.alloc([i; 4]);
        drop(scope);
    }
    for (arena, line) in [(&beside, 3), (&around, 7)] {
        let reported = count_at(&arena.report(), below + line).0;
        about(reported, rounds as f64, (rounds * 32) as f64 / 1024.0, "beside and around");
    }
}

#[test]
fn rewound_allocations_are_sampled_too() {
    let rounds = if MIRI { 300 } else { 200_000u64 };
    let arena = Arena::new();
    arena.set_sampling(1024).unwrap();
    let mark = arena.mark();
    let line = line!() + 2;
    for i in 0..rounds {
        arena.alloc([i; 2]);
        unsafe { arena.rewind(mark) }.unwrap();
    }
    about(count_at(&arena.report(), line).0, rounds as f64, rounds as f64 * 16.0 / 1024.0, "rewound");
}
