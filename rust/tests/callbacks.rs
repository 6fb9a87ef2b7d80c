//! Code of the program that runs during a call of the library, and uses the arena as safe code can: random operations on
//! the arena and its scopes, which end in any order or are leaked, with cursors, packs and collections that are kept or
//! leaked, with further such calls, with instruments switched on and off, and with panics. All allocations are distinct and
//! keep their contents. Hooks for findings are tested in `hook.rs`, memory returned after a panic in `panics.rs`,
//! destructors in `drops`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/random.rs"]
mod random;
#[path = "common/seeds.rs"]
mod seeds;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::mem::forget;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::{null_mut, NonNull};
use std::slice::from_mut;

use random::Random;
use seeds::seeds;
use toft::{Arena, Cursor, Options, Pack, Scope};

/// Operations of a stream, with those in callbacks.
const FUEL: usize = if cfg!(miri) { 60 } else { 200 };

/// The panic of a callback, without a message.
struct Boom;

/// Returns whether `f` panicked as a callback does.
fn panics(f: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Err(payload) if !payload.is::<Boom>() => resume_unwind(payload),
        done => done.is_err(),
    }
}

/// The arena of a stream, and what is alive in it. Lifetimes are extended: the end of a scope comes after the end of all
/// that borrows the scope, and not during a call of it.
struct World {
    switches: bool,
    random: RefCell<Random>,
    fuel: Cell<usize>,
    /// The arena, and its scopes.
    nodes: RefCell<Vec<Node>>,
    /// The nodes whose calls run.
    running: RefCell<Vec<usize>>,
    filled: RefCell<Vec<Filled>>,
    held: RefCell<Vec<(usize, Held)>>,
}

struct Node {
    arena: &'static Arena,
    around: usize,
    /// A box. Null: the arena itself, or a leaked scope, which ends with the scope around it.
    scope: *mut Scope<'static>,
    is_open: bool,
}

/// Memory of a node, with the value of its bytes.
struct Filled {
    node: usize,
    bytes: NonNull<[u8]>,
    value: u8,
}

enum Held {
    Cursor(Cursor<'static>),
    Pack(Pack<'static>),
    /// With the value of its elements.
    Vector(toft::collections::Vec<'static, u8>, u8),
    Text(toft::collections::String<'static>),
}

/// Ends the call of a node.
struct Running<'w>(&'w World);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.borrow_mut().pop();
    }
}

impl World {
    fn new(arena: &Arena, seed: u64, switches: bool) -> World {
        // SAFETY: the world is used, and dropped, before the arena.
        let arena = unsafe { NonNull::from(arena).as_ref() };
        World {
            switches,
            random: RefCell::new(Random((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))),
            fuel: Cell::new(FUEL),
            nodes: RefCell::new(vec![Node { arena, around: usize::MAX, scope: null_mut(), is_open: true }]),
            running: RefCell::default(),
            filled: RefCell::default(),
            held: RefCell::default(),
        }
    }

    fn below(&self, n: usize) -> usize {
        self.random.borrow_mut().below(n)
    }

    /// The program's code in a call: some operations, half of which pass their panics on, and perhaps a panic.
    fn call_back(&self) -> u64 {
        for _ in 0..self.below(4) {
            match self.below(2) {
                0 => self.act(),
                _ => _ = panics(|| self.act()),
            }
        }
        if self.below(12) == 0 {
            resume_unwind(Box::new(Boom));
        }
        self.random.borrow().0
    }

    fn act(&self) {
        let Some(fuel) = self.fuel.get().checked_sub(1) else { return };
        self.fuel.set(fuel);
        let open: Vec<usize> = (0..self.nodes.borrow().len()).filter(|i| self.nodes.borrow()[*i].is_open).collect();
        let node = open[self.below(open.len())];
        let (_running, arena) = (self.run(node), self.nodes.borrow()[node].arena);
        match self.below(16) {
            0..=2 => self.allocate(node, arena),
            3..=7 => CALLS[self.below(CALLS.len())](arena, self, node),
            8 | 9 if open.len() < 7 => self.open(node, arena),
            10 => self.end(open[self.below(open.len())]),
            11 if self.held.borrow().len() < 12 => self.hold(node, arena),
            12..=14 => self.use_held(),
            15 if self.switches => self.switch(arena),
            _ => {}
        }
        if !cfg!(miri) {
            self.verify();
        }
    }

