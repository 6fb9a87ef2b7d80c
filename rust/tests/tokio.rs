//! Leases in tasks that the runtime moves between threads: each task finds its memory unchanged, and a cancelled task
//! returns its arena.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(all(feature = "full", not(target_family = "wasm")))]

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Barrier;
use tokio::task::{yield_now, JoinSet};

use toft::{Leases, Parcel, TaskArena};

const TASKS: usize = if cfg!(miri) { 12 } else { 1000 };
const STEPS: u64 = if cfg!(miri) { 3 } else { 20 };

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(if cfg!(miri) { 2 } else { 4 }).build().unwrap()
}

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

/// A static cache; each test has its own, and empties it at its end.
fn a_static_cache() -> &'static Leases {
    static CACHES: [Leases; 8] = [const { Leases::new() }; 8];
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    &CACHES[NEXT.fetch_add(1, SeqCst)]
}

fn end(leases: &'static Leases) {
    let stats = leases.stats();
    assert_eq!(stats.made - stats.ended, stats.idle, "not returned: {stats:?}");
    leases.trim(); // a static is never dropped
}

/// Yields; returns whether the task runs on another thread afterwards.
async fn moves() -> bool {
    let before = thread::current().id();
    yield_now().await;
    before != thread::current().id()
}

/// Allocates between awaits, and verifies all of it after each.
async fn writes_and_reads(leases: &'static Leases, tag: u64) -> usize {
    let lease = leases.get();
    assert_eq!(lease.stats().live, 0);
    let (mut slices, mut moved) = (vec![], 0);
    for step in 0..STEPS {
        let n = 1 + ((tag + step) * 7 % 60) as usize;
        slices.push((step, lease.alloc_slice_fill_with(n, |i| tag << 32 | step << 16 | i as u64)));
        moved += moves().await as usize;
        for (step, slice) in &slices {
            assert!(slice.iter().enumerate().all(|(i, x)| *x == tag << 32 | step << 16 | i as u64));
        }
    }
    moved
}

#[test]
fn a_thousand_tasks_keep_their_memory() {
    let leases = a_static_cache();
    let moved: usize = runtime().block_on(async {
        let mut tasks = JoinSet::new();
        for tag in 0..TASKS as u64 {
            tasks.spawn(is_send(writes_and_reads(leases, tag)));
        }
        tasks.join_all().await.into_iter().sum()
    });
    assert!(cfg!(miri) || moved > 0, "no task moved: nothing was tested");
    end(leases);
}

/// Cancelled on any thread: their values are dropped once, and their arenas return.
#[test]
fn cancelled_tasks_return_their_arenas() {
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let (leases, dropped) = (a_static_cache(), Arc::new(AtomicUsize::new(0)));
    let runtime = runtime();
    runtime.block_on(async {
        let all = Arc::new(Barrier::new(TASKS + 1));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (all, dropped) = (all.clone(), dropped.clone());
                tokio::spawn(is_send(async move {
                    let lease = leases.get();
                    let counts = lease.alloc_drop(Counts(dropped));
                    moves().await;
                    all.wait().await;
                    std::future::pending::<()>().await;
                    unreachable!("{}", counts.0.load(SeqCst));
                }))
            })
            .collect();
        all.wait().await;
        assert_eq!((leases.idle(), leases.stats().made, dropped.load(SeqCst)), (0, TASKS, 0));
        for task in tasks {
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        }
    });
    drop(runtime);
    assert_eq!((dropped.load(SeqCst), leases.idle()), (TASKS, TASKS.min(64)));
    end(leases);
}

/// Futures of one task share its arena, and are polled within each other.
#[test]
fn futures_of_a_task_share_its_arena() {
    async fn part<'a>(arena: &'a TaskArena<'_>, tag: u64) -> (&'a mut [u64], &'a str) {
        let slice = arena.alloc_slice_fill_with(1 + tag as usize % 50, |i| tag << 16 | i as u64);
        moves().await;
        let text = toft::format_in!(arena, "{tag}");
        moves().await;
        (slice, text)
    }
    async fn whole(leases: &'static Leases, tag: u64) {
        let mut arena = leases.task();
        for step in 0..STEPS / 3 {
            let tags = [tag * 100 + step, tag * 100 + 50 + step];
            let (first, second) = tokio::join!(part(&arena, tags[0]), part(&arena, tags[1]));
            let scratch = leases.get().alloc_slice_copy(first.0).len(); // another arena
            assert_eq!(scratch, first.0.len());
            for ((slice, text), tag) in [first, second].into_iter().zip(tags) {
                assert!(slice.iter().enumerate().all(|(i, x)| *x == tag << 16 | i as u64));
                assert_eq!(text.parse::<u64>().unwrap(), tag);
            }
            arena.reset();
        }
    }
    let leases = a_static_cache();
    runtime().block_on(async {
        let mut tasks = JoinSet::new();
        for tag in 0..TASKS as u64 / 4 {
            tasks.spawn(is_send(whole(leases, tag)));
        }
        tasks.join_all().await;
    });
    end(leases);
}

/// Many tasks share one arena at the same time.
#[test]
fn tasks_share_an_arena() {
    let arena = Arc::new(TaskArena::new());
    runtime().block_on(async {
        let mut tasks = JoinSet::new();
        for tag in 0..TASKS as u64 / 4 {
            let arena = arena.clone();
            tasks.spawn(is_send(async move {
                let slices: Vec<&mut [u64]> =
                    (0..STEPS).map(|n| arena.alloc_slice_clone(&vec![tag; n as usize])).collect();
                moves().await;
                assert!(slices.iter().all(|slice| slice.iter().all(|x| *x == tag)));
            }));
        }
        tasks.join_all().await;
    });
    assert!(arena.stats().live > 0);
}

/// Parcels are sent from task to task.
#[test]
fn parcels_go_through_a_channel() {
    toft::root!(struct Words => Vec<&'a str>);
    let leases = a_static_cache();
    let words: usize = runtime().block_on(async {
        let (send, mut receive) = tokio::sync::mpsc::channel::<Parcel<'static, Words>>(8);
        for tag in 0..4 {
            let send = send.clone();
            tokio::spawn(is_send(async move {
                for n in 0..TASKS / 4 {
                    let mut parcel = leases.parcel::<Words>(|arena| vec![toft::format_in!(arena, "{tag} {n}")]);
                    moves().await;
                    parcel.with_mut(|words, arena| words.push(arena.alloc_str(words[0])));
                    send.send(parcel).await.unwrap();
                }
            }));
        }
        drop(send);
        let mut words = 0;
        while let Some(parcel) = receive.recv().await {
            words += parcel.with(|words| words.iter().filter(|word| **word == words[0]).count());
        }
        words
    });
    assert_eq!(words, TASKS / 4 * 4 * 2);
    end(leases);
}
