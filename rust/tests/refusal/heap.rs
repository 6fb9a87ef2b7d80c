//! When the global allocator refuses a block, the blocks in the thread's cache are returned to it, and it is called
//! once more.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use toft::{cache, Arena, Leases, RcArena, Recycler, SharedArena};

/// The system's allocator, which refuses blocks while this thread's cache is not empty, or all requests.
struct Tight;

thread_local! {
    static REFUSES: Cell<bool> = const { Cell::new(false) };
    static REFUSES_ALL: Cell<bool> = const { Cell::new(false) };
}

impl Tight {
    fn refuses(size: usize) -> bool {
        REFUSES_ALL.get() || size >= 4096 && REFUSES.get() && cache::held() != 0
    }
}

// SAFETY: the system's allocator.
unsafe impl GlobalAlloc for Tight {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Tight::refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static TIGHT: Tight = Tight;

/// Calls `f` while the cache holds blocks of sizes that `f` cannot use.
fn tight(f: impl FnOnce()) {
    let arena = Arena::new();
    (0..30).for_each(|_| _ = arena.alloc([0u8; 3000]));
    drop(arena);
    assert!(cache::held() > 50_000);
    REFUSES.set(true);
    f();
    assert_eq!(cache::held(), 0);
    REFUSES.set(false);
}

#[test]
fn a_refusal_empties_the_cache_and_retries() {
    let arena = Arena::new();
    tight(|| assert!(arena.try_alloc_uninit_slice::<u8>(500_000).is_ok()));
    let shared = SharedArena::new();
    tight(|| assert!(shared.try_alloc_uninit_slice::<u8>(500_000).is_ok()));
    let recycler = Recycler::new();
    tight(|| assert!(recycler.try_alloc_layout(Layout::new::<u64>()).is_ok()));
    let leases = Leases::new();
    let lease = leases.get();
    tight(|| assert!(lease.try_alloc_uninit_slice::<u8>(500_000).is_ok()));
}

#[test]
fn a_handle_without_memory_returns_its_arena() {
    let arena = Arena::new();
    let name = arena.as_raw();
    REFUSES_ALL.set(true);
    let refused = RcArena::try_new(arena);
    REFUSES_ALL.set(false);
    let arena = refused.unwrap_err();
    assert_eq!((arena.as_raw(), *arena.alloc(1)), (name, 1));
}
