//! Phases and tags.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

// ---- phases of scopes ----

#[test]
fn a_phase_of_a_scope_counts_what_is_in_it() {
    let arena = Arena::new();
    arena.set_metered(true).unwrap();
    let (one, other) = (arena.scope_guard(), arena.scope_guard());
    other.alloc([0u64; 100]);
    let phase = one.phase("one");
    one.alloc(1u64);
    one.scope(|inner| inner.alloc([0u64; 2]).len());
    other.alloc([0u64; 1000]);
    drop(other);
    drop(phase);
    drop(one);
    let report = arena.report();
    assert_eq!((report.phases[0].entries, report.phases[0].allocated, report.phases[0].kept), (1, 24, 8));
}

#[test]
fn phases_within_phases_count_for_both() {
    let arena = Arena::new();
    arena.set_metered(true).unwrap();
    let outer = arena.phase("outer");
    arena.alloc(1u64);
    let inner = arena.phase("inner");
    let mark = arena.mark();
    arena.alloc([0u64; 10]);
    unsafe { arena.rewind(mark) }.unwrap();
    drop(outer); // in the wrong order
    arena.alloc([0u64; 3]);
    drop(inner);
    let reported: Vec<_> = arena.report().phases.iter().map(|p| (p.name.clone(), p.allocated, p.kept)).collect();
    assert_eq!(reported, [("outer".into(), 88, 8), ("inner".into(), 104, 24)]);
}

// ---- tags by number and by name ----

#[test]
fn allocations_in_nested_scopes_count_at_once_and_permanently() {
    let arena = Arena::new();
    arena.set_metered(true).unwrap();
    let phase = arena.phase("all");
    let reported = || {
        let report = arena.report();
        assert_eq!(report.tags[0].allocated, report.stats.allocated);
        report.stats.allocated
    };
    arena.alloc(1u64);
    arena.scope(|outer| {
        outer.alloc([0u8; 16]);
        outer.scope(|inner| {
            inner.alloc([0u8; 32]);
            assert_eq!(reported(), 56);
        });
        assert_eq!(reported(), 56);
        outer.scope(|inner| inner.alloc([0u8; 64]).len());
        assert_eq!((reported(), outer.stats().allocated), (120, 112));
        assert_eq!(arena.report().tags[0].live, 24);
    });
    assert_eq!(reported(), 120);
    arena.scope(|inner| {
        inner.scope(|inner| {
            inner.alloc([0u8; 8]);
            assert_eq!(arena.take_report().tags[0].allocated, 128);
        });
    });
    assert_eq!(arena.take_report().tags[0].allocated, 0);
    drop(phase);
    assert_eq!((arena.stats().allocated, arena.report().phases[0].allocated), (128, 128));
}

#[test]
fn allocations_of_a_cursor_have_the_tag_of_its_creation() {
    let arena = Arena::new();
    arena.set_metered(true).unwrap();
    arena.set_tag_budget("a", Some(20_000)).unwrap();
    arena.set_tag_budget("b", Some(64)).unwrap();
    let reported = || -> Vec<(u64, u64)> {
        let tags = arena.report().tags;
        ["", "a", "b"]
            .map(|name| tags.iter().find(|tag| tag.name == name).unwrap())
            .map(|t| (t.live, t.allocated))
            .into()
    };
    let a = arena.tag("a");
    let mut cursor = arena.cursor();
    let b = arena.tag("/b");
    for _ in 0..500 {
        assert!(cursor.try_alloc([0u64; 5]).is_ok()); // also where it needs another range
    }
    assert!(cursor.try_alloc(1u8).is_err());
    assert!(arena.try_alloc([0u64; 8]).is_ok() && arena.try_alloc(1u8).is_err());
    drop(cursor);
    assert_eq!(reported(), [(0, 0), (20_000, 20_000), (64, 64)]);
    drop((b, a));
    // A cursor without further ranges.
    arena.set_budget(Some(arena.stats().live + 1000)).unwrap();
    arena.on_refusal(|_| None).unwrap();
    let mut cursor = arena.cursor();
    cursor.alloc([0u64; 10]);
    let a = arena.tag("a");
    assert!(cursor.try_alloc([0u64; 200]).is_err());
    drop(a);
    drop(cursor);
    assert_eq!(reported(), [(80, 80), (20_000, 20_000), (64, 64)]);
}

