//! Destructors run exactly once, newest first, whichever call frees the memory, also after panics and leaks.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/fixed.rs"]
mod fixed;
#[path = "common/pages.rs"]
mod pages;
#[path = "common/strict.rs"]
mod strict;

use std::cell::RefCell;
use std::mem::{forget, MaybeUninit};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use pages::Pages;
use toft::abi::Head;
use toft::{Arena, Keep, Options, Owner, Scope};

/// The numbers of dropped values, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u32>>>);

struct Logs {
    log: Log,
    id: u32,
    panics: bool,
    text: Option<Box<u32>>, // makes a double drop detectable
}

impl Log {
    fn take(&self) -> Vec<u32> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn value_with(&self, id: u32, panics: bool) -> Logs {
        Logs { log: self.clone(), id, panics, text: Some(Box::new(id)) }
    }

    fn value(&self, id: u32) -> Logs {
        self.value_with(id, false)
    }

    /// A value that will not be dropped; it owns nothing but its reference to the log.
    fn lost(&self, id: u32) -> Logs {
        let mut value = self.value(id);
        value.text = None;
        value
    }

    /// A value whose destructor panics with its number.
    fn bomb(&self, id: u32) -> Logs {
        self.value_with(id, true)
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        assert!(self.text.as_ref().is_none_or(|text| **text == self.id));
        self.log.0.lock().unwrap().push(self.id);
        if self.panics {
            std::panic::panic_any(self.id);
        }
    }
}

/// The number of the value whose panic propagated out of `f`.
fn bomb_of(f: impl FnOnce()) -> Option<u32> {
    catch_unwind(AssertUnwindSafe(f)).err().map(|panic| *panic.downcast::<u32>().expect("a bomb's panic"))
}

// ---- what ends a value's memory ----

#[test]
fn a_reset_drops_newest_first_and_once() {
    strict::balanced(|| {
        let log = Log::default();
        let mut arena = Arena::new();
        for id in 1..=3 {
            assert_eq!(arena.alloc_drop(log.value(id)).id, id);
        }
        assert_eq!(log.take(), []);
        arena.reset();
        assert_eq!(log.take(), [3, 2, 1]);
        arena.reset();
        drop(arena);
        assert_eq!(log.take(), []);
    });
}

#[test]
fn every_policy_of_reset_drops() {
    let log = Log::default();
    let mut arena = Arena::new();
    for (id, keep) in [Keep::Recent, Keep::All, Keep::Bytes(0), Keep::Bytes(usize::MAX)].into_iter().enumerate() {
        arena.alloc_drop(log.value(id as u32));
        arena.alloc_slice_fill(10_000, 0u8);
        arena.reset_with(keep);
        assert_eq!(log.take(), [id as u32]);
    }
}

#[test]
fn release_drops_values_in_all_blocks() {
    strict::balanced(|| {
        let log = Log::default();
        let arena = Arena::new();
        let many = if cfg!(miri) { 100 } else { 2000 };
        for id in 0..many {
            arena.alloc_drop(log.value(id));
            arena.alloc_slice_fill(id as usize % 700, 1u8);
        }
        drop(arena);
        assert!(log.take().into_iter().eq((0..many).rev()));
    });
}

#[test]
fn a_scope_drops_its_own_only() {
    let log = Log::default();
    let mut arena = Arena::new();
    arena.alloc_drop(log.value(1));
    arena.scope(|inner| {
        inner.alloc_drop(log.value(2));
        inner.scope(|innermost| {
            innermost.alloc_drop(log.value(4));
        });
        assert_eq!(log.take(), [4]);
        inner.alloc_drop(log.value(5));
    });
    assert_eq!(log.take(), [5, 2]);
    arena.scope_mut(|a| {
        a.alloc_drop(log.value(6));
    });
    assert_eq!(log.take(), [6]);
    arena.reset();
    assert_eq!(log.take(), [1]);
}

#[test]
fn destructors_are_accepted_beside_an_open_scope() {
    let log = Log::default();
    let mut arena = Arena::new();
    let scope = arena.scope_guard();
    Scope::alloc_drop(&scope, log.value(1));
    arena.alloc_drop(log.value(2));
    arena.alloc_pin(log.value(3));
    drop(scope);
    assert_eq!(log.take(), [1]);
    arena.reset();
    assert_eq!(log.take(), [3, 2]);
}

