//! Code of the program that runs during a call of the library, and uses the arena as safe code can: it allocates, opens
//! scopes and leaks them, grows collections, calls the same function again, and panics afterwards. All allocations
//! keep their contents. Hooks for findings are tested in `hook.rs`, memory returned after a panic in `panics.rs`,
//! destructors in `drops`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

use std::cell::{Cell, RefCell};
use std::fmt;
use std::mem::forget;
use std::panic::{catch_unwind, AssertUnwindSafe};

use toft::{Arena, Options, Scope};

/// The actions of callbacks, one per call in turn; some keep their allocations for a later check.
struct Actions<'a> {
    arena: &'a Arena,
    kept: RefCell<Vec<(&'a [u64], u64)>>,
    guards: RefCell<Vec<Scope<'a>>>,
    vector: RefCell<toft::collections::Vec<'a, u64>>,
    turn: Cell<u64>,
    panics_at: Cell<u64>,
    depth: Cell<u32>,
}

impl<'a> Actions<'a> {
    fn new(arena: &'a Arena) -> Actions<'a> {
        Actions {
            arena,
            kept: RefCell::default(),
            guards: RefCell::default(),
            vector: RefCell::new(arena.vec()),
            turn: Cell::new(0),
            panics_at: Cell::new(u64::MAX),
            depth: Cell::new(0),
        }
    }

    fn act(&self) -> u64 {
        let turn = self.turn.get();
        self.turn.set(turn + 1);
        let arena = self.arena;
        match turn % 8 {
            0 => self.kept.borrow_mut().push((arena.alloc_slice_fill(1 + turn as usize % 50, turn), turn)),
            1 => _ = arena.scope(|inner| inner.alloc_slice_fill(200, turn).len()),
            2 => self.guards.borrow_mut().push(arena.scope_guard()),
            3 => (0..20).for_each(|_| self.vector.borrow_mut().push(turn)),
            4 => {
                let guard = arena.scope_guard();
                guard.alloc(turn);
                forget(guard); // its memory is freed with the arena's
            }
            5 if self.depth.get() < 3 => {
                self.depth.set(self.depth.get() + 1);
                let again = arena.alloc_slice_fill_with(3, |_| self.act());
                assert_eq!(again.len(), 3);
                self.depth.set(self.depth.get() - 1);
            }
            6 => drop(self.guards.borrow_mut().pop()),
            _ => _ = arena.alloc([turn; 2]),
        }
        assert_ne!(turn, self.panics_at.get(), "the deed");
        turn
    }

    fn verify(&self) {
        for (slice, value) in self.kept.borrow().iter() {
            assert!(slice.iter().all(|x| x == value));
        }
        assert!(self.vector.borrow().chunks(20).all(|chunk| chunk.iter().all(|x| *x == chunk[0])));
    }
}

struct Acts<'d, 'a>(&'d Actions<'a>);

impl Clone for Acts<'_, '_> {
    fn clone(&self) -> Self {
        self.0.act();
        Acts(self.0)
    }
}

impl fmt::Display for Acts<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..4).try_for_each(|_| write!(f, "{:>9}", self.0.act()))
    }
}

type Call = (&'static str, fn(&Arena, &Actions<'_>));

const CALLS: &[Call] = &[
    ("alloc_with", |a, d| assert!(*a.alloc_with(|| d.act()) < u64::MAX)),
    ("alloc_try_with", |a, d| {
        assert!(a.alloc_try_with(|| if d.act() % 2 == 0 { Ok(7) } else { Err(8) }) != Ok(&mut 9))
    }),
    ("alloc_slice_fill_with", |a, d| {
        let mut made = Vec::new();
        let slice = a.alloc_slice_fill_with(5, |_| {
            made.push(d.act());
            made[made.len() - 1]
        });
        assert_eq!(slice, &made[..]);
    }),
    ("alloc_slice_clone", |a, d| {
        let from = [Acts(d), Acts(d), Acts(d)];
        assert_eq!(a.alloc_slice_clone(&from).len(), 3);
    }),
    ("alloc_slice_from_iter", |a, d| {
        let mut made = Vec::new();
        let slice = a.alloc_slice_from_iter((0..9).filter(|i| i % 2 == 0).map(|_| {
            made.push(d.act());
            made[made.len() - 1]
        }));
        assert_eq!(slice, &made[..]);
    }),
    ("boxed_slice", |a, d| assert_eq!(a.boxed_slice((0..5).map(|_| d.act().to_string())).len(), 5)),
    ("alloc_batch_with", |a, d| assert_eq!(a.alloc_batch_with::<_, 3>(|_| d.act().to_string()).len(), 3)),
    ("alloc_fmt", |a, d| assert_eq!(toft::format_in!(a, "{}{}", Acts(d), Acts(d)).len(), 72)),
    ("extend of a vector", |a, d| {
        let mut v = a.vec();
        v.extend((0..20).map(|_| d.act()));
        assert_eq!(v.len(), 20);
    }),
    ("resize_with of a vector", |a, d| {
        let mut v = a.vec_from_iter([7; 3]);
        v.resize_with(20, || d.act());
        assert_eq!((v.len(), &v[..3]), (20, &[7; 3][..]));
    }),
    ("extend_from_within a vector", |a, d| {
        let mut v = a.vec_from_iter([Acts(d), Acts(d), Acts(d)]);
        v.extend_from_within(1..);
        assert_eq!(v.len(), 5);
    }),
    ("extract_if of a vector", |a, d| {
        let mut v = a.vec_from_iter(0..20u64);
        let taken = a.vec_from_iter(v.extract_if(2.., |_| d.act() % 2 == 0));
        assert_eq!(v.iter().chain(&taken).sum::<u64>(), 190);
    }),
    ("text of a string", |a, d| {
        let mut text = a.string();
        fmt::Write::write_fmt(&mut text, format_args!("{}{}", Acts(d), Acts(d))).unwrap();
        assert_eq!(text.len(), 72);
    }),
    ("scope", |a, d| {
        a.scope(|inner| {
            let kept = inner.alloc(d.turn.get());
            let before = *kept;
            d.act();
            assert_eq!(*kept, before);
        });
    }),
];

