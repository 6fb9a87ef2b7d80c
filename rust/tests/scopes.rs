//! Scopes: outer values may grow while a scope is open and survive it, its memory is reused, budgets hold across
//! scopes.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![cfg(feature = "allocator-api2")]

#[path = "common/disguise.rs"]
mod disguise;
#[path = "common/fixed.rs"]
mod fixed;
#[path = "common/pages.rs"]
mod pages;
#[path = "common/strict.rs"]
mod strict;

use std::mem::MaybeUninit;

use allocator_api2::vec::Vec as ArenaVec;
use disguise::Disguised;
use pages::Pages;
use toft::{Arena, Keep, Options, Scope};

const MIRI: bool = cfg!(miri);

/// Fewer under Miri, and with `TOFT_SHORT` (Valgrind).
fn rounds(most: usize) -> usize {
    if MIRI {
        (most / 1000).clamp(3, 6)
    } else if std::env::var_os("TOFT_SHORT").is_some() {
        most / 50
    } else {
        most
    }
}

/// A deterministic pseudo-random generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// A vector that checks itself: it holds consecutive numbers from its own start.
struct Counting<'a>(ArenaVec<u64, &'a Arena>, u64);

impl<'a> Counting<'a> {
    fn of(arena: &'a Arena, start: u64) -> Self {
        Counting(ArenaVec::new_in(arena), start)
    }

    fn push(&mut self, n: usize) {
        for _ in 0..n {
            self.0.push(self.1 + self.0.len() as u64);
        }
    }

    fn check(&self) {
        let whole = self.0.iter().enumerate().all(|(i, v)| *v == self.1 + i as u64);
        assert!(whole, "the vector from {} was overwritten", self.1);
    }
}

// ---- the outer grows ----

fn nested(outer: &Arena, vectors: &mut Vec<Counting<'_>>, depth: u64) {
    outer.scope(|inner| {
        let mut own = Counting::of(inner, 1000 * depth);
        for _ in 0..5 {
            own.push(40);
            vectors.iter_mut().for_each(|v| v.push(30));
        }
        if depth < if MIRI { 2 } else { 4 } {
            // Vectors of the outer arenas grow while this scope is open.
            let mut within = vec![Counting::of(inner, 1)];
            nested(inner, &mut within, depth + 1);
            within[0].push(10);
            within[0].check();
        }
        own.push(40);
        own.check();
    });
    vectors.iter_mut().for_each(|v| {
        v.push(3);
        v.check();
    });
}

fn outer_vectors_survive(arena: &Arena) {
    let mut vectors = vec![Counting::of(arena, 7), Counting::of(arena, 77_000)];
    vectors[0].push(3);
    for _ in 0..if MIRI { 1 } else { 3 } {
        nested(arena, &mut vectors, 1);
    }
    vectors.iter().for_each(Counting::check);
}

#[test]
fn vectors_of_the_outer_arena_grow_in_scopes_and_survive() {
    strict::balanced(|| outer_vectors_survive(&Arena::new()));
}

#[test]
fn outer_vectors_survive_in_arenas_from_every_source() {
    outer_vectors_survive(&Options::new().source(toft::Pages::new()).create().unwrap());
    outer_vectors_survive(&Options::new().reserve(100_000).create().unwrap());
    let mut buffer = [MaybeUninit::uninit(); 5000];
    outer_vectors_survive(&Arena::in_buffer_or_heap(&mut buffer).unwrap());
    let pages = Pages::new();
    outer_vectors_survive(&Scope::in_buffer_or(&mut buffer, &pages).unwrap());
    outer_vectors_survive(&Scope::from_source(&pages).unwrap());
    outer_vectors_survive(&Disguised::new(Arena::new()));
}

#[test]
fn a_vector_passed_through_two_scopes_survives_both() {
    let mut arena = Arena::new();
    let total = arena.scope_mut(|a| {
        let mut kept = Counting::of(a, 0);
        a.scope(|b| {
            kept.push(100);
            let mut middle = Counting::of(b, 5);
            b.scope(|c| {
                let mut inner = Counting::of(c, 9);
                for _ in 0..20 {
                    inner.push(30);
                    middle.push(20);
                    kept.push(10);
                }
                inner.check();
            });
            middle.push(10);
            middle.check();
            kept.check();
        });
        kept.push(500);
        kept.check();
        kept.0.len()
    });
    assert_eq!((total, arena.stats().live), (800, 0));
}

