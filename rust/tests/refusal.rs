//! A source that fails at the first, second, ... k-th take, until a run completes without a failure: each refusal
//! changes nothing, and calls without `try_` panic with a message.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![allow(clippy::type_complexity)]

#[path = "common/blocks.rs"]
mod blocks;
#[path = "common/pages.rs"]
mod pages;
#[path = "common/strict.rs"]
mod strict;

use std::alloc::Layout;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::SeqCst;

use blocks::Blocks;
use pages::Pages;
use toft::{
    AllocError, Arena, Frames, InitError, Limited, Options, Recycler, Reserve, Scope, SharedArena, Source, SyncRecycler,
};

/// More than the rest of any block that exists when a call begins.
const LARGE: usize = 5000;
type Large = [u64; LARGE / 8];

/// Every call that may be refused, with sizes that each need a block. The contents of the results are checked.
const CALLS: &[(&str, fn(&Arena) -> Result<(), AllocError>)] = &[
    ("try_alloc", |a| a.try_alloc([7u64; LARGE / 8]).map(|v| assert_eq!(v[9], 7))),
    ("try_alloc_with", |a| a.try_alloc_with(|| [7u64; LARGE / 8]).map(|v| assert_eq!(v[9], 7))),
    ("try_alloc_try_with", |a| match a.try_alloc_try_with(|| Ok::<Large, ()>([7; LARGE / 8])) {
        Ok(v) => {
            assert_eq!(v[9], 7);
            Ok(())
        }
        Err(InitError::Alloc(e)) => Err(e),
        Err(InitError::Init(())) => unreachable!(),
    }),
    ("try_alloc_uninit", |a| a.try_alloc_uninit::<Large>().map(drop)),
    ("try_alloc_zeroed", |a| {
        // SAFETY: zero is a valid number.
        a.try_alloc_zeroed::<Large>().map(|v| assert!(unsafe { v.assume_init_ref() }.iter().all(|x| *x == 0)))
    }),
    ("try_alloc_layout", |a| a.try_alloc_layout(Layout::from_size_align(LARGE, 256).unwrap()).map(drop)),
    ("try_alloc_slice_copy", |a| a.try_alloc_slice_copy(&[7u64; LARGE / 8]).map(|v| assert_eq!(v[9], 7))),
    ("try_alloc_slice_clone", |a| a.try_alloc_slice_clone(&[7u64; LARGE / 8]).map(|v| assert_eq!(v[9], 7))),
    ("try_alloc_slice_fill", |a| a.try_alloc_slice_fill(LARGE, 7u8).map(|v| assert_eq!(v[9], 7))),
    ("try_alloc_slice_fill_with", |a| a.try_alloc_slice_fill_with(LARGE, |i| i as u8).map(|v| assert_eq!(v[9], 9))),
    ("try_alloc_slice_default", |a| a.try_alloc_slice_default::<u32>(LARGE).map(|v| assert_eq!(v[9], 0))),
    ("try_alloc_slice_from_iter", |a| {
        a.try_alloc_slice_from_iter((0..LARGE).filter(|i| i % 2 == 1)).map(|v| assert_eq!(v[9], 19))
    }),
    ("try_alloc_uninit_slice", |a| a.try_alloc_uninit_slice::<u16>(LARGE).map(drop)),
    ("try_alloc_zeroed_slice", |a| {
        // SAFETY: zero is a valid number.
        a.try_alloc_zeroed_slice::<u8>(LARGE).map(|v| assert!(v.iter().all(|x| unsafe { x.assume_init() } == 0)))
    }),
    ("try_alloc_str", |a| a.try_alloc_str(&"word ".repeat(LARGE / 5)).map(|v| assert!(v.ends_with("word ")))),
    ("try_alloc_fmt", |a| a.try_alloc_fmt(format_args!("{:>LARGE$}", 7)).map(|v| assert!(v.ends_with(" 7")))),
    ("try_boxed", |a| a.try_boxed([7u64; LARGE / 8]).map(|v| assert_eq!(v[9], 7))),
    ("try_boxed_slice", |a| a.try_boxed_slice((0..LARGE).map(|i| i as u8)).map(|v| assert_eq!(v[9], 9))),
    ("try_alloc_drop", |a| a.try_alloc_drop((vec![7], [7u64; LARGE / 8])).map(|v| assert_eq!(v.0[0], 7))),
    ("try_alloc_drop, its node", |a| {
        // SAFETY: the arena is alive.
        let head = unsafe { a.as_raw().as_ref() };
        while head.limit.get() != head.cursor.get() {
            a.try_alloc(1u64)?;
        }
        a.try_alloc_drop(vec![7]).map(|v| assert_eq!(v[0], 7))
    }),
    ("Cursor::try_alloc", |a| a.cursor().try_alloc([7u64; LARGE / 8]).map(|v| assert_eq!(v[9], 7))),
    ("Cursor::try_alloc_uninit", |a| a.cursor().try_alloc_uninit::<[u64; 1000]>().map(drop)),
    ("Pack::try_alloc_str", |a| a.pack().try_alloc_str(&"x".repeat(LARGE)).map(|v| assert_eq!(v.len(), LARGE))),
    ("Pack::try_alloc_bytes", |a| a.pack().try_alloc_bytes(&[7; LARGE]).map(|v| assert_eq!(v[9], 7))),
    ("try_scope, and in it", |a| {
        a.try_scope(|inner| inner.try_alloc([7u64; LARGE / 8]).map(|v| assert_eq!(v[9], 7))).and_then(|inner| inner)
    }),
    ("try_scope_guard beside a scope", |a| {
        let _first = a.try_scope_guard()?;
        let second = a.try_scope_guard()?;
        second.try_alloc(1u8).map(|_| ())
    }),
    ("of the arena around a scope", |a| {
        let _scope = a.try_scope_guard()?;
        a.try_alloc(1u8).map(|_| ())
    }),
];

