//! Arenas from a cache that threads share: no arena is leased twice at once, returned arenas are empty, bounds hold,
//! and only leaked leases are lost. Parcels and task arenas with many threads.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/random.rs"]
mod random;
#[path = "common/strict.rs"]
mod strict;

use std::mem::forget;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Barrier, Mutex, Once};
use std::thread;

use random::Random;
use toft::{Arena, InitError, Keep, Lease, Leases, Parcel, TaskArena};

const MIRI: bool = cfg!(miri);
const THREADS: usize = if MIRI { 3 } else { 8 };
const ROUNDS: usize = if MIRI { 12 } else { 4000 };

/// Allocates a few slices filled with the tag of their owner.
fn fill<'a>(arena: &'a Arena, random: &mut Random, tag: u64) -> Vec<&'a mut [u64]> {
    (0..1 + random.below(6))
        .map(|_| {
            let n = if random.below(40) == 0 { 3000 } else { 1 + random.below(60) };
            arena.alloc_slice_fill_with(n, |i| tag ^ i as u64)
        })
        .collect()
}

fn verify(slices: &[&mut [u64]], tag: u64) {
    for slice in slices {
        assert!(slice.iter().enumerate().all(|(i, x)| *x == tag ^ i as u64), "overwritten by another thread");
    }
}

/// The payload of a test's own panic. The default hook would print a message, which allocates during the leak checks.
struct Planned;

fn planned() -> ! {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.payload().is::<Planned>() {
                loud(panic);
            }
        }));
    });
    std::panic::panic_any(Planned)
}

/// Counts its drops; panics if the flag is set.
struct Counts(Arc<AtomicUsize>, bool);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        if self.1 {
            planned();
        }
    }
}

// ---- many threads ----

