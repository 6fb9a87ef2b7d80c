//! The outer arena grows, memory is used again, statistics are whole.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

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
    let mut random = Random(seed);
    for _ in 0..rounds {
        let mut outer = Counting::of(arena, 3);
        {
            let mut guards: Vec<(Scope<'_>, u64, Vec<*const u64>)> = vec![];
            for step in 0..if MIRI { 12 } else { 30 } {
                outer.push(random.below(20));
                match random.below(4) {
                    0 => guards.push((arena.scope_guard(), step, vec![])),
                    1 if !guards.is_empty() => {
                        let (guard, tag, all) = guards.swap_remove(random.below(guards.len()));
                        // SAFETY: the guard is alive.
                        assert!(all.iter().all(|p| unsafe { **p } == tag));
                        drop(guard);
                    }
                    _ if !guards.is_empty() => {
                        let i = random.below(guards.len());
                        let (guard, tag, all) = &mut guards[i];
                        for _ in 0..random.below(60) {
                            all.push(guard.alloc(*tag));
                        }
                        if random.below(3) == 0 {
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
fn rounds_of_scopes_and_resets_are_bounded() {
    let rounds = |arena: &mut Arena, guards: usize| {
        let mut random = Random(11);
        let mut most = 0;
        for _ in 0..rounds(20_000) {
            let mut vector = Counting::of(arena, 0);
            for _ in 0..5 {
                let guard = arena.scope_guard();
                guard.alloc_uninit_slice::<u8>(random.below(5000));
                vector.push(random.below(50));
                if guards > 1 {
                    let second = arena.scope_guard();
                    second.alloc_uninit_slice::<u8>(random.below(5000));
                    vector.push(random.below(50));
                    drop(guard);
                }
            }
            vector.check();
            drop(vector);
            arena.reset_with(if random.below(9) == 0 { Keep::Bytes(100_000) } else { Keep::Recent });
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
