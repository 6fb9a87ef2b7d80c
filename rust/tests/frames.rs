//! Frames: each thread has its own arena, all of them are emptied together, a published root lives for the configured
//! number of frames, and a destructor runs once, also after panics and leaks, whatever ends first.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/strict.rs"]
mod strict;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::mem::forget;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Once, OnceLock, RwLock};
use std::thread;

use toft::{AllocError, Arena, Buffered, Frames, Options};

const MIRI: bool = cfg!(miri);

/// Fewer under Miri, and with `TOFT_SHORT` (Valgrind).
fn rounds(most: usize, miri: usize) -> usize {
    if MIRI {
        miri
    } else if std::env::var_os("TOFT_SHORT").is_some() {
        (most / 50).max(miri)
    } else {
        most
    }
}

/// A deterministic pseudo-random generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Counts its drops, and panics in the first one if the flag is set.
struct Counted(Arc<AtomicUsize>, bool);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        if self.1 {
            panic!("a destructor's panic");
        }
    }
}

#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn value(&self) -> Counted {
        Counted(self.0.clone(), false)
    }

    fn bomb(&self) -> Counted {
        Counted(self.0.clone(), true)
    }

    fn count(&self) -> usize {
        self.0.load(SeqCst)
    }

    /// Values that were made and not dropped yet.
    fn alive(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

fn panics(f: impl FnOnce()) -> bool {
    // A one-line hook: the standard library's would print a backtrace of a panic within a panic, which takes minutes
    // under Miri.
    static ONE_LINE: Once = Once::new();
    ONE_LINE.call_once(|| std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))));
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

fn address(frames: &Frames) -> usize {
    std::ptr::from_ref(frames.here()).addr()
}

fn live(frames: &mut Frames) -> u64 {
    frames.arenas().map(|arena| arena.stats().live).sum()
}

fn reserved(frames: &mut Frames) -> u64 {
    frames.arenas().map(|arena| arena.stats().reserved).sum()
}

/// On a thread that has ended when this returns, including its thread-locals.
fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|threads| threads.spawn(f).join().unwrap())
}

// ---- an arena for each thread ----

#[test]
fn frames_may_be_sent_and_shared() {
    fn both<T: Send + Sync>() {}
    both::<Frames>();
    both::<Buffered<Numbers>>();
    both::<RwLock<Frames>>();
}

#[test]
fn two_frames_on_one_thread_share_nothing() {
    let (mut a, mut b) = (Frames::new(), Frames::default());
    for frame in 1..=3u64 {
        let mine = a.here().alloc(frame);
        let other = b.here().alloc_slice_fill(100, frame);
        assert_ne!(address(&a), address(&b));
        assert_eq!((address(&a), address(&b)), (address(&a), address(&b))); // alternately
        assert_eq!((*mine, other[99]), (frame, frame));
        a.advance();
        assert_eq!((live(&mut a), live(&mut b), a.number(), b.number()), (0, 800, frame, frame - 1));
        b.advance();
    }
}

#[test]
fn many_frames_come_and_go_on_one_thread() {
    let each = || {
        let outer = Frames::new();
        outer.here().alloc(1);
        for i in 0..10 {
            let inner = Frames::new();
            inner.here().alloc(i);
            assert_eq!((inner.here().stats().live, outer.here().stats().live), (8, 8));
        }
    };
    each();
    each();
    strict::balanced(|| (0..rounds(100, 2)).for_each(|_| each()));
}