    fn run(&self, node: usize) -> Running<'_> {
        self.running.borrow_mut().push(node);
        Running(self)
    }

    fn verify(&self) {
        for Filled { bytes, value, .. } in self.filled.borrow().iter() {
            // SAFETY: not empty, and its node has not ended.
            let bytes = unsafe { bytes.as_ref() };
            assert!(bytes[0] == *value && bytes[1..] == bytes[..bytes.len() - 1], "an allocation was overwritten");
        }
        for (_, held) in self.held.borrow().iter() {
            match held {
                Held::Vector(vector, value) => assert!(vector.iter().all(|byte| byte == value)),
                Held::Text(text) => assert!(text.bytes().all(|byte| byte == b's')),
                _ => {}
            }
        }
    }

    /// Fills the memory of plain values, which must be distinct from all others.
    fn keep<T>(&self, node: usize, values: &'static mut [T]) {
        let size = size_of_val(values);
        let bytes = NonNull::slice_from_raw_parts(NonNull::from(values).cast::<u8>(), size);
        let value = self.below(256) as u8;
        let is_distinct = |Filled { bytes: other, .. }: &Filled| {
            let (p, q) = (bytes.addr().get(), other.addr().get());
            p + size <= q || q + other.len() <= p
        };
        assert!(size == 0 || self.filled.borrow().iter().all(is_distinct), "allocations overlap");
        // SAFETY: the node's memory, to which no reference is left.
        unsafe { bytes.cast::<u8>().write_bytes(value, size) };
        if size != 0 {
            self.filled.borrow_mut().push(Filled { node, bytes, value });
        }
    }

    fn allocate(&self, node: usize, arena: &'static Arena) {
        #[repr(align(64))]
        struct Line([u8; 64]);
        #[repr(align(4096))]
        struct Page([u8; 4096]);
        match self.below(8) {
            0 => self.keep(node, from_mut(arena.alloc([0u8; 24]))),
            1 => self.keep(node, from_mut(arena.alloc(0u8))),
            2 => self.keep(node, &mut from_mut(arena.alloc(Line([0; 64])))[0].0),
            3 => self.keep(node, &mut from_mut(arena.alloc(Page([0; 4096])))[0].0),
            4 => self.keep(node, arena.alloc_slice_fill(self.below(3000), 0u8)),
            5 => self.keep(node, arena.alloc_slice_fill(self.below(if cfg!(miri) { 9000 } else { 100_000 }), 0u8)),
            6 => _ = arena.try_alloc_drop(vec![1u8; 3]), // refused while a cursor is open
            _ => match self.below(2) {
                0 => forget(arena.boxed(vec![1u8; 10])),
                _ => drop(arena.boxed(vec![1u8; 10])),
            },
        }
    }

    fn open(&self, node: usize, arena: &'static Arena) {
        let scope = Box::into_raw(Box::new(arena.scope_guard()));
        // SAFETY: a box, until the node ends.
        let arena = unsafe { &**scope };
        self.nodes.borrow_mut().push(Node { arena, around: node, scope, is_open: true });
    }

    /// Leaks a scope, or ends it if no call of it or of a scope in it runs.
    fn end(&self, node: usize) {
        if node == 0 {
        } else if self.below(3) == 0 {
            self.nodes.borrow_mut()[node].scope = null_mut();
        } else if !self.running.borrow().iter().any(|running| self.is_in(*running, node)) {
            self.close(node);
        }
    }

    fn is_in(&self, mut node: usize, around: usize) -> bool {
        while node != around && node != 0 {
            node = self.nodes.borrow()[node].around;
        }
        node == around
    }

