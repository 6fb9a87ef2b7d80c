//! Correct programs give no findings.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

// ---- everything works in checked arenas ----

#[cfg(feature = "allocator-api2")]
fn fill_collections(arena: &Arena, n: usize) {
    let mut vec = allocator_api2::vec::Vec::new_in(arena);
    let mut strings = allocator_api2::vec::Vec::new_in(arena);
    let mut ours = arena.vec();
    let mut text = arena.string();
    for i in 0..n {
        vec.push(i);
        ours.push(i);
        strings.push(i.to_string());
        text.push_str("letters ");
        if i % 100 == 99 {
            vec.shrink_to_fit();
            ours.shrink_to_fit();
        }
    }
    let boxes: allocator_api2::vec::Vec<_, &Arena> = {
        let mut boxes = allocator_api2::vec::Vec::with_capacity_in(n, arena);
        boxes.extend((0..n).map(|i| allocator_api2::boxed::Box::new_in(i, arena)));
        boxes
    };
    assert!(vec.iter().zip(&ours).zip(&boxes).enumerate().all(|(i, ((a, b), c))| i == *a && i == *b && i == **c));
    assert!(strings.iter().enumerate().all(|(i, s)| *s == i.to_string()));
    assert_eq!(text.len(), n * 8);
    #[cfg(feature = "hashbrown")]
    {
        let mut map = arena.map();
        for i in 0..n {
            map.insert(i, i.to_string());
        }
        map.retain(|i, _| i % 3 == 0);
        map.shrink_to_fit();
        assert!((0..n).all(|i| map.get(&i).is_some() == (i % 3 == 0)));
    }
}

#[cfg(feature = "allocator-api2")]
#[test]
fn collections_grow_and_shrink_in_checked_arenas() {
    let mut arena = checked();
    for _ in 0..3 {
        fill_collections(&arena, if MIRI { 30 } else { 1000 });
        arena.scope(|inner| fill_collections(inner, if MIRI { 10 } else { 300 }));
        arena.reset();
        assert_eq!(arena.findings(), []);
        assert_eq!(arena.stats().live, 0);
    }
}

#[cfg(feature = "allocator-api2")]
#[test]
fn outer_collections_grow_while_a_checked_scope_is_open() {
    let mut arena = checked();
    let mut outer = allocator_api2::vec::Vec::new_in(&arena);
    for round in 0..if MIRI { 3 } else { 50u64 } {
        arena.scope(|inner| {
            let mut mine = allocator_api2::vec::Vec::new_in(inner);
            for i in 0..40u64 {
                outer.push(round * 40 + i);
                mine.push(i);
            }
            assert!(mine.iter().zip(0..).all(|(a, b)| *a == b));
        });
    }
    assert!(outer.iter().zip(0..).all(|(a, b)| *a == b));
    drop(outer);
    arena.reset();
    assert_eq!((arena.findings(), arena.stats().live), (vec![], 0));
}

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
fn cursors_and_packs_work_in_checked_arenas() {
    let mut arena = checked();
    for _ in 0..3 {
        let mut cursor = arena.cursor();
        let squares: Vec<&mut u64> = (0..100u64).map(|i| cursor.alloc(i * i)).collect();
        let other = arena.alloc(5u64);
        drop(cursor);
        let pack = arena.pack();
        let words: Vec<&mut str> = (0..100).map(|i| pack.alloc_str(&format!("word {i}"))).collect();
        let empty = pack.alloc_str("");
        assert!(squares.iter().enumerate().all(|(i, s)| **s == (i * i) as u64));
        assert!(words.iter().enumerate().all(|(i, w)| **w == *format!("word {i}")));
        assert_eq!((*other, &*empty), (5, ""));
        arena.reset();
        assert_eq!((arena.findings(), arena.stats().live), (vec![], 0));
    }
}

/// Allocations beside a cursor share one block, also while a meter counts them.
#[test]
fn a_metered_arena_allocates_beside_a_cursor() {
    let mut arena = Arena::new();
    arena.set_metered(true).unwrap();
    for _ in 0..2 {
        let mut cursor = arena.cursor();
        cursor.alloc(1u64);
        let beside: Vec<&mut [u8; 24]> = (0..3).map(|i| arena.alloc([i; 24])).collect();
        assert!(beside.iter().enumerate().all(|(i, b)| **b == [i as u8; 24]));
        drop(cursor);
        assert_eq!(arena.stats().live, 8 + 3 * 24);
        arena.reset();
    }
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