fn guards_in_any_order(arena: &mut Arena, rounds: usize, seed: u64) {
    let mut dice = Dice(seed);
    for _ in 0..rounds {
        let mut outer = Counting::of(arena, 3);
        {
            let mut guards: Vec<(Scope<'_>, u64, Vec<*const u64>)> = vec![];
            for step in 0..if MIRI { 12 } else { 30 } {
                outer.push(dice.below(20));
                match dice.below(4) {
                    0 => guards.push((arena.scope_guard(), step, vec![])),
                    1 if !guards.is_empty() => {
                        let (guard, tag, all) = guards.swap_remove(dice.below(guards.len()));
                        // SAFETY: the guard is alive.
                        assert!(all.iter().all(|p| unsafe { **p } == tag));
                        drop(guard);
                    }
                    _ if !guards.is_empty() => {
                        let i = dice.below(guards.len());
                        let (guard, tag, all) = &mut guards[i];
                        for _ in 0..dice.below(60) {
                            all.push(guard.alloc(*tag));
                        }
                        if dice.below(3) == 0 {
                            let tag = *tag;
                            guard.scope(|inner| {
                                let mut own = Counting::of(inner, tag);
                                own.push(70);
                                outer.push(5);
                                own.check();
                            });
                        }
                    }
                    _ => {}
                }
                for (_, tag, all) in &guards {
                    // SAFETY: the guards are alive.
                    assert!(all.iter().all(|p| unsafe { **p } == *tag));
                }
            }
        }
        outer.check();
        drop(outer);
        arena.reset();
        assert_eq!(arena.stats().live, 0);
    }
}

#[test]
fn guards_end_in_any_order() {
    let rounds = if MIRI { 1 } else { rounds(500) };
    strict::balanced(|| guards_in_any_order(&mut Arena::new(), rounds, 1));
    guards_in_any_order(&mut Options::new().source(Pages::new()).create().unwrap(), rounds, 2);
}

#[test]
fn cursors_and_scopes_of_one_arena_coexist() {
    let arena = Arena::new();
    let mut first = arena.cursor();
    let a = first.alloc(1u64);
    let scope = arena.scope_guard();
    let b = scope.alloc(2u64);
    let mut second = arena.cursor(); // served by the slow path
    let c = second.alloc(3u64);
    let d = first.alloc(4u64);
    drop(first);
    let inner = arena.scope_guard();
    let e = inner.alloc(5u64);
    let f = arena.alloc(6u64);
    let g = second.alloc(7u64);
    let h = scope.alloc(8u64);
    assert_eq!([*b, *e, *h], [2, 5, 8]);
    drop(scope);
    drop(second);
    let i = arena.alloc(9u64);
    assert_eq!(*e, 5);
    drop(inner);
    let j = arena.alloc(10u64);
    assert_eq!([*a, *c, *d, *f, *g, *i, *j], [1, 3, 4, 6, 7, 9, 10]);
}

// ---- memory is used again ----

/// The place where one range was extended does not determine where the next one begins.
#[test]
fn a_cursor_extends_its_range_after_another_began() {
    let mut arena = Arena::new();
    arena.scope_mut(|inner| {
        inner.alloc([0u8; 3000]);
        inner.cursor().alloc(1u64);
    });
    let mut cursor = arena.cursor();
    let first = cursor.alloc(2u64);
    let much = cursor.try_alloc([3u8; 10_000]).unwrap();
    assert_eq!((*first, much[9999]), (2, 3));
}

#[test]
fn a_scopes_memory_is_reused_by_the_next() {
    let arena = Arena::new();
    arena.alloc(1u64);
    let at = |arena: &Arena| arena.scope(|inner| std::ptr::from_mut(inner.alloc_slice_fill(100, 1u8)) as *const u8);
    let (first, before) = (at(&arena), arena.stats());
    for _ in 0..10 {
        assert_eq!(at(&arena), first);
        let now = arena.stats();
        assert_eq!((now.live, now.reserved, now.source_calls), (before.live, before.reserved, before.source_calls));
    }
    assert_eq!(arena.alloc(2u64) as *const u64 as usize % 8, 0);
}

#[test]
fn memory_is_bounded_over_a_hundred_thousand_scopes() {
    let arena = Arena::new();
    let mut kept = Counting::of(&arena, 0);
    let mut dice = Dice(9);
    let rounds = rounds(100_000);
    let (mut warm, mut reserved) = (0, 0);
    for round in 0..rounds {
        arena.scope(|inner| {
            for _ in 0..dice.below(8) {
                match dice.below(6) {
                    0 => _ = inner.alloc_uninit_slice::<u8>(dice.below(9000)),
                    1 => inner.scope(|innermost| _ = innermost.alloc_uninit_slice::<u16>(dice.below(3000))),
                    2 => drop(inner.alloc_layout(std::alloc::Layout::from_size_align(dice.below(100), 512).unwrap())),
                    _ => _ = inner.alloc_str("a few words"),
                }
            }
            if round == rounds / 10 {
                kept.push(1); // an outer vector grows once, halfway
            }
        });
        if round == rounds / 2 {
            (warm, reserved) = (arena.stats().source_calls, arena.stats().reserved);
        }
    }
    kept.check();
    let s = arena.stats();
    assert_eq!(s.live, 32, "{s:?}"); // the vector's first four
    assert!(s.reserved <= reserved && s.reserved < 1 << 20, "{s:?}, in the middle {reserved}");
    assert!(MIRI || s.source_calls - warm <= 20, "{s:?}, {warm} calls in the middle");
}

#[test]
fn rounds_of_scopes_and_resets_are_bounded() {
    let rounds = |arena: &mut Arena, guards: usize| {
        let mut dice = Dice(11);
        let mut most = 0;
        for _ in 0..rounds(20_000) {
            let mut vector = Counting::of(arena, 0);
            for _ in 0..5 {
                let guard = arena.scope_guard();
                guard.alloc_uninit_slice::<u8>(dice.below(5000));
                vector.push(dice.below(50));
                if guards > 1 {
                    let second = arena.scope_guard();
                    second.alloc_uninit_slice::<u8>(dice.below(5000));
                    vector.push(dice.below(50));
                    drop(guard);
                }
            }
            vector.check();
            drop(vector);
            arena.reset_with(if dice.below(9) == 0 { Keep::Bytes(100_000) } else { Keep::Recent });
            most = most.max(arena.stats().reserved);
        }
        assert!(most < 1 << 20, "{most}");
    };
    rounds(&mut Arena::new(), 2);
    rounds(&mut Options::new().budget(1 << 22).create().unwrap(), 2);
    rounds(Disguised::new(Arena::new()).arena(), 1);
}

#[test]
fn blocks_of_a_scope_serve_the_arena_around_it() {
    let pages = Pages::new();
    let arena = Scope::from_source(&pages).unwrap();
    arena.scope(|inner| {
        inner.alloc_slice_fill(300_000, 1u8);
    });
    let (calls, bytes) = (pages.calls.get(), pages.bytes.get());
    arena.alloc_slice_fill(300_000, 1u8);
    arena.scope(|inner| assert!(inner.try_alloc(1u8).is_ok()));
    assert_eq!((pages.calls.get(), pages.bytes.get()), (calls, bytes));
}

// ---- statistics ----

#[test]
fn the_outer_arenas_statistics_include_its_scopes() {
    let pages = Pages::new();
    let arena = Scope::from_source(&pages).unwrap();
    arena.alloc_slice_fill(100, 1u64);
    let (a, b) = (arena.scope_guard(), arena.scope_guard());
    a.alloc_slice_fill(50, 1u64);
    b.alloc_slice_fill(25, 1u64);
    let inner = b.scope_guard();
    let p = &*inner.alloc_slice_fill(20_000, 1u8);
    let s = arena.stats();
    assert_eq!((s.live, s.reserved, s.source_calls), (800 + 400 + 200 + 20_000, pages.bytes.get(), pages.calls.get()));
    assert!(arena.contains(p) && b.contains(p) && inner.contains(p) && !a.contains(p));
    assert_eq!((b.stats().live, inner.stats().live), (20_200, 20_000));
    drop(inner);
    drop(a);
    drop(b);
    let s = arena.stats();
    assert_eq!((s.live, s.reserved, s.source_calls), (800, pages.bytes.get(), pages.calls.get()));
    assert!(s.peak >= 21_400);
}

// ---- budgets ----

/// Allocates decreasing sizes until each is refused.
fn exhaust(arena: &Arena) -> u64 {
    let mut n = 0;
    while arena.try_alloc_uninit::<[u64; 32]>().is_ok() {
        n += 256;
    }
    while arena.try_alloc(1u64).is_ok() {
        n += 8;
    }
    n
}

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

#[test]
fn a_scopes_budget_and_the_outer_one_both_hold() {
    let arena = Options::new().budget(5000).create().unwrap();
    let scope = arena.scope_guard();
    scope.set_budget(Some(1000)).unwrap();
    let inner = scope.scope_guard();
    assert_eq!(exhaust(&inner), 1000);
    assert_eq!(exhaust(&arena), 4000);
    drop(inner);
    assert_eq!(exhaust(&scope), 1000);
    drop(scope);
    assert_eq!(exhaust(&arena), 1000);
    assert_eq!(arena.stats().live, 5000);
}

#[test]
fn a_budget_cannot_be_set_while_a_scope_is_open() {
    let arena = Arena::new();
    let scope = arena.scope_guard();
    assert!(arena.set_budget(Some(8)).is_err());
    assert_eq!(exhaust_some(&scope, 100), 100);
    drop(scope);
    arena.set_budget(Some(80)).unwrap();
    assert_eq!(exhaust(&arena.scope_guard()), 80);
    arena.set_budget(None).unwrap();
    assert_eq!(exhaust_some(&arena.scope_guard(), 100), 100);
}

fn exhaust_some(arena: &Arena, most: usize) -> usize {
    (0..most).take_while(|_| arena.try_alloc(1u64).is_ok()).count()
}

#[test]
fn refused_growth_leaves_vectors_unchanged() {
    let arena = Options::new().budget(4000).create().unwrap();
    let mut outer = ArenaVec::<u8, &Arena>::new_in(&arena);
    outer.extend_from_slice(&[1; 100]);
    arena.scope(|inner| {
        let mut own = ArenaVec::<u8, &Arena>::new_in(inner);
        while own.try_reserve_exact(1).is_ok() {
            own.push(2);
            if outer.try_reserve(1).is_ok() && outer.len() < 200 {
                outer.push(1);
            }
            assert!(arena.stats().live <= 4000);
        }
        assert!(own.iter().all(|b| *b == 2));
    });
    assert!(outer.iter().all(|b| *b == 1));
}

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