/// The state that a refusal must not change.
fn state(arena: &Arena, pages: &Pages) -> (u64, u64, u64, u64) {
    let s = arena.stats();
    assert_eq!((s.reserved, s.source_calls), (pages.bytes.get(), pages.calls.get()));
    (s.live, s.budget, s.blocks, arena.mark_of())
}

trait MarkOf {
    fn mark_of(&self) -> u64;
}

impl MarkOf for Arena {
    /// The cursor's address.
    fn mark_of(&self) -> u64 {
        // SAFETY: the arena is alive.
        unsafe { self.as_raw().as_ref() }.cursor.get().addr() as u64
    }
}

#[test]
fn every_call_that_is_refused_changes_nothing() {
    for (name, call) in CALLS {
        let mut refused = 0;
        for k in 2.. {
            let pages = Pages::failing_at(k..k + 40); // smaller blocks too
            let mut arena = Scope::from_source(&pages).unwrap();
            let kept = arena.alloc_slice_fill(100, 5u8);
            // Twice, so that a take that only the second round needs fails too.
            for round in 0..2 {
                let before = state(&arena, &pages);
                let result = call(&arena);
                if pages.calls.get() < k {
                    result.unwrap_or_else(|_| panic!("{name}: refused, but no take failed"));
                    continue;
                }
                if result.is_err() {
                    refused += 1;
                    // Growth over several blocks leaves its earlier copies; and this call fills the current block
                    // first.
                    let grows = ["slice_from_iter", "boxed_slice", "fmt"].iter().any(|part| name.ends_with(part));
                    if !(grows && k > 2) && *name != "try_alloc_drop, its node" {
                        let live = arena.stats().live;
                        assert_eq!(live, before.0, "{name}, take {k}, round {round}: live");
                        assert_eq!(state(&arena, &pages), before, "{name}, take {k}, round {round}");
                    }
                    pages.fail_at.take();
                    call(&arena).unwrap_or_else(|_| panic!("{name}: refused, but memory is available again"));
                }
                break;
            }
            assert!(kept.iter().all(|b| *b == 5));
            let untouched = pages.calls.get() < k;
            arena.reset();
            assert_eq!(arena.stats().live, 0, "{name}");
            drop(arena);
            assert_eq!(pages.bytes.get(), 0, "{name}");
            if untouched {
                break;
            }
        }
        assert!(refused > 0, "{name}: no take was refused, so nothing was tested");
    }
}