#[test]
fn threads_share_a_cache_and_no_arena() {
    let (leases, dropped) = (Arc::new(Leases::new().keep_idle(5)), Arc::new(AtomicUsize::new(0)));
    let threads: Vec<_> = (0..THREADS)
        .map(|t| {
            let (leases, dropped) = (leases.clone(), dropped.clone());
            thread::spawn(move || {
                let mut random = Random(t as u64 + 1);
                for round in 0..ROUNDS {
                    let tag = (t as u64) << 40 | (round as u64) << 8;
                    let lease = leases.get();
                    assert_eq!(lease.stats().live, 0, "not empty");
                    let slices = fill(&lease, &mut random, tag);
                    lease.alloc_drop(Counts(dropped.clone(), false));
                    let other = (random.below(3) == 0).then(|| leases.get());
                    if let Some(other) = &other {
                        fill(other, &mut random, !tag);
                    }
                    if random.below(4) == 0 {
                        thread::yield_now();
                    }
                    verify(&slices, tag);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(dropped.load(SeqCst), THREADS * ROUNDS);
    let stats = leases.stats();
    assert!(stats.idle <= 5 && stats.made - stats.ended == stats.idle, "{stats:?}");
    assert!(stats.made >= stats.idle && leases.held() <= 5 * ((256 << 10) + 4096));
}

/// A message between threads: a lease with offsets into it would need unsafe code, a parcel does not.
struct Message<'a> {
    tag: u64,
    slices: Vec<&'a mut [u64]>,
    counts: Counts,
}
toft::root!(struct Messages => Message<'a>);
toft::root!(struct Number => &'a u32);

#[test]
fn parcels_travel_and_arenas_return() {
    let (leases, dropped) = (Arc::new(Leases::new()), Arc::new(AtomicUsize::new(0)));
    let providers = THREADS / 2 + 1;
    thread::scope(|s| {
        let (send, receive) = sync_channel::<Parcel<'_, Messages>>(16);
        let receive = Arc::new(Mutex::new(receive));
        for t in 0..providers {
            let (send, leases, dropped) = (send.clone(), &leases, &dropped);
            s.spawn(move || {
                let mut random = Random(t as u64 + 100);
                for round in 0..ROUNDS / 2 {
                    let tag = (t as u64) << 40 | (round as u64) << 8;
                    let parcel = leases.parcel(|arena| Message {
                        tag,
                        slices: fill(arena, &mut random, tag),
                        counts: Counts(dropped.clone(), false),
                    });
                    send.send(parcel).unwrap();
                }
            });
        }
        drop(send);
        for t in 0..2 {
            let receive = receive.clone();
            s.spawn(move || {
                let mut random = Random(t + 1000);
                loop {
                    let next = receive.lock().unwrap().recv();
                    let Ok(mut parcel) = next else { break };
                    parcel.with(|message| verify(&message.slices, message.tag));
                    parcel.with_mut(|message, arena| {
                        let tag = message.tag;
                        message.slices.append(&mut fill(arena, &mut random, tag));
                    });
                    parcel.with(|message| verify(&message.slices, message.tag));
                    assert!(!parcel.with(|message| message.counts.1));
                    if random.below(5) == 0 {
                        let lease = parcel.into_lease();
                        assert_eq!(lease.stats().live, 0);
                    }
                }
            });
        }
    });
    assert_eq!(dropped.load(SeqCst), providers * (ROUNDS / 2));
    let stats = leases.stats();
    assert!(stats.made - stats.ended == stats.idle, "{stats:?}");
    assert!(MIRI || stats.made < providers * (ROUNDS / 2) / 2, "receivers' arenas are not reused: {stats:?}");
}

#[test]
fn leases_change_threads() {
    let leases = Arc::new(Leases::new());
    thread::scope(|s| {
        let (send, receive) = channel::<(Lease<'_>, u64)>();
        s.spawn(move || {
            for (lease, live) in receive {
                lease.alloc(1u64);
                assert_eq!(lease.stats().live, live + 8);
            }
        });
        for i in 0..ROUNDS as u64 / 4 {
            let lease = leases.get();
            lease.alloc_slice_fill(i as usize % 100, 0u64);
            send.send((lease, i % 100 * 8)).unwrap();
        }
    });
    let stats = leases.stats();
    assert_eq!(stats.made - stats.ended, stats.idle);
}

/// Concurrent trims, reads of statistics and leases.
#[test]
fn statistics_and_trims_during_leases() {
    let leases = Leases::new();
    thread::scope(|s| {
        for t in 0..THREADS {
            let leases = &leases;
            s.spawn(move || {
                let mut random = Random(t as u64 + 1);
                for round in 0..ROUNDS as u64 / 4 {
                    match (t + round as usize) % 8 {
                        0 => leases.trim(),
                        1 => assert!(leases.held() < 1 << 30 && leases.idle() <= 128),
                        _ => {
                            let lease = leases.get();
                            let slices = fill(&lease, &mut random, round);
                            verify(&slices, round);
                        }
                    }
                }
            });
        }
    });
    leases.trim();
    let stats = leases.stats();
    assert_eq!((stats.idle, stats.made), (0, stats.ended));
}

/// A thread that ends returns everything, even if its last destructors use leases.
#[test]
fn a_thread_that_ends_returns_everything() {
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            assert_eq!(*LATE.get().alloc(7), 7);
        }
    }
    static LATE: Leases = Leases::new();
    thread_local!(static LOCAL: Late = const { Late });
    for _ in 0..4 {
        thread::spawn(|| {
            LOCAL.with(|_| ());
            LATE.get().alloc_uninit_slice::<u8>(10_000);
        })
        .join()
        .unwrap();
    }
    let stats = LATE.stats();
    assert_eq!(stats.made - stats.ended, stats.idle);
    LATE.trim(); // a static is never dropped
}

// ---- one thread ----

#[test]
fn every_lease_is_returned() {
    strict::balanced(|| {
        let leases = Leases::new().keep_idle(3);
        for n in [1, 100, 5000, 300_000, 5] {
            let three = [leases.get(), leases.get(), leases.get(), leases.get()];
            three.iter().for_each(|lease| assert_eq!(lease.alloc_uninit_slice::<u8>(n).len(), n));
        }
        assert_eq!((leases.idle(), leases.stats().made - leases.stats().ended), (3, 3));
    });
}

#[test]
fn a_steady_workload_makes_no_slow_call() {
    let leases = Leases::new();
    for _ in 0..100 {
        leases.get().alloc_uninit_slice::<u8>(100_000);
    }
    let calls = leases.get().stats().source_calls;
    for _ in 0..100 {
        leases.get().alloc_uninit_slice::<u8>(100_000);
    }
    assert_eq!((leases.get().stats().source_calls, leases.stats().made), (calls, 1));
}

#[test]
fn memory_of_idle_arenas_is_bounded() {
    for keep in if MIRI { &[5000][..] } else { &[0, 5000, 100_000, 1 << 20] } {
        let keep = *keep;
        let leases = Leases::new().keep_bytes(keep);
        for n in [100, 5_000, 50_000, 2_000_000, 100, 40_000, 40_000, 40_000] {
            leases.get().alloc_uninit_slice::<u8>(n);
            assert!(leases.held() <= keep.next_multiple_of(4096) + 4096, "{keep}, {n}: {}", leases.held());
            leases.get().alloc(1u8); // and the next lease's first allocation takes no more than that
            assert!(leases.held() <= keep.next_multiple_of(4096) + 4096, "{keep}, {n}: {}", leases.held());
        }
    }
    // Whatever limit the holder of the lease set.
    let leases = Leases::new().keep_bytes(10_000);
    let mut lease = leases.get();
    for _ in 0..4 {
        lease.alloc_uninit_slice::<u8>(1 << 20);
        lease.reset();
    }
    lease.alloc(1);
    drop(lease);
    assert!(leases.held() <= 16_384);
    let mut lease = leases.get();
    lease.alloc_uninit_slice::<u8>(1 << 20);
    lease.reset_with(Keep::All);
    drop(lease);
    assert!(leases.held() <= 16_384);
}

#[test]
fn a_small_lease_after_a_large_one_gets_a_small_arena() {
    let leases = Leases::new().keep_bytes(100_000);
    leases.get().alloc_uninit_slice::<u8>(8 << 20);
    for _ in 0..20 {
        let lease = leases.get();
        lease.alloc_uninit_slice::<u8>(6000);
        assert!(lease.stats().reserved < 300_000, "{}", lease.stats().reserved);
    }
}

#[test]
fn the_number_of_idle_arenas_is_bounded() {
    let (many, bounds): (usize, &[usize]) =
        if MIRI { (20, &[0, 2, 17]) } else { (140, &[0, 1, 2, 3, 15, 16, 17, 33, 127, 128, 1000]) };
    for &bound in bounds {
        let leases = Leases::new().keep_idle(bound);
        drop((0..many).map(|_| leases.get()).collect::<Vec<_>>());
        let (idle, stats) = (leases.idle(), leases.stats());
        assert_eq!(idle, bound.min(128).min(many));
        assert_eq!((stats.made, stats.made - stats.ended), (many, idle));
    }
}

#[test]
fn enough_threads_fill_every_slot() {
    let (places, each) = if MIRI { (16, 2) } else { (128, 40) };
    let leases = Leases::new().keep_idle(places);
    let all = Barrier::new(16);
    thread::scope(|s| {
        for _ in 0..16 {
            s.spawn(|| {
                let held: Vec<_> = (0..each).map(|_| leases.get()).collect();
                all.wait();
                drop(held);
            });
        }
    });
    assert_eq!((leases.idle(), leases.stats().ended), (places, 16 * each - places));
}

#[test]
fn each_lease_has_the_budget() {
    let leases = Leases::new().budget(1000);
    for _ in 0..20 {
        let lease = leases.get();
        assert!(lease.try_alloc([0u8; 1001]).is_err());
        lease.alloc([0u8; 1000]);
        assert!(lease.try_alloc(1u8).is_err());
        lease.set_budget(None).unwrap();
        lease.alloc([0u8; 5000]);
    }
    let free = Leases::new();
    for _ in 0..20 {
        let lease = free.get();
        lease.alloc([0u8; 5000]);
        lease.set_budget(Some(10)).unwrap();
    }
    assert_eq!((leases.stats().made, free.stats().made), (1, 1));
    // A budget below the live bytes: the next lease does not inherit it.
    let lease = free.get();
    lease.alloc([0u8; 100]);
    lease.set_budget(Some(10)).unwrap();
    assert!(lease.try_alloc(1u8).is_err());
    drop(lease);
    free.get().alloc([0u8; 100]);
}

/// Instrumentation that a holder switched on does not carry over to the next lease.
#[test]
fn an_instrumented_arena_is_not_reused() {
    let leases = Leases::new();
    for switch in [Arena::set_metered, Arena::set_checked] {
        let mut lease = leases.get();
        for _ in 0..20 {
            lease.alloc(1);
            lease.reset();
        }
        switch(&lease, true).unwrap();
        lease.alloc(1);
        switch(&lease, false).unwrap();
        for _ in 0..20 {
            lease.alloc(1);
            lease.reset();
        }
        drop(lease);
        assert_eq!(leases.idle(), 0);
    }
    assert_eq!((leases.stats().made, leases.stats().ended), (2, 2));
}

#[test]
fn destructors_run_once_and_panics_propagate() {
    let _ = catch_unwind(|| planned());
    strict::balanced(|| {
        let (leases, dropped) = (Leases::new(), Arc::new(AtomicUsize::new(0)));
        let lease = leases.get();
        for i in 0..5 {
            lease.alloc_drop(Counts(dropped.clone(), i % 2 == 1));
        }
        assert!(catch_unwind(AssertUnwindSafe(|| drop(lease))).is_err());
        assert_eq!((dropped.load(SeqCst), leases.idle(), leases.stats().made), (5, 1, 1));
        assert_eq!(leases.get().stats().live, 0);

        // A root, and values beside it.
        let parcel = leases.parcel::<Messages>(|arena| {
            arena.alloc_drop(Counts(dropped.clone(), true));
            Message { tag: 0, slices: vec![], counts: Counts(dropped.clone(), true) }
        });
        assert!(catch_unwind(AssertUnwindSafe(|| drop(parcel))).is_err());
        assert_eq!((dropped.load(SeqCst), leases.idle(), leases.stats().made), (7, 1, 1));
        let parcel =
            leases.parcel::<Messages>(|_| Message { tag: 0, slices: vec![], counts: Counts(dropped.clone(), true) });
        assert!(catch_unwind(AssertUnwindSafe(|| parcel.into_lease())).is_err());
        assert_eq!((dropped.load(SeqCst), leases.idle(), leases.stats().made), (8, 1, 1));

        // During another panic.
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let lease = leases.get();
            lease.alloc_drop(Counts(dropped.clone(), true));
            planned();
        }));
        assert!(unwound.unwrap_err().is::<Planned>());
        assert_eq!((dropped.load(SeqCst), leases.idle(), leases.stats().made), (9, 1, 1));
    });
}

/// A destructor that takes a lease of the cache to which its own lease returns.
#[test]
fn a_destructor_may_take_a_lease() {
    struct Leasing(Arc<Leases>);
    impl Drop for Leasing {
        fn drop(&mut self) {
            assert_eq!(*self.0.get().alloc(7), 7);
        }
    }
    let leases = Arc::new(Leases::new());
    leases.get().alloc_drop(Leasing(leases.clone()));
    assert_eq!((leases.idle(), leases.stats().made), (2, 2));
    leases.get(); // the arena does not own the cache any more, or neither would be released
    assert_eq!(Arc::strong_count(&leases), 1);
}

/// A slot is reserved for the arena that was taken out of it. A lease that is not returned releases its slot, and long
/// leases reserve few slots.
#[test]
fn slots_are_not_lost() {
    let leases = Leases::new();
    let fill = || {
        let all: Vec<_> = (0..64).map(|_| leases.get()).collect();
        drop(all);
        leases.idle()
    };
    assert_eq!(fill(), 64);
    for _ in 0..20 {
        drop(leases.get().into_arena());
        drop(leases.get()); // into the first slot again
        leases.get().set_metered(true).unwrap(); // the arena is released when it is returned
        drop(leases.get());
        drop(leases.parcel::<Number>(|arena| &*arena.alloc(1)));
        leases.held();
    }
    assert_eq!(fill(), 64);
    leases.trim();
    assert_eq!((leases.idle(), fill()), (0, 64));
    // Threads that each hold a lease for long: other threads' arenas are cached as usual.
    let (taken, done) = (Barrier::new(17), Barrier::new(17));
    thread::scope(|threads| {
        for _ in 0..16 {
            threads.spawn(|| {
                let lease = leases.get();
                taken.wait();
                done.wait();
                drop(lease);
            });
        }
        taken.wait();
        assert_eq!(leases.idle(), 48);
        let made = leases.stats().made;
        (0..100).for_each(|_| drop((leases.get(), leases.get())));
        assert_eq!((leases.stats().made, leases.idle()), (made, 48));
        done.wait();
    });
    assert_eq!((leases.idle(), leases.stats().ended, fill()), (64, 64 + 40, 64));
}

#[test]
fn a_leaked_lease_leaks_its_arena_alone() {
    let leases = Leases::new();
    let leaked = leases.get();
    let head = leaked.as_raw();
    forget(leaked);
    drop(leases.get());
    let stats = leases.stats();
    assert_eq!((stats.made, stats.idle, stats.ended), (2, 1, 0));
    drop(leases);
    // SAFETY: the arena has no other owner.
    let arena = unsafe { Arena::from_raw(head) }.unwrap();
    assert_eq!(*arena.alloc(7), 7);
}

#[test]
fn leaked_guards_end_with_the_lease() {
    let leases = Leases::new();
    for _ in 0..4 {
        let lease = leases.get();
        forget(lease.scope_guard());
        forget(lease.cursor());
        lease.alloc([0u8; 5000]);
        drop(lease);
        assert_eq!(leases.get().stats().live, 0);
    }
    assert_eq!(leases.stats().made, 1);
}

#[test]
fn a_lease_is_an_arena() {
    let leases = Leases::new();
    let mut lease = leases.get();
    for _ in 0..30 {
        assert_eq!(lease.scope(|inner| *inner.alloc(7)), 7);
        assert_eq!(lease.scope_mut(|inner| inner.alloc_str("words").len()), 5);
        lease.alloc([0u8; 6000]);
        lease.trim(0);
        lease.reset();
        lease.reset_with(Keep::Bytes(0));
    }
    let arena = lease.into_arena();
    let kept = arena.alloc(1);
    drop(leases);
    assert_eq!(*kept, 1);
}

#[test]
fn failed_parcels_return_their_arena() {
    let _ = catch_unwind(|| planned());
    strict::balanced(|| {
        let (leases, dropped) = (Leases::new(), Arc::new(AtomicUsize::new(0)));
        let failed = leases.try_parcel::<Messages, _>(|arena| {
            arena.alloc_drop(Counts(dropped.clone(), false));
            Err("no")
        });
        assert!(matches!(failed, Err(InitError::Init("no"))));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            leases.parcel::<Messages>(|arena| {
                arena.alloc_drop(Counts(dropped.clone(), false));
                planned();
            })
        }));
        assert!(panicked.is_err());
        assert_eq!((dropped.load(SeqCst), leases.idle(), leases.stats().made), (2, 1, 1));
        let tight = Leases::new().budget(7);
        assert!(matches!(tight.try_parcel::<Messages, ()>(|_| unreachable!()), Err(InitError::Alloc(_))));
        assert_eq!(tight.idle(), 1);
    });
}