#[test]
fn destructors_are_refused_while_a_cursor_is_open() {
    let log = Log::default();
    let arena = Arena::new();
    let cursor = arena.cursor();
    let before = arena.stats();
    assert!(arena.try_alloc_drop(log.value(1)).is_err());
    assert_eq!((log.take(), arena.stats()), (vec![1], before)); // the value was dropped by the call
    assert!(arena.try_alloc_pin(log.value(2)).is_err());
    assert_eq!((log.take(), arena.stats()), (vec![2], before));
    assert!(catch_unwind(AssertUnwindSafe(|| arena.alloc_drop(log.value(3)).id)).is_err());
    assert_eq!((log.take(), arena.stats()), (vec![3], before));
    drop(cursor);
    arena.alloc_drop(log.value(5));
    drop(arena);
    assert_eq!(log.take(), [5]);
}

#[test]
fn a_rewind_drops_what_is_above_the_mark() {
    let log = Log::default();
    let arena = Arena::new();
    arena.alloc_drop(log.value(1));
    let mark = arena.mark();
    arena.alloc_drop(log.value(2));
    arena.alloc_slice_fill(9000, 0u8);
    arena.alloc_drop(log.value(3));
    // SAFETY: nothing above the mark is used.
    unsafe { arena.rewind(mark) }.unwrap();
    assert_eq!(log.take(), [3, 2]);
    // SAFETY: as above.
    unsafe { arena.rewind(mark) }.unwrap();
    assert_eq!(log.take(), []);
    drop(arena);
    assert_eq!(log.take(), [1]);
}

#[test]
fn guards_drop_in_any_order() {
    let log = Log::default();
    let arena = Arena::new();
    let (a, b, c) = (arena.scope_guard(), arena.scope_guard(), arena.scope_guard());
    for (id, scope) in [&a, &b, &c, &a, &b, &c].into_iter().enumerate() {
        scope.alloc_drop(log.value(id as u32));
    }
    drop(b);
    assert_eq!(log.take(), [4, 1]);
    drop(a);
    assert_eq!(log.take(), [3, 0]);
    drop(c);
    assert_eq!(log.take(), [5, 2]);
}

#[test]
fn a_value_in_a_scope_may_borrow_and_need_not_be_send() {
    struct Borrows<'a>(&'a RefCell<Vec<u32>>, u32);
    impl Drop for Borrows<'_> {
        fn drop(&mut self) {
            self.0.borrow_mut().push(self.1);
        }
    }
    let log = RefCell::new(vec![]);
    let mut alone = Scope::new();
    alone.alloc_drop(Borrows(&log, 1));
    alone.alloc_drop(Borrows(&log, 2)).1 += 10;
    alone.reset();
    assert_eq!(log.take(), [12, 1]);
    alone.alloc_drop(Borrows(&log, 3));
    drop(alone);
    assert_eq!(log.take(), [3]);

    let arena = Arena::new();
    let scope = arena.scope_guard();
    scope.alloc_drop(Borrows(&log, 4));
    scope.alloc_drop(std::rc::Rc::new(5));
    drop(scope);
    assert_eq!(log.take(), [4]);
}

#[test]
fn types_without_drop_register_no_cleanup() {
    let arena = Arena::new();
    arena.alloc_drop(7u64);
    assert_eq!(arena.stats().live, 8);
    let scope = Scope::new();
    scope.alloc_drop(7u64);
    assert_eq!(scope.stats().live, 8);
}

#[test]
fn each_zero_sized_value_is_dropped_once() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    struct Counts;
    impl Drop for Counts {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    let arena = Arena::new();
    arena.alloc_drop(Counts);
    arena.alloc_drop(Counts);
    drop(arena.boxed(Counts));
    assert_eq!(DROPPED.load(Ordering::Relaxed), 1);
    drop(arena.boxed_slice([Counts, Counts, Counts]));
    assert_eq!(DROPPED.load(Ordering::Relaxed), 4);
    drop(arena);
    assert_eq!(DROPPED.load(Ordering::Relaxed), 6);
    let scope = Scope::new();
    scope.alloc_drop(Counts);
    drop(scope);
    assert_eq!(DROPPED.load(Ordering::Relaxed), 7);
}