#[test]
fn an_arena_that_cannot_be_made_takes_nothing() {
    let pages = Pages::failing_at([1]);
    assert!(Scope::from_source(&pages).is_err());
    assert_eq!((pages.calls.get(), pages.bytes.get()), (1, 0));
    assert!(Scope::from_source(&pages).is_ok());
    assert_eq!(pages.bytes.get(), 0);
    assert!(Options::new().source(Pages::failing_at([1])).create().is_err()); // the source is dropped
    for much in [usize::MAX, isize::MAX as usize, isize::MAX as usize / 2 + 1] {
        assert!(Options::new().reserve(much).create().is_err());
        assert!(Options::new().source(Pages::new()).reserve(much).create().is_err());
        assert!(Scope::from_source_with(&pages, much, None).is_err());
        let panic = catch_unwind(|| drop(Arena::with_capacity(much))).unwrap_err();
        assert!(panic.downcast_ref::<String>().unwrap().starts_with("toft: "));
    }
    let mut small = [MaybeUninit::uninit(); 300];
    assert!(Arena::in_buffer(&mut small).is_err());
    assert!(Arena::in_buffer_or_heap(&mut small).is_err());
    assert!(Arena::in_buffer(&mut []).is_err());
}

/// Blocks without the required alignment are returned and refused.
#[test]
fn misaligned_blocks_are_refused() {
    /// Misaligned by this number of bytes.
    struct Misaligned(Pages, Cell<usize>);
    // SAFETY: it violates the rule on alignment only: the arena must verify it.
    unsafe impl Source for Misaligned {
        fn take(&self, size: usize) -> Option<std::ptr::NonNull<u8>> {
            // SAFETY: within the block, which is a page larger.
            self.0.take(size + 4096).map(|p| unsafe { p.add(self.1.get()) })
        }
        unsafe fn put(&self, block: std::ptr::NonNull<u8>, size: usize) {
            let start = block.addr().get() & !4095;
            // SAFETY: subtracts the offset that `take` added.
            unsafe { self.0.put(block.sub(block.addr().get() - start), size + 4096) }
        }
    }
    for by in [8, 32] {
        let source = Misaligned(Pages::new(), Cell::new(by));
        assert!(Scope::from_source(&source).is_err());
        assert_eq!((source.0.calls.get(), source.0.bytes.get()), (1, 0));
        // The same for a later block.
        source.1.set(0);
        let arena = Scope::from_source(&source).unwrap();
        arena.alloc(1u64);
        source.1.set(by);
        let before = (arena.stats().live, source.0.bytes.get());
        assert!(arena.try_alloc([0u8; LARGE]).is_err());
        assert_eq!((arena.stats().live, source.0.bytes.get()), before);
        source.1.set(64);
        assert!(arena.try_alloc([0u8; LARGE]).is_ok());
        drop(arena);
        assert_eq!(source.0.bytes.get(), 0);
    }
}

