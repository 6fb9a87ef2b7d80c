//! Rounds of one arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn memory_is_bounded_over_a_hundred_thousand_rounds() {
    let _alone = alone();
    let pages = Pages::new();
    let mut arena = Scope::from_source(&pages).unwrap();
    let mut random = Random(1);
    let rounds = rounds(100_000) as u64;
    let (mut most, mut calls) = (0, 0);
    for round in 0..rounds {
        for _ in 0..random.below(12) {
            let size = match random.below(10) {
                0 => random.below(20_000),
                1..3 => random.below(2000),
                _ => random.below(100),
            };
            take(&arena, size, 1 << random.below(8));
        }
        if random.below(50) == 0 {
            take(&arena, random.below(300_000), 8);
        }
        match random.below(40) {
            0 => arena.reset_with(Keep::Bytes(random.below(200_000))),
            1 => arena.trim(random.below(100_000)),
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

/// Setting a budget, also none, is an event that makes the next reset a full one. What the short resets of an arena in
/// steady state leave uncounted must be included in the result of any later call.
#[test]
fn short_resets_count_like_full_ones() {
    let _alone = alone();
    for seed in 1..=if MIRI { 2 } else { 60 } {
        let mut random = Random(seed * 0x9E37_79B9);
        let (mut quick, mut whole) = (Arena::new(), Arena::new());
        let (mut most, mut left) = (3000, 0);
        for round in 0..if MIRI { 40 } else { 1500 } {
            if left == 0 {
                // A series of steady rounds, mostly small, some empty; then another.
                most = [0, 1, 500, 3000, 60_000, 200_000][random.below(6)];
                left = 1 + random.below(150);
            }
            left -= 1;
            let before = (quick.mark(), whole.mark());
            let size = if random.below(4) == 0 { most / 2 } else { most };
            for part in 0..random.below(4) {
                let offset = |arena: &Arena| take(arena, size / 4, 1 << (part + 2)).addr();
                let (a, b) = (offset(&quick), offset(&whole));
                assert_eq!(a & 63, b & 63);
            }
            match random.below(12) {
                0 => assert_eq!(counts(&quick), counts(&whole), "seed {seed}, round {round}"),
                1 => rewind_both([(&quick, before.0), (&whole, before.1)], &mut random),
                2 => open_scopes_in_both([&quick, &whole], size, &mut random),
                3 if random.below(8) == 0 => {
                    let keep = random.below(100_000);
                    quick.trim(keep);
                    whole.trim(keep);
                }
                4 if random.below(4) == 0 => {
                    quick.reset_with(Keep::Bytes(most));
                    whole.reset_with(Keep::Bytes(most));
                }
                _ => {}
            }
            let _ = whole.set_budget(None); // or a scope was leaked, which is an event too
            quick.reset();
            whole.reset();
            if random.below(16) == 0 {
                if random.below(2) == 0 {
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
fn rewind_both(both: [(&Arena, toft::Mark); 2], random: &mut Random) {
    let reads = random.below(2) == 0;
    for (arena, mark) in both {
        if reads {
            arena.stats();
        }
        // SAFETY: nothing is used.
        unsafe { arena.rewind(mark) }.unwrap();
    }
    if random.below(2) == 0 {
        assert_eq!(both.map(|(arena, _)| arena.stats().live), [0, 0]);
    }
}

fn open_scopes_in_both(both: [&Arena; 2], size: usize, random: &mut Random) {
    let reads = random.below(2) == 0; // which makes the outer arena count it
    for arena in both {
        arena.scope(|inner| {
            take(inner, size, 8);
            reads.then(|| inner.stats())
        });
    }
    if random.below(2) == 0 {
        both.iter().for_each(|arena| std::mem::forget(arena.scope_guard()));
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

/// A request that fits the buffer is served from it, whatever a reset keeps.
#[test]
fn a_buffer_that_was_large_enough_is_used_again() {
    let _alone = alone();
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
    let _alone = alone();
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

#[test]
fn spare_blocks_are_listed_last() {
    let _alone = alone();
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
    let _alone = alone();
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