// ---- on every kind of arena ----

#[test]
fn every_kind_of_arena_drops() {
    let log = Log::default();
    let round = |arena: &Arena| {
        arena.alloc_drop(log.value(1));
        arena.scope(|inner| {
            inner.alloc_drop(log.value(2));
        });
        assert_eq!(log.take(), [2]);
        arena.alloc_drop(log.value(3));
    };

    let arena = Options::new().source(toft::Pages::new()).create().unwrap();
    round(&arena);
    drop(arena);
    assert_eq!(log.take(), [3, 1]);

    let arena = Options::new().source(toft::Reserve::new(1 << 20).unwrap()).create().unwrap();
    round(&arena);
    drop(arena);
    assert_eq!(log.take(), [3, 1]);

    let pages = Pages::new();
    let scope = Scope::from_source(&pages).unwrap();
    round(&scope);
    drop(scope);
    assert_eq!(log.take(), [3, 1]);

    let mut buffer = [MaybeUninit::uninit(); 4096];
    let scope = Arena::in_buffer(&mut buffer).unwrap();
    round(&scope);
    drop(scope);
    assert_eq!(log.take(), [3, 1]);

    let scope = Arena::in_buffer_or_heap(&mut buffer).unwrap();
    round(&scope);
    drop(scope);
    assert_eq!(log.take(), [3, 1]);

    let mut memory = fixed::Memory::new(40_000);
    // SAFETY: a live head without another owner.
    let arena = unsafe { Arena::from_raw(memory.make()) }.unwrap();
    round(&arena);
    drop(arena);
    assert!(memory.is_released());
    assert_eq!(log.take(), [3, 1]);
}

// ---- boxes ----

#[test]
fn a_box_drops_its_value_at_once() {
    strict::balanced(|| {
        let log = Log::default();
        let mut arena = Arena::new();
        let (a, b) = (arena.boxed(log.value(1)), arena.boxed(log.value(2)));
        drop(a);
        assert_eq!(log.take(), [1]);
        assert_eq!(toft::Box::into_inner(b).id, 2);
        assert_eq!(log.take(), [2]);
        let slice = arena.boxed_slice((3..6).map(|id| log.value(id)));
        assert_eq!(slice.len(), 3);
        drop(slice);
        assert_eq!(log.take(), [3, 4, 5]);
        let raw = toft::Box::into_raw(arena.boxed(log.value(6)));
        assert_eq!(log.take(), []);
        // SAFETY: the value of a box that was turned into a raw pointer.
        drop(unsafe { toft::Box::from_raw(raw) });
        assert_eq!(log.take(), [6]);
        let leaked = toft::Box::leak(arena.boxed(log.value(7)));
        // SAFETY: the value has no other owner; it is dropped here so that its log is not leaked.
        unsafe { std::ptr::drop_in_place(leaked) };
        assert_eq!(log.take(), [7]);
        let any = toft::unsize!(arena.boxed(log.value(8)) => dyn std::any::Any);
        assert_eq!(any.downcast_ref::<Logs>().unwrap().id, 8);
        drop(any);
        assert_eq!(log.take(), [8]);
        arena.reset();
        assert_eq!(log.take(), []);
    });
}

#[test]
fn a_box_that_panics_drops_once() {
    let log = Log::default();
    let arena = Arena::new();
    let b = arena.boxed(log.bomb(1));
    assert_eq!(bomb_of(|| drop(b)), Some(1));
    assert_eq!(log.take(), [1]);
    let slice = arena.boxed_slice([log.value(2), log.bomb(3), log.value(4)]);
    assert_eq!(bomb_of(|| drop(slice)), Some(3));
    assert_eq!(log.take(), [2, 3, 4]);
}

// ---- panics ----