#[test]
fn untagged_is_the_first_tag_and_numbers_are_distinct() {
    let arenas = [Arena::new(), Arena::new()];
    for (k, arena) in arenas.iter().enumerate() {
        // As other languages do.
        let set = |number: u64, name: &str| unsafe {
            let head = arena.as_raw().as_ptr();
            ((*(*head).ops.get()).set)(head, abi::SET_TAG, number, name.as_ptr().cast(), name.len())
        };
        for number in [5, 6, 0] {
            assert_eq!(set(number, ""), 0);
            arena.alloc_slice_fill(number as usize * 8 + 8, k as u8);
        }
        assert_eq!(set(7, "seven"), 0);
        arena.alloc(7u64);
        assert_eq!(set(0, ""), 0);
        drop(arena.tag("seven"));
    }
    let mut report = arenas[0].report();
    report.add(&arenas[1].report());
    let reported: Vec<_> = report.tags.iter().map(|tag| (&*tag.name, tag.number, tag.live)).collect();
    assert_eq!(reported, [("", Some(0), 16), ("", Some(5), 96), ("", Some(6), 112), ("seven", Some(7), 16)]);
    // The empty name means no tag.
    let tag = arenas[0].tag("");
    arenas[0].alloc(1u64);
    drop(tag);
    assert_eq!((arenas[0].report().tags.len(), arenas[0].report().tags[0].live), (4, 16));
}

// ---- tags within tags, and blocks of their own ----

#[test]
fn nested_tags_are_paths() {
    let mut arena = Arena::new();
    arena.set_metered(true).unwrap();
    let level = arena.tag("level");
    let sound = arena.tag("sound");
    arena.alloc([0u64; 2]);
    let deep = arena.tag("a/b");
    arena.alloc([0u64; 3]);
    let up = arena.tag("/level");
    arena.alloc([0u64; 4]);
    let same = arena.tag("");
    arena.alloc([0u64; 5]);
    let none = arena.tag("/");
    arena.alloc([0u64; 6]);
    drop((none, same, up, deep));
    arena.scope(|inner| {
        let _tag = inner.tag("scope");
        inner.alloc(1u64);
        assert_eq!(inner.report().tags.iter().find(|tag| tag.name == "level/sound/scope").map(|tag| tag.live), Some(8));
    });
    drop((sound, level));
    arena.set_tag_budget("/level", Some(9 * 8)).unwrap();
    let level = arena.tag("level");
    assert!(arena.try_alloc(1u64).is_err());
    drop(level);
    let report = arena.report();
    let reported: Vec<_> = report.tags.iter().map(|tag| (&*tag.name, tag.live)).collect();
    assert_eq!(
        reported,
        [("", 48), ("level", 72), ("level/sound", 16), ("level/sound/a/b", 24), ("level/sound/scope", 0)]
    );
    arena.reset();
    assert!(arena.report().tags.iter().all(|tag| tag.live == 0));
}

#[test]
fn dedicated_blocks_are_subtracted_from_their_tag() {
    let arena = Arena::new();
    let live = |name| arena.report().tags.iter().find(|tag| tag.name == name).map_or(0, |tag| tag.live);
    let bytes = |n: usize| arena.alloc_uninit_slice::<u8>(n).as_mut_ptr().cast::<u8>();
    bytes(700_000); // before the arena is metered: no tag
    arena.set_metered(true).unwrap();
    let big = arena.tag("big");
    let p = bytes(1_000_000);
    drop(big);
    let small = arena.tag("small");
    bytes(100);
    // The new bytes belong to the tag at the time of the resize.
    let p = unsafe { abi::resize(arena.as_raw(), p, 1_000_000, 2_000_000, 8) }.unwrap();
    assert_eq!((live("big"), live("small"), live("")), (0, 2_000_104, 700_000));
    drop(small);
    bytes(8);
    unsafe { abi::free(arena.as_raw(), p.as_ptr(), 2_000_000) };
    assert_eq!((live("big"), live("small"), live("")), (0, 104, 700_008));
    arena.set_metered(false).unwrap();
    arena.set_metered(true).unwrap();
    assert_eq!((live("small"), live("")), (0, 700_112));
}
