//! Concurrent threads: each with its own arena, or all with one `Frames` or pool that is emptied for all of them. They
//! are started in advance, make their arenas, warm them up and wait for each other; then the clock starts.
//!
//! An operation is one allocation, and its time is processor time: wall time, times the processors at work. Without
//! contention a row is the same for all numbers of threads.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::cases::{batch_of, slots, Entry};
use crate::contender::{Batch, Contender, Handle};
use crate::loops::{faults, is_correct, many, repeat, Content, Outcome, Times, WRITTEN};
use crate::race::{at_work, race, Span, LONG};
use std::alloc::Layout;
use std::hint::black_box;
use std::ptr;
use std::sync::{Barrier, PoisonError, RwLock};
use std::thread;
use std::time::Instant;

type Value = [u64; 8];
/// Allocations of 64 B, written, in a batch or frame of one thread.
const BATCH: usize = 1000;

fn layout_of(_: usize) -> Layout {
    Layout::new::<Value>()
}

fn batch() -> Batch {
    batch_of(BATCH, layout_of)
}

/// Each thread has its own arena.
fn apart<A: Contender, const THREADS: usize>(repetitions: usize, _place: &mut Vec<*mut u8>) -> Outcome {
    race(THREADS, |start, done| {
        let mut place = Vec::new();
        let slots = slots(&mut place, BATCH);
        let mut arena = A::with_batch(batch());
        let mut run = |repetitions, keep| {
            repeat::<A, false>(&mut arena, slots, Times { repetitions, keep }, layout_of, |arena, slots, tag| {
                many::<A, Value, WRITTEN, false>(&mut arena.handle(), slots, tag)
            })
        };
        let warm = run(2, false);
        start.wait();
        let begin = Instant::now();
        let good = run(repetitions, false);
        let end = Instant::now();
        done.wait();
        let kept = run(2, true);
        let right = kept && is_correct(slots, layout_of, Content::Tag, 1);
        // SAFETY: the batch that was kept.
        unsafe { arena.reset(slots.iter().map(|&data| (data, Layout::new::<Value>()))) };
        Span { begin, end, good: warm && good && right }
    })
}

/// A shared allocator, which one of the threads empties.
pub trait Shared: Sync + 'static {
    const NAME: &'static str;
    fn new() -> Self;
    /// A thread's part of a frame: fills the slots.
    fn part(&self, slots: &mut [*mut u8], tag: u8) -> bool;
    /// The end of a thread's part, for allocators that free by thread.
    ///
    /// # Safety
    /// The slots are those that `part` filled, and are not used again.
    unsafe fn end_part(&self, _slots: &mut [*mut u8]) {}
    /// The end of the frame for all.
    fn advance(&mut self);
}

/// Allocates one part.
#[inline(always)]
fn take_part<H: Handle>(handle: &mut H, slots: &mut [*mut u8], tag: u8) -> bool {
    slots.iter_mut().all(|slot| {
        let data = handle.take::<Value>();
        if data.is_null() {
            return false;
        }
        // SAFETY: just allocated, of that size.
        unsafe { data.cast::<u8>().write_bytes(tag, size_of::<Value>()) };
        *slot = data.cast();
        true
    })
}

/// One allocator for all threads. A frame begins and ends for all at once.
fn together<S: Shared + Send, const THREADS: usize>(repetitions: usize, _place: &mut Vec<*mut u8>) -> Outcome {
    const WARM: usize = 3;
    let shared = RwLock::new(S::new());
    let (begin, end) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    let frames = WARM + repetitions + 1;
    let thread = || {
        let mut place = Vec::new();
        let slots = slots(&mut place, BATCH);
        let mut good = true;
        for frame in 0..frames {
            begin.wait();
            let shared = shared.read().unwrap_or_else(PoisonError::into_inner);
            good &= shared.part(slots, frame as u8);
            black_box(slots.as_mut_ptr());
            if frame + 1 == frames {
                good = good && is_correct(slots, layout_of, Content::Tag, frame as u8);
            }
            // SAFETY: just allocated; a null ends the measurement.
            unsafe { shared.end_part(slots) };
            drop(shared);
            end.wait();
        }
        good
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(thread)).collect();
        let run = |frames| {
            for _ in 0..frames {
                begin.wait();
                end.wait();
                shared.write().unwrap_or_else(PoisonError::into_inner).advance();
            }
        };
        run(WARM);
        let (began, before) = (Instant::now(), faults());
        run(repetitions);
        let (wall, faults) = (began.elapsed(), faults() - before);
        run(1); // the frame that is verified
        let verified = threads.into_iter().all(|thread| thread.join().unwrap_or(false));
        Outcome::new(wall * at_work(THREADS), verified, faults)
    })
}

/// The floor: the barriers, and the writes. Each thread reuses one buffer.
pub struct Barriers;