#[test]
fn a_panic_in_a_destructor_propagates_after_all_have_run() {
    let log = Log::default();
    let mut arena = Arena::new();
    let fill = |arena: &Arena| {
        arena.alloc_drop(log.value(1));
        arena.alloc_drop(log.bomb(2));
        arena.alloc_drop(log.value(3));
        arena.alloc_drop(log.bomb(4)); // the newest: the first to panic, whose panic propagates
        arena.alloc_drop(log.value(5));
    };
    let all = [5, 4, 3, 2, 1];

    fill(&arena);
    assert_eq!(bomb_of(|| arena.reset()), Some(4));
    assert_eq!(log.take(), all);
    assert_eq!(arena.stats().live, 0);

    assert_eq!(bomb_of(|| arena.scope(|inner| fill(inner))), Some(4));
    assert_eq!(log.take(), all);

    assert_eq!(bomb_of(|| arena.scope_mut(|inner| fill(inner))), Some(4));
    assert_eq!(log.take(), all);
    assert_eq!(arena.stats().live, 0);

    let mark = arena.mark();
    fill(&arena);
    // SAFETY: nothing above the mark is used.
    assert_eq!(bomb_of(|| unsafe { arena.rewind(mark) }.unwrap()), Some(4));
    assert_eq!(log.take(), all);
    assert_eq!(arena.stats().live, 0);

    fill(&arena);
    assert_eq!(*arena.alloc(1), 1);
    assert_eq!(bomb_of(|| drop(arena)), Some(4));
    assert_eq!(log.take(), all);
}

#[test]
fn payloads_that_panic_when_dropped_are_contained() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            std::panic::panic_any(Payload);
        }
    }
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::panic_any(Payload);
        }
    }
    let log = Log::default();
    let mut arena = Arena::new();
    arena.alloc_drop(log.value(1));
    arena.alloc_drop(Bomb);
    arena.alloc_drop(Bomb);
    arena.alloc_drop(log.value(2));
    let first = catch_unwind(AssertUnwindSafe(|| arena.reset())).unwrap_err();
    assert!(first.is::<Payload>());
    forget(first);
    assert_eq!(log.take(), [2, 1]);
}

#[test]
fn a_panic_in_a_scope_ends_it() {
    let log = Log::default();
    let mut arena = Arena::new();
    let before = arena.alloc(1u64);
    let panicked = bomb_of(|| {
        arena.scope(|inner| {
            inner.alloc_drop(log.value(1));
            inner.scope(|innermost| {
                innermost.alloc_drop(log.value(2));
                std::panic::panic_any(9u32);
            });
        });
    });
    assert_eq!((panicked, log.take()), (Some(9), vec![2, 1]));
    assert_eq!((*before, arena.stats().live), (1, 8));
    let panicked = bomb_of(|| {
        arena.scope_mut(|inner| {
            inner.alloc_drop(log.value(3));
            std::panic::panic_any(8u32);
        });
    });
    assert_eq!((panicked, log.take(), arena.stats().live), (Some(8), vec![3], 8));
    // A destructor panics during the unwinding of the closure's panic: a double panic would abort, so the first one
    // propagates.
    let panicked = bomb_of(|| {
        arena.scope(|inner| {
            inner.alloc_drop(log.value(4));
            inner.alloc_drop(log.bomb(5));
            std::panic::panic_any(7u32);
        });
    });
    assert_eq!((panicked, log.take()), (Some(7), vec![5, 4]));
}

#[test]
fn a_destructor_may_use_other_arenas_whose_destructors_panic() {
    struct Nested(Log);
    impl Drop for Nested {
        fn drop(&mut self) {
            let mut other = Arena::new();
            other.alloc_drop(self.0.bomb(10));
            assert_eq!(bomb_of(|| other.reset()), Some(10));
            other.alloc_drop(self.0.bomb(11));
        }
    }
    let log = Log::default();
    let mut arena = Arena::new();
    arena.alloc_drop(log.value(1));
    arena.alloc_drop(Nested(log.clone()));
    arena.alloc_drop(log.value(2));
    assert_eq!(bomb_of(|| arena.reset()), Some(11));
    assert_eq!(log.take(), [2, 10, 11, 1]);
}

