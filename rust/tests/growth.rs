//! Memory is bounded and source calls stop in steady state; the cache stays within its limit, and each thread returns
//! its own.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/pages.rs"]
mod pages;
#[path = "common/strict.rs"]
mod strict;

use std::alloc::Layout;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Mutex;

use pages::Pages;
use std::time::Duration;
use toft::{cache, Arena, Keep, Options, Reserve, Scope, Source};

const MIRI: bool = cfg!(miri);

/// Fewer under Miri, and with `TOFT_SHORT` (Valgrind).
fn rounds(most: usize) -> usize {
    if MIRI {
        (most / 1000).clamp(3, 40)
    } else if std::env::var_os("TOFT_SHORT").is_some() {
        most / 50
    } else {
        most
    }
}

/// The limit of the caches is global: a test that changes it, or allocates much, runs alone.
static CACHE: Mutex<()> = Mutex::new(());

fn alone() -> impl Drop {
    struct Alone(#[allow(dead_code)] std::sync::MutexGuard<'static, ()>, usize);
    impl Drop for Alone {
        fn drop(&mut self) {
            cache::set_limit(self.1);
            cache::trim();
        }
    }
    let guard = CACHE.lock().unwrap_or_else(|e| e.into_inner());
    cache::trim();
    let limit = cache::set_limit(4 << 20);
    cache::set_limit(limit);
    Alone(guard, limit)
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Allocates memory and writes only its ends: these tests do not measure page faults.
fn take(arena: &Arena, size: usize, align: usize) -> *mut u8 {
    let p = arena.alloc_layout(Layout::from_size_align(size, align).unwrap()).as_ptr();
    assert_eq!(p.addr() % align, 0);
    if size != 0 {
        // SAFETY: the two ends of a new allocation.
        unsafe {
            p.write(1);
            p.add(size - 1).write(2);
        }
    }
    p
}

// ---- rounds ----

#[test]
fn memory_is_bounded_over_a_hundred_thousand_rounds() {
    let pages = Pages::new();
    let mut arena = Scope::from_source(&pages).unwrap();
    let mut dice = Dice(1);
    let rounds = rounds(100_000) as u64;
    let (mut most, mut calls) = (0, 0);
    for round in 0..rounds {
        for _ in 0..dice.below(12) {
            let size = match dice.below(10) {
                0 => dice.below(20_000),
                1..3 => dice.below(2000),
                _ => dice.below(100),
            };
            take(&arena, size, 1 << dice.below(8));
        }
        if dice.below(50) == 0 {
            take(&arena, dice.below(300_000), 8);
        }
        match dice.below(40) {
            0 => arena.reset_with(Keep::Bytes(dice.below(200_000))),
            1 => arena.trim(dice.below(100_000)),
            2..4 => {
                arena.scope_mut(|a| _ = take(a, 700, 8));
                arena.reset();
            }
            _ => arena.reset(),
        }
        most = most.max(pages.bytes.get());
        if round == rounds / 2 {
            calls = pages.calls.get();
        }
    }
    assert!(most < 4 << 20, "{most} bytes at the most");
    let calls = pages.calls.get() - calls;
    assert!(MIRI || calls < rounds / 5, "{calls} calls of the source in {} rounds", rounds / 2);
    arena.reset();
    assert_eq!(arena.stats().live, 0);
}

#[test]
fn a_steady_workload_stops_calling_the_source() {
    for size in [100, 3000, 50_000, 300_000, 3_000_000] {
        if MIRI && size > 50_000 {
            continue;
        }
        let pages = Pages::new();
        let mut arena = Scope::from_source(&pages).unwrap();
        let mut at_rest = 0;
        for round in 0..100 {
            for _ in 0..7 {
                take(&arena, size / 7, 8);
            }
            arena.reset();
            if round == 3 {
                at_rest = pages.calls.get();
            }
        }
        assert_eq!(pages.calls.get(), at_rest, "rounds of {size} bytes");
        assert!(arena.stats().blocks <= 2);
        assert!(pages.bytes.get() <= (4 * size as u64).max(16384), "{} for {size}", pages.bytes.get());
    }
}

/// Setting a budget, also none, is an event that makes the next reset a full one. What the short resets of an arena in
/// steady state leave uncounted must be included in the result of any later call.
#[test]
fn short_resets_count_like_full_ones() {
    let _alone = alone();
    for seed in 1..=if MIRI { 2 } else { 60 } {
        let mut dice = Dice(seed * 0x9E37_79B9);
        let (mut quick, mut whole) = (Arena::new(), Arena::new());
        let (mut most, mut left) = (3000, 0);
        for round in 0..if MIRI { 40 } else { 1500 } {
            if left == 0 {
                // A series of steady rounds, mostly small, some empty; then another.
                most = [0, 1, 500, 3000, 60_000, 200_000][dice.below(6)];
                left = 1 + dice.below(150);
            }
            left -= 1;
            let before = (quick.mark(), whole.mark());
            let size = if dice.below(4) == 0 { most / 2 } else { most };
            for part in 0..dice.below(4) {
                let offset = |arena: &Arena| take(arena, size / 4, 1 << (part + 2)).addr();
                let (a, b) = (offset(&quick), offset(&whole));
                assert_eq!(a & 63, b & 63);
            }
            match dice.below(12) {
                0 => assert_eq!(counts(&quick), counts(&whole), "seed {seed}, round {round}"),
                1 => rewind_both([(&quick, before.0), (&whole, before.1)], &mut dice),
                2 => open_scopes_in_both([&quick, &whole], size, &mut dice),
                3 if dice.below(8) == 0 => {
                    let keep = dice.below(100_000);
                    quick.trim(keep);
                    whole.trim(keep);
                }
                4 if dice.below(4) == 0 => {
                    quick.reset_with(Keep::Bytes(most));
                    whole.reset_with(Keep::Bytes(most));
                }
                _ => {}
            }
            let _ = whole.set_budget(None); // or a scope was leaked, which is an event too
            quick.reset();
            whole.reset();
            if dice.below(16) == 0 {
                if dice.below(2) == 0 {
                    quick.set_budget(None).unwrap();
                }
                // SAFETY: nothing is used.
                let stale = unsafe { (quick.rewind(before.0), whole.rewind(before.1)) };
                assert!(stale.0.is_err() && stale.1.is_err(), "seed {seed}, round {round}");
            }
        }
        let (a, b) = (quick.stats(), whole.stats());
        assert_eq!((a.live, a.allocated, a.peak, a.source_calls), (b.live, b.allocated, b.peak, b.source_calls));
    }
}

fn counts(arena: &Arena) -> [u64; 7] {
    let s = arena.stats();
    [s.live, s.allocated, s.peak, s.reserved, s.blocks, s.wasted, s.source_calls]
}

/// Frees inline: with or without a call of the provider that counts it.
fn rewind_both(both: [(&Arena, toft::Mark); 2], dice: &mut Dice) {
    let reads = dice.below(2) == 0;
    for (arena, mark) in both {
        if reads {
            arena.stats();
        }
        // SAFETY: nothing is used.
        unsafe { arena.rewind(mark) }.unwrap();
    }
    if dice.below(2) == 0 {
        assert_eq!(both.map(|(arena, _)| arena.stats().live), [0, 0]);
    }
}

fn open_scopes_in_both(both: [&Arena; 2], size: usize, dice: &mut Dice) {
    let reads = dice.below(2) == 0; // which makes the outer arena count it
    for arena in both {
        arena.scope(|inner| {
            take(inner, size, 8);
            reads.then(|| inner.stats())
        });
    }
    if dice.below(2) == 0 {
        both.map(|arena| std::mem::forget(arena.scope_guard()));
    }
}

/// Empty rounds count too: memory that only one round needed is returned.
#[test]
fn empty_rounds_return_the_memory_of_a_peak() {
    let _alone = alone();
    let mut arena = Arena::new();
    for peak in 0..3 {
        (0..2).for_each(|_| {
            take(&arena, 1 << 20, 8); // the second time in one block, which is kept
            arena.reset();
        });
        assert!(arena.stats().reserved > 1 << 20);
        let rounds = (1..).find(|_| {
            arena.reset();
            arena.stats().reserved <= 4096
        });
        assert!(rounds.is_some_and(|rounds| (56..=65).contains(&rounds)), "{peak}: {rounds:?}");
        (0..2).for_each(|_| {
            take(&arena, 1 << 20, 8);
            arena.reset();
        });
        (0..70).for_each(|_| arena.reset()); // without a call that reads the counters
        assert_eq!(arena.stats().reserved, 4096);
    }
}

/// Memory of a scope, of which the outer arena sees only the blocks that it leaves.
#[test]
fn the_memory_of_a_scopes_peak_is_returned() {
    let _alone = alone();
    let mut arena = Arena::new();
    let mut steady = |rounds: usize| {
        for _ in 0..rounds {
            take(&arena, 500, 8);
            arena.reset();
        }
        arena.scope(|inner| take(inner, 3 << 20, 8));
        arena.reset();
        for _ in 0..rounds {
            take(&arena, 500, 8);
            arena.reset();
        }
        arena.stats().reserved
    };
    for rounds in 70..90 {
        assert_eq!(steady(rounds), 4096);
    }
    // A round that needs no more in total, but a dedicated block.
    let mut arena = Arena::new();
    for size in [3000, 3000, 2600] {
        take(&arena, size, 8);
        if size == 2600 {
            arena.scope(|inner| take(inner, 100, 8));
            assert_eq!(arena.stats().reserved, 8192);
        }
        arena.reset();
    }
    assert_eq!(arena.stats().reserved, 4096);
}

#[test]
fn a_reset_keeps_what_recent_rounds_needed() {
    let pages = Pages::new();
    let mut arena = Scope::from_source(&pages).unwrap();
    let fill = |arena: &Arena| (0..100).for_each(|_| _ = take(arena, 5000, 8));
    fill(&arena);
    let used = pages.bytes.get();
    arena.reset_with(Keep::All);
    assert_eq!(arena.stats().live, 0);
    let calls = pages.calls.get();
    fill(&arena); // one block, merged
    assert!(pages.calls.get() <= calls + 1);
    arena.reset_with(Keep::Bytes(0));
    assert_eq!(pages.bytes.get(), 4096);
    fill(&arena);
    arena.reset_with(Keep::Bytes(50_000));
    fill(&arena);
    arena.reset_with(Keep::Bytes(50_000));
    assert!(pages.bytes.get() <= 4096 + 65_536, "{}", pages.bytes.get());
    fill(&arena);
    arena.reset();
    fill(&arena);
    arena.reset();
    let kept = pages.bytes.get();
    assert!(kept >= 500_000 && kept <= 4 * used, "{kept}");
    // The peak is forgotten when later rounds stay small.
    for _ in 0..80 {
        take(&arena, 100, 8);
        arena.reset();
    }
    assert_eq!(pages.bytes.get(), 4096);
}

/// Beside a range, the block that was allocated for one request serves others too, up to its very end.
#[test]
fn allocations_beside_a_range_fill_their_block() {
    for (large, rest) in [(1000, 3032), (65_600, 3968), (1 << 20, 4032)] {
        let pages = Pages::new();
        let arena = Scope::from_source(&pages).unwrap();
        let cursor = arena.cursor();
        take(&arena, large, 8);
        let calls = pages.calls.get();
        take(&arena, rest - 8, 8);
        take(&arena, 8, 8);
        assert_eq!(pages.calls.get(), calls, "{large}");
        take(&arena, 8, 8);
        assert_eq!(pages.calls.get(), calls + 1, "{large}");
        drop(cursor);
    }
}

/// A request that fits the buffer is served from it, whatever a reset keeps.
#[test]
fn a_buffer_that_was_large_enough_is_used_again() {
    let mut buffer = vec![MaybeUninit::uninit(); 20_000];
    let within = buffer.as_ptr_range();
    let mut arena = Arena::in_buffer_or_heap(&mut buffer).unwrap();
    for size in [15_000, 20_000 - 512 - 64] {
        for keep in [Keep::Recent, Keep::All, Keep::Bytes(0), Keep::Bytes(1 << 20), Keep::All] {
            let p: *mut u8 = take(&arena, size, 8);
            assert!(within.contains(&p.cast_const().cast()), "{size} {keep:?}");
            arena.reset_with(keep);
        }
    }
    assert_eq!(arena.stats().blocks, 1);
}

#[test]
fn a_buffer_of_any_size_is_used_to_its_last_word() {
    for size in 600..640 {
        for align in [1, 8, 64] {
            let mut buffer = vec![MaybeUninit::new(7u8); 1000];
            let base = buffer.as_ptr().addr();
            let skip = base.next_multiple_of(64) - base + 64 - align;
            let arena = Arena::in_buffer(&mut buffer[skip..skip + size]).unwrap();
            let mut bytes = 0;
            while let Ok(p) = arena.try_alloc_layout(Layout::new::<u8>()) {
                // SAFETY: the allocation is a word, though one byte was requested.
                unsafe { p.as_ptr().write_bytes(1, 8) };
                bytes += 8;
            }
            let start = (base + skip).next_multiple_of(64) + 512;
            assert_eq!(bytes, (base + skip + size).saturating_sub(start) & !7, "{size} {align}");
            drop(arena);
            // SAFETY: all of it was written.
            assert!(buffer[skip + size..].iter().all(|b| unsafe { b.assume_init() } == 7));
        }
    }
}

/// Blocks of equal size are kept, up to one half more than recent rounds needed.
#[test]
#[cfg_attr(miri, ignore = "slow")]
fn a_peak_of_equal_blocks_is_forgotten() {
    let pages = Pages::new();
    let mut arena = Scope::from_source(&pages).unwrap();
    let fill = |arena: &Arena, mib: usize| (0..mib * 5).for_each(|_| _ = take(arena, 200_000, 8));
    fill(&arena, 40);
    arena.reset();
    assert!(pages.bytes.get() >= 40 << 20);
    for _ in 0..80 {
        fill(&arena, 3);
        arena.reset();
    }
    assert!(pages.bytes.get() <= 7 << 20, "{}", pages.bytes.get());
}

#[test]
fn spare_blocks_are_listed_last() {
    let pages = Pages::new();
    let mut arena = Scope::from_source(&pages).unwrap();
    take(&arena, 100, 8);
    arena.scope_mut(|inner| (0..20).for_each(|_| _ = take(inner, 10_000, 8)));
    let blocks = arena.blocks();
    assert_eq!(blocks.iter().map(|b| b.size as u64).sum::<u64>(), pages.bytes.get());
    assert_eq!(
        blocks.iter().map(|b| b.spare).collect::<Vec<_>>(),
        (0..blocks.len()).map(|i| i > 0).collect::<Vec<_>>()
    );
    assert!(blocks.len() > 2);
}

/// A block that grows in place grows by half of its size, so that the source is called rarely.
#[test]
#[cfg_attr(miri, ignore = "needs addresses of the system")]
fn a_source_that_extends_is_called_rarely() {
    struct Counted(Reserve, Cell<usize>, Cell<usize>);
    // SAFETY: as `Reserve`.
    unsafe impl Source for Counted {
        fn take(&self, size: usize) -> Option<NonNull<u8>> {
            self.2.set(size);
            self.0.take(size)
        }
        unsafe fn put(&self, block: NonNull<u8>, size: usize) {
            assert_eq!(size, self.2.get());
            // SAFETY: the caller's contract.
            unsafe { self.0.put(block, size) }
        }
        unsafe fn extend(&self, block: NonNull<u8>, size: usize, want: usize) -> bool {
            self.1.set(self.1.get() + 1);
            // SAFETY: the caller's contract.
            let done = unsafe { self.0.extend(block, size, want) };
            if done {
                self.2.set(want);
            }
            done
        }
        fn extends(&self) -> bool {
            true
        }
    }
    let source = Counted(Reserve::new(64 << 20).unwrap(), Cell::new(0), Cell::new(0));
    let mut arena = Scope::from_source(&source).unwrap();
    for _ in 0..8000 {
        take(&arena, 4096, 8);
    }
    let extended = source.1.get();
    assert!(extended < 30, "{extended}");
    arena.reset(); // the block keeps its grown size
    for _ in 0..8000 {
        take(&arena, 4096, 8);
    }
    assert_eq!(source.1.get(), extended);
}

#[test]
fn dedicated_blocks_count_as_allocated() {
    let mut arena = Arena::new();
    take(&arena, 100, 8);
    take(&arena, 1 << 20, 8);
    let s = arena.stats();
    assert_eq!((s.live, s.allocated, s.peak), (104 + (1 << 20), 104 + (1 << 20), 104 + (1 << 20)));
    let cursor = arena.cursor();
    take(&arena, 100, 8);
    take(&arena, 200, 8);
    drop(cursor);
    arena.reset();
    let s = arena.stats();
    assert_eq!((s.live, s.allocated, s.peak), (0, 408 + (1 << 20), 408 + (1 << 20)));
}

/// A block serves a round that fills it, and is too small for the next: a round needs 512 bytes more than it allocates.
#[test]
fn a_round_that_needs_a_little_more_gets_a_larger_block() {
    let pages = Pages::new();
    let mut arena = Scope::from_source(&pages).unwrap();
    let fill = |arena: &Arena, bytes: usize| (0..bytes / 8).for_each(|_| _ = take(arena, 8, 8));
    for _ in 0..5 {
        fill(&arena, 7600);
        arena.reset();
        assert_eq!(pages.bytes.get(), 4096 + 8192);
    }
    fill(&arena, 8000);
    arena.reset();
    fill(&arena, 8000);
    assert_eq!(pages.bytes.get(), 4096 + 16_384);
}

#[test]
fn trim_returns_empty_blocks() {
    let pages = Pages::new();
    let mut arena = Scope::from_source(&pages).unwrap();
    for _ in 0..3 {
        (0..20).for_each(|_| _ = take(&arena, 10_000, 8));
        arena.reset();
    }
    assert!(pages.bytes.get() > 200_000);
    arena.trim(usize::MAX);
    assert!(pages.bytes.get() > 200_000);
    let p = take(&arena, 100, 8);
    arena.trim(0);
    assert!(arena.contains(p));
    // SAFETY: it was not freed.
    assert_eq!(unsafe { p.read() }, 1);
    arena.reset();
    arena.trim(0);
    assert_eq!(pages.bytes.get(), 4096);
    take(&arena, 100, 8);
}

#[test]
fn rewound_memory_is_kept_for_the_next_peak() {
    let pages = Pages::new();
    let mut arena = Scope::from_source(&pages).unwrap();
    for _ in 0..50 {
        arena.scope_mut(|a| (0..10).for_each(|_| _ = take(a, 20_000, 8)));
    }
    assert!(pages.calls.get() < 12, "{}", pages.calls.get());
}

// ---- growth in place ----

#[test]
fn with_capacity_takes_one_block() {
    for size in [1000, 10_000, 100_000, 1_000_000] {
        let pages = Pages::new();
        let arena = Scope::from_source_with(&pages, size, None).unwrap();
        let n = size / 100;
        let first = take(&arena, 96, 8).addr();
        for i in 1..n {
            assert_eq!(take(&arena, 96, 8).addr(), first + 96 * i, "of {size}");
        }
        assert!(pages.calls.get() <= 2, "{}", pages.calls.get());
    }
    assert!(Arena::with_capacity(0).try_alloc(1u8).is_ok());
    let arena = Arena::with_capacity(50_000);
    (0..500).for_each(|_| _ = take(&arena, 96, 8));
    assert_eq!(arena.stats().source_calls, 2);
}

#[cfg(feature = "allocator-api2")]
#[test]
fn a_vector_at_the_tip_grows_in_place() {
    use allocator_api2::vec::Vec;
    let arena = Arena::with_capacity(100_000);
    let mut v = Vec::<u32, &Arena>::new_in(&arena);
    v.push(0);
    let at = v.as_ptr();
    for i in 1..10_000 {
        v.push(i);
    }
    assert_eq!(v.as_ptr(), at);
    assert_eq!(arena.stats().live as usize, v.capacity() * 4);
    v.shrink_to_fit();
    assert_eq!((v.as_ptr(), arena.stats().live), (at, 40_000));
    drop(v);
    assert_eq!(arena.stats().live, 0);
}

#[test]
fn a_collected_slice_has_the_length_of_its_iterator() {
    let arena = Arena::with_capacity(100_000);
    for n in [0, 1, 3, 4, 5, 1000] {
        let before = arena.stats().live;
        let slice = arena.alloc_slice_from_iter((0..n as u16).filter(|_| true));
        assert_eq!((slice.len(), arena.stats().live - before), (n, (2 * n as u64 + 7) & !7));
        let before = arena.stats().live;
        let text = toft::format_in!(arena, "{:>1$}", "x", n);
        assert_eq!(text.len(), n.max(1));
        assert_eq!(arena.stats().live - before, (n.max(1) as u64 + 7) & !7);
    }
    // An iterator that itself allocates in the arena makes the slice move, and the result is correct.
    let words = arena.alloc_slice_from_iter((0..50).map(|i| &*toft::format_in!(arena, "word {i}")));
    assert!(words.iter().enumerate().all(|(i, w)| **w == format!("word {i}")));
}

#[test]
#[cfg_attr(miri, ignore = "needs addresses of the system")]
fn blocks_on_reserved_addresses_are_contiguous() {
    let mut arena = Options::new().source(Reserve::new(64 << 20).unwrap()).create().unwrap();
    for _ in 0..3 {
        let first = take(&arena, 1000, 8).addr();
        for i in 1..10_000 {
            assert_eq!(take(&arena, 1000, 8).addr(), first + 1000 * i);
        }
        assert_eq!(arena.stats().blocks, 1);
        arena.reset();
    }
    arena.trim(0);
    assert!(arena.stats().reserved <= 4096, "{}", arena.stats().reserved);
    take(&arena, 1_000_000, 4096);
}

// ---- sizes and alignments ----

#[test]
fn every_alignment_on_every_path() {
    let most = if MIRI { 12 } else { 16 };
    for source in 0..3 {
        let mut arena = match source {
            0 => Arena::new(),
            1 => Options::new().source(Pages::new()).create().unwrap(),
            _ => Options::new().source(toft::Pages::new()).create().unwrap(),
        };
        let mut dice = Dice(3);
        for _ in 0..if MIRI { 2 } else { 60 } {
            for shift in 0..=most {
                for size in [0, 1, 7, 8, 9, 63, 64, 65, 1000, 4000, 5000, dice.below(70_000)] {
                    take(&arena, size, 1 << shift);
                    take(&arena, dice.below(30), 8);
                    arena.scope(|inner| _ = take(inner, size, 1 << shift));
                }
            }
            arena.reset();
        }
    }
}

#[test]
fn values_are_aligned_as_their_types() {
    #[repr(align(64))]
    struct Line(#[allow(dead_code)] u8);
    #[repr(align(4096))]
    struct Page(#[allow(dead_code)] u8);
    let arena = Arena::new();
    for i in 0..200 {
        arena.alloc(i as u8);
        assert_eq!(std::ptr::from_mut(arena.alloc(Line(1))).addr() % 64, 0);
        assert_eq!(std::ptr::from_mut(arena.alloc(1u128)).addr() % 16, 0);
        let slice = arena.alloc_slice_fill_with(i % 3, |_| Line(2));
        assert_eq!(slice.as_ptr().addr() % 64, 0);
        if i % 10 == 0 {
            assert_eq!(std::ptr::from_mut(arena.alloc_with(|| Page(3))).addr() % 4096, 0);
            let mut cursor = arena.cursor();
            cursor.alloc(1u8);
            assert_eq!(std::ptr::from_mut(cursor.alloc(Page(4))).addr() % 4096, 0);
            assert_eq!(std::ptr::from_mut(cursor.alloc(Line(5))).addr() % 64, 0);
        }
    }
}

#[test]
fn zero_sized_values_take_no_memory() {
    #[repr(align(256))]
    struct Nothing;
    let arena = Arena::new();
    assert_eq!(std::ptr::from_mut(arena.alloc(Nothing)).addr() % 256, 0);
    arena.alloc(());
    arena.alloc_str("");
    arena.alloc_slice_copy::<u64>(&[]);
    arena.alloc_slice_fill(1_000_000, ());
    assert_eq!(arena.alloc_slice_from_iter(std::iter::repeat_n((), 1000)).len(), 1000);
    assert_eq!(arena.alloc_slice_from_iter([1u8; 0]).len(), 0);
    arena.cursor().alloc(());
    assert_eq!(arena.pack().alloc_str(""), "");
    toft::format_in!(arena, "");
    drop(arena.boxed(()));
    assert_eq!(arena.stats().live, 0);
    assert_eq!(take(&arena, 0, 1).addr() % 8, 0);
}

#[test]
fn packed_text_is_contiguous() {
    let arena = Arena::new();
    let pack = arena.pack();
    let words: Vec<&str> =
        (0..if MIRI { 200 } else { 10_000 }).map(|i| &*pack.alloc_str(["a", "bc", "def"][i % 3])).collect();
    let bytes: usize = words.iter().map(|w| w.len()).sum();
    assert!(arena.stats().live as usize <= bytes + bytes / 4 + 4096, "{} for {bytes}", arena.stats().live);
    assert!(words.iter().enumerate().all(|(i, w)| *w == ["a", "bc", "def"][i % 3]));
    let long = pack.alloc_str(&"x".repeat(5000));
    assert_eq!(long.len(), 5000);
}

// ---- the cache ----

#[test]
fn arenas_and_blocks_are_reused_from_the_cache() {
    let _alone = alone();
    assert_eq!(cache::held(), 0);
    drop(Arena::new());
    assert_eq!(cache::held(), 4096);
    let arena = Arena::new();
    assert_eq!(cache::held(), 0);
    take(&arena, 100_000, 8);
    let reserved = arena.stats().reserved as usize;
    drop(arena);
    assert_eq!(cache::held(), reserved);
    let allocations = strict::allocations();
    let arena = Arena::new();
    take(&arena, 100_000, 8);
    assert!(MIRI || strict::allocations() == allocations, "the cached arena was not reused");
    drop(arena);
    cache::trim();
    assert_eq!(cache::held(), 0);
}

fn one_arena(bytes: usize) {
    let arena = Arena::new();
    for _ in 0..bytes / 4096 {
        arena.alloc([1u8; 4000]);
    }
}

/// Sets the window of the page cache during one test.
struct Window(Duration);

impl Window {
    fn of(milliseconds: u64) -> Window {
        Window(cache::set_page_window(Duration::from_millis(milliseconds)))
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        cache::set_page_window(self.0);
    }
}

/// Nearly all that the cache may keep on 32-bit systems, and a quarter of it on 64-bit ones.
const LARGE: usize = if usize::BITS < 64 { 28 << 20 } else { 60 << 20 };

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
#[cfg(not(miri))]
fn reused_pages_stay_cached() {
    let _alone = alone();
    let _window = Window::of(3_600_000);
    assert_eq!(cache::pages_held(), 0);
    one_arena(LARGE);
    let held = cache::pages_held();
    assert!((LARGE - (4 << 20)..=LARGE + (4 << 20)).contains(&held), "{held}");
    for _ in 0..3 {
        one_arena(LARGE);
        std::thread::spawn(|| one_arena(LARGE)).join().unwrap();
        assert_eq!(cache::pages_held(), held);
    }
    one_arena(5 << 20);
    assert_eq!(cache::pages_held(), held);
    cache::trim();
    assert_eq!(cache::pages_held(), 0);
}

#[test]
#[cfg(not(miri))]
fn unused_pages_are_returned() {
    let _alone = alone();
    let window = Window::of(200);
    one_arena(LARGE);
    assert!(cache::pages_held() >= LARGE - (4 << 20));
    std::thread::sleep(Duration::from_millis(450)); // more than two windows
    (0..100).for_each(|_| one_arena(20_000));
    assert_eq!(cache::pages_held(), 0);
    drop(window);
    let _window = Window::of(0);
    one_arena(LARGE);
    one_arena(5 << 20);
    assert!(cache::pages_held() <= 2 << 20, "{}", cache::pages_held());
}

#[test]
fn the_cache_of_pages_is_bounded() {
    let _alone = alone();
    let size = if MIRI { 3 << 20 } else { 60 << 20 };
    let before = cache::set_page_limit(size / 2);
    let make = || {
        let arena = Options::new().reserve(size / 3).create().unwrap();
        take(&arena, size / 3 - 4096, 8);
        arena
    };
    let arenas = [make(), make()];
    drop(arenas);
    let held = cache::pages_held();
    assert!(held > 0 && held <= size / 2, "{held}");
    assert_eq!(cache::set_page_limit(0), size / 2);
    assert_eq!(cache::pages_held(), 0);
    drop(make());
    assert_eq!(cache::pages_held(), 0);
    cache::set_page_limit(before);
}

#[test]
#[cfg(not(miri))]
fn page_ranges_split_and_merge() {
    let _alone = alone();
    let _window = Window::of(3_600_000);
    let mut held: Vec<Option<(Arena, &'static mut [u8])>> = (0..64).map(|_| None).collect();
    let mut seed = 7u64;
    for step in 0..5000 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let i = (seed >> 33) as usize % held.len();
        match held[i].take() {
            Some((_arena, bytes)) => assert_eq!([bytes[0], bytes[bytes.len() - 1]], [i as u8; 2], "step {step}"),
            None => {
                let size = (1 << 20) + if seed >> 62 == 0 { ((seed >> 40) % 500) as usize * 4096 } else { 0 };
                let arena = Options::new().reserve(size).create().unwrap();
                let bytes = take(&arena, size, 8);
                // SAFETY: it is used only while the arena, stored next to it, is alive.
                let bytes = unsafe { std::slice::from_raw_parts_mut(bytes, size) };
                (bytes[0], bytes[size - 1]) = (i as u8, i as u8);
                held[i] = Some((arena, bytes));
            }
        }
    }
    held.clear();
    assert!(cache::pages_held() >= 28 << 20);
}

#[test]
fn the_cache_holds_no_more_than_its_limit() {
    let _alone = alone();
    assert_eq!(cache::set_limit(10_000), 4 << 20);
    let all: Vec<Arena> = (0..5).map(|_| Arena::new()).collect();
    drop(all);
    assert_eq!(cache::held(), 8192);
    assert_eq!(cache::set_limit(0), 10_000);
    assert_eq!(cache::held(), 8192); // kept until it is used or trimmed
    let arena = Arena::new();
    assert_eq!(cache::held(), 4096);
    drop(arena);
    assert_eq!(cache::held(), 4096);
    cache::trim();
    drop(Arena::new());
    assert_eq!(cache::held(), 0);
    cache::set_limit(usize::MAX / 8);
    let arena = Arena::new();
    take(&arena, if MIRI { 100_000 } else { 40 << 20 }, 8); // of pages, of which the thread caches none
    take(&arena, 100_000, 8);
    drop(arena);
    assert!(cache::held() > 100_000 && cache::held() < 1 << 20, "{}", cache::held());
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn a_thread_that_ends_returns_its_cache() {
    let _alone = alone();
    let threads = if MIRI { 3 } else { 50 };
    for _ in 0..threads {
        std::thread::spawn(|| {
            let arenas: Vec<Arena> = (0..10).map(|_| Arena::new()).collect();
            arenas.iter().for_each(|a| _ = take(a, 50_000, 8));
            drop(arenas);
            assert!(cache::held() > 500_000);
        })
        .join()
        .unwrap();
    }
    // The strict allocator verifies at exit that everything was returned.
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn an_arena_may_end_on_another_thread() {
    let _alone = alone();
    let made: Vec<Arena> = (0..20)
        .map(|i| {
            std::thread::spawn(move || {
                let arena = Arena::new();
                arena.alloc_drop(vec![i]);
                take(&arena, 30_000, 8);
                arena
            })
            .join()
            .unwrap()
        })
        .collect();
    assert_eq!(cache::held(), 0);
    for (i, mut arena) in made.into_iter().enumerate() {
        if i % 2 == 0 {
            arena.reset();
            take(&arena, 30_000, 8);
        }
        std::thread::spawn(move || drop(arena)).join().unwrap();
    }
    assert_eq!(cache::held(), 0);
    let arena = Arena::new();
    std::thread::scope(|s| {
        s.spawn(move || drop(arena));
    });
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn threads_create_send_and_trim_arenas_concurrently() {
    let _alone = alone();
    let (send, receive) = std::sync::mpsc::channel::<Arena>();
    let receive = Mutex::new(receive);
    std::thread::scope(|s| {
        for t in 0..4 {
            let (send, receive) = (send.clone(), &receive);
            s.spawn(move || {
                let mut dice = Dice(t + 1);
                for _ in 0..if MIRI { 5 } else { 2000 } {
                    let arena = receive.lock().unwrap().try_recv().unwrap_or_default();
                    for _ in 0..dice.below(5) {
                        take(&arena, dice.below(10_000), 8);
                    }
                    match dice.below(3) {
                        0 => drop(arena),
                        1 => cache::trim(),
                        _ => send.send(arena).unwrap(),
                    }
                }
            });
        }
    });
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn an_arena_in_a_thread_local_may_outlive_the_cache() {
    let _alone = alone();
    thread_local! {
        static BEFORE: Arena = Arena::new(); // made before or after the cache is first used
        static AFTER: std::cell::RefCell<Vec<Arena>> = const { std::cell::RefCell::new(vec![]) };
    }
    struct Uses;
    impl Drop for Uses {
        fn drop(&mut self) {
            let arena = Arena::new(); // the cache may be destroyed already
            arena.alloc_drop(vec![1]);
            take(&arena, 50_000, 8);
            arena.scope(|inner| _ = take(inner, 5000, 8));
        }
    }
    thread_local!(static LAST: Uses = const { Uses });
    for order in 0..4 {
        std::thread::spawn(move || {
            if order & 1 == 0 {
                LAST.with(|_| {});
            }
            if order & 2 == 0 {
                drop(Arena::new());
            }
            AFTER.with(|all| all.borrow_mut().push(Arena::new()));
            BEFORE.with(|arena| _ = take(arena, 20_000, 8));
            AFTER.with(|all| _ = take(&all.borrow()[0], 20_000, 8));
            LAST.with(|_| {});
        })
        .join()
        .unwrap();
    }
}

#[test]
fn an_arena_that_is_dropped_and_made_anew_is_fresh() {
    let _alone = alone();
    let arena = Options::new().budget(100).create().unwrap();
    take(&arena, 50, 8);
    drop(arena);
    let arena = Arena::new();
    // SAFETY: the arena is alive.
    assert_eq!(unsafe { arena.as_raw().as_ref() }.epoch.get() & 1, 0, "rewinds are inline");
    assert_eq!((arena.stats().live, arena.stats().budget, arena.stats().blocks), (0, u64::MAX, 1));
    take(&arena, 1000, 8);
    let mark = arena.mark();
    drop(arena);
    let arena = Arena::new();
    assert_eq!(arena.stats().live, 0);
    // A mark of the previous arena at the same address: refused, or without effect on later allocations.
    let p = take(&arena, 100, 8);
    // SAFETY: the memory above that mark's address is not used.
    let _ = unsafe { arena.rewind(mark) };
    assert_eq!(arena.contains(p), arena.stats().live != 0);
}
