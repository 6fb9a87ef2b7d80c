//! Scopes in buffers, on reserved addresses and in arenas of other languages.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

// ---- in places that do not grow ----

#[test]
fn scopes_in_a_buffer_share_and_return_it() {
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let ends = buffer.as_ptr_range();
    let arena = Arena::in_buffer(&mut buffer).unwrap();
    let whole = exhaust(&arena.scope_guard());
    assert!(whole > 6000);
    for _ in 0..3 {
        assert_eq!(exhaust(&arena.scope_guard()), whole);
    }
    let outer = arena.scope_guard();
    let p: *const u64 = outer.alloc(1u64);
    assert!(ends.contains(&p.cast()));
    assert!(arena.try_alloc(1u64).is_err(), "the buffer is the scope's");
    assert!(arena.try_scope_guard().is_err(), "the buffer is the scope's");
    let inner = outer.scope_guard();
    assert!(exhaust(&inner) > 5000);
    assert!(inner.try_scope_guard().is_err());
    drop(inner);
    drop(outer);
    assert!(arena.try_alloc(1u64).is_ok());
    assert_eq!(arena.stats().live, 8);
    assert_eq!((arena.stats().blocks, arena.stats().source_calls), (1, 0));
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn a_full_buffer_refuses_a_scope_and_is_unchanged() {
    let mut buffer = [MaybeUninit::uninit(); 2048];
    let arena = Arena::in_buffer(&mut buffer).unwrap();
    exhaust(&arena);
    let before = arena.stats();
    assert!(arena.try_scope_guard().is_err());
    assert!(arena.try_scope(|_| unreachable!("there is no memory for it") as u8).is_err());
    assert_eq!(arena.stats(), before);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(arena.scope_guard()))).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().starts_with("toft: "));
    assert_eq!(arena.stats(), before);
}

#[test]
#[cfg_attr(miri, ignore = "needs addresses of the system")]
fn scopes_on_reserved_addresses_grow_in_place() {
    let mut arena = Options::new().source(toft::Reserve::new(16 << 20).unwrap()).create().unwrap();
    for _ in 0..50 {
        let first = arena.alloc([1u8; 100]).as_ptr() as usize;
        let mut vector = Counting::of(&arena, 0);
        arena.scope(|inner| {
            let a = inner.alloc_slice_fill(100_000, 1u8).as_ptr() as usize;
            let b = inner.alloc_slice_fill(1_000_000, 2u8).as_ptr() as usize;
            assert!(a > first && a - first < 4096 && b - a == 100_000);
            inner.scope(|innermost| {
                assert!(innermost.alloc_slice_fill(1_000_000, 3u8).iter().all(|x| *x == 3));
            });
            assert!(inner.try_alloc_uninit_slice::<u8>(32 << 20).is_err());
        });
        vector.push(1000);
        vector.check();
        drop(vector);
        arena.reset();
    }
    assert!(arena.stats().reserved < 16 << 20);
    assert_eq!(arena.stats().blocks, 1);
}

