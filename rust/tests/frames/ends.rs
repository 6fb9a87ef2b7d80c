//! Destructors, leaks, refusals, and many frames.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

// ---- destructors, leaks, refusals ----

#[test]
fn the_end_of_a_frame_drops_the_values_of_all_threads_once() {
    let mut frames = Frames::new();
    let drops = Drops::default();
    for round in 1..=rounds(20, 2) {
        thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..5 {
                        frames.here().alloc_drop(drops.value());
                        frames.here().alloc([0u8; 500]);
                    }
                });
            }
        });
        assert_eq!(drops.alive(), 20);
        frames.advance();
        assert_eq!((drops.alive(), drops.count()), (0, 20 * round));
        frames.advance();
        assert_eq!(drops.count(), 20 * round);
    }
}

#[test]
fn a_frame_ends_completely_when_a_destructor_panics() {
    let mut frames = Frames::new();
    let drops = Drops::default();
    let all = Barrier::new(4);
    thread::scope(|threads| {
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let (frames, drops, all) = (&frames, &drops, &all);
                threads.spawn(move || {
                    frames.here().alloc_drop(drops.value());
                    if i % 2 == 1 {
                        frames.here().alloc_drop(drops.bomb()); // in two of the four arenas
                    }
                    frames.here().alloc_drop(drops.value());
                    all.wait(); // so that no thread reuses another's arena
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
    assert_eq!(frames.arenas().count(), 4);
    assert!(panics(|| frames.advance()));
    assert_eq!((drops.count(), drops.alive(), live(&mut frames), frames.number()), (10, 0, 0, 1));
    frames.advance();
    assert_eq!((drops.count(), frames.number()), (10, 2));

    // The same at the end of the frames, and during another panic.
    frames.here().alloc_drop(drops.bomb());
    elsewhere(|| frames.here().alloc_drop(drops.value()).1);
    assert!(panics(|| drop(frames)));
    assert_eq!((drops.count(), drops.alive()), (12, 0));
    let ended = panics(|| {
        let frames = Frames::new();
        frames.here().alloc_drop(drops.bomb());
        elsewhere(|| frames.here().alloc_drop(drops.bomb()).1);
        panic!("the first one");
    });
    assert_eq!((ended, drops.count(), drops.alive()), (true, 14, 0));
}

#[test]
fn leaked_scopes_and_cursors_end_with_the_frame() {
    let mut frames = Frames::new();
    let drops = Drops::default();
    let leak = |frames: &Frames| {
        let scope = frames.here().scope_guard();
        (*scope).alloc_drop(drops.value());
        forget(scope.scope_guard());
        scope.alloc([1u8; 5000]);
        forget(scope);
        frames.here().alloc_drop(drops.value());
        forget(frames.here().cursor());
    };
    for round in 1..=rounds(20, 3) {
        leak(&frames);
        elsewhere(|| leak(&frames));
        frames.advance();
        assert_eq!((drops.count(), drops.alive(), live(&mut frames)), (4 * round, 0, 0));
        let mut list = frames.here().vec();
        list.extend(0..100);
        frames.here().alloc_drop(drops.value());
        drop(list);
        frames.advance();
        drops.0.fetch_sub(1, SeqCst);
    }
    leak(&frames);
    drop(frames);
    assert_eq!(drops.alive(), 0);
}

#[test]
fn a_destructor_may_use_other_frames() {
    struct Uses(Arc<Frames>, Arc<AtomicUsize>);
    impl Drop for Uses {
        fn drop(&mut self) {
            self.1.fetch_add(self.0.here().alloc_slice_fill(10, 1u8).len(), SeqCst);
        }
    }
    let (mut frames, others, used) = (Frames::new(), Arc::new(Frames::new()), Arc::new(AtomicUsize::new(0)));
    frames.here().alloc_drop(Uses(others.clone(), used.clone()));
    elsewhere(|| {
        frames.here().alloc_drop(Uses(others.clone(), used.clone()));
    });
    frames.advance();
    assert_eq!(used.load(SeqCst), 20);
    assert_eq!(others.here().stats().live, 32); // of this thread, which ended the frame
}

#[test]
fn a_thread_whose_arena_was_refused_may_try_again() {
    let turn = Arc::new(AtomicUsize::new(0));
    let turns = turn.clone();
    let mut frames = Frames::with(move || match turns.fetch_add(1, SeqCst) {
        0 => Err(AllocError),
        1 => panic!("no arena today"),
        _ => Options::new().budget(104).create(),
    });
    assert!(frames.try_here().is_err());
    assert!(panics(|| assert_eq!(*frames.here().alloc(1), 1)));
    assert_eq!(frames.arenas().count(), 0);
    assert_eq!(*frames.here().alloc(7), 7);
    assert!(frames.here().try_alloc([0u8; 97]).is_err()); // over the budget
    frames.advance();
    assert!(frames.here().try_alloc([0u8; 100]).is_ok());
    assert_eq!((frames.arenas().count(), turn.load(SeqCst)), (1, 3));
}

#[test]
fn a_function_that_creates_an_arena_may_use_frames() {
    static THESE: OnceLock<Frames> = OnceLock::new();
    thread_local!(static INSIDE: Cell<bool> = const { Cell::new(false) });
    let others = Frames::new();
    let theirs = Arc::new(others);
    let make = {
        let theirs = theirs.clone();
        move || {
            theirs.here().alloc(1u64);
            if !INSIDE.replace(true) {
                THESE.get().unwrap().here().alloc(2u64);
            }
            Arena::try_new()
        }
    };
    let these = THESE.get_or_init(|| Frames::with(make));
    let arena = these.here();
    arena.alloc(3u64);
    assert!(std::ptr::eq(arena, these.here()));
    assert_eq!((arena.stats().live, theirs.here().stats().live), (8, 16));
    strict::forgive(3); // those of `these`, and of `theirs`, which the former own
}

// ---- many frames ----

#[test]
fn a_hundred_thousand_frames_take_no_more_than_the_first_ones() {
    let mut frames = Frames::new();
    let mut random = Random(7);
    let (many, warm) = (rounds(100_000, 40), rounds(1000, 20));
    let (mut most, mut calls) = (0, 0);
    for frame in 0..many {
        let arena = frames.here();
        for _ in 0..8 {
            arena.alloc_uninit_slice::<u8>(1000 + random.below(500));
        }
        arena.scope(|inner| inner.alloc_uninit_slice::<u8>(random.below(2000)).len());
        frames.advance();
        let stats = frames.arenas().next().unwrap().stats();
        if frame < warm {
            (most, calls) = (stats.reserved.max(most), stats.source_calls);
        }
        assert!(stats.reserved <= most, "{} bytes in frame {frame}", stats.reserved);
    }
    let stats = frames.arenas().next().unwrap().stats();
    assert_eq!(stats.source_calls, calls, "slow calls after frame {warm}");
    assert!(most <= 3 * 16384, "{most}");
}

#[test]
fn frames_of_any_size_stay_within_a_bound() {
    let mut frames = Frames::new();
    let mut random = Random(3);
    for _ in 0..rounds(20_000, 20) {
        let arena = frames.here();
        for _ in 0..random.below(10) {
            let bytes = 1 << random.below(17);
            arena.alloc_uninit_slice::<u8>(bytes + random.below(bytes));
        }
        if random.below(3) == 0 {
            elsewhere_sometimes(&frames, &mut random);
        }
        frames.advance();
        assert!(frames.arenas().count() <= 2 && reserved(&mut frames) <= 2 * (8 << 20));
    }
}

fn elsewhere_sometimes(frames: &Frames, random: &mut Random) {
    if random.below(20) == 0 {
        let bytes = random.below(100_000);
        elsewhere(|| frames.here().alloc_uninit_slice::<u8>(bytes).len());
    }
}
