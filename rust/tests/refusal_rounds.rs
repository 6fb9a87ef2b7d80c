//! Effects of a refusal by the source on every kind of object: a source that refuses once, from a call on, above a
//! block size, or above a sum of bytes. When the object is empty again, it serves the same requests as before the
//! refusal, and no part of a limit stays unused.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

use std::alloc::{alloc, dealloc, Layout};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use toft::{AllocError, Arena, Frames, Limited, Local, Options, Recycler, SharedArena, Source, SyncRecycler};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const ROUNDS: usize = 3;
/// Step between limits. Optimized builds try every limit that makes a difference; others try fewer.
const STEP: usize = match () {
    () if cfg!(miri) => 500 * 4 * KIB,
    () if cfg!(debug_assertions) => 61 * 4 * KIB,
    () => 4 * KIB,
};

// ---- the source ----

#[derive(Clone, Copy, Debug)]
enum Refuses {
    Once(usize),
    From(usize),
    /// Blocks above this size.
    Above(usize),
    /// Blocks that would raise the bytes in use above this sum.
    Beyond(usize),
}

struct Counted {
    refuses: Refuses,
    /// Added to the limit.
    lifted: AtomicUsize,
    attempts: AtomicUsize,
    bytes: AtomicUsize,
    peak: AtomicUsize,
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, if size % (32 * KIB) == 0 { 32 * KIB } else { 4 * KIB }).unwrap()
}

// SAFETY: blocks of the global allocator, valid until they are returned.
unsafe impl Source for Counted {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        let attempt = self.attempts.fetch_add(1, SeqCst) + 1;
        let bytes = self.bytes.load(SeqCst) + size;
        let refused = match self.refuses {
            Refuses::Once(k) => attempt == k,
            Refuses::From(k) => attempt >= k,
            Refuses::Above(most) => size > most,
            Refuses::Beyond(limit) => bytes > limit + self.lifted.load(SeqCst),
        };
        if refused {
            return None;
        }
        self.bytes.store(bytes, SeqCst);
        self.peak.fetch_max(bytes, SeqCst);
        // SAFETY: the size is not 0.
        NonNull::new(unsafe { alloc(layout(size)) })
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        self.bytes.fetch_sub(size, SeqCst);
        // SAFETY: allocated with this layout.
        unsafe { dealloc(block.as_ptr(), layout(size)) }
    }
}

type Of = &'static (dyn Source + Send + Sync);

/// Calls `f` with a source that outlives the objects that borrow it, and verifies that all blocks were returned.
fn with_source(refuses: Refuses, f: impl FnOnce(&'static Counted)) {
    let zero = || AtomicUsize::new(0);
    let source = Counted { refuses, lifted: zero(), attempts: zero(), bytes: zero(), peak: zero() };
    let source = Box::into_raw(Box::new(source));
    // SAFETY: the box is dropped below, when it is not borrowed any more.
    f(unsafe { &*source });
    // SAFETY: as above.
    let source = unsafe { Box::from_raw(source) };
    assert_eq!(source.bytes.load(SeqCst), 0);
}

// ---- the kinds ----

type Object = (NonNull<u8>, Layout);

trait Kind {
    fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, AllocError>;
    /// Frees the objects, which are all live ones.
    fn empty(&mut self, objects: &[Object]);
    fn live(&mut self) -> u64;
}

macro_rules! emptied_by_reset {
    ($name:ty) => {
        impl Kind for $name {
            fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
                self.try_alloc_layout(layout)
            }
            fn empty(&mut self, _: &[Object]) {
                self.reset();
            }
            fn live(&mut self) -> u64 {
                self.stats().live
            }
        }
    };
}
emptied_by_reset!(Arena);
emptied_by_reset!(SharedArena<Of>);

/// Each round is one scope of the arena, which is reset afterwards.
struct InScope {
    /// Borrows the box, and is dropped first.
    scope: Option<toft::Scope<'static>>,
    arena: Box<Arena>,
}

