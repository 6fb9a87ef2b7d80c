//! Room for coming allocations.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft::{Arena, LazyArena, Options, Reserve, Scope};

const SIZES: [usize; 8] = [0, 1, 3000, 4096, 70_000, 1 << 20, (1 << 20) + 1, 5_000_000];

/// Allocates `bytes` in small objects; returns the number of the source's calls.
fn allocate(arena: &Arena, bytes: usize) -> u64 {
    let before = arena.stats().source_calls;
    for _ in 0..bytes / if cfg!(miri) { 800 } else { 80 } {
        arena.alloc_slice_fill(if cfg!(miri) { 800 } else { 80 }, 1u8);
    }
    arena.stats().source_calls - before
}

#[test]
fn room_takes_no_block() {
    for size in SIZES {
        for before in [0, 4500, 9000] {
            let mut arena = Arena::new();
            let first = arena.alloc_slice_fill(before, 9u8);
            let live = arena.stats().live;
            arena.reserve(size);
            arena.reserve(size); // there is room
            assert_eq!(arena.stats().live, live);
            assert_eq!(allocate(&arena, size), 0, "{size} after {before}");
            assert!(first.iter().all(|byte| *byte == 9));
            for _ in 0..3 {
                arena.reset();
                arena.reserve(size);
                assert_eq!(allocate(&arena, size), 0);
            }
        }
    }
}

#[test]
fn a_block_that_grows_stays_in_one_piece() {
    let arena = Options::new().source(Reserve::new(16 << 20).unwrap()).create().unwrap();
    arena.reserve(10_000_000);
    let first = arena.alloc_slice_fill(10_000_000, 0u8).as_ptr().addr();
    assert_eq!(arena.alloc(1u64) as *const u64 as usize, first + 10_000_000);
    assert!(arena.try_reserve(10_000_000).is_err());
}

#[test]
fn a_scope_reserves_in_its_arena() {
    let arena = Arena::new();
    for size in [100, 500_000] {
        let scope = arena.scope_guard();
        scope.reserve(size);
        assert_eq!(allocate(&scope, size), 0);
        drop(scope);
        assert_eq!(arena.stats().live, 0);
    }
    let scope = Scope::new();
    scope.reserve(500_000);
    assert_eq!(allocate(&scope, 500_000), 0);
}

#[test]
fn an_arena_by_value_is_created_by_its_use() {
    static EMPTY: fn() -> LazyArena = LazyArena::new;
    let mut lazy = EMPTY();
    lazy.reset();
    assert!(!lazy.is_created() && lazy.take().is_none());
    for _ in 0..3 {
        assert_eq!(*lazy.get().alloc(5), 5);
        assert!(std::ptr::eq(lazy.get(), lazy.try_get().unwrap()));
        let mut moved = lazy;
        moved.reset();
        lazy = moved;
        assert_eq!(lazy.get_mut().stats().live, 0);
        assert!(lazy.take().is_some() && !lazy.is_created());
    }
}