// ---- arenas of tasks ----

#[test]
fn threads_share_a_task_arena() {
    let (leases, dropped) = (Leases::new(), Arc::new(AtomicUsize::new(0)));
    let mut arena = leases.task();
    for _ in 0..2 {
        thread::scope(|s| {
            for t in 0..THREADS as u64 {
                let (arena, dropped) = (&arena, &dropped);
                s.spawn(move || {
                    let mut random = Random(t + 1);
                    let mut kept = vec![];
                    for round in 0..ROUNDS as u64 / 20 {
                        let tag = t << 40 | round << 8;
                        let slice = arena.alloc_slice_fill_with(1 + random.below(50), |i| tag ^ i as u64);
                        let text = toft::format_in!(arena, "{:0>1$}", round, random.below(200));
                        let copy = arena.alloc_slice_copy(slice);
                        let clones = arena.alloc_slice_clone(&[Some(tag), None]);
                        arena.alloc_drop(Counts(dropped.clone(), false));
                        let boxed = arena.boxed(format!("{tag}"));
                        let aligned = arena.alloc_with(|| Line([arena.alloc(tag), arena.alloc(!tag)].map(|x| *x)));
                        assert_eq!((aligned as *const Line).addr() % 128, 0);
                        kept.push((tag, slice, copy, text, clones, boxed, aligned));
                    }
                    for (tag, slice, copy, text, clones, boxed, aligned) in &kept {
                        verify(&[&mut slice.to_vec()], *tag);
                        assert_eq!(slice, copy);
                        assert_eq!(text.parse::<u64>().unwrap(), *tag >> 8 & 0xffff_ffff);
                        assert_eq!(**clones, [Some(*tag), None]);
                        assert_eq!(boxed.parse::<u64>().unwrap(), *tag);
                        assert_eq!(aligned.0, [*tag, !*tag]);
                    }
                });
            }
        });
        arena.reset();
        assert_eq!(arena.stats().live, 0);
    }
    assert_eq!(dropped.load(SeqCst), THREADS * (ROUNDS / 20) * 2);
    drop(arena);
    let stats = leases.stats();
    assert_eq!(stats.made - stats.ended, stats.idle);
}

