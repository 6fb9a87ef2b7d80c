//! Containers whose elements are replaced, on the global allocator, mimalloc and Toft's recyclers: nanoseconds of
//! processor time for each element, medians of rounds in which the allocators take turns.
//!
//!     cargo run --release                            chained maps, and boxes that come and go
//!     cargo +nightly run --release --features nightly      and BTreeMap
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg_attr(feature = "nightly", feature(allocator_api, btreemap_alloc), allow(stable_features))]

use std::alloc::{GlobalAlloc, Layout};
use std::hint::black_box;
use std::ptr::NonNull;
use std::time::Duration;

use allocator_api2::alloc::{AllocError, Allocator, Global};
use allocator_api2::boxed::Box;
use measure::{turns, Samples};
use mimalloc::MiMalloc;
use toft::{Recycler, SyncRecycler};

#[derive(Clone, Copy)]
struct Mimalloc;

fn answer(p: *mut u8, layout: Layout) -> Option<NonNull<[u8]>> {
    Some(NonNull::slice_from_raw_parts(NonNull::new(p)?, layout.size()))
}

// SAFETY: mimalloc's contract is that of a global allocator.
unsafe impl Allocator for Mimalloc {
    #[inline(always)]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: no size here is 0.
        answer(unsafe { MiMalloc.alloc(layout) }, layout).ok_or(AllocError)
    }
    #[inline(always)]
    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { MiMalloc.dealloc(p.as_ptr(), layout) }
    }
}

#[cfg(feature = "nightly")]
// SAFETY: as above.
unsafe impl std::alloc::Allocator for Mimalloc {
    #[inline(always)]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, std::alloc::AllocError> {
        // SAFETY: as above.
        answer(unsafe { MiMalloc.alloc(layout) }, layout).ok_or(std::alloc::AllocError)
    }
    #[inline(always)]
    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { MiMalloc.dealloc(p.as_ptr(), layout) }
    }
}

#[cfg(feature = "nightly")]
// SAFETY: all instances are the same heap.
unsafe impl std::alloc::AllocatorClone for Mimalloc {}
#[cfg(feature = "nightly")]
impl std::alloc::AllocatorNightly for Mimalloc {}

/// A map of chains: a node of 40 bytes for each key, as in a `std::map` of numbers.
struct Node<A: Allocator> {
    key: u64,
    value: [u64; 3],
    next: Option<Box<Node<A>, A>>,
}

fn chained<A: Allocator + Copy>(a: A, rounds: usize, n: usize) {
    let mut heads: Vec<Option<Box<Node<A>, A>>> = (0..n).map(|_| None).collect();
    for round in 0..rounds {
        for key in 0..n {
            let bucket = key.wrapping_mul(0x9E37_79B9) % n;
            let next = heads[bucket].take();
            heads[bucket] = Some(Box::new_in(Node { key: key as u64, value: [round as u64; 3], next }, a));
        }
        for head in &mut heads {
            while let Some(mut node) = head.take() {
                black_box(node.key + node.value[1]);
                *head = node.next.take();
            }
        }
    }
}

/// `n` boxes of 16 to 271 bytes are live; each round replaces a random one.
fn churn<A: Allocator + Copy>(a: A, rounds: usize, n: usize) {
    let mut random = 1u64;
    let mut below = |n: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % n
    };
    let mut live: Vec<(NonNull<[u8]>, Layout)> = Vec::with_capacity(n);
    for i in 0..rounds * n {
        let layout = Layout::from_size_align(16 + below(256), 8).unwrap();
        let p = a.allocate(layout).unwrap();
        // SAFETY: new, of at least 16 bytes.
        unsafe { p.cast::<u64>().write(i as u64) };
        if live.len() < n {
            live.push((p, layout));
        } else {
            let (p, layout) = std::mem::replace(&mut live[below(n)], (p, layout));
            // SAFETY: allocated with this layout.
            unsafe { a.deallocate(p.cast(), layout) };
        }
    }
    for (p, layout) in live {
        // SAFETY: allocated with this layout.
        unsafe { a.deallocate(p.cast(), layout) };
    }
}

/// Processor time of this thread: other programs may run at the same time.
fn spent() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

type Case<'a> = (&'a str, usize, &'a dyn Fn(usize));

fn row(name: &str, cases: &[Case<'_>]) {
    let mut samples = vec![Samples::default(); cases.len()];
    for round in 0..10 {
        for turn in turns(cases.len(), round) {
            let (_, elements, run) = cases[turn];
            let start = spent();
            run(turn);
            if round > 0 {
                samples[turn].push((spent() - start).as_secs_f64() * 1e9 / elements as f64);
            }
        }
    }
    let cells =
        cases.iter().zip(&samples).map(|((who, ..), s)| format!("{who} {:.1} ({:.1})", s.median(), s.range().0));
    println!("{name}: {}", cells.collect::<Vec<_>>().join(", "));
}

fn main() {
    let (recycler, sync) = (Recycler::new(), SyncRecycler::new());
    println!("ns an element, median (least)");
    macro_rules! rows {
        ($name:expr, $run:ident, $global:expr, $rounds:expr, $n:expr) => {
            row(
                $name,
                &[
                    ("global", $rounds * $n, &|_| $run($global, $rounds, $n)),
                    ("mimalloc", $rounds * $n, &|_| $run(Mimalloc, $rounds, $n)),
                    ("recycler", $rounds * $n, &|_| $run(&recycler, $rounds, $n)),
                    ("synchronized", $rounds * $n, &|_| $run(&sync, $rounds, $n)),
                ],
            )
        };
    }
    rows!("chained map, 10 x 100,000 in and out", chained, Global, 10, 100_000);
    rows!("chained map, 100 x 1,000", chained, Global, 100, 1_000);
    rows!("16 to 271 B, random replacement, 100,000 live", churn, Global, 10, 100_000);
    rows!("16 to 271 B, random replacement, 1,000 live", churn, Global, 100, 1_000);
    #[cfg(feature = "nightly")]
    {
        fn tree<A: std::alloc::AllocatorClone>(a: A, rounds: usize, n: usize) {
            let mut map = std::collections::BTreeMap::new_in(a);
            for _ in 0..rounds {
                (0..n as u64).for_each(|key| drop(map.insert(key, key)));
                black_box(map.len());
                map.clear();
            }
        }
        rows!("BTreeMap ascending, 10 x 100,000 and clear", tree, std::alloc::Global, 10, 100_000);
        rows!("BTreeMap ascending, 100 x 1,000 and clear", tree, std::alloc::Global, 100, 1_000);
    }
    println!("held at the end: {} of recycler, {} of synchronized", recycler.stats().reserved, sync.stats().reserved);
}
