//! Destructors that panic.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

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