fn play(arena: &Arena) {
    let deeds = Actions::new(arena);
    for (call, run) in CALLS {
        for start in (0..8).step_by(if cfg!(miri) { 3 } else { 1 }) {
            for panics_after in [None, Some(0), Some(2), Some(4)] {
                deeds.turn.set(deeds.turn.get().next_multiple_of(8) + start);
                deeds.panics_at.set(panics_after.map_or(u64::MAX, |after| deeds.turn.get() + after));
                let done = catch_unwind(AssertUnwindSafe(|| run(arena, &deeds)));
                deeds.panics_at.set(u64::MAX);
                deeds.depth.set(0);
                assert!(done.is_ok() || panics_after.is_some(), "{call}, {start}");
                deeds.verify();
                deeds.guards.borrow_mut().clear();
            }
        }
        deeds.vector.borrow_mut().clear();
    }
}

#[test]
fn callbacks_use_the_arena() {
    let mut arena = Arena::new();
    for _ in 0..if cfg!(miri) { 1 } else { 2 } {
        play(&arena);
        arena.reset();
        assert_eq!(arena.stats().live, 0);
    }
    let watched = Arena::new();
    watched.set_metered(true).unwrap();
    watched.set_sampling(256).unwrap();
    play(&watched);
    let budget = Options::new().budget(64 << 20).create().unwrap();
    play(&budget);
}

#[test]
fn callbacks_use_a_checked_arena() {
    let mut arena = Arena::new();
    arena.set_checked(true).unwrap();
    play(&arena);
    arena.reset();
    let wrong = |finding: &toft::Finding| !matches!(finding, toft::Finding::Leak { .. } | toft::Finding::Lost { .. });
    assert!(!arena.findings().iter().any(wrong));
}

/// A refusal handler that uses the arena, replaces itself, and panics.
#[test]
fn refusal_handlers_use_the_arena() {
    thread_local!(static ARENA: Cell<Option<&'static Arena>> = const { Cell::new(None) });
    let arena: &'static Arena = Box::leak(Box::new(Options::new().budget(1000).create().unwrap()));
    ARENA.set(Some(arena));
    let kept = arena.alloc_slice_fill(500, 7u8);
    let turns = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counts = turns.clone();
    arena
        .on_refusal(move |refusal| {
            let arena = ARENA.get().unwrap();
            counts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            assert!(arena.try_alloc([0u8; 2000]).is_err() && arena.try_alloc(1u8).is_err());
            assert!(arena.try_scope_guard().is_err() && arena.set_checked(true).is_err());
            assert!(arena.on_refusal(|_| None).is_err());
            assert!(arena.contains(&refusal) || arena.stats().live >= 500);
            assert!(refusal.size < 5000, "too much");
            Some(refusal.budget * 2)
        })
        .unwrap();
    assert_eq!(arena.alloc_slice_fill(900, 8u8), &[8; 900]);
    assert!(arena.try_alloc([0u8; 6000]).is_err()); // the handler panicked, which counts as a refusal
    assert_eq!(arena.alloc_slice_fill(900, 9u8), &[9; 900]);
    assert_eq!((turns.load(std::sync::atomic::Ordering::Relaxed), &kept[..]), (3, &[7u8; 500][..]));
}

/// A destructor in a scope that allocates in the arena around the scope: that arena is claimed, not closed.
#[test]
fn destructors_use_the_arena_around_their_scope() {
    struct Uses<'a>(&'a Arena, &'a Cell<usize>);
    impl Drop for Uses<'_> {
        fn drop(&mut self) {
            let slice = self.0.alloc_slice_fill(100, 9u8);
            self.1.set(self.1.get() + slice.len());
        }
    }
    let (arena, used) = (Arena::new(), Cell::new(0));
    let kept = arena.alloc_slice_fill(100, 7u8);
    let scope = arena.scope_guard();
    (0..3).for_each(|_| _ = scope.alloc_drop(Uses(&arena, &used)));
    drop(scope);
    assert_eq!((used.get(), &kept[..], arena.stats().live), (300, &[7; 100][..], 4 * 104));
}