impl Kind for InScope {
    fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        if self.scope.is_none() {
            // SAFETY: the box is not moved out, dropped or reset while the scope exists.
            let arena: &'static Arena = unsafe { &*std::ptr::from_ref(&*self.arena) };
            self.scope = Some(arena.try_scope_guard()?);
        }
        self.scope.as_ref().unwrap().try_alloc_layout(layout)
    }
    fn empty(&mut self, _: &[Object]) {
        self.scope = None;
        self.arena.reset();
    }
    fn live(&mut self) -> u64 {
        self.scope = None;
        self.arena.stats().live
    }
}

macro_rules! recycling {
    ($name:ident) => {
        impl<S: Source> Kind for $name<S> {
            fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
                self.try_alloc_layout(layout)
            }
            fn empty(&mut self, objects: &[Object]) {
                for (p, layout) in objects {
                    // SAFETY: allocated here with that layout, and not used any more.
                    unsafe { self.deallocate(*p, *layout) };
                }
            }
            fn live(&mut self) -> u64 {
                self.stats().live
            }
        }
    };
}
recycling!(Recycler);
recycling!(SyncRecycler);

struct InLocal {
    /// Borrows the box, and is dropped first.
    local: Option<Local<'static, Of>>,
    arena: Box<SharedArena<Of>>,
}

impl Kind for InLocal {
    fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: the box is not moved out, dropped or reset while the part exists.
        let arena: &'static SharedArena<Of> = unsafe { &*std::ptr::from_ref(&*self.arena) };
        self.local.get_or_insert_with(|| arena.local()).try_alloc_layout(layout)
    }
    fn empty(&mut self, _: &[Object]) {
        self.local = None;
        self.arena.reset();
    }
    fn live(&mut self) -> u64 {
        self.local = None;
        self.arena.stats().live
    }
}

impl Kind for Frames {
    fn alloc(&mut self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        self.try_here()?.try_alloc_layout(layout)
    }
    fn empty(&mut self, _: &[Object]) {
        self.advance();
    }
    fn live(&mut self) -> u64 {
        self.try_here().map_or(0, |arena| arena.stats().live)
    }
}

struct Case {
    name: &'static str,
    make: fn(Of) -> Result<Box<dyn Kind>, AllocError>,
    /// It places objects in free memory, and takes memory in larger steps.
    recycles: bool,
}

const CASES: &[Case] = &[
    Case { name: "arena", make: |s| Ok(Box::new(Options::new().source(s).create()?)), recycles: false },
    Case {
        name: "checked",
        make: |s| {
            let arena = Options::new().source(s).create()?;
            arena.set_checked(true).map_err(|_| AllocError)?;
            Ok(Box::new(arena))
        },
        recycles: false,
    },
    Case {
        name: "scope",
        make: |s| Ok(Box::new(InScope { scope: None, arena: Box::new(Options::new().source(s).create()?) })),
        recycles: false,
    },
    Case {
        name: "frames",
        make: |s| Ok(Box::new(Frames::with(move || Options::new().source(s).create()))),
        recycles: false,
    },
    Case { name: "shared", make: |s| Ok(Box::new(SharedArena::from_source(s))), recycles: false },
    Case {
        name: "local",
        make: |s| Ok(Box::new(InLocal { local: None, arena: Box::new(SharedArena::from_source(s)) })),
        recycles: false,
    },
    Case { name: "recycler", make: |s| Ok(Box::new(Recycler::from_source(s))), recycles: true },
    Case { name: "sync", make: |s| Ok(Box::new(SyncRecycler::from_source(s))), recycles: true },
];

/// Checked arenas compare each freed byte, which is slow without optimization: such builds test limits of bytes only.
fn cases() -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(|case| case.name != "checked" || !cfg!(debug_assertions))
}

impl Case {
    /// The first object of a kind takes up to 64 KiB; recyclers take memory by 64 KiB at least.
    fn least_limit(&self) -> usize {
        if self.recycles {
            MIB
        } else {
            64 * KIB
        }
    }
}

// ---- rounds ----

