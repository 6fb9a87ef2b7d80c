//! Budgets: bytes of each level, limits that no thread exceeds, callbacks of refusals.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use toft::{Arena, Budget, BudgetOptions, Options, Reserve, Source};

fn limited(bytes: usize) -> BudgetOptions {
    BudgetOptions::new().limit(bytes)
}

fn arena_of(budget: &Budget) -> Arena {
    Options::new().source(budget.clone()).create().unwrap()
}

#[test]
fn bytes_count_for_each_level() {
    let process = Budget::new(BudgetOptions::new());
    let (tenant, other) = (process.child(BudgetOptions::new().name("tenant")), process.child(limited(4 << 20)));
    let request = tenant.child(limited(1 << 20));
    let (a, b) = (arena_of(&request), arena_of(&other));
    a.alloc_slice_fill(100_000, 0u8);
    b.alloc_slice_fill(if cfg!(miri) { 300_000 } else { 3_000_000 }, 0u8);
    let (of_a, of_b) = (a.stats().reserved as usize, b.stats().reserved as usize);
    assert_eq!((request.reserved(), tenant.reserved(), other.reserved()), (of_a, of_a, of_b));
    assert_eq!(process.reserved(), of_a + of_b);
    assert_eq!(request.available(), (1 << 20) - of_a);
    assert_eq!((tenant.name(), request.parent().unwrap().name(), process.limit()), ("tenant", "tenant", usize::MAX));
    drop(b);
    assert_eq!((process.reserved(), process.peak()), (of_a, of_a + of_b));
    drop((process, tenant, request)); // the arena has its budget, which has its parents
    assert!(a.try_alloc_slice_fill(2 << 20, 0u8).is_err());
    assert!(a.try_alloc_slice_fill(100_000, 0u8).is_ok());
}

#[test]
fn a_refusal_calls_back_once() {
    let calls = Arc::new(Mutex::new((0, 0, None::<Arena>, false)));
    let seen = calls.clone();
    let tenant = Budget::new(limited(256 << 10).on_refusal(move |budget, size| {
        assert_eq!(budget.limit(), 256 << 10);
        let mut seen = seen.lock().unwrap();
        seen.0 += 1;
        seen.1 = size;
        seen.2.take();
        seen.3
    }));
    let request = tenant.child(BudgetOptions::new());
    let (a, b) = (arena_of(&request), arena_of(&request));
    b.alloc_slice_fill(100_000, 0u8);
    while a.try_alloc([0u64; 8]).is_ok() {}
    assert_eq!(calls.lock().unwrap().0, 1); // not for blocks that were larger than needed
    {
        let mut calls = calls.lock().unwrap();
        (calls.2, calls.3) = (Some(b), true);
    }
    assert!(a.try_alloc([0u64; 8]).is_ok());
    assert_eq!(calls.lock().unwrap().0, 2);
    assert!(a.try_alloc_slice_fill(300_000, 0u8).is_err()); // above the limit at any time: tried again once
    let seen = calls.lock().unwrap();
    assert!(seen.0 == 3 && seen.1 >= 300_000);
    assert!(tenant.refusals() > 0 && request.refusals() == 0 && tenant.reserved() <= 256 << 10);
}

#[test]
fn a_creation_calls_back_too() {
    let other = Arc::new(Mutex::new(None::<Arena>));
    let frees = other.clone();
    let budget = Budget::new(limited(4096).on_refusal(move |_, _| frees.lock().unwrap().take().is_some()));
    *other.lock().unwrap() = Some(arena_of(&budget));
    let arena = arena_of(&budget);
    assert_eq!(*arena.alloc(5), 5);
    assert!(Options::new().source(budget.clone()).create().is_err());
}

#[test]
fn a_panic_of_the_callback_refuses() {
    let budget = Budget::new(limited(8192).on_refusal(|_, _| panic!("of the callback")));
    let arena = arena_of(&budget);
    assert!(arena.try_alloc_slice_fill(10_000, 0u8).is_err());
    assert_eq!(*arena.alloc(5), 5);
}

#[test]
fn a_block_that_grows_counts() {
    let root = Budget::new(limited(1_000_000).source(SendReserve(Reserve::new(8 << 20).unwrap())));
    let mut arena = arena_of(&root);
    arena.alloc_slice_fill(500_000, 0u8);
    assert!(root.reserved() >= 500_000);
    assert!(arena.try_alloc_slice_fill(600_000, 0u8).is_err());
    arena.reset();
    arena.trim(0);
    assert!(root.reserved() < 100_000);
    drop(arena);
    assert_eq!(root.reserved(), 0);
}

/// For one arena.
struct SendReserve(Reserve);

// SAFETY: used by the thread of the test only.
unsafe impl Sync for SendReserve {}

// SAFETY: the inner source.
unsafe impl Source for SendReserve {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        self.0.take(size)
    }
    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.0.put(block, size) }
    }
    unsafe fn extend(&self, block: NonNull<u8>, size: usize, want: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { self.0.extend(block, size, want) }
    }
    fn extends(&self) -> bool {
        true
    }
}

#[test]
fn a_steady_load_is_never_refused() {
    let budget = Budget::new(limited(1 << 20));
    let mut arenas = [arena_of(&budget), arena_of(&budget)];
    for round in 0..if cfg!(miri) { 4 } else { 100 } {
        let arena = &mut arenas[round % 2];
        for _ in 0..16 {
            assert!(arena.try_alloc_slice_fill(30_000, 0u8).is_ok());
        }
        arena.reset();
    }
    drop(arenas);
    assert_eq!(budget.reserved(), 0);
}

#[test]
fn no_thread_exceeds_a_limit() {
    const THREADS: usize = if cfg!(miri) { 3 } else { 16 };
    const LIMIT: usize = THREADS * (256 << 10);
    let process = Budget::new(limited(LIMIT));
    let tenants = [process.child(BudgetOptions::new()), process.child(limited(LIMIT / 2))];
    let (held, highest, refused) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let barrier = Barrier::new(THREADS);
    let work = |seed: usize| {
        let (tenant, mut random) = (&tenants[seed % 2], seed as u64 + 1);
        let mut next = |n: usize| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) as usize % n
        };
        let mut blocks: [Option<(NonNull<u8>, usize)>; 8] = [None; 8];
        let put = |(block, size): (NonNull<u8>, usize)| {
            held.fetch_sub(size, Relaxed);
            // SAFETY: taken from it with this size.
            unsafe { tenant.put(block, size) };
        };
        barrier.wait();
        for _ in 0..if cfg!(miri) { 30 } else { 10_000 } {
            let (slot, size) = (&mut blocks[next(8)], 4096 * (1 + next(32)));
            slot.take().map(put);
            *slot = tenant.take(size).map(|block| (block, size));
            match slot {
                Some(_) => _ = highest.fetch_max(held.fetch_add(size, Relaxed) + size, Relaxed),
                None => _ = refused.fetch_add(1, Relaxed),
            }
        }
        barrier.wait(); // until then each holds its blocks
        blocks.into_iter().flatten().for_each(put);
    };
    thread::scope(|scope| (0..THREADS).for_each(|seed| _ = scope.spawn(move || work(seed))));
    assert!(process.reserved() == 0 && process.peak() <= LIMIT && highest.load(Relaxed) <= LIMIT);
    assert!(cfg!(miri) || refused.load(Relaxed) > 0);
}