#[test]
fn each_thread_has_an_arena_of_its_own() {
    let mut frames = Frames::new();
    let (all, main) = (Barrier::new(8), address(&frames));
    let addresses = thread::scope(|threads| {
        let (frames, all) = (&frames, &all);
        let threads: Vec<_> = (0..8u32)
            .map(|i| {
                threads.spawn(move || {
                    let arena = frames.here();
                    all.wait();
                    let slice = arena.alloc_slice_fill(1000, i);
                    all.wait();
                    assert!(slice.iter().all(|x| *x == i) && std::ptr::eq(arena, frames.here()));
                    std::ptr::from_ref(arena).addr()
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect::<HashSet<_>>()
    });
    assert!(addresses.len() == 8 && !addresses.contains(&main));
    assert_eq!(frames.arenas().count(), 9);
    assert_eq!(live(&mut frames), 8 * 4000);
    frames.advance();
    assert_eq!(live(&mut frames), 0);
}

#[test]
fn frames_move_and_advance_anywhere() {
    let mut frames = Frames::new();
    let drops = Drops::default();
    for _ in 0..3 {
        frames.here().alloc_drop(drops.value());
        let theirs = drops.clone();
        frames = elsewhere(move || {
            frames.here().alloc_drop(theirs.value());
            frames.advance();
            frames
        });
    }
    assert_eq!((drops.count(), drops.alive(), live(&mut frames)), (6, 0, 0));
    frames.here().alloc_drop(drops.value());
    elsewhere(move || drop(frames));
    assert_eq!(drops.count(), 7);
}

// ---- several threads ----

#[test]
fn eight_threads_use_frames_that_the_main_thread_ends() {
    const THREADS: usize = 8;
    let frames = RwLock::new(Frames::new());
    let (begin, end) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    let many = rounds(2000, 3);
    thread::scope(|threads| {
        for i in 0..THREADS {
            let (frames, begin, end) = (&frames, &begin, &end);
            threads.spawn(move || {
                let mut dice = Dice(i as u64 + 1);
                for frame in 0..many {
                    begin.wait();
                    {
                        let frames = frames.read().unwrap();
                        let arena = frames.here();
                        assert_eq!((arena.stats().live, frames.number()), (0, frame as u64));
                        let mark = (frame * THREADS + i) as u64;
                        let slices =
                            arena.alloc_slice_from_iter((0..10).map(|_| arena.alloc_slice_fill(dice.below(50), mark)));
                        let mut list = arena.vec();
                        for x in 0..dice.below(50) as u64 {
                            list.push(x + mark);
                        }
                        assert!(slices.iter().all(|slice| slice.iter().all(|x| *x == mark)));
                        assert!(list.iter().enumerate().all(|(x, y)| x as u64 + mark == *y));
                    }
                    end.wait();
                }
            });
        }
        for _ in 0..many {
            begin.wait();
            end.wait();
            frames.write().unwrap().advance();
        }
    });
    let mut frames = frames.into_inner().unwrap();
    assert_eq!((frames.arenas().count(), live(&mut frames), frames.number()), (THREADS, 0, many as u64));
}

#[test]
fn threads_share_values_within_a_frame() {
    let mut frames = Frames::new();
    for round in 0..rounds(20, 2) as u64 {
        let shared = &frames;
        let made = elsewhere(move || shared.here().alloc_slice_fill_with(100, |i| i as u64 + round));
        let (left, right) = made.split_at_mut(50);
        thread::scope(|threads| {
            for half in [&mut *left, &mut *right] {
                threads.spawn(move || {
                    let copy = shared.here().alloc_slice_copy(half);
                    half.iter_mut().zip(copy).for_each(|(x, y)| *x += *y);
                });
            }
        });
        assert!(made.iter().enumerate().all(|(i, x)| *x == 2 * (i as u64 + round)));
        let boxed = elsewhere(|| shared.here().boxed(String::from("a box of another thread")));
        assert_eq!(boxed.len(), 23);
        drop(boxed);
        frames.advance();
    }
}

#[test]
fn a_frame_in_a_frame_is_a_scope() {
    let mut frames = Frames::new();
    let drops = Drops::default();
    for _ in 0..rounds(50, 3) {
        let arena = frames.here();
        let mut longest = arena.vec();
        for depth in 1..5usize {
            arena.scope(|inner| {
                let mut words = inner.vec_from_iter((0..depth).map(|i| inner.string_from(&"ab".repeat(i))));
                inner.alloc_drop(drops.value());
                inner.scope(|innermost| {
                    innermost.alloc_drop(drops.value());
                    longest.extend(innermost.alloc_slice_fill(100, depth).iter().copied()); // in neither inner frame
                    words.push(inner.string());
                });
                assert_eq!((words.len(), drops.alive()), (depth + 1, 1));
            });
            assert_eq!(drops.alive(), 0);
        }
        assert!(longest.chunks(100).enumerate().all(|(i, chunk)| chunk.iter().all(|x| *x == i + 1)));
        drop(longest);
        frames.advance();
        assert_eq!(live(&mut frames), 0);
    }
}

// ---- threads that end ----

#[test]
fn the_arena_of_an_ended_thread_is_reused_in_the_next_frame() {
    let mut frames = Frames::new();
    let mut places = HashSet::new();
    for i in 0..rounds(200, 5) as u64 {
        let first = elsewhere(|| frames.here().alloc_slice_fill(100, i));
        let (second, place) = elsewhere(|| (frames.here().alloc_slice_fill(100, i + 1), address(&frames)));
        places.insert(place);
        assert!(first.iter().all(|x| *x == i) && second.iter().all(|x| *x == i + 1)); // the two do not overlap
        frames.advance();
        assert!(frames.arenas().count() <= 2);
    }
    assert!(places.len() <= 2);
    frames.trim(0);
    assert_eq!((frames.arenas().count(), reserved(&mut frames)), (0, 0));
    assert_eq!(elsewhere(|| *frames.here().alloc(7)), 7);
}

#[test]
fn a_living_threads_arena_survives_trims() {
    let mut frames = Frames::new();
    let place = address(&frames);
    frames.here().alloc_slice_fill(100_000, 0u8);
    frames.advance();
    frames.trim(0);
    assert_eq!((address(&frames), reserved(&mut frames)), (place, 4096));
    frames.here().alloc(1);
}

#[test]
fn frames_may_end_before_the_threads_that_used_them() {
    let (ready, frames_dropped) = (Barrier::new(2), Barrier::new(2));
    let frames = Arc::new(Frames::new());
    let theirs = frames.clone();
    thread::scope(|threads| {
        threads.spawn(|| {
            theirs.here().alloc([1u8; 100]);
            drop(theirs);
            ready.wait();
            frames_dropped.wait();
            let others = Frames::new(); // the thread's slot in the old frames is neither used nor harmful
            others.here().alloc(1);
        });
        ready.wait();
        drop(Arc::into_inner(frames).expect("the last one"));
        frames_dropped.wait();
    });
}

/// Runs a closure when its thread's locals are destroyed.
struct AtTheEnd(RefCell<Option<Box<dyn FnOnce()>>>);

impl AtTheEnd {
    fn set(&self, f: impl FnOnce() + 'static) {
        *self.0.borrow_mut() = Some(Box::new(f));
    }
}

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}

thread_local! {
    static FIRST: AtTheEnd = const { AtTheEnd(RefCell::new(None)) };
    static LATER: AtTheEnd = const { AtTheEnd(RefCell::new(None)) };
}

#[test]
fn destructors_of_a_threads_locals_use_its_frames() {
    let frames = Arc::new(RwLock::new(Frames::new()));
    let used = Arc::new(AtomicUsize::new(0));
    for round in 1..=rounds(20, 3) {
        let uses = || {
            let (frames, used) = (frames.clone(), used.clone());
            move || {
                let frames = frames.read().unwrap();
                let slice = frames.here().alloc_slice_fill(100, 7u8);
                used.fetch_add(frames.here().alloc_slice_copy(slice).len(), SeqCst);
            }
        };
        let (first, now, later) = (uses(), uses(), uses());
        // One local is destroyed after the frames' own local and one before it, whichever order this system uses.
        thread::spawn(move || {
            FIRST.with(|end| end.set(first));
            now();
            LATER.with(|end| end.set(later));
        })
        .join()
        .unwrap();
        assert_eq!(used.load(SeqCst), round * 300);
        let mut frames = frames.write().unwrap();
        assert_eq!(frames.arenas().map(|arena| arena.stats().live).sum::<u64>(), 3 * 208);
        frames.advance();
        assert!(frames.arenas().count() <= 3); // for the thread, and two made after its locals ended
        assert_eq!(live(&mut frames), 0);
    }
}

/// A thread whose locals are destroyed cannot signal its end to frames that it uses afterwards.
#[test]
fn an_arena_taken_during_thread_exit_is_reused() {
    // In one of the two cases the frames' thread-local ends before the destructor runs, whichever order this system
    // uses.
    for first in [true, false] {
        let frames = Arc::new(RwLock::new(Frames::new()));
        for _ in 0..3 {
            let uses = {
                let frames = frames.clone();
                move || {
                    frames.read().unwrap().here().alloc(1);
                }
            };
            thread::spawn(move || {
                let others = Frames::new();
                if first {
                    FIRST.with(|end| end.set(uses));
                    others.here();
                } else {
                    others.here();
                    LATER.with(|end| end.set(uses));
                }
            })
            .join()
            .unwrap();
            let mut frames = frames.write().unwrap();
            assert_eq!(live(&mut frames), 8);
            frames.advance();
            assert_eq!((frames.arenas().count(), live(&mut frames)), (1, 0));
        }
    }
}

/// Frames that never end never release such arenas: the thread's last destructor may still use its own.
#[test]
fn the_arena_of_a_thread_that_is_still_ending_is_not_reused() {
    static FRAMES: OnceLock<Frames> = OnceLock::new();
    static ENDING: Barrier = Barrier::new(2);
    static ENDED: AtomicBool = AtomicBool::new(false);
    let frames = FRAMES.get_or_init(Frames::new);
    let ending = thread::spawn(|| {
        let kept = std::rc::Rc::new(Cell::new(None::<&'static Arena>));
        let theirs = kept.clone();
        FIRST.with(|end| {
            end.set(move || {
                ENDING.wait(); // the frames' own local has ended, on systems that destroy locals in reverse order
                ENDING.wait(); // another thread has an arena now
                let arena = theirs.get().unwrap();
                arena.alloc_slice_fill(100, 1u8);
                ENDED.store(true, SeqCst);
            })
        });
        kept.set(Some(frames.here()));
        address(frames)
    });
    ENDING.wait();
    let next = thread::spawn(|| address(frames)).join().unwrap();
    ENDING.wait();
    assert_ne!(ending.join().unwrap(), next);
    assert!(ENDED.load(SeqCst));
    strict::forgive(2); // these arenas are never released
}

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
    let mut dice = Dice(7);
    let (many, warm) = (rounds(100_000, 40), rounds(1000, 20));
    let (mut most, mut calls) = (0, 0);
    for frame in 0..many {
        let arena = frames.here();
        for _ in 0..8 {
            arena.alloc_uninit_slice::<u8>(1000 + dice.below(500));
        }
        arena.scope(|inner| inner.alloc_uninit_slice::<u8>(dice.below(2000)).len());
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
    let mut dice = Dice(3);
    for _ in 0..rounds(20_000, 20) {
        let arena = frames.here();
        for _ in 0..dice.below(10) {
            let bytes = 1 << dice.below(17);
            arena.alloc_uninit_slice::<u8>(bytes + dice.below(bytes));
        }
        if dice.below(3) == 0 {
            elsewhere_sometimes(&frames, &mut dice);
        }
        frames.advance();
        assert!(frames.arenas().count() <= 2 && reserved(&mut frames) <= 2 * (8 << 20));
    }
}

fn elsewhere_sometimes(frames: &Frames, dice: &mut Dice) {
    if dice.below(20) == 0 {
        let bytes = dice.below(100_000);
        elsewhere(|| frames.here().alloc_uninit_slice::<u8>(bytes).len());
    }
}

// ---- frames that overlap ----

toft::root!(struct Numbers => &'a mut [u64]);

/// The root that a frame publishes: text in the frame's memory, a box in it, and a value with its own destructor.
struct Report<'a> {
    text: &'a str,
    boxed: toft::Box<'a, Counted>,
    #[allow(dead_code)] // only its drop matters
    value: Counted,
}

toft::root!(struct Reports => Report<'a>);

#[test]
fn a_root_lives_for_n_frames_and_is_dropped_once() {
    for n in 1..=4usize {
        let drops = Drops::default();
        let mut frames = Buffered::<Reports>::new(n);
        let many = rounds(200, 6);
        for k in 0..many {
            frames.frame(|now, past| {
                // Frame k - n has ended, with its root and its arenas' memory.
                assert_eq!(drops.count(), 3 * (k + 1).saturating_sub(n));
                assert!(past.with(0, |_| ()).is_none() && past.with(n, |_| ()).is_none());
                for age in 1..n {
                    assert_eq!(past.with(age, |old| old.text.parse::<usize>().unwrap()), k.checked_sub(age));
                }
                let text = elsewhere(|| {
                    now.here().alloc_drop(drops.value());
                    toft::format_in!(now.here(), "{k}")
                });
                now.here().alloc_slice_fill(500, 0xFFu8);
                Report { text, boxed: now.here().boxed(drops.value()), value: drops.value() }
            });
            for age in 0..=n {
                let expected = k.checked_sub(age).filter(|_| age < n).map(|k| k.to_string());
                assert_eq!(frames.with(age, |report| report.text.to_string()), expected);
            }
            assert_eq!(drops.alive(), 3 * n.min(k + 1));
        }
        assert_eq!(frames.number(), many as u64);
        drop(frames);
        assert_eq!((drops.count(), drops.alive()), (3 * many, 0));
    }
}

#[test]
fn a_frame_copies_the_previous_root_and_changes_the_copy() {
    let mut frames = Buffered::<Numbers>::new(2);
    for k in 0..rounds(100, 5) as u64 {
        frames.frame(|now, past| {
            let before = past.with(1, |before| before.iter().map(|x| x + 1).collect::<Vec<_>>());
            now.here().alloc_slice_copy(&before.unwrap_or_else(|| vec![0; 10]))
        });
        assert_eq!(frames.with(0, |numbers| numbers.to_vec()), Some(vec![k; 10]));
    }
    // The frames are `Send` and `Sync` if their root is.
    let frames = elsewhere(move || frames);
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| assert_eq!(frames.with(0, |numbers| numbers.len()), Some(10)));
        }
    });
}

#[test]
fn a_frame_that_panics_publishes_nothing() {
    let drops = Drops::default();
    let mut frames = Buffered::<Reports>::new(3);
    let publish = |frames: &mut Buffered<Reports>, bomb: bool| {
        frames.frame(|now, _| Report {
            text: now.here().alloc_str("published"),
            boxed: now.here().boxed(if bomb { drops.bomb() } else { drops.value() }),
            value: drops.value(),
        });
    };
    publish(&mut frames, false);
    assert!(panics(|| frames.frame(|now, past| {
        now.here().alloc_drop(drops.value());
        assert!(past.with(1, |report| report.text == "published").unwrap());
        panic!("in the frame")
    })));
    assert_eq!([0, 1, 2].map(|age| frames.with(age, |_| ()).is_some()), [false, true, false]);
    frames.trim(0); // frames without a root may be emptied; published roots stay
    assert_eq!(frames.with(1, |report| report.text.len()), Some(9));

    // A root's destructor panics at the end of the frame: everything else is dropped, and the frames remain usable.
    publish(&mut frames, true);
    for _ in 0..2 {
        publish(&mut frames, false);
    }
    assert_eq!(drops.alive(), 6);
    assert!(panics(|| publish(&mut frames, false)));
    assert_eq!((drops.alive(), frames.with(0, |_| ()).is_some()), (4, false));
    for _ in 0..4 {
        publish(&mut frames, false);
        assert_eq!(frames.with(0, |report| (report.text.len(), report.boxed.1)), Some((9, false)));
    }
    publish(&mut frames, true);
    assert!(panics(|| drop(frames)));
    assert_eq!(drops.alive(), 0);
}

#[test]
fn overlapping_frames_have_a_flat_footprint() {
    let mut frames = Buffered::<Numbers>::new(3);
    let mut dice = Dice(5);
    let mut most = 0;
    for k in 0..rounds(10_000, 20) {
        let mut held = 0;
        frames.frame(|now, _| {
            let numbers = now.here().alloc_slice_fill(500 + dice.below(300), k as u64);
            held = now.here().stats().reserved;
            numbers
        });
        if k > 10 {
            assert!(held <= most, "{held} bytes in frame {k}");
        } else {
            most = most.max(held);
        }
        assert!(frames.with(0, |numbers| numbers.iter().all(|x| *x == k as u64)).unwrap());
    }
}