    /// Ends a node after all that borrows it.
    fn close(&self, node: usize) {
        let inner = |i: &usize| self.nodes.borrow()[*i].is_open && self.nodes.borrow()[*i].around == node;
        let all = 0..self.nodes.borrow().len();
        all.rev().filter(inner).for_each(|i| self.close(i));
        self.held.borrow_mut().retain(|(of, _)| *of != node);
        self.filled.borrow_mut().retain(|filled| filled.node != node);
        let scope = std::mem::replace(&mut self.nodes.borrow_mut()[node].scope, null_mut());
        self.nodes.borrow_mut()[node].is_open = false;
        if !scope.is_null() {
            // SAFETY: a box. Nothing that borrows its content is used any more.
            drop(unsafe { Box::from_raw(scope) });
        }
    }

    fn hold(&self, node: usize, arena: &'static Arena) {
        let held = match self.below(4) {
            0 => Held::Cursor(arena.cursor()),
            1 => Held::Pack(arena.pack()),
            2 => Held::Vector(arena.vec(), self.below(256) as u8),
            _ => Held::Text(arena.string()),
        };
        self.held.borrow_mut().push((node, held));
    }

    /// Uses a value that is held, and drops or leaks some. A panic drops it.
    fn use_held(&self) {
        let n = self.held.borrow().len();
        if n == 0 {
            return;
        }
        let (node, mut held) = self.held.borrow_mut().swap_remove(self.below(n));
        let _running = self.run(node);
        match self.below(10) {
            0 => return,
            1 => return forget(held),
            _ => {}
        }
        match &mut held {
            Held::Cursor(cursor) if self.below(2) == 0 => self.keep(node, from_mut(cursor.alloc([0u8; 40]))),
            Held::Cursor(cursor) => self.keep(node, from_mut(cursor.alloc([0u128; 9]))),
            Held::Pack(pack) => self.keep(node, pack.alloc_bytes(&[0; 50][..self.below(50)])),
            Held::Vector(vector, value) => self.change(vector, *value),
            Held::Text(text) if self.below(3) == 0 => text.shrink_to_fit(),
            Held::Text(text) => text.push_str(&"sssssssss"[..self.below(9)]),
        }
        self.held.borrow_mut().push((node, held));
    }

    fn change(&self, vector: &mut toft::collections::Vec<'static, u8>, value: u8) {
        match self.below(7) {
            0 => (0..self.below(20)).for_each(|_| vector.push(value)),
            1 => vector.truncate(vector.len() / 2),
            2 => vector.shrink_to_fit(),
            3 => vector.reserve(self.below(5000)),
            4 => vector.extend_from_slice(&[value; 200][..self.below(200)]),
            5 if vector.len() > 2 => forget(vector.drain(1..)),
            _ => vector.extend((0..self.below(20)).map(|_| {
                self.call_back();
                value
            })),
        }
    }

    /// The switch may be refused.
    fn switch(&self, arena: &Arena) {
        let on = self.below(2) == 0;
        _ = match self.below(3) {
            0 => arena.set_metered(on),
            1 => arena.set_sampling(if on { 512 } else { 0 }),
            _ => arena.set_checked(on),
        };
    }

    /// Drops all that is held, and the scopes, or leaks them.
    fn finish(self) {
        self.verify();
        if self.below(2) == 0 {
            forget(self.held.take());
            self.nodes.borrow_mut().iter_mut().for_each(|node| node.scope = null_mut());
        }
        self.close(0);
    }
}

/// A value whose implementations run the program's code.
struct Code<'w>(&'w World);

impl Clone for Code<'_> {
    fn clone(&self) -> Self {
        self.0.call_back();
        Code(self.0)
    }
}

impl fmt::Display for Code<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..4).try_for_each(|_| write!(f, "{:>20}", self.0.call_back()))
    }
}