#[test]
fn the_arena_is_closed_while_destructors_run() {
    struct Looks(Arc<Mutex<Vec<bool>>>, NonNull<Head>);
    // SAFETY: the arena does not leave this thread.
    unsafe impl Send for Looks {}
    impl Drop for Looks {
        fn drop(&mut self) {
            // SAFETY: the arena is alive, and belongs to this thread.
            let arena = unsafe { Arena::borrow_raw(self.1) }.unwrap();
            let closed = [
                arena.try_alloc(1u8).is_err(),
                arena.try_alloc_drop(vec![1]).is_err(),
                arena.try_scope_guard().is_err(),
                arena.set_budget(None) == Err(toft::RewindError::Busy),
                arena.cursor().try_alloc(1u8).is_err(),
            ];
            self.0.lock().unwrap().extend(closed);
        }
    }
    let found = Arc::new(Mutex::new(vec![]));
    let mut arena = Arena::new();
    let head = arena.as_raw();
    arena.alloc_drop(Looks(found.clone(), head));
    arena.reset();
    assert_eq!(*found.lock().unwrap(), [true; 5]);
    assert_eq!(*arena.alloc(1), 1);
}

#[test]
fn a_closure_that_panics_leaves_the_arena_usable() {
    let log = Log::default();
    let arena = Arena::new();
    let panicked = bomb_of(|| {
        arena.alloc_with(|| -> u64 { std::panic::panic_any(1u32) });
    });
    assert_eq!(panicked, Some(1));
    let panicked = bomb_of(|| {
        arena.alloc_slice_fill_with(5, |i| if i == 3 { std::panic::panic_any(2u32) } else { i });
    });
    assert_eq!(panicked, Some(2));
    // A value that an iterator yielded before it panicked is dropped at most once.
    let panicked = bomb_of(|| {
        let values = (0..9).map(|id| if id == 3 { std::panic::panic_any(3u32) } else { log.lost(id) });
        drop(arena.boxed_slice(values));
    });
    assert_eq!(panicked, Some(3));
    let dropped = log.take();
    assert!(dropped.is_empty() || dropped == [0, 1, 2], "{dropped:?}");
    if dropped.is_empty() {
        strict_forget(&log, 3);
    }
    assert_eq!(*arena.alloc(5), 5);
}

/// Values of this log were lost, as documented: their references must not count as a leak.
fn strict_forget(log: &Log, values: usize) {
    for _ in 0..values {
        // SAFETY: each lost value held one reference.
        unsafe { Arc::decrement_strong_count(Arc::as_ptr(&log.0)) };
    }
}

// ---- leaks ----

#[test]
fn a_leaked_scope_is_ended_by_the_next_reset() {
    let log = Log::default();
    let mut arena = Arena::new();
    let scope = arena.scope_guard();
    let borrows = log.value(1);
    scope.alloc_drop(log.lost(2)); // it may borrow freed memory at the reset, so it is not dropped
                                   // `Arena::alloc_drop` requires `Send + 'static`, so it is dropped.
    Arena::alloc_drop(&scope, borrows);
    scope.alloc_slice_fill(20_000, 1u8);
    forget(scope);
    assert!(arena.stats().live > 20_000);
    arena.reset();
    assert_eq!(log.take(), [1]);
    strict_forget(&log, 1);
    assert_eq!(arena.stats().live, 0);
    let scope = arena.scope_guard();
    scope.alloc_drop(log.value(3));
    drop(scope);
    assert_eq!(log.take(), [3]);
}

#[test]
fn scopes_within_a_leaked_scope_are_ended_too() {
    let log = Log::default();
    let mut arena = Arena::new();
    let outer = arena.scope_guard();
    Arena::alloc_drop(&outer, log.value(1));
    let inner = outer.scope_guard();
    Arena::alloc_drop(&inner, log.value(2));
    forget(inner);
    let second = outer.scope_guard();
    Arena::alloc_drop(&second, log.value(3));
    forget(second);
    forget(outer);
    arena.scope_mut(|a| a.alloc(1u64) as *const _);
    let mut dropped = log.take();
    dropped.sort_unstable();
    assert_eq!(dropped, [1, 2, 3]);
    drop(arena);
    assert_eq!(log.take(), []);
}