thread_local! {
    static PLACE: std::cell::RefCell<Vec<Value>> = const { std::cell::RefCell::new(Vec::new()) };
}

impl Shared for Barriers {
    const NAME: &'static str = "floor_barriers";
    fn new() -> Self {
        Barriers
    }
    fn part(&self, slots: &mut [*mut u8], tag: u8) -> bool {
        PLACE.with_borrow_mut(|place| {
            place.resize(BATCH, [0; 8]);
            for (slot, value) in slots.iter_mut().zip(place) {
                *value = [u64::from_ne_bytes([tag; 8]); 8];
                *slot = ptr::from_mut(value).cast();
            }
        });
        true
    }
    fn advance(&mut self) {}
}

#[cfg(feature = "toft")]
impl Shared for toft::Frames {
    const NAME: &'static str = "toft frames";
    fn new() -> Self {
        toft::Frames::with(|| toft::Options::new().reserve(batch().bytes).create())
    }
    fn part(&self, slots: &mut [*mut u8], tag: u8) -> bool {
        take_part(&mut self.here(), slots, tag)
    }
    fn advance(&mut self) {
        toft::Frames::advance(self);
    }
}

/// A thread's own arena, which it empties before its next part.
#[cfg(feature = "bumpalo")]
pub struct Locals;

#[cfg(feature = "bumpalo")]
impl Shared for Locals {
    const NAME: &'static str = "bumpalo, local";
    fn new() -> Self {
        Locals
    }
    fn part(&self, slots: &mut [*mut u8], tag: u8) -> bool {
        thread_local! {
            static BUMP: std::cell::RefCell<bumpalo::Bump> =
                std::cell::RefCell::new(bumpalo::Bump::with_capacity(batch().bytes));
        }
        BUMP.with_borrow_mut(bumpalo::Bump::reset);
        BUMP.with_borrow(|mut bump| take_part(&mut bump, slots, tag))
    }
    fn advance(&mut self) {}
}

#[cfg(feature = "bumpalo")]
impl Shared for bumpalo_herd::Herd {
    const NAME: &'static str = "bumpalo-herd";
    fn new() -> Self {
        bumpalo_herd::Herd::new()
    }
    fn part(&self, slots: &mut [*mut u8], tag: u8) -> bool {
        take_part(&mut self.get().as_bump(), slots, tag)
    }
    fn advance(&mut self) {
        self.reset();
    }
}

#[cfg(feature = "bump-scope")]
impl Shared for crate::leases::BumpPool {
    const NAME: &'static str = "bump-scope pool";
    fn new() -> Self {
        crate::leases::BumpPool::new()
    }
    fn part(&self, slots: &mut [*mut u8], tag: u8) -> bool {
        take_part(&mut &*self.get(), slots, tag)
    }
    fn advance(&mut self) {
        self.reset();
    }
}

/// A heap: each thread frees its allocations.
pub struct Freed<A>(std::marker::PhantomData<fn() -> A>);

impl<A: Contender> Shared for Freed<A> {
    const NAME: &'static str = A::NAME;
    fn new() -> Self {
        Freed(std::marker::PhantomData)
    }
    fn part(&self, slots: &mut [*mut u8], tag: u8) -> bool {
        take_part(&mut A::new(batch()).handle(), slots, tag)
    }
    unsafe fn end_part(&self, slots: &mut [*mut u8]) {
        // SAFETY: the same contract.
        unsafe { A::new(batch()).reset(slots.iter().map(|&data| (data, Layout::new::<Value>()))) };
    }
    fn advance(&mut self) {}
}

fn entry(case: &'static str, contender: &'static str, threads: usize, run: crate::cases::Run) -> Entry {
    Entry { case, contender, operations: threads * BATCH, alone: false, weighs: false, long: LONG, run: Ok(run) }
}

/// Each thread with its own arena.
pub fn entries_apart<A: Contender>() -> Vec<Entry> {
    vec![
        entry("1 thread", A::NAME, 1, apart::<A, 1>),
        entry("2 threads", A::NAME, 2, apart::<A, 2>),
        entry("4 threads", A::NAME, 4, apart::<A, 4>),
        entry("8 threads", A::NAME, 8, apart::<A, 8>),
        entry("16 threads", A::NAME, 16, apart::<A, 16>),
    ]
}

/// All threads with one allocator.
pub fn entries_together<S: Shared + Send>() -> Vec<Entry> {
    vec![
        entry("1 shared", S::NAME, 1, together::<S, 1>),
        entry("2 shared", S::NAME, 2, together::<S, 2>),
        entry("4 shared", S::NAME, 4, together::<S, 4>),
        entry("8 shared", S::NAME, 8, together::<S, 8>),
        entry("16 shared", S::NAME, 16, together::<S, 16>),
    ]
}
