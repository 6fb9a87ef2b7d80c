//! Correct programs give no findings.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

// ---- everything works in checked arenas ----

#[cfg(feature = "allocator-api2")]
#[test]
fn allocations_beside_an_open_scope_are_recorded() {
    let mut arena = checked();
    arena.alloc_slice_fill(3000, 1u8);
    let scope = arena.scope_guard();
    let aside = arena.alloc_layout(layout(100, 8)).as_ptr();
    let mut vec = allocator_api2::vec::Vec::with_capacity_in(3, &arena);
    vec.extend([1u64, 2, 3, 4, 5]);
    drop(scope); // a free has no effect while it is open
    unsafe {
        abi::free(arena.as_raw(), aside, 100);
        abi::free(arena.as_raw(), aside, 100);
        aside.wrapping_add(100).write(0);
    }
    assert_eq!(bytes_at(aside, 100), vec![FREED_BYTE; 100]);
    assert_eq!(*vec, [1, 2, 3, 4, 5]);
    drop(vec);
    assert_eq!(arena.allocations().len(), 1);
    arena.reset();
    let found = arena.findings();
    let kinds: Vec<_> = lines(&found).into_iter().map(|(kind, _, size)| (kind, size)).collect();
    assert_eq!(kinds, [("bad free", 100), ("corrupt", 100)]);
}

#[test]
fn scopes_end_in_any_order() {
    let mut arena = checked();
    let orders = [[0, 2, 1], [2, 1, 0], [0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 0, 1]];
    for order in orders.into_iter().take(if MIRI { 2 } else { 6 }) {
        let mut scopes = [0; 3].map(|_| Some(arena.scope_guard()));
        let values: Vec<*mut u8> =
            scopes.iter().flatten().map(|scope| scope.alloc_layout(layout(8, 8)).as_ptr()).collect();
        let p = arena.alloc_layout(layout(10, 1)).as_ptr(); // in the outer arena, while all are open
        for (k, i) in order.into_iter().enumerate() {
            scopes[i].as_ref().unwrap().alloc_layout(layout(100_000, 1));
            unsafe { values[i].wrapping_add(8 + k).write(0) };
            scopes[i] = None;
            let found = arena.findings();
            assert!(matches!(found[..], [Finding::Corrupt { size: 8, offset, .. }] if offset == 8 + k as isize));
        }
        unsafe { p.wrapping_add(10).write(0) };
        drop(scopes);
        arena.reset();
        assert!(matches!(arena.findings()[..], [Finding::Corrupt { size: 10, offset: 10, .. }]));
    }
}

#[test]
fn leaked_guards_end_with_a_reset_and_are_reported() {
    let mut arena = checked();
    let scope = arena.scope_guard();
    let line = line!() + 1;
    scope.alloc(String::from("lost"));
    let inner = scope.scope_guard();
    inner.alloc(String::from("lost"));
    forget(inner);
    forget(scope);
    forget(arena.cursor());
    arena.alloc(1u64);
    assert_eq!(arena.set_checked(false), Err(SwitchError::Busy));
    arena.reset();
    let mut found = lines(&arena.findings());
    found.sort();
    assert_eq!(found, [("leak", line, size_of::<String>()), ("leak", line + 2, size_of::<String>())]);
    assert_eq!((arena.stats().live, arena.set_checked(false)), (0, Ok(())));
    // The arena may be dropped with the leaked guards, too.
    arena.set_checked(true).unwrap();
    let scope = arena.scope_guard();
    scope.alloc_drop(String::from("dropped, or leaked with its scope"));
    forget(scope);
}

toft::root!(struct Words => Vec<&'a str>);

#[test]
fn an_owner_may_have_a_checked_arena() {
    let owner = Owner::<Words>::new(checked(), |arena| (0..10).map(|i| &*toft::format_in!(arena, "{i}")).collect());
    assert_eq!(owner.with(|words| words.concat()), "0123456789");
    let mut arena = owner.into_arena();
    arena.reset();
    assert_eq!(arena.findings(), []);
}

// ---- many allocations, and bounds ----

/// So many that the test would not end if each step visited all of them. Fewer under Miri, and with `TOFT_SHORT`
/// (Valgrind).
fn very_many() -> usize {
    if MIRI {
        50
    } else if std::env::var_os("TOFT_SHORT").is_some() {
        2000
    } else {
        300_000
    }
}

#[test]
fn very_many_allocations_are_freed_in_any_order() {
    let n = very_many();
    let arena = checked();
    let all: Vec<_> = (0..n).map(|i| (arena.alloc_layout(layout(i % 64 + 1, 8)).as_ptr(), i % 64 + 1)).collect();
    for turn in [0, 1, 2] {
        for (k, (p, size)) in all.iter().enumerate().filter(|(k, _)| (k * 7) % 3 == turn) {
            assert_eq!(bytes_at(*p, 1), [UNINIT_BYTE], "{k}");
            unsafe { abi::free(arena.as_raw(), *p, *size) };
        }
    }
    assert_eq!((arena.findings(), arena.allocations().len()), (vec![], 0));
}

#[test]
fn marks_among_very_many_allocations() {
    let n = very_many();
    let arena = checked();
    for i in 0..n {
        arena.alloc(i);
        let mark = arena.mark();
        arena.alloc(i);
        unsafe { arena.rewind(mark) }.unwrap();
    }
    assert_eq!((arena.findings(), arena.allocations().len()), (vec![], n));
}

#[cfg_attr(miri, ignore)] // slow
#[test]
fn findings_are_bounded() {
    let (mut arena, lost) = (checked(), Arc::new(()));
    for _ in 0..1234 {
        arena.alloc(Noisy(lost.clone()));
    }
    arena.reset();
    let found = arena.findings();
    assert_eq!((found.len(), found.last()), (1001, Some(&Finding::Lost { count: 234 })));
    assert_eq!(arena.findings(), []);
    arena.alloc(String::from("lost"));
    arena.reset();
    assert_eq!(arena.findings().len(), 1);
}

#[test]
fn live_allocations_are_listed() {
    let arena = checked();
    let line = line!() + 1;
    let first = arena.alloc_layout(layout(3, 1));
    let freed = arena.alloc_layout(layout(4, 1));
    unsafe { abi::free(arena.as_raw(), freed.as_ptr(), 4) };
    let scope = arena.scope_guard();
    let second = scope.alloc_layout(layout(5, 64));
    let all: Vec<_> = arena.allocations().into_iter().map(|a| (a.at, a.size, a.site.line)).collect();
    assert_eq!(all, [(first.as_ptr() as *const u8, 3, line), (second.as_ptr() as *const u8, 5, line + 4)]);
    drop(scope);
    assert_eq!(arena.allocations().len(), 1);
}
