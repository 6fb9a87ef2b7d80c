//! Each call of an arena that may be refused, and the results and messages of refusals.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::type_complexity)]

use std::alloc::Layout;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::NonNull;

use toft::{AllocError, Arena, Box, InitError, Limited, Options, Pages, Reserve, Scope, Source};

use crate::refusing::{self, each_refusal, Refuses, Refusing};

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
    ("try_alloc_batch", |a| a.try_alloc_batch([[7u64; LARGE / 8]]).map(|[v]| assert_eq!(v[9], 7))),
    ("try_reserve", |a| a.try_reserve(LARGE)),
    ("try_vec_with_capacity", |a| a.try_vec_with_capacity::<u64>(LARGE / 8).map(drop)),
    ("try_string_from", |a| a.try_string_from(&"x".repeat(LARGE)).map(|v| assert_eq!(v.len(), LARGE))),
    ("Vec::try_insert", |a| {
        let mut v = a.try_vec_from_iter([[1u8; 1000]; 3])?;
        let refused = v.try_insert(1, [2; 1000]);
        let expected: &[u8] = if refused.is_ok() { &[1, 2, 1, 1] } else { &[1, 1, 1] };
        assert!(v.iter().map(|x| x[999]).eq(expected.iter().copied()));
        refused.map_err(|_| AllocError)
    }),
    ("Box::try_promote", |a| {
        let from = Arena::new();
        match Box::try_promote(from.boxed([7u64; LARGE / 8]), a) {
            Ok(moved) => assert_eq!(moved[9], 7),
            Err(back) => {
                assert_eq!(back[9], 7);
                return Err(AllocError);
            }
        }
        Ok(())
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

#[test]
fn every_call_that_is_refused_changes_nothing() {
    for (name, call) in CALLS {
        // Growth over several blocks leaves its earlier copies; and one call fills the current block first.
        let leaves = ["slice_from_iter", "boxed_slice", "fmt", "Vec::try_insert", "its node"];
        let leaves = leaves.iter().any(|part| name.ends_with(part));
        each_refusal(
            name,
            2, // so that a request of the second one only is refused too
            |memory| {
                let arena = Scope::from_source(memory).unwrap();
                let kept: *const [u8] = arena.alloc_slice_fill(100, 5u8);
                (arena, kept, memory)
            },
            |(arena, ..)| call(arena).is_ok(),
            |(arena, kept, memory)| {
                // SAFETY: the arena is alive, and was not reset.
                let (kept, head) = unsafe { (&**kept, arena.as_raw().as_ref()) };
                assert!(kept.iter().all(|byte| *byte == 5), "{name}");
                let s = arena.stats();
                assert_eq!(s.reserved as usize, memory.bytes(), "{name}");
                (!leaves).then(|| (s.live, s.budget, s.blocks, head.cursor.get().addr()))
            },
        );
    }
}

#[test]
fn an_arena_that_cannot_be_made_takes_nothing() {
    each_refusal("creation", 1, |m| m, |m| Scope::from_source(*m).is_ok(), |m| m.bytes());
    each_refusal("creation", 1, |m| m, |m| Options::new().source(*m).create().is_ok(), |m| m.bytes());
    for much in [usize::MAX, isize::MAX as usize, isize::MAX as usize / 2 + 1] {
        assert!(Options::new().reserve(much).create().is_err());
        assert!(Options::new().source(Pages::new()).reserve(much).create().is_err());
        assert!(Scope::from_source_with(&Pages::new(), much, None).is_err());
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
    struct Misaligned(Refusing, Cell<usize>);
    // SAFETY: it violates the rule on alignment only: the arena must verify it.
    unsafe impl Source for Misaligned {
        fn take(&self, size: usize) -> Option<NonNull<u8>> {
            // SAFETY: within the block, which is a page larger.
            self.0.take(size + 4096).map(|p| unsafe { p.add(self.1.get()) })
        }
        unsafe fn put(&self, block: NonNull<u8>, size: usize) {
            let start = block.addr().get() & !4095;
            // SAFETY: subtracts the offset that `take` added.
            unsafe { self.0.put(block.sub(block.addr().get() - start), size + 4096) }
        }
    }
    for by in [8, 32] {
        let source = Misaligned(Refusing::default(), Cell::new(by));
        assert!(Scope::from_source(&source).is_err());
        assert_eq!((source.0.requests(), source.0.bytes()), (1, 0));
        // The same for a later block.
        source.1.set(0);
        let arena = Scope::from_source(&source).unwrap();
        arena.alloc(1u64);
        source.1.set(by);
        let before = (arena.stats().live, source.0.bytes());
        assert!(arena.try_alloc([0u8; LARGE]).is_err());
        assert_eq!((arena.stats().live, source.0.bytes()), before);
        source.1.set(64);
        assert!(arena.try_alloc([0u8; LARGE]).is_ok());
        drop(arena);
        assert_eq!(source.0.bytes(), 0);
    }
}

/// A source that an arena owns is dropped with it, after its blocks were returned.
#[test]
fn a_source_ends_with_the_arena_that_owns_it() {
    struct Owned(Refusing, #[allow(dead_code)] std::sync::Arc<()>);
    // SAFETY: as `Refusing`.
    unsafe impl Source for Owned {
        fn take(&self, size: usize) -> Option<NonNull<u8>> {
            self.0.take(size)
        }
        unsafe fn put(&self, block: NonNull<u8>, size: usize) {
            // SAFETY: the caller's contract.
            unsafe { self.0.put(block, size) }
        }
    }
    let alive = std::sync::Arc::new(());
    let arena = Options::new().source(Owned(Refusing::default(), alive.clone())).create().unwrap();
    arena.alloc([0u8; LARGE]);
    assert_eq!(std::sync::Arc::strong_count(&alive), 2);
    drop(arena);
    assert_eq!(std::sync::Arc::strong_count(&alive), 1);
    drop(Options::new().source(Owned(Refusing::default(), alive.clone())).create().unwrap());
    assert!(Options::new().source(Owned(Refusing::new(Refuses::Once(1)), alive.clone())).create().is_err());
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
    assert!(arena.try_reserve(200).is_err() && arena.try_vec_with_capacity::<u64>(25).is_err());
    assert!(arena.try_string_with_capacity(200).is_err());
    assert_eq!(arena.stats().live, 8);
    assert!(arena.try_alloc([0u64; 24]).is_ok());
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
    refused(200, align_of::<u64>(), &|| _ = arena.vec_with_capacity::<u64>(25));
    refused(200, align_of::<u64>(), &|| _ = arena.alloc_batch([1u64; 25]));
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
        assert!(arena.try_reserve(usize::MAX).is_err() && arena.try_reserve(isize::MAX as usize / 2 + 1).is_err());
        assert!(arena.try_vec_with_capacity::<u64>(usize::MAX).is_err());
        let now = arena.stats();
        assert_eq!((now.live, now.blocks, now.reserved), (before.live, before.blocks, before.reserved));
        assert!(arena.try_alloc(1u8).is_ok());
    };
    check(&Arena::new());
    check(&Arena::with_capacity(10_000));
    check(&Arena::new().scope_guard());
    check(&Options::new().source(Pages::new()).create().unwrap());
    check(&Options::new().source(Reserve::new(1 << 16).unwrap()).create().unwrap());
    check(&Options::new().source(Limited::new(Pages::huge(), 1 << 16)).create().unwrap());
    let mut buffer = [MaybeUninit::uninit(); 2048];
    check(&Arena::in_buffer(&mut buffer).unwrap());
    check(&Arena::in_buffer_or_heap(&mut buffer).unwrap());
}

// ---- sources with an end ----

#[test]
fn a_limit_is_shared_and_released() {
    let source = Limited::new(Pages::new(), 400_000);
    let (a, b) = (Scope::from_source(&source).unwrap(), Scope::from_source(&source).unwrap());
    assert!(a.try_alloc_uninit_slice::<u8>(300_000).is_ok());
    assert!(b.try_alloc_uninit_slice::<u8>(90_000).is_err());
    assert!(b.try_alloc_uninit_slice::<u8>(60_000).is_ok()); // in less than the next regular block of 256 KiB
    assert!(source.used() <= 400_000);
    drop(a);
    assert!(b.try_alloc_uninit_slice::<u8>(90_000).is_ok());
    drop(b);
    assert_eq!(source.used(), 0);
    refusing::with(Refuses::Above(4096), |memory| {
        let source = Limited::new(memory, 1 << 20);
        let a = Scope::from_source(&source).unwrap();
        assert!(a.try_alloc_uninit_slice::<u8>(60_000).is_err());
        assert_eq!(source.used(), 4096); // requests that the inner source refused are not charged
    });
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