/// A source that an arena owns is dropped with it, after its blocks were returned.
#[test]
fn a_source_ends_with_the_arena_that_owns_it() {
    struct Owned(Pages, #[allow(dead_code)] std::sync::Arc<()>);
    // SAFETY: as `Pages`.
    unsafe impl Source for Owned {
        fn take(&self, size: usize) -> Option<std::ptr::NonNull<u8>> {
            self.0.take(size)
        }
        unsafe fn put(&self, block: std::ptr::NonNull<u8>, size: usize) {
            // SAFETY: the caller's contract.
            unsafe { self.0.put(block, size) }
        }
    }
    let alive = std::sync::Arc::new(());
    let arena = Options::new().source(Owned(Pages::new(), alive.clone())).create().unwrap();
    arena.alloc([0u8; LARGE]);
    assert_eq!(std::sync::Arc::strong_count(&alive), 2);
    drop(arena);
    assert_eq!(std::sync::Arc::strong_count(&alive), 1);
    drop(Options::new().source(Owned(Pages::new(), alive.clone())).create().unwrap());
    assert!(Options::new().source(Owned(Pages::failing_at([1]), alive.clone())).create().is_err());
    assert_eq!(std::sync::Arc::strong_count(&alive), 1);
}

#[test]
fn a_refused_iterator_or_format_frees_its_memory() {
    let arena = Options::new().budget(200).create().unwrap();
    arena.alloc(1u64);
    assert!(arena.try_alloc_slice_from_iter((0..100u64).filter(|_| true)).is_err());
    assert_eq!(arena.stats().live, 8);
    assert!(arena.try_boxed_slice((0..100u64).filter(|_| true)).is_err());
    assert_eq!(arena.stats().live, 8);
    assert!(arena.try_alloc_fmt(format_args!("{:100}{:1000}", 1, 2)).is_err());
    assert_eq!(arena.stats().live, 8);
    assert!(arena.try_alloc([0u64; 24]).is_ok());
}

#[test]
fn a_failed_alloc_try_with_frees_its_place() {
    let arena = Arena::new();
    arena.alloc(1u64);
    assert_eq!(arena.try_alloc_try_with(|| Err::<[u64; 50], _>(7)).map(|_| ()), Err(InitError::Init(7)));
    assert_eq!(arena.alloc_try_with(|| Err::<[u64; 5000], _>(8)).map(|_| ()), Err(8));
    assert_eq!(arena.stats().live, 8);
    // The closure's allocation is kept: the error may contain it.
    let error = arena.alloc_try_with(|| Err::<u64, _>(arena.alloc_str("why"))).unwrap_err();
    assert_eq!(error, "why");
}

// ---- every kind of allocator ----

/// The k-th take and all later ones fail, for each k until a run completes without a failure: the result is an error,
/// nothing has changed, and the next try succeeds.
fn each_refusal<T>(
    name: &str,
    make: impl Fn(&'static Blocks) -> T,
    alloc: impl Fn(&T, Layout) -> Result<NonNull<u8>, AllocError>,
    live: impl Fn(&T) -> u64,
) {
    const SIZES: [usize; 11] = [10, 3000, 24, 70_000, 9000, 100, 5000, 100_000, 40_000, 2000, 16];
    let mut refused = 0;
    for k in 1.. {
        // Leaked if the test fails: the allocators borrow it.
        let source: &'static Blocks = Box::leak(Box::default());
        let of = make(source);
        source.lasting.store(true, SeqCst);
        source.fails.store(k, SeqCst);
        let mut kept: Vec<(NonNull<u8>, usize)> = Vec::new();
        // SAFETY: `n` bytes are allocated there, and were written below.
        let bytes = |&(p, n): &(NonNull<u8>, usize)| unsafe { std::slice::from_raw_parts(p.as_ptr(), n) };
        for size in SIZES {
            let layout = Layout::from_size_align(size, 8).unwrap();
            let before = live(&of);
            let p = alloc(&of, layout).unwrap_or_else(|_| {
                refused += 1;
                assert_ne!(source.failed.load(SeqCst), 0, "{name}, take {k}: no take failed");
                source.fails.store(0, SeqCst);
                assert_eq!(live(&of), before, "{name}, take {k}");
                assert!(kept.iter().enumerate().all(|(i, b)| bytes(b).iter().all(|x| usize::from(*x) == i + 1)));
                alloc(&of, layout)
                    .unwrap_or_else(|_| panic!("{name}, take {k}: refused, but memory is available again"))
            });
            kept.push((p, size));
            // SAFETY: as above.
            unsafe { p.as_ptr().write_bytes(kept.len() as u8, size) };
        }
        assert!(kept.iter().enumerate().all(|(i, b)| bytes(b).iter().all(|x| usize::from(*x) == i + 1)), "{name}");
        drop(of);
        assert_eq!(source.bytes(), 0, "{name}");
        let untouched = source.failed.load(SeqCst) == 0;
        // SAFETY: leaked above, and not borrowed any more.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(source).cast_mut()) });
        if untouched {
            break;
        }
    }
    assert!(refused > 0, "{name}: no take was refused, so nothing was tested");
}

fn layout_in(arena: &Arena, layout: Layout) -> Result<NonNull<u8>, AllocError> {
    arena.try_alloc_layout(layout)
}

#[test]
fn every_kind_of_allocator_is_usable_after_each_refusal() {
    let arena = |source| Options::new().source(source).create();
    each_refusal("Arena", |s| arena(s).unwrap(), layout_in, |a| a.stats().live);
    each_refusal(
        "Frames",
        move |s| Frames::with(move || arena(s)),
        |f, layout| layout_in(f.try_here()?, layout),
        |f| f.try_here().map_or(0, |a| a.stats().live),
    );
    each_refusal("SharedArena", SharedArena::from_source, |a, layout| a.try_alloc_layout(layout), |a| a.stats().live);
    each_refusal("Recycler", Recycler::from_source, |r, layout| r.try_alloc_layout(layout), |r| r.stats().live);
    each_refusal("SyncRecycler", SyncRecycler::from_source, |r, layout| r.try_alloc_layout(layout), |r| r.stats().live);
}

// ---- panics ----

fn message(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it must panic");
    panic.downcast_ref::<String>().cloned().unwrap_or_else(|| panic.downcast_ref::<&str>().unwrap().to_string())
}

#[test]
fn calls_without_try_panic_with_the_requested_size() {
    let arena = Options::new().budget(100).create().unwrap();
    let refused = |size: usize, align: usize, f: &dyn Fn()| {
        let before = arena.stats();
        let text = format!("toft: out of memory: {size} bytes aligned to {align}, or over the budget");
        assert_eq!(message(f), text);
        assert_eq!(arena.stats().live, before.live);
    };
    refused(200, align_of::<u64>(), &|| _ = arena.alloc([1u64; 25]));
    refused(200, align_of::<u64>(), &|| _ = arena.alloc_with(|| [1u64; 25]));
    refused(200, align_of::<u64>(), &|| _ = arena.alloc_try_with(|| Ok::<_, ()>([1u64; 25])));
    refused(200, align_of::<u64>(), &|| _ = arena.alloc_uninit::<[u64; 25]>());
    refused(200, align_of::<u64>(), &|| _ = arena.alloc_zeroed::<[u64; 25]>());
    refused(128, 64, &|| _ = arena.alloc_layout(Layout::from_size_align(128, 64).unwrap()));
    refused(200, 1, &|| _ = arena.alloc_slice_copy(&[1u8; 200]));
    refused(200, 1, &|| _ = arena.alloc_slice_clone(&[1u8; 200]));
    refused(200, 1, &|| _ = arena.alloc_slice_fill(200, 1u8));
    refused(200, 1, &|| _ = arena.alloc_slice_fill_with(200, |_| 1u8));
    refused(200, 1, &|| _ = arena.alloc_slice_default::<u8>(200));
    refused(200, 1, &|| _ = arena.alloc_slice_from_iter([1u8; 200]));
    refused(200, 1, &|| _ = arena.alloc_uninit_slice::<u8>(200));
    refused(200, 1, &|| _ = arena.alloc_zeroed_slice::<u8>(200));
    refused(200, 1, &|| _ = arena.alloc_str(&"x".repeat(200)));
    refused(200, align_of::<u64>(), &|| _ = arena.boxed([1u64; 25]));
    refused(200, 1, &|| _ = arena.boxed_slice([1u8; 200]));
    refused(200, 1, &|| _ = arena.boxed_str(&"x".repeat(200)));
    refused(200, align_of::<u64>(), &|| _ = arena.cursor().alloc([1u64; 25]));
    refused(200, align_of::<u64>(), &|| _ = arena.cursor().alloc_uninit::<[u64; 25]>());
    refused(200, 1, &|| _ = arena.pack().alloc_str(&"x".repeat(200)));
    refused(200, 1, &|| _ = arena.pack().alloc_bytes(&[1; 200]));
    assert!(message(|| _ = arena.alloc_fmt(format_args!("{:200}", 1))).starts_with("toft: out of memory: "));
    let capacity = [
        message(|| _ = arena.alloc_uninit_slice::<u64>(usize::MAX / 8)),
        message(|| _ = arena.alloc_zeroed_slice::<u16>(usize::MAX)),
    ];
    assert_eq!(capacity, ["toft: out of memory: capacity overflow"; 2]);
}

// ---- huge requests ----

#[test]
fn requests_above_the_address_space_are_refused() {
    let check = |arena: &Arena| {
        let before = arena.stats();
        assert!(arena.try_alloc_uninit_slice::<u8>(usize::MAX).is_err());
        assert!(arena.try_alloc_uninit_slice::<u8>(isize::MAX as usize).is_err());
        assert!(arena.try_alloc_uninit_slice::<u64>(usize::MAX / 8 + 2).is_err());
        assert!(arena.try_alloc_uninit_slice::<Large>(usize::MAX / LARGE).is_err());
        let most = Layout::from_size_align(isize::MAX as usize - 63, 64).unwrap();
        assert!(arena.try_alloc_layout(most).is_err());
        let coarse = Layout::from_size_align(8, 1 << (usize::BITS - 2)).unwrap();
        assert!(arena.try_alloc_layout(coarse).is_err());
        // An iterator with too large a size hint, for which the call reserves.
        struct TooLargeHint(usize);
        impl Iterator for TooLargeHint {
            type Item = u64;
            fn next(&mut self) -> Option<u64> {
                None
            }
            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.0, Some(self.0))
            }
        }
        assert!(arena.try_alloc_slice_from_iter(TooLargeHint(usize::MAX)).is_err());
        assert!(arena.try_alloc_slice_from_iter(TooLargeHint(usize::MAX / 8)).is_err());
        let now = arena.stats();
        assert_eq!((now.live, now.blocks, now.reserved), (before.live, before.blocks, before.reserved));
        assert!(arena.try_alloc(1u8).is_ok());
    };
    check(&Arena::new());
    check(&Arena::with_capacity(10_000));
    check(&Arena::new().scope_guard());
    check(&Options::new().source(toft::Pages::new()).create().unwrap());
    check(&Options::new().source(Reserve::new(1 << 16).unwrap()).create().unwrap());
    check(&Options::new().source(Limited::new(toft::Pages::huge(), 1 << 16)).create().unwrap());
    let mut buffer = [MaybeUninit::uninit(); 2048];
    check(&Arena::in_buffer(&mut buffer).unwrap());
    check(&Arena::in_buffer_or_heap(&mut buffer).unwrap());
}

