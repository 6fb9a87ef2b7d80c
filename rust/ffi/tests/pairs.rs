//! Each provider's arenas, used from both languages.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::sync::Arc;

use toft::{Arena, Keep, Options};
use toft_ffi::*;

fn providers() -> [(&'static str, fn() -> Arena); 2] {
    [("rust", Arena::new), ("c", created_in_c)]
}

#[test]
fn each_provider_has_its_own_slow_path() {
    let (ours, theirs) = (Arena::new(), created_in_c());
    // SAFETY: live arenas.
    unsafe {
        assert_ne!((*ours.as_raw().as_ptr()).ops.get(), (*theirs.as_raw().as_ptr()).ops.get());
        assert_ne!(
            (*(*ours.as_raw().as_ptr()).ops.get()).alloc as usize,
            (*(*theirs.as_raw().as_ptr()).ops.get()).alloc as usize
        );
    }
}

#[test]
fn c_fills_and_rust_reads() {
    for (provider, make) in providers() {
        let mut arena = make();
        for round in 1..20u64 {
            let n = round * 1000;
            // SAFETY: a live arena, and a list in it.
            let values = unsafe { values(user_list(arena.as_raw().as_ptr(), n)) };
            assert!(values.into_iter().eq((0..n).rev()), "{provider}");
            assert_eq!(arena.stats().live, n * 16, "{provider}");
            // SAFETY: a live arena.
            assert_eq!(unsafe { user_live(arena.as_raw().as_ptr()) } as u64, n * 16, "{provider}");
            arena.reset();
        }
    }
}

#[test]
fn c_opens_scopes_and_claims_ranges() {
    for (provider, make) in providers() {
        let arena = make();
        let kept = arena.alloc(7u64);
        for size in [0, 1, 1000, 10_000, 1_000_000] {
            // SAFETY: a live arena.
            assert_eq!(unsafe { user_scope(arena.as_raw().as_ptr(), size) }, 1, "{provider} {size}");
            assert_eq!(arena.stats().live, 8, "{provider} {size}");
        }
        // SAFETY: a live arena; 100 bytes were written, contiguous within one block.
        let bytes = unsafe { std::slice::from_raw_parts(user_bytes(arena.as_raw().as_ptr(), 100), 100) };
        assert!(bytes.iter().zip(0..).all(|(b, i)| *b == b'a' + i % 26), "{provider}");
        assert_eq!(*kept, 7);
    }
}

#[test]
fn rust_allocates_with_collections_scopes_and_cursors() {
    for (provider, make) in providers() {
        let mut arena = make();
        let shared = Arc::new(());
        for round in 0..50usize {
            let mut outer = allocator_api2::vec::Vec::new_in(&arena);
            arena.alloc_drop(shared.clone());
            for i in 0..100usize {
                outer.push(i);
                arena.scope(|inner| {
                    let text = toft::format_in!(inner, "{i} in {round}");
                    inner.alloc_drop(shared.clone());
                    inner.alloc_slice_fill(i * round, i);
                    outer.push(text.len());
                });
                let mut cursor = arena.cursor();
                let squares: Vec<&mut usize> = (0..i).map(|k| cursor.alloc(k * k)).collect();
                outer.push(squares.len());
                drop(cursor);
                assert!(squares.into_iter().enumerate().all(|(k, square)| *square == k * k), "{provider}");
            }
            assert!(outer.chunks(3).enumerate().all(|(i, c)| c[0] == i && c[2] == i), "{provider}");
            assert_eq!(Arc::strong_count(&shared), 2, "{provider}");
            drop(outer);
            arena.reset();
            assert_eq!(Arc::strong_count(&shared), 1, "{provider}");
        }
        assert!(arena.stats().reserved < 16 << 20, "{provider}: {:?}", arena.stats());
    }
}

#[test]
fn borrowing_an_arena_leaves_its_ownership() {
    for (provider, make) in providers() {
        let arena = make();
        let there = arena.alloc(1u32);
        {
            // SAFETY: the arena is alive, and not used otherwise during the borrow.
            let borrowed = unsafe { Arena::borrow_raw(arena.as_raw()) }.expect("version 1");
            borrowed.alloc(2u32);
            let guard = borrowed.scope_guard();
            guard.alloc([3u8; 100_000]);
        }
        assert_eq!((*there, arena.stats().live), (1, 16), "{provider}");
        let raw = arena.into_raw();
        // SAFETY: `into_raw` returned it.
        drop(unsafe { Arena::from_raw(raw) });
    }
}

#[test]
fn budgets_hold_for_allocations_from_both_languages() {
    for (provider, make) in providers() {
        let arena = make();
        arena.set_budget(Some(16_000)).unwrap();
        // SAFETY: a live arena; a null list is not read.
        unsafe {
            assert!(user_list(arena.as_raw().as_ptr(), 1001).is_null(), "{provider}");
            assert_eq!(user_live(arena.as_raw().as_ptr()), 16_000, "{provider}");
        }
        assert!(arena.try_alloc(1u8).is_err(), "{provider}");
    }
    let arena = Options::new().budget(64).create().unwrap();
    // SAFETY: a live arena.
    assert!(unsafe { user_list(arena.as_raw().as_ptr(), 5) }.is_null());
}

#[test]
fn reset_and_trim_return_memory() {
    for (_, make) in providers() {
        let mut arena = make();
        arena.alloc_slice_fill(3_000_000, 0u8);
        arena.reset_with(Keep::Bytes(0));
        arena.trim(0);
        assert_eq!((arena.stats().live, arena.stats().reserved), (0, 4096));
    }
    // SAFETY: this thread's cache.
    unsafe {
        toft_cache_trim();
        assert_eq!(toft_cache_bytes(), 0);
    }
    toft::cache::trim();
    assert_eq!(toft::cache::held(), 0);
}