/// A sequence of sizes, about `bytes` in total.
fn sequence(which: usize, bytes: usize) -> Vec<usize> {
    const MIXED: [usize; 13] = [10, 3000, 24, 70_000, 9000, 200_000, 100, 5000, 300_000, 40_000, MIB, 2000, 16];
    let sizes: &[usize] = match which {
        0 if cfg!(debug_assertions) => &[4000],
        0 => &[1000],
        1 => &[20_000],
        _ => &MIXED,
    };
    let mut sum = 0;
    let below = |size: &usize| {
        sum += size;
        sum - size < bytes
    };
    sizes.iter().copied().cycle().take_while(below).collect()
}

/// Serves the sequence until a request is refused.
fn serve(of: &mut dyn Kind, sizes: &[usize]) -> Vec<Object> {
    let layouts = sizes.iter().map(|size| Layout::from_size_align(*size, 8).unwrap());
    let objects: Vec<Object> = layouts.map_while(|layout| Some((of.alloc(layout).ok()?, layout))).collect();
    for (i, (p, _)) in objects.iter().enumerate() {
        // SAFETY: each allocation has at least one byte.
        unsafe { p.write(i as u8) };
    }
    // SAFETY: as above.
    assert!(objects.iter().enumerate().all(|(i, (p, _))| unsafe { p.read() } == i as u8));
    objects
}

/// Serves the sequence in rounds: no fewer requests than in the round before, unless the only refusal occurred in
/// between, or blocks that were returned before the source began to refuse for good are missing. Returns the requests
/// of the last round.
fn rounds(case: &Case, of: &mut dyn Kind, source: &Counted, sizes: &[usize]) -> usize {
    let mut served = 0;
    for round in 0..ROUNDS {
        let first = match source.refuses {
            Refuses::Once(k) | Refuses::From(k) => k,
            _ => 0,
        };
        let before = source.attempts.load(SeqCst);
        let objects = serve(of, sizes);
        let compares = before >= first || source.attempts.load(SeqCst) < first;
        let least = if case.recycles { served - served / 8 } else { served };
        let (name, now, refuses) = (case.name, objects.len(), source.refuses);
        assert!(!compares || now >= least, "{name}: round {round} of {refuses:?} served {now} requests, not {served}");
        served = now;
        of.empty(&objects);
        assert_eq!(of.live(), 0, "{name}");
    }
    served
}

#[test]
fn a_limit_of_bytes_is_used_fully() {
    for case in CASES {
        for which in 0..3 {
            let step = if which == 0 && case.name != "checked" { STEP } else { 7 * STEP };
            for limit in (4 * KIB..=4 * MIB).step_by(step) {
                with_source(Refuses::Beyond(limit), |source| {
                    let Ok(mut of) = (case.make)(source) else { return assert!(limit < 128 * KIB) };
                    let served = rounds(case, &mut *of, source, &sequence(which, 5 * MIB));
                    let unused = limit - source.peak.load(SeqCst);
                    assert!(
                        which != 0 || limit < case.least_limit() || unused <= limit / 8,
                        "{}: {unused} of {limit} bytes are not used, {served} requests are served",
                        case.name
                    );
                });
            }
        }
    }
}

#[test]
fn a_limit_of_block_sizes_is_used_fully() {
    for case in cases() {
        for which in 0..3 {
            let mut most = if cfg!(miri) { MIB } else { 4 * KIB };
            while most <= 4 * MIB {
                with_source(Refuses::Above(most), |source| {
                    let Ok(mut of) = (case.make)(source) else { return };
                    let sizes = sequence(which, 3 * MIB);
                    let served = rounds(case, &mut *of, source, &sizes);
                    if which == 0 && most >= case.least_limit() {
                        assert_eq!(served, sizes.len(), "{}: all fits in small blocks", case.name);
                    }
                });
                most += (most / 3).next_multiple_of(4 * KIB);
            }
        }
    }
}

/// An object that is empty when its source refuses is retried without the refused requests.
#[test]
fn the_source_refuses_once_or_permanently() {
    for case in cases() {
        for which in 0..3 {
            for k in if cfg!(miri) { 3..5 } else { 2..20 } {
                for refuses in [Refuses::Once(k), Refuses::From(k)] {
                    with_source(refuses, |source| {
                        let Ok(mut of) = (case.make)(source) else { return };
                        rounds(case, &mut *of, source, &sequence(which, 3 * MIB));
                    });
                }
            }
        }
    }
}