#[test]
fn a_leaked_scope_within_an_ended_one_is_ended_with_it() {
    let log = Log::default();
    let arena = Arena::new();
    let outer = arena.scope_guard();
    let inner = outer.scope_guard();
    Arena::alloc_drop(&inner, log.value(1));
    forget(inner);
    drop(outer);
    assert_eq!(log.take(), [1]);
    assert_eq!(arena.stats().live, 0);
}

#[test]
fn a_leaked_cursor_is_ended_by_the_next_reset() {
    let log = Log::default();
    let mut arena = Arena::new();
    let mut cursor = arena.cursor();
    let n = cursor.alloc(5u64);
    forget(cursor);
    assert_eq!(*n, 5);
    assert_eq!(*arena.alloc(6u64), 6); // in another block
    arena.reset();
    assert_eq!(arena.stats().live, 0);
    arena.alloc_drop(log.value(1));
    arena.reset();
    assert_eq!(log.take(), [1]);
}

#[test]
fn an_arena_is_released_completely_after_leaks() {
    let log = Log::default();
    strict::balanced(|| {
        let arena = Arena::new();
        forget(arena.cursor());
        forget(arena.scope_guard());
        drop(arena);
        let arena = Arena::new();
        let scope = arena.scope_guard();
        scope.alloc_slice_fill(50_000, 1u8);
        forget(scope);
        drop(arena);
    });
    let arena = Arena::new();
    let scope = arena.scope_guard();
    Arena::alloc_drop(&scope, log.value(1));
    forget(scope);
    drop(arena);
    assert_eq!(log.take(), [1]);
}

/// The cursor has claimed the rest of the block, so the scope gets its own block; the arena lists the scope once the
/// cursor has ended.
#[test]
fn a_leaked_scope_beside_a_cursor_is_ended_by_a_reset() {
    let log = Log::default();
    strict::balanced(|| {
        let mut arena = Arena::new();
        let cursor = arena.cursor();
        let scope = arena.scope_guard();
        Arena::alloc_drop(&scope, log.value(1));
        drop(cursor);
        forget(scope);
        arena.reset();
        assert_eq!(log.take(), [1]);
        drop(arena);
        assert_eq!(log.take(), []);
    });
}

#[test]
fn a_leaked_box_drops_nothing() {
    let log = Log::default();
    let mut arena = Arena::new();
    forget(arena.boxed(log.lost(1)));
    arena.reset();
    drop(arena);
    assert_eq!(log.take(), []);
    strict_forget(&log, 1);
}

#[test]
fn a_destructor_of_a_leaked_scope_that_panics_lets_the_others_run() {
    let log = Log::default();
    let mut arena = Arena::new();
    arena.alloc_drop(log.value(1));
    arena.alloc_drop(log.value(4));
    let scope = arena.scope_guard();
    Arena::alloc_drop(&scope, log.value(2));
    Arena::alloc_drop(&scope, log.bomb(3));
    forget(scope);
    assert_eq!(bomb_of(|| arena.reset()), Some(3));
    // The scope has ended; the next reset completes this one.
    arena.reset();
    let mut dropped = log.take();
    dropped.sort_unstable();
    assert_eq!(dropped, [1, 2, 3, 4]);
    assert_eq!(arena.stats().live, 0);
}

// ---- pinned values ----