#[repr(align(128))]
struct Line([u64; 2]);

/// User code that uses the arena during a call: it would deadlock if the call held the lock.
#[test]
fn user_code_runs_without_the_lock() {
    struct Uses<'a, 'l>(&'a TaskArena<'l>);
    impl std::fmt::Display for Uses<'_, '_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            let words = self.0.alloc_str("and more");
            f.write_str(words)
        }
    }
    impl Clone for Uses<'_, '_> {
        fn clone(&self) -> Self {
            self.0.alloc(1);
            Uses(self.0)
        }
    }
    let leases = Leases::new();
    let arena = leases.task();
    let (uses, long) = (Uses(&arena), "x".repeat(100));
    assert_eq!(*toft::format_in!(arena, "{uses}{long}{uses}"), *format!("and more{long}and more"));
    assert_eq!(arena.alloc_slice_clone(&[uses.clone(), uses]).len(), 2);
    assert_eq!(arena.alloc_slice_fill_with(3, |i| *arena.alloc(i)), &[0, 1, 2]);
    assert_eq!(**arena.alloc_with(|| arena.boxed(7)), 7);

    // A destructor of a refused value, and panic hooks, which run while a call refuses.
    static TIGHT: Leases = Leases::new().budget(100);
    struct Late(Arc<TaskArena<'static>>, Arc<AtomicUsize>);
    impl Drop for Late {
        fn drop(&mut self) {
            self.1.fetch_add(self.0.try_alloc(1).is_ok() as usize, SeqCst);
        }
    }
    let (tight, dropped) = (Arc::new(TIGHT.task()), Arc::new(AtomicUsize::new(0)));
    tight.alloc([0u8; 64]);
    assert!(tight.try_alloc_drop((Late(tight.clone(), dropped.clone()), [0u8; 64])).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| tight.alloc([0u8; 101]))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| tight.alloc_slice_fill_with(usize::MAX, |i| i))).is_err());
    assert_eq!((dropped.load(SeqCst), tight.stats().live), (1, 72));
    drop(tight);
    TIGHT.trim();
}