#[test]
#[cfg_attr(miri, ignore = "needs addresses of the system")]
fn on_reserved_addresses_a_scope_begins_at_the_end_of_the_block() {
    for used in (2000..4200).step_by(8) {
        let arena = Options::new().source(toft::Reserve::new(1 << 20).unwrap()).create().unwrap();
        arena.alloc_uninit_slice::<u8>(used);
        let scope = arena.try_scope_guard();
        assert!(scope.is_ok_and(|scope| scope.try_alloc([0u8; 500]).is_ok()), "{used}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs addresses of the system")]
fn on_reserved_addresses_a_request_over_budget_takes_no_memory() {
    let reserve = toft::Reserve::new(16 << 20).unwrap();
    let arena = Options::new().source(reserve).budget(10_000).create().unwrap();
    arena.alloc(1u64);
    let before = arena.stats();
    assert!(arena.try_alloc_uninit_slice::<u8>(100_000).is_err());
    assert!(arena.try_alloc_uninit_slice::<u8>(9_993).is_err());
    assert_eq!(arena.stats(), before);
    assert!(arena.try_alloc_uninit_slice::<u8>(9_992).is_ok());
}

#[test]
#[cfg_attr(miri, ignore = "needs addresses of the system")]
fn on_reserved_addresses_a_second_scope_is_refused_or_correct() {
    let arena = Options::new().source(toft::Reserve::new(4 << 20).unwrap()).create().unwrap();
    let scope = arena.scope_guard();
    let a = scope.alloc(1u64);
    // The source has this one block, which the scope uses now.
    if let Ok(b) = arena.try_alloc(2u64) {
        assert_eq!((*a, *b), (1, 2));
    }
    if let Ok(second) = arena.try_scope_guard() {
        assert_eq!(*second.alloc(3u64), 3);
    }
    assert_eq!(*a, 1);
    drop(scope);
    assert_eq!(*arena.alloc(4u64), 4);
}

// ---- in arenas of other languages ----

#[test]
fn an_arena_of_another_version_is_refused_and_unchanged() {
    let mut memory = fixed::Memory::new(4000);
    let head = memory.make();
    // SAFETY: a live head; the table is plain data, and outlives its use.
    unsafe {
        let mut table = head.as_ref().ops.get().read();
        table.version = toft::abi::VERSION + 1;
        head.as_ref().ops.set(&raw const table);
        assert!(Arena::from_raw(head).is_none());
        assert!(Arena::borrow_raw(head).is_none());
    }
    assert!(!memory.is_released());
}

#[test]
fn scopes_in_a_foreign_buffer_share_and_return_it() {
    let mut memory = fixed::Memory::new(20_000);
    // SAFETY: a live head without another owner.
    let mut arena = unsafe { Arena::from_raw(memory.make()) }.unwrap();
    let before = arena.alloc([7u64; 5]);
    let whole = exhaust(&arena.scope_guard());
    assert!(whole > 15_000);
    for _ in 0..3 {
        assert_eq!(exhaust(&arena.scope_guard()), whole);
        assert_eq!(arena.stats().live, 40);
    }
    let scope = arena.scope_guard();
    assert!(arena.try_alloc(1u64).is_err() && arena.try_scope_guard().is_err());
    assert!(exhaust(&scope.scope_guard()) > 14_000);
    assert_eq!(arena.set_budget(None), Err(toft::RewindError::Busy));
    drop(scope);
    assert_eq!(*before, [7; 5]);
    arena.scope_mut(|a| assert!(a.try_alloc([0u8; 10_000]).is_ok()));
    arena.reset();
    assert_eq!(arena.stats().live, 0);
    exhaust(&arena);
    assert!(arena.try_scope_guard().is_err());
}

#[test]
fn allocations_beside_a_scope_of_a_foreign_arena_survive_it() {
    let arena = Disguised::new(Arena::new());
    let a = arena.alloc(1u64);
    let (b, c) = arena.scope(|inner| {
        let own = inner.alloc_slice_fill(30_000, 5u8);
        let b = arena.alloc(2u64);
        inner.scope(|innermost| _ = innermost.alloc_slice_fill(30_000, 6u8));
        let c = arena.alloc_slice_fill(5000, 3u8);
        assert!(own.iter().all(|x| *x == 5));
        (b, c)
    });
    arena.scope(|inner| _ = inner.alloc_slice_fill(30_000, 7u8));
    assert_eq!((*a, *b), (1, 2));
    assert!(c.iter().all(|x| *x == 3));
}

#[test]
fn a_budget_of_a_foreign_arena_holds_in_its_scopes() {
    let arena = Disguised::new(Options::new().budget(20_000).create().unwrap());
    let used = exhaust(&arena.scope_guard());
    assert!(used <= 20_000 && used > 10_000, "{used}");
    assert_eq!(exhaust(&arena.scope_guard()), used);
    assert!(arena.stats().live <= 20_000);
}

/// An invalid setting is `EARG` also beside an open scope, which closes the arena.
#[test]
fn an_invalid_setting_is_refused_as_invalid() {
    let arena = Arena::new();
    let set = |value| {
        let head = arena.as_raw().as_ptr();
        // SAFETY: the arena is alive, as are its head and table.
        unsafe { ((*(*head).ops.get()).set)(head, toft::abi::SET_CHECKED, value, std::ptr::null(), 0) }
    };
    assert_eq!(set(7), toft::abi::EARG);
    let scope = arena.scope_guard();
    assert_eq!((set(7), set(1)), (toft::abi::EARG, toft::abi::EBUSY));
    drop(scope);
    assert_eq!((set(1), set(0)), (toft::abi::OK, toft::abi::OK));
}

/// A tag may be set beside an open scope; from then on the provider must see marks and rewinds.
#[test]
fn a_tag_set_beside_a_scope_instruments_the_arena() {
    let arena = Arena::new();
    arena.stats(); // the scope begins in its block
    let head = arena.as_raw();
    let scope = arena.scope_guard();
    scope.alloc(1);
    // SAFETY: the arena is alive, as are its head and table; the name has that length.
    let (code, watched) = unsafe {
        let head = head.as_ref();
        let set = (*head.ops.get()).set;
        let code = set(arena.as_raw().as_ptr(), toft::abi::SET_TAG, 7, c"fast".as_ptr(), 4);
        drop(scope);
        (code, head.epoch.get() & 1)
    };
    assert_eq!((code, watched), (toft::abi::OK, 1));
}

/// The second arena is made at the address of the first, by the thread's cache or in the same buffer.
#[test]
fn marks_of_an_arena_that_ended_are_stale() {
    for large in [false, true] {
        let one = Arena::new();
        let size = if large { 100_000 } else { 1000 };
        one.alloc_slice_fill_with(size, |_| 0u8);
        let (mark, at) = (one.mark(), one.as_raw());
        drop(one);
        let two = Arena::new();
        assert_eq!(two.as_raw(), at);
        for i in 0..70_000u32 {
            two.alloc(i);
            // SAFETY: refused.
            assert!(i % 1000 != 0 || unsafe { two.rewind(mark) }.is_err());
        }
        assert_eq!(two.stats().live, 8 * 70_000);
    }
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut mark = None;
    for _ in 0..2 {
        let a = Arena::in_buffer(&mut buffer).unwrap();
        a.alloc([0u8; 1000]);
        if let Some(mark) = mark {
            // SAFETY: refused.
            assert!(unsafe { a.rewind(mark) }.is_err());
        }
        mark = Some(a.mark());
    }
}