/// The refusal occurs in a later round of an object that keeps memory from earlier rounds.
#[test]
fn the_source_refuses_after_rounds_of_other_sizes() {
    for case in cases() {
        for limit in (MIB..=4 * MIB).step_by(if cfg!(miri) { 3 * MIB } else { 300 * KIB }) {
            for part in 8..=10 {
                with_source(Refuses::Beyond(limit), |source| {
                    let mut of = (case.make)(source).unwrap();
                    // Below the limit, with small and large requests in turn.
                    for round in 0..12 {
                        let sizes = sequence(round % 2, limit * part / if case.recycles { 32 } else { 16 });
                        let objects = serve(&mut *of, &sizes);
                        assert_eq!(objects.len(), sizes.len(), "{}: limit {limit}, round {round}", case.name);
                        of.empty(&objects);
                    }
                    let half = serve(&mut *of, &[limit / 2]); // one request, when nothing is live
                    assert_eq!(half.len(), 1, "{}: half of {limit} bytes are not served", case.name);
                    of.empty(&half);
                });
            }
        }
    }
}

// ---- several arenas ----

#[test]
fn arenas_of_one_limit_do_not_starve_each_other() {
    const ALL: usize = if cfg!(miri) { 2 * MIB } else { 16 * MIB };
    for case in cases().filter(|case| !case.recycles) {
        with_source(Refuses::Once(0), |source| {
            let limited = Box::into_raw(Box::new(Limited::new(source, ALL)));
            // SAFETY: the box is dropped below, when it is not borrowed any more.
            let mut both = [0, 1].map(|_| (case.make)(unsafe { &*limited }).unwrap());
            for round in 0..10 {
                let bytes = if round % 3 == 0 { ALL / 4 } else { ALL / 4 * 3 };
                let (of, sizes) = (&mut both[round % 2], sequence(round % 3, bytes));
                let objects = serve(&mut **of, &sizes);
                assert_eq!(objects.len(), sizes.len(), "{}: round {round}", case.name);
                of.empty(&objects);
            }
            drop(both);
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(limited) });
        });
    }
}

/// An arena fails above the limit, and serves the small requests of later rounds.
#[test]
fn small_rounds_follow_one_that_was_too_large() {
    with_source(Refuses::Once(0), |source| {
        let source = Limited::new(source, MIB);
        let mut arena = toft::Scope::from_source(&source).unwrap();
        for bytes in [20_000, 2_000_000, 20_000, 20_000, 20_000] {
            let served = (0..bytes / 500).filter(|_| arena.try_alloc_slice_fill(500, 1u8).is_ok()).count();
            assert!(served * 500 >= bytes.min(MIB / 8 * 7), "{served} of {bytes} bytes");
            arena.reset();
            assert!(source.used() <= 64 * KIB, "{}", source.used());
        }
    });
}

// ---- the hook ----

#[test]
fn the_refusal_handler_is_called_for_the_source() {
    with_source(Refuses::Beyond(64 * KIB), |source| {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let arena = Options::new().source(source).create().unwrap();
        arena
            .on_refusal(move |refusal| {
                CALLS.fetch_add(1, SeqCst);
                assert!(refusal.live + refusal.size as u64 <= refusal.budget, "the budget is not the cause");
                source.lifted.fetch_add(if refusal.size < 2 * MIB { 2 * MIB } else { 0 }, SeqCst);
                None
            })
            .unwrap();
        assert!(arena.try_alloc_uninit_slice::<u8>(200_000).is_ok());
        assert_eq!(CALLS.swap(0, SeqCst), 1);
        assert!(arena.scope(|inner| inner.try_alloc_uninit_slice::<u8>(1_960_000).is_ok()));
        assert_eq!(CALLS.swap(0, SeqCst), 1);
        assert!(arena.try_alloc_uninit_slice::<u8>(9 * MIB).is_err());
        assert_eq!(CALLS.swap(0, SeqCst), 1);
        assert!(arena.try_alloc_uninit_slice::<u8>(usize::MAX / 2).is_err()); // larger than any source
        assert_eq!(CALLS.swap(0, SeqCst), 0);
    });
}
