//! Budgets of live bytes: portions of a limit that arenas share, scopes, refusals, threads.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

use toft::{Arena, Budget, BudgetOptions, Options, Recycler, Scope};

fn counting(bytes: usize) -> Budget {
    Budget::new(BudgetOptions::new().live_limit(bytes))
}

fn arena_of(budget: &Budget) -> Arena {
    Options::new().source(budget.clone()).create().unwrap()
}

/// The budget counts the live bytes of the arenas, and at most the parked bytes besides.
fn assert_counts(budget: &Budget, live: usize) {
    let counted = budget.live();
    assert!((live..=live + budget.parked()).contains(&counted), "{counted} for {live}, {} parked", budget.parked());
    assert!(budget.parked() <= budget.live_limit().unwrap() / 128);
}

#[test]
fn each_way_to_free_returns_bytes() {
    let budget = counting(1_000_000);
    let mut a = arena_of(&budget);
    assert_eq!((budget.live(), budget.parked()), (0, 0));
    a.alloc_slice_fill(100_000, 0u8);
    assert_counts(&budget, 100_000);
    let text = a.alloc_slice_fill(200_000, 0u8);
    assert_counts(&budget, 300_000);
    let _ = text;
    a.scope(|scope| {
        scope.alloc_slice_fill(400_000, 0u8);
        assert_counts(&budget, 700_000);
        assert!(scope.try_alloc_slice_fill(300_001, 0u8).is_err());
        scope.scope(|inner| {
            inner.alloc_slice_fill(299_000, 0u8);
            assert_counts(&budget, 999_000);
        });
    });
    a.alloc(0u64); // its slow path returns what the scope had
    assert_counts(&budget, 300_008);
    a.reset();
    assert_eq!((budget.live(), budget.parked()), (0, 0));
    a.alloc_slice_fill(500_000, 0u8);
    assert_eq!(a.stats().budget, u64::MAX);
    drop(a);
    assert_eq!((budget.live(), budget.parked(), budget.reserved()), (0, 0, 0));
    assert!(budget.live_peak() >= 999_000);
}

#[test]
fn the_limit_of_each_level_holds() {
    let process = counting(1 << 20);
    let tenant = process.child(BudgetOptions::new().live_limit(100_000));
    let other = process.child(BudgetOptions::new()); // counts, since its parent does
    assert_eq!((other.live_limit(), tenant.live_available()), (Some(usize::MAX), 100_000));
    let (a, b) = (arena_of(&tenant), arena_of(&other));
    assert!(a.try_alloc_slice_fill(100_001, 0u8).is_err());
    assert_eq!((tenant.live_refusals(), process.live_refusals()), (1, 0));
    a.alloc_slice_fill(100_000, 0u8);
    b.alloc_slice_fill(900_000, 0u8);
    assert!(b.try_alloc_slice_fill(100_000, 0u8).is_err());
    assert_eq!((other.live_refusals(), process.live_refusals()), (0, 1));
    process.set_live_limit(usize::MAX);
    b.alloc_slice_fill(100_000, 0u8);
    let plain = Budget::new(BudgetOptions::new());
    assert_eq!((plain.live_limit(), plain.live(), plain.live_peak()), (None, 0, 0));
    assert_eq!((plain.live_available(), plain.live_refusals()), (usize::MAX, 0));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| plain.set_live_limit(1))).is_err());
}

#[test]
fn an_arena_may_have_a_budget_of_its_own() {
    let budget = counting(1 << 20);
    let a = Options::new().source(budget.clone()).budget(50_000).create().unwrap();
    assert!(a.try_alloc_slice_fill(50_001, 0u8).is_err());
    assert_eq!((budget.live_refusals(), a.stats().budget), (0, 50_000));
    a.alloc_slice_fill(50_000, 0u8);
    a.set_budget(Some(100_000)).unwrap();
    a.alloc_slice_fill(50_000, 0u8);
    assert!(a.try_alloc(0u8).is_err());
    assert_counts(&budget, 100_000);
    budget.set_live_limit(10); // below the live bytes
    a.set_budget(None).unwrap();
    assert!(a.try_alloc_slice_fill(100_000, 0u8).is_err());
}

