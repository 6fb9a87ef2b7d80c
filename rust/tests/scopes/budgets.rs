//! Budgets across scopes.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn a_budget_holds_across_scopes_to_the_byte() {
    for budget in [0, 7, 8, 1000, 1001, 1007, 9000, 30_000] {
        let arena = Options::new().budget(budget).create().unwrap();
        let whole = budget & !7;
        assert_eq!(exhaust(&arena.scope_guard()), whole);
        let used = exhaust(&arena.scope_guard().scope_guard()); // returned, and used again
        assert_eq!(used, whole);
        if budget < 64 {
            continue;
        }
        arena.alloc([1u64, 2]);
        let (a, b) = (arena.scope_guard(), arena.scope_guard());
        a.alloc(3u64);
        b.alloc([4u64; 3]);
        let inner = b.scope_guard();
        inner.alloc(5u64);
        arena.alloc(6u64); // while all are open
        let rest = whole - 16 - 8 - 24 - 8 - 8;
        assert_eq!(exhaust(&a), rest, "budget {budget}");
        assert!(inner.try_alloc(1u8).is_err(), "of a scope in a scope, beside another");
        assert!(b.try_alloc(1u8).is_err() && arena.try_alloc(1u8).is_err());
        assert!(inner.try_alloc(()).is_ok() && arena.try_alloc_str("").is_ok());
        assert_eq!(arena.stats().live, whole);
        drop(b.try_scope_guard());
        drop(a);
        assert_eq!(exhaust(&inner), rest + 8);
        drop(inner);
        assert_eq!(exhaust(&b), rest + 16);
        drop(b);
        assert_eq!(exhaust(&arena), whole - 16 - 8);
        assert_eq!(arena.stats().live, whole);
    }
}

/// A scope allocates inline up to the budget, which ends earlier when others use it.
#[test]
fn a_scopes_budget_excludes_bytes_of_others() {
    for scopes in 1..=3 {
        for spender in 0..=scopes {
            let arena = Options::new().budget(1000).create().unwrap();
            let guards: Vec<Scope> = (0..scopes).map(|_| arena.scope_guard()).collect();
            let all: Vec<&Arena> = guards.iter().map(|guard| &**guard).chain([&arena]).collect();
            all.iter().for_each(|one| assert!(one.try_alloc(1u64).is_ok()));
            assert_eq!(exhaust(all[spender]), 1000 - 8 * all.len() as u64);
            for (i, one) in all.iter().enumerate() {
                assert!(one.try_alloc(1u64).is_err(), "{i} of {scopes} scopes after {spender}");
            }
            assert_eq!(arena.stats().live, 1000);
        }
    }
}

/// A range counts in full for all allocations beside it: in its arena, in scopes of that, and around it.
#[test]
fn a_cursors_claimed_bytes_count_against_the_budget() {
    fn fill(mut cursor: toft::Cursor) {
        while cursor.try_alloc(1u64).is_ok() {}
    }
    for tagged in [false, true] {
        let arena = Options::new().budget(if tagged { u64::MAX } else { 1000 }).create().unwrap();
        arena.set_metered(tagged).unwrap();
        arena.set_tag_budget("ai", tagged.then_some(1000)).unwrap();
        let _ai = arena.tag("ai");
        let cursor = arena.cursor();
        let first = arena.scope_guard(); // begins beside the range
        let of_arena = exhaust(&first) + exhaust(&arena);
        fill(cursor);
        assert_eq!(arena.stats().live, 1000, "{of_arena} beside a cursor of the arena");
        drop(first);
    }
    for tagged in [false, true] {
        let arena = Options::new().budget(if tagged { u64::MAX } else { 1000 }).create().unwrap();
        arena.set_metered(tagged).unwrap();
        arena.set_tag_budget("ai", tagged.then_some(1000)).unwrap();
        let _ai = arena.tag("ai");
        let first = arena.scope_guard();
        let cursor = first.cursor();
        let second = arena.scope_guard();
        let beside = exhaust(&arena) + exhaust(&second);
        fill(cursor);
        assert_eq!(arena.stats().live, 1000, "{beside} beside a cursor of a scope");
    }
}

#[test]
fn a_budget_holds_after_a_cursor_ended() {
    let arena = Options::new().budget(1000).create().unwrap();
    drop(arena.cursor());
    arena.cursor().alloc(1u64);
    assert_eq!(exhaust(&arena), 992);
    assert_eq!(arena.stats().live, 1000);
}
