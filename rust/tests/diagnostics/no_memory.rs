//! Instruments without memory for their records.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use crate::refusing::{Refuses, Refusing};

/// The global allocator, which refuses requests of a thread that switched this on.
struct Global;

thread_local!(static LEFT: Cell<usize> = const { Cell::new(usize::MAX) });

unsafe impl GlobalAlloc for Global {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match LEFT.try_with(Cell::get).unwrap_or(usize::MAX) {
            usize::MAX => {}
            0 => return std::ptr::null_mut(),
            n => LEFT.with(|left| left.set(n - 1)),
        }
        OUT.fetch_add((layout.size() == COUNTED) as u64, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        OUT.fetch_sub((layout.size() == COUNTED) as u64, Ordering::Relaxed);
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static GLOBAL: Global = Global;

fn without_memory<R>(f: impl FnOnce() -> R) -> R {
    after_allocations(0, f)
}

/// Calls `f` while the global allocator serves `n` requests of this thread and no more.
fn after_allocations<R>(n: usize, f: impl FnOnce() -> R) -> R {
    LEFT.set(n);
    let result = f();
    LEFT.set(usize::MAX);
    result
}

#[test]
fn without_memory_for_a_record_an_allocation_is_refused() {
    let mut arena = Arena::with_capacity(1 << 16);
    arena.set_checked(true).unwrap();
    let mut values = 0;
    let refused = without_memory(|| {
        (0..10_000u32).any(|i| match arena.try_alloc(i) {
            Ok(_) => {
                values += 1;
                false
            }
            Err(AllocError) => true,
        })
    });
    assert!(refused);
    assert_eq!((arena.allocations().len(), arena.report().count()), (values, values as u64));
    for _ in 0..100 {
        arena.alloc(1u8);
    }
    arena.reset();
    assert_eq!(arena.findings(), []);
}

#[test]
fn without_memory_for_findings_they_are_counted() {
    let mut arena = checked();
    arena.alloc(String::from("lost"));
    without_memory(|| arena.reset());
    let found = arena.findings();
    assert!(matches!(found[..], [Finding::Leak { .. }] | [Finding::Lost { count: 1 }]), "{found:?}");
}

#[test]
fn without_memory_nothing_is_switched() {
    let all: [SwitchOn; 6] = [
        |arena| arena.set_checked(true),
        |arena| arena.set_metered(true),
        |arena| arena.set_sampling(100),
        |arena| arena.set_soft_budget(Some(1)),
        |arena| arena.set_tag_budget("a tag", Some(1)),
        |arena| arena.on_refusal(|_| None),
    ];
    for (k, set) in all.into_iter().enumerate() {
        let arena = Arena::new();
        arena.alloc(1u64); // it has a block already
        let watched = || unsafe { (*arena.as_raw().as_ptr()).epoch.get() } & 1;
        let needed = (0..20).find(|n| match after_allocations(*n, || set(&arena)) {
            Ok(()) => true,
            Err(e) => {
                assert_eq!((e, watched()), (SwitchError::Memory, 0), "{k} {n}");
                arena.alloc(1u64);
                assert_eq!(arena.report().count(), 0);
                false
            }
        });
        assert!(needed.is_some_and(|n| n > 0), "{k}");
    }
}

#[test]
fn without_memory_a_scope_of_a_checked_arena_is_refused_or_works() {
    let mut arena = Arena::with_capacity(1 << 16);
    arena.set_checked(true).unwrap();
    arena.set_metered(true).unwrap();
    for n in 0..12 {
        after_allocations(n, || {
            let tag = arena.tag(["one", "two", "three"][n % 3]);
            let phase = arena.phase(["one", "two"][n % 2]);
            let scope = arena.try_scope_guard();
            if let Ok(scope) = &scope {
                let _ = scope.try_alloc(1u8);
            }
            drop((scope, phase, tag));
        });
    }
    arena.reset();
    assert_eq!((arena.findings(), arena.stats().live), (vec![], 0));
}

#[test]
#[cfg_attr(miri, ignore = "needs addresses of the system")]
fn a_dedicated_block_is_refused_without_memory_for_its_record() {
    let pages = toft::Pages::new();
    let arena = Scope::from_source(&pages).unwrap();
    arena.set_metered(true).unwrap();
    let _tag = arena.tag("large");
    arena.alloc(1u64);
    let before = arena.stats().live;
    let refused = without_memory(|| (0..100).any(|_| arena.try_alloc_uninit::<[u8; 1 << 20]>().is_err()));
    assert!(refused);
    assert_eq!(arena.stats().live % (1 << 20), before);
    arena.alloc_uninit::<[u8; 1 << 20]>();
    let report = arena.report();
    let reported = report.tags.iter().find(|tag| tag.name == "large").unwrap();
    assert_eq!(reported.live, arena.stats().live);
}

#[test]
fn live_allocations_stay_correct_when_memory_ends() {
    for blocks in 1..if MIRI { 2 } else { 6 } {
        let source = Refusing::new(Refuses::From(blocks + 1));
        let mut arena = Scope::from_source(&source).unwrap();
        arena.set_checked(true).unwrap();
        arena.set_metered(true).unwrap();
        for round in 0..3 {
            let (mut made, mut bytes) = (0, 0);
            for n in 1..if MIRI { 40 } else { 500usize } {
                let line = line!() + 1;
                if let Ok(slice) = arena.try_alloc_slice_fill(n, n as u8) {
                    assert!(slice.iter().all(|b| *b == n as u8));
                    (made, bytes) = (made + 1, bytes + n as u64);
                }
                assert!(arena.report().sites.iter().all(|site| site.site.line == line));
            }
            let report = arena.take_report();
            assert_eq!((report.count(), report.bytes()), (made, bytes), "{blocks} {round}");
            assert_eq!(arena.allocations().len() as u64, made);
            arena.reset();
            assert_eq!((arena.findings(), arena.stats().live), (vec![], 0));
        }
    }
}