// ---- sources with an end ----

#[test]
fn a_limit_is_shared_and_released() {
    let source = Limited::new(toft::Pages::new(), 400_000);
    let (a, b) = (Scope::from_source(&source).unwrap(), Scope::from_source(&source).unwrap());
    assert!(a.try_alloc_uninit_slice::<u8>(300_000).is_ok());
    assert!(b.try_alloc_uninit_slice::<u8>(90_000).is_err());
    assert!(b.try_alloc_uninit_slice::<u8>(60_000).is_ok()); // in less than the next regular block of 256 KiB
    assert!(source.used() <= 400_000);
    drop(a);
    assert!(b.try_alloc_uninit_slice::<u8>(90_000).is_ok());
    drop(b);
    assert_eq!(source.used(), 0);
    let source = Limited::new(Pages::failing_at(2..9), 1 << 20);
    let a = Scope::from_source(&source).unwrap();
    assert!(a.try_alloc_uninit_slice::<u8>(60_000).is_err());
    assert_eq!(source.used(), 4096); // requests that the inner source refused are not charged
}

#[test]
fn reserved_addresses_are_used_to_their_end() {
    let mut arena = Options::new().source(Reserve::new(1 << 20).unwrap()).create().unwrap();
    let mut taken = 0;
    while arena.try_alloc_uninit_slice::<u8>(1000).is_ok() {
        taken += 1000;
    }
    assert!(taken > (1 << 20) - 3000 && taken < 1 << 20, "{taken}");
    let before = arena.stats();
    assert!(arena.try_alloc_uninit_slice::<u8>(1 << 20).is_err());
    assert!(arena.try_scope_guard().is_err() || arena.scope(|a| a.try_alloc_uninit_slice::<u8>(1 << 20).is_err()));
    assert_eq!(arena.stats().live, before.live);
    arena.reset();
    assert!(arena.try_alloc_uninit_slice::<u8>(1 << 19).is_ok());
    assert!(Reserve::new(0).is_err() && Reserve::new(usize::MAX).is_err());
}

/// Sibling scopes share the rest of the budget, whichever of them allocates.
#[test]
fn sibling_scopes_share_a_budget() {
    for order in 0..4 {
        let arena = Arena::new();
        arena.set_budget(Some(arena.stats().live + 1000)).unwrap();
        let (one, two) = (arena.scope_guard(), arena.scope_guard());
        let scopes = [&one, &two];
        let mut served = 0;
        for i in 0..400usize {
            let turn = [i % 2, usize::from(i % 64 < 32), 1 - i % 2, usize::from(i % 64 >= 32)][order];
            served += usize::from(scopes[turn].try_alloc(0u64).is_ok());
        }
        assert_eq!(served, 125, "{order}");
    }
}
