//! Leases: an arena for the duration of a call. Get one, allocate 10 x 32 B, write them, return it.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::cases::{Entry, Run};
use crate::contender::{Batch, Contender};
use crate::loops::{faults, ten, Outcome};
use crate::race::{race, Span, LONG};
use std::alloc::Layout;
use std::hint::black_box;
use std::ptr;
use std::time::Instant;

type Value = [u64; 4];
type Ten = [*mut u8; 10];

/// A cache of arenas, or a replacement that makes one each time.
pub trait Lender: 'static {
    const NAME: &'static str;
    fn new() -> Self;
    /// One lease. `CHECK`: the contents are verified before its end.
    fn lease<const CHECK: bool>(&mut self, slots: &mut Ten, tag: u8) -> bool;
}

/// A cache that several threads use at the same time.
pub trait Lends: Lender + Sync {
    fn lend<const CHECK: bool>(&self, slots: &mut Ten, tag: u8) -> bool;
}

#[cfg(feature = "toft")]
impl Lender for toft::Leases {
    const NAME: &'static str = "toft leases";
    fn new() -> Self {
        toft::Leases::new()
    }
    #[inline(always)]
    fn lease<const CHECK: bool>(&mut self, slots: &mut Ten, tag: u8) -> bool {
        self.lend::<CHECK>(slots, tag)
    }
}

#[cfg(feature = "toft")]
impl Lends for toft::Leases {
    #[inline(always)]
    fn lend<const CHECK: bool>(&self, slots: &mut Ten, tag: u8) -> bool {
        let arena = self.get();
        ten::<_, Value, CHECK>(&mut &*arena, slots, tag)
    }
}

/// A new one each time, and its end. Heaps free each allocation.
pub struct Anew<A>(std::marker::PhantomData<fn() -> A>);

impl<A: Contender> Lender for Anew<A> {
    const NAME: &'static str = A::NAME;
    fn new() -> Self {
        Anew(std::marker::PhantomData)
    }
    #[inline(always)]
    fn lease<const CHECK: bool>(&mut self, slots: &mut Ten, tag: u8) -> bool {
        self.lend::<CHECK>(slots, tag)
    }
}

impl<A: Contender> Lends for Anew<A> {
    #[inline(always)]
    fn lend<const CHECK: bool>(&self, slots: &mut Ten, tag: u8) -> bool {
        let mut arena = A::new(Batch { bytes: 320, count: 10, size: size_of::<Value>() });
        let good = ten::<_, Value, CHECK>(&mut arena.handle(), slots, tag);
        // SAFETY: just allocated, each once.
        unsafe { arena.end(slots.iter().map(|&data| (data, Layout::new::<Value>()))) };
        good
    }
}

/// The usual code around bumpalo: a list of arenas behind a lock, emptied when they are returned.
#[cfg(feature = "bumpalo")]
pub struct Locked(std::sync::Mutex<Vec<bumpalo::Bump>>);

#[cfg(feature = "bumpalo")]
impl Lender for Locked {
    const NAME: &'static str = "Mutex<Vec<Bump>>";
    fn new() -> Self {
        Locked(Default::default())
    }
    #[inline(always)]
    fn lease<const CHECK: bool>(&mut self, slots: &mut Ten, tag: u8) -> bool {
        self.lend::<CHECK>(slots, tag)
    }
}

#[cfg(feature = "bumpalo")]
impl Lends for Locked {
    #[inline(always)]
    fn lend<const CHECK: bool>(&self, slots: &mut Ten, tag: u8) -> bool {
        let lock = || self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut bump = lock().pop().unwrap_or_default();
        let good = ten::<_, Value, CHECK>(&mut &bump, slots, tag);
        bump.reset();
        lock().push(bump);
        good
    }
}

/// Arenas are returned unchanged, and `reset` empties all: called after each lease, to be comparable.
#[cfg(feature = "bumpalo")]
impl Lender for bumpalo_herd::Herd {
    const NAME: &'static str = "bumpalo-herd";
    fn new() -> Self {
        bumpalo_herd::Herd::new()
    }
    #[inline(always)]
    fn lease<const CHECK: bool>(&mut self, slots: &mut Ten, tag: u8) -> bool {
        let good = ten::<_, Value, CHECK>(&mut self.get().as_bump(), slots, tag);
        self.reset();
        good
    }
}

/// bump-scope's pool, downwards with alignment 8.
#[cfg(feature = "bump-scope")]
pub type BumpPool = bump_scope::BumpPool<bump_scope::alloc::Global, bump_scope::settings::BumpSettings<8, false>>;

#[cfg(feature = "bump-scope")]
impl Lender for BumpPool {
    const NAME: &'static str = "bump-scope pool";
    fn new() -> Self {
        BumpPool::new()
    }
    #[inline(always)]
    fn lease<const CHECK: bool>(&mut self, slots: &mut Ten, tag: u8) -> bool {
        let good = ten::<_, Value, CHECK>(&mut &*self.get(), slots, tag);
        self.reset();
        good
    }
}

#[inline(never)]
fn repeat<L: Lender, const CHECK: bool>(lender: &mut L, slots: &mut Ten, repetitions: usize) -> bool {
    (0..repetitions).all(|i| {
        let good = lender.lease::<CHECK>(slots, i as u8);
        black_box(slots.as_mut_ptr());
        good
    })
}

fn measure<L: Lender>(repetitions: usize, _place: &mut Vec<*mut u8>) -> Outcome {
    let mut slots = [ptr::null_mut(); 10];
    let mut lender = L::new();
    let warm = repeat::<L, true>(&mut lender, &mut slots, 3);
    let before = (faults(), Instant::now());
    let good = repeat::<L, false>(&mut lender, &mut slots, repetitions);
    let (time, faults) = (before.1.elapsed(), faults() - before.0);
    let right = repeat::<L, true>(&mut lender, &mut slots, 3);
    Outcome::new(time, warm && good && right, faults)
}

/// Threads that share one cache.
fn together<L: Lends, const THREADS: usize>(repetitions: usize, _place: &mut Vec<*mut u8>) -> Outcome {
    #[inline(never)]
    fn repeat<L: Lends, const CHECK: bool>(lender: &L, slots: &mut Ten, repetitions: usize) -> bool {
        (0..repetitions).all(|i| {
            let good = lender.lend::<CHECK>(slots, i as u8);
            black_box(slots.as_mut_ptr());
            good
        })
    }
    let lender = L::new();
    race(THREADS, |start, done| {
        let mut slots = [ptr::null_mut(); 10];
        let warm = repeat::<L, true>(&lender, &mut slots, 3);
        start.wait();
        let begin = Instant::now();
        let good = repeat::<L, false>(&lender, &mut slots, repetitions);
        let end = Instant::now();
        done.wait();
        let right = repeat::<L, true>(&lender, &mut slots, 3);
        Span { begin, end, good: warm && good && right }
    })
}

fn entry(case: &'static str, contender: &'static str, threads: usize, run: Run) -> Entry {
    let long = if threads == 1 { 1 } else { LONG };
    Entry { case, contender, operations: threads, alone: false, weighs: false, long, run: Ok(run) }
}

pub fn entries<L: Lender>() -> Vec<Entry> {
    vec![entry("lease", L::NAME, 1, measure::<L>)]
}

/// The same with several threads, too.
pub fn entries_together<L: Lends>() -> Vec<Entry> {
    vec![
        entry("lease", L::NAME, 1, measure::<L>),
        entry("lease x2", L::NAME, 2, together::<L, 2>),
        entry("lease x16", L::NAME, 16, together::<L, 16>),
    ]
}