#[test]
fn panicking_values_in_a_task_arena_are_dropped_once() {
    let _ = catch_unwind(|| planned());
    strict::balanced(|| {
        let (mut arena, dropped) = (TaskArena::new(), Arc::new(AtomicUsize::new(0)));
        let made = |i: usize| if i == 3 { planned() } else { Counts(dropped.clone(), false) };
        assert!(catch_unwind(AssertUnwindSafe(|| arena.alloc_slice_fill_with(5, made).len())).is_err());
        assert_eq!(dropped.load(SeqCst), 3);

        arena.alloc_drop(Counts(dropped.clone(), true));
        arena.alloc_drop(Counts(dropped.clone(), false));
        assert!(catch_unwind(AssertUnwindSafe(|| arena.reset())).is_err());
        assert_eq!((dropped.load(SeqCst), arena.stats().live), (5, 0));
        arena.alloc_drop(Counts(dropped.clone(), false));
        drop(arena);
        assert_eq!(dropped.load(SeqCst), 6);
    });
}

#[test]
fn failed_formatting_frees_its_text() {
    let arena = TaskArena::new();
    arena.alloc(1);
    struct Fails;
    impl std::fmt::Display for Fails {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Err(std::fmt::Error)
        }
    }
    let live = arena.stats().live;
    assert!(catch_unwind(AssertUnwindSafe(|| arena.alloc_fmt(format_args!("{}{}", 1, Fails)).len())).is_err());
    assert_eq!(arena.stats().live, live);
}

#[test]
fn types_are_send_and_sync_as_documented() {
    fn sent<T: Send>() {}
    fn shared<T: Sync>() {}
    fn lasts<T: 'static>() {}
    sent::<(Lease<'_>, Leases, Parcel<'_, Messages>, TaskArena<'_>)>();
    shared::<(Leases, TaskArena<'_>)>();
    lasts::<(Lease<'static>, Parcel<'static, Messages>, TaskArena<'static>)>();
}