#[test]
fn blocks_of_other_objects_are_live() {
    let budget = counting(1 << 20);
    let recycler = Recycler::from_source(budget.clone());
    recycler.try_alloc_layout(std::alloc::Layout::new::<[u64; 8]>()).unwrap();
    assert!(budget.live() == budget.reserved() && budget.reserved() >= 4096);
    drop(recycler);
    let scope = Scope::from_source(&budget).unwrap();
    scope.alloc(1u8);
    assert_eq!((budget.live(), budget.reserved()), (4096, 4096));
    drop(scope);
    assert_eq!((budget.live(), budget.reserved()), (0, 0));
}

#[test]
fn a_refusal_of_live_bytes_calls_back_once() {
    let cache = Arc::new(Mutex::new(None::<Arena>));
    let (own, calls) = (cache.clone(), Arc::new(AtomicUsize::new(0)));
    let seen = calls.clone();
    let options = BudgetOptions::new().live_limit(100_000).on_refusal(move |budget, _| {
        assert_eq!(budget.live_limit(), Some(100_000));
        seen.fetch_add(1, Relaxed);
        own.lock().unwrap().take().is_some()
    });
    let budget = Budget::new(options);
    let cached = arena_of(&budget);
    cached.alloc_slice_fill(60_000, 0u8);
    *cache.lock().unwrap() = Some(cached);
    let a = arena_of(&budget);
    a.alloc_slice_fill(60_000, 0u8); // in place of the cache
    assert_eq!(calls.load(Relaxed), 1);
    assert!(a.try_alloc_slice_fill(60_000, 0u8).is_err());
    assert_eq!(calls.load(Relaxed), 2);
    assert_counts(&budget, 60_000);
}

/// Threads count their live bytes themselves, and the sum never exceeds the limit; a refusal leaves less than 1 %.
#[test]
fn no_thread_exceeds_a_limit() {
    let (threads, rounds) = if cfg!(miri) { (2, 2) } else { (16, 200) };
    const LIMIT: usize = if cfg!(miri) { 64 << 10 } else { 1 << 20 };
    let process = counting(LIMIT);
    let live = AtomicUsize::new(0);
    let refusals = AtomicUsize::new(0);
    thread::scope(|s| {
        for i in 0..threads {
            let tenant = process.child(BudgetOptions::new());
            let (live, refusals) = (&live, &refusals);
            s.spawn(move || {
                let mut arena = arena_of(&tenant);
                for round in 0..rounds {
                    let mut own = 0;
                    for k in 0..100 {
                        let size = 8 * (1 + (i * 7 + k * 13 + round) % 500);
                        if arena.try_alloc_slice_fill(size, 0u8).is_err() {
                            refusals.fetch_add(1, Relaxed);
                            break;
                        }
                        own += size;
                        assert!(live.fetch_add(size, Relaxed) + size <= LIMIT);
                    }
                    live.fetch_sub(own, Relaxed);
                    arena.reset();
                }
            });
        }
    });
    assert_eq!((process.live(), process.parked(), process.reserved()), (0, 0, 0));
    assert!(process.live_peak() <= LIMIT && process.live_refusals() >= refusals.load(Relaxed)); // some were tried twice
    let arenas: Vec<Arena> = (0..threads).map(|_| arena_of(&process)).collect();
    let mut full = 0;
    for i in (0..arenas.len()).cycle() {
        full = if arenas[i].try_alloc([0u64; if cfg!(miri) { 64 } else { 8 }]).is_ok() { 0 } else { full + 1 };
        if full == arenas.len() {
            break;
        }
    }
    let used: u64 = arenas.iter().map(|a| a.stats().live).sum();
    assert!(used as usize <= LIMIT && used as usize >= LIMIT - LIMIT / 100, "{used}");
}
