//! What ends a value's memory.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

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
