//! Arenas that many threads fill at once: allocations do not overlap, keep their contents, are aligned, and are freed.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/random.rs"]
mod random;
#[path = "common/refusing.rs"]
mod refusing;
#[path = "common/strict.rs"]
mod strict;

use std::alloc::Layout;
use std::sync::{Barrier, Mutex};
use std::thread;

use random::Random;
use refusing::Refusing;
use toft::{Keep, Local, SharedArena, Source};

const MIRI: bool = cfg!(miri);
const THREADS: usize = if MIRI { 3 } else { 8 };

/// An allocation of a thread: address, size, and the byte written there.
struct Piece {
    at: *mut u8,
    size: usize,
    tag: u8,
}

// SAFETY: the bytes have one owner at a time.
unsafe impl Send for Piece {}

fn layout(random: &mut Random) -> Layout {
    let size = match random.below(60) {
        0 => 0,
        1 => 20_000 + random.below(60_000),
        2..=6 => random.below(5000),
        _ => random.below(200),
    };
    Layout::from_size_align(size, 1 << if random.below(8) == 0 { random.below(9) } else { random.below(4) }).unwrap()
}

fn piece(p: std::ptr::NonNull<u8>, layout: Layout, tag: u8) -> Piece {
    assert_eq!(p.as_ptr() as usize % layout.align(), 0);
    // SAFETY: just allocated.
    unsafe { p.as_ptr().write_bytes(tag, layout.size()) };
    Piece { at: p.as_ptr(), size: layout.size(), tag }
}

fn check(pieces: &mut [Piece]) {
    for piece in pieces.iter() {
        // SAFETY: written by `piece`, and the arena was not reset.
        let bytes = unsafe { std::slice::from_raw_parts(piece.at, piece.size) };
        let mut some = bytes.iter().step_by(if MIRI { 61 } else { 1 });
        assert!(
            some.all(|b| *b == piece.tag) && bytes.last().is_none_or(|b| *b == piece.tag),
            "overwritten by another thread"
        );
    }
    pieces.sort_by_key(|piece| piece.at as usize);
    // Allocations of size 0 have distinct addresses, too.
    let overlap = pieces.windows(2).any(|two| two[0].at as usize + two[0].size.max(1) > two[1].at as usize);
    assert!(!overlap, "two allocations overlap");
}

/// Allocates one half from the arena itself, and the other from a part of it.
fn fill<S: Source>(arena: &SharedArena<S>, thread: usize, round: usize) -> Vec<Piece> {
    let (local, mut random) = (arena.local(), Random((thread * 1000 + round) as u64 + 1));
    (0..if MIRI { 30 } else { 1500 })
        .map(|i| {
            let layout = layout(&mut random);
            let whole = random.below(2) == 0;
            let p = if whole { arena.alloc_layout(layout) } else { local.alloc_layout(layout) };
            piece(p, layout, (thread * 31 + i) as u8)
        })
        .collect()
}

fn stress<S: Source + Send>(arena: &mut SharedArena<S>, rounds: usize) {
    for round in 0..rounds {
        let (all, barrier) = (Mutex::new(vec![]), Barrier::new(THREADS));
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (arena, all, barrier) = (&*arena, &all, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let mut pieces = fill(arena, thread, round);
                    check(&mut pieces);
                    all.lock().unwrap().extend(pieces);
                });
            }
        });
        let mut all = all.into_inner().unwrap();
        check(&mut all);
        let s = arena.stats();
        assert!(s.live >= all.iter().map(|piece| piece.size as u64).sum());
        assert!(s.reserved >= s.live + s.wasted, "{s:?}");
        arena.reset();
        assert_eq!(arena.stats().live, 0);
    }
}

/// Fewer under Miri, and with `TOFT_SHORT`.
fn rounds(most: usize) -> usize {
    if MIRI {
        most / 6
    } else if std::env::var_os("TOFT_SHORT").is_some() {
        most / 3
    } else {
        most
    }
}

#[test]
fn threads_fill_an_arena_at_once() {
    let source = Refusing::shifted(1);
    let mut arena = SharedArena::from_source(&source);
    stress(&mut arena, rounds(12));
    assert_eq!(source.bytes() as u64, arena.stats().reserved);
    drop(arena);
    assert_eq!(source.bytes(), 0);
}

#[test]
fn on_the_heap() {
    stress(&mut SharedArena::new(), rounds(6));
}