/// Calls that run the program's code, in an arena of a node, which is running.
type Call = fn(&'static Arena, &World, usize);

const CALLS: &[Call] = &[
    |a, w, node| w.keep(node, from_mut(a.alloc_with(|| w.call_back()))),
    |a, w, node| {
        let made = a.alloc_try_with(|| if w.call_back() % 2 == 0 { Ok([7u8; 40]) } else { Err(8) });
        made.into_iter().for_each(|made| w.keep(node, made));
    },
    |a, w, node| {
        let mut made = Vec::new();
        let slice = a.alloc_slice_fill_with(w.below(6), |_| {
            made.push(w.call_back());
            made[made.len() - 1]
        });
        assert_eq!(slice, &made[..]);
        w.keep(node, slice);
    },
    |a, w, _| assert_eq!(a.alloc_slice_clone(&[Code(w), Code(w), Code(w)]).len(), 3),
    |a, w, node| {
        let mut made = Vec::new();
        let slice = a.alloc_slice_from_iter((0..9).filter(|i| i % 2 == 0).map(|_| {
            made.push(w.call_back());
            made[made.len() - 1]
        }));
        assert_eq!(slice, &made[..]);
        w.keep(node, slice);
    },
    |a, w, _| assert_eq!(a.boxed_slice((0..5).map(|_| w.call_back().to_string())).len(), 5),
    |a, w, node| a.alloc_batch_with::<_, 5>(|_| w.call_back()).into_iter().for_each(|x| w.keep(node, from_mut(x))),
    |a, w, node| {
        let text = toft::format_in!(a, "{}{}", Code(w), Code(w));
        assert_eq!(text.len(), 160);
        // SAFETY: no longer used as text.
        w.keep(node, unsafe { text.as_bytes_mut() });
    },
    |a, w, _| {
        let mut v = a.vec();
        v.extend((0..20).map(|_| w.call_back()));
        assert_eq!(v.len(), 20);
    },
    |a, w, _| {
        let mut v = a.vec_from_iter([7; 3]);
        v.resize_with(20, || w.call_back());
        assert_eq!((v.len(), &v[..3]), (20, &[7; 3][..]));
    },
    |a, w, _| {
        let mut v = a.vec_from_iter([Code(w), Code(w), Code(w)]);
        v.extend_from_within(1..);
        assert_eq!(v.len(), 5);
    },
    |a, w, _| {
        let mut v = a.vec_from_iter(0..20u64);
        let taken = a.vec_from_iter(v.extract_if(2.., |_| w.call_back() % 2 == 0));
        assert_eq!(v.iter().chain(&taken).sum::<u64>(), 190);
    },
    |a, w, _| {
        let mut text = a.string();
        fmt::Write::write_fmt(&mut text, format_args!("{}{}", Code(w), Code(w))).unwrap();
        assert_eq!(text.len(), 160);
    },
    |a, w, _| {
        a.scope(|inner| {
            let kept = inner.alloc_slice_fill(9, 7u8);
            w.call_back();
            assert_eq!(kept, &[7; 9]);
        });
    },
];

fn play(arena: &Arena, seed: u64, switches: bool) {
    let world = World::new(arena, seed, switches);
    while world.fuel.get() > 0 {
        panics(|| world.act());
    }
    world.finish();
}

#[test]
fn callbacks_use_the_arena() {
    for seed in seeds(60) {
        let mut arena = Arena::new();
        for round in 0..3 {
            match round {
                1 => arena.scope_mut(|inner| play(inner, seed * 3 + 1, true)),
                _ => play(&arena, seed * 3 + round, true),
            }
            arena.reset();
            assert_eq!(arena.stats().live, 0);
        }
        _ = (arena.set_checked(false), arena.set_metered(false), arena.set_sampling(0));
        arena.trim(0);
    }
}

#[test]
fn callbacks_use_an_arena_with_a_budget() {
    for seed in seeds(20) {
        let mut arena = Options::new().budget(64 << 20).create().unwrap();
        play(&arena, seed, false);
        arena.reset();
        assert_eq!(arena.stats().live, 0);
    }
}

#[test]
fn callbacks_use_a_checked_arena() {
    for seed in seeds(20) {
        let mut arena = Arena::new();
        arena.set_checked(true).unwrap();
        play(&arena, seed, false);
        arena.reset();
        let wrong =
            |finding: &toft::Finding| !matches!(finding, toft::Finding::Leak { .. } | toft::Finding::Lost { .. });
        assert!(!arena.findings().iter().any(wrong));
    }
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