#[test]
fn pinned_values_are_refused_where_a_leak_would_free_them() {
    let ok = |arena: &Arena| arena.try_alloc_pin(vec![1]).is_ok();
    let arena = Arena::new();
    assert!(ok(&arena));
    assert!(arena.scope(ok));
    let owned = Options::new().source(Pages::new()).create().unwrap();
    assert!(ok(&owned) && owned.scope(ok));
    assert!(ok(&Scope::new()));

    let mut buffer = [MaybeUninit::uninit(); 4096];
    let scope = Arena::in_buffer(&mut buffer).unwrap();
    assert!(!ok(&scope) && !scope.scope(ok));
    drop(scope);
    let scope = Arena::in_buffer_or_heap(&mut buffer).unwrap();
    assert!(!ok(&scope) && !scope.scope(ok));
    drop(scope);
    let pages = Pages::new();
    let scope = Scope::from_source(&pages).unwrap();
    assert!(!ok(&scope) && !scope.scope(ok));
    drop(scope);
    let mut memory = fixed::Memory::new(40_000);
    // SAFETY: a live head without another owner.
    let foreign = unsafe { Arena::from_raw(memory.make()) }.unwrap();
    assert!(!ok(&foreign) && !foreign.scope(ok));
    let panic = catch_unwind(AssertUnwindSafe(|| _ = foreign.alloc_pin(vec![1]))).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().starts_with("toft: "));
    // Where pinned values are refused, unpinned values with a destructor still work.
    assert_eq!(foreign.alloc_drop(vec![1]).len(), 1);
}

#[test]
fn pinned_values_of_a_leaked_scope_drop_before_their_memory_is_reused() {
    let log = Log::default();
    let mut arena = Arena::new();
    let scope = arena.scope_guard();
    assert_eq!(scope.alloc_pin(log.value(1)).id, 1);
    forget(scope);
    assert_eq!(log.take(), []);
    arena.reset();
    assert_eq!(log.take(), [1]);
}

// ---- owners ----

toft::root!(struct Held => (Vec<&'a Logs>, Logs));

#[test]
fn an_owner_drops_its_root_before_its_arena() {
    let log = Log::default();
    let make = || Owner::<Held>::new(Arena::new(), |arena| (vec![&*arena.alloc_drop(log.value(1))], log.value(2)));
    strict::balanced(|| {
        let owner = make();
        assert_eq!(owner.with(|(all, own)| all[0].id + own.id), 3);
        drop(owner);
        assert_eq!(log.take(), [2, 1]);
        let mut arena = make().into_arena();
        assert_eq!(log.take(), [2, 1]);
        arena.reset();
        let failed: Result<Owner<Held>, u32> = Owner::try_new(arena, |arena| {
            arena.alloc_drop(log.value(3));
            Err(4)
        });
        assert_eq!((failed.err(), log.take()), (Some(4), vec![3]));
    });
}

#[test]
fn an_owner_releases_its_arena_when_a_destructor_panics() {
    let log = Log::default();
    let owner = Owner::<Held>::new(Arena::new(), |arena| (vec![&*arena.alloc_drop(log.value(1))], log.bomb(2)));
    assert_eq!(bomb_of(|| drop(owner)), Some(2));
    assert_eq!(log.take(), [2, 1]);
    let owner = Owner::<Held>::new(Arena::new(), |arena| (vec![&*arena.alloc_drop(log.value(1))], log.bomb(2)));
    assert_eq!(bomb_of(|| drop(owner.into_arena())), Some(2));
    assert_eq!(log.take(), [2, 1]);
    let panicked = bomb_of(|| {
        drop(Owner::<Held>::new(Arena::new(), |arena| {
            arena.alloc_drop(log.value(3));
            std::panic::panic_any(5u32)
        }))
    });
    assert_eq!((panicked, log.take()), (Some(5), vec![3]));
}

#[test]
fn a_leaked_owner_leaks_its_arena_whole() {
    let log = Log::default();
    let owner = Owner::<Held>::new(Arena::new(), |arena| (vec![&*arena.alloc_drop(log.value(1))], log.value(2)));
    let owner = std::mem::ManuallyDrop::new(owner);
    assert_eq!(log.take(), []);
    assert_eq!(owner.with(|(all, own)| all[0].id + own.id), 3); // still alive
    drop(std::mem::ManuallyDrop::into_inner(owner));
    assert_eq!(log.take(), [2, 1]);
}

#[test]
fn an_owner_moves_between_threads_with_its_values() {
    let log = Log::default();
    let owner = Owner::<Held>::new(Arena::new(), |arena| (vec![&*arena.alloc_drop(log.value(1))], log.value(2)));
    let sum = std::thread::spawn(move || owner.with(|(all, own)| all[0].id + own.id)).join().unwrap();
    assert_eq!((sum, log.take()), (3, vec![2, 1]));
}
