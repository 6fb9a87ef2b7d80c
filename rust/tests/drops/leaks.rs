//! Leaked scopes, cursors and boxes; pinned values; owners.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

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