#[test]
fn values_of_all_kinds() {
    fn all<'a, S: Source>(arena: &'a SharedArena<S>, local: &Local<'a, S>) -> Vec<&'a str> {
        let mut found: Vec<&'a str> = vec![];
        for i in 0..if MIRI { 20 } else { 500 } {
            found.push(arena.alloc_str(&format!("whole {i}")));
            found.push(toft::format_in!(arena, "whole {}", i));
            found.push(local.alloc_str(&format!("local {i}")));
            found.push(toft::format_in!(local, "local {}", i));
            let nested: &mut &mut u64 = local.alloc_with(|| local.alloc(i));
            assert_eq!(**nested, i);
            assert_eq!(local.alloc_slice_copy(&[i; 3]), [i; 3]);
            assert_eq!(arena.alloc_slice_fill_with(3, |k| k as u64 + i), [i, i + 1, i + 2]);
            arena.alloc(());
            assert!(local.alloc_slice_copy::<u8>(&[]).is_empty());
        }
        found
    }
    let arena = SharedArena::new();
    let found = all(&arena, &arena.local()); // the part ends before the values are read
    for (i, four) in found.chunks(4).enumerate() {
        assert_eq!(four, [format!("whole {i}"), format!("whole {i}"), format!("local {i}"), format!("local {i}")]);
    }
    // Longer than a block's rest, and than what grows in place.
    let long = toft::format_in!(arena, "{:>60000}{:>60000}", 7, 8);
    assert!(long.len() == 120_000 && long.ends_with(" 8"));
}

#[test]
fn a_panic_leaves_the_arena_unchanged() {
    let arena = SharedArena::new();
    let rc = std::rc::Rc::new(());
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        arena.alloc_slice_fill_with(5, |i| {
            std::panic::set_hook(Box::new(|_| ()));
            assert!(i < 3);
            rc.clone()
        });
    }));
    drop(std::panic::take_hook());
    assert!(made.is_err());
    assert_eq!(std::rc::Rc::strong_count(&rc), 1); // the values were dropped
    assert_eq!(*arena.alloc(7), 7);
}

#[test]
fn the_newest_allocation_is_freed() {
    let arena = SharedArena::new();
    let local = arena.local();
    local.alloc(1u64);
    assert_eq!(arena.stats().live, 2048);
    drop(local); // returns all but its allocations
    assert_eq!(arena.stats().live, 8);
    let (one, two) = (arena.local(), arena.local());
    one.alloc(1u64);
    two.alloc(1u64);
    drop(one); // two's allocation is behind it
    drop(two);
    assert_eq!(arena.stats().live, 8 + 2048 + 8);
}

#[cfg(feature = "allocator-api2")]
#[test]
fn collections() {
    use allocator_api2::{boxed::Box, vec::Vec};
    let arena = SharedArena::new();
    let live = arena.stats().live;
    let mut grows = Vec::new_in(&arena);
    (0..2000u64).for_each(|i| grows.push(i)); // in place, block by block
    assert!(arena.stats().live < live + 3 * 16_000);
    drop(Box::new_in([0u8; 100], &arena));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let local = arena.local();
                let (mut whole, mut own) = (Vec::new_in(&arena), Vec::new_in(&local));
                for i in 0..if MIRI { 50 } else { 3000u32 } {
                    whole.push(Box::new_in(i, &arena));
                    own.push(i);
                }
                own.shrink_to_fit();
                assert!(whole.iter().zip(&own).enumerate().all(|(i, (a, b))| **a == *b && *b == i as u32));
            });
        }
    });
    assert!(grows.iter().enumerate().all(|(i, x)| i as u64 == *x));
}

#[test]
fn steady_rounds_call_no_source() {
    let source = Refusing::default();
    let mut arena = SharedArena::from_source(&source);
    let mut calls = 0;
    for round in 0..if MIRI { 10 } else { 200 } {
        for i in 0..if MIRI { 20 } else { 300usize } {
            arena.alloc_slice_fill_with(100 + i % 7 * 50, |_| 0u8);
        }
        arena.alloc_layout(Layout::new::<[u8; 100_000]>());
        arena.reset();
        if round == 4 {
            calls = source.requests();
        }
    }
    assert_eq!(source.requests(), calls, "a steady round calls no source");
    arena.reset_with(Keep::All);
    assert!(arena.stats().reserved > 0);
    arena.alloc(1);
    arena.reset_with(Keep::Bytes(0));
    assert_eq!((arena.stats().reserved, source.bytes()), (0, 0));
    // A large round is forgotten.
    arena.alloc_layout(Layout::new::<[u8; 5 << 20]>());
    for _ in 0..100 {
        arena.alloc([0u8; 1000]);
        arena.reset();
    }
    assert!(arena.stats().reserved <= 64 << 10, "{:?}", arena.stats());
}
