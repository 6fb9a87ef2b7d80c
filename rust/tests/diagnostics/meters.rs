//! Budgets of tags, soft budgets and reports.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn a_tags_budget_holds_in_an_arena_that_is_only_metered() {
    let arena = Arena::new();
    arena.set_checked(true).unwrap();
    arena.set_tag_budget("", Some(0)).unwrap();
    assert!(arena.try_alloc(1u8).is_ok());
    arena.set_metered(true).unwrap();
    assert!(arena.try_alloc(1u8).is_err());
    arena.set_metered(false).unwrap();
    assert!(arena.try_alloc(1u8).is_ok());
}

#[test]
fn settings_of_a_scope_hold_in_sibling_and_outer_scopes() {
    let arena = Arena::new();
    arena.set_metered(true).unwrap();
    let (one, other) = (arena.scope_guard(), arena.scope_guard());
    let within = one.scope_guard();
    other.set_tag_budget("", Some(16)).unwrap();
    assert!(within.try_alloc([0u8; 24]).is_err() && arena.try_alloc([0u8; 24]).is_err());
    assert!(within.try_alloc([0u8; 16]).is_ok() && other.try_alloc(1u8).is_err());
    other.set_tag_budget("", None).unwrap();
    other.set_soft_budget(Some(100)).unwrap();
    within.alloc([0u8; 100]);
    drop(within);
    drop((one, other));
    assert!(matches!(arena.findings()[..], [Finding::OverBudget { live: 120, budget: 100, .. }]));
}

/// Neither the reset of a scope nor a trim ends a round.
#[test]
fn a_soft_budget_is_reported_once_between_resets() {
    let mut arena = Arena::new();
    for _ in 0..3 {
        arena.alloc([0u8; 20_000]);
        arena.reset(); // keeps a block, which the trim returns
    }
    arena.set_soft_budget(Some(100)).unwrap();
    for round in 0..2 {
        for reported in [1, 0, 0] {
            let mut scope = arena.scope_guard();
            scope.alloc([0u8; 200]);
            scope.reset();
            scope.alloc([0u8; 200]);
            drop(scope);
            assert_eq!(arena.findings().len(), reported, "round {round}");
            arena.trim(0);
        }
        arena.reset();
    }
}

/// Allocations older than the meter belong to no tag, also when they are freed.
#[test]
fn allocations_older_than_the_meter_have_no_tag() {
    let arena = Arena::new();
    let p = arena.alloc_layout(layout(1 << 20, 8)).as_ptr();
    arena.set_metered(true).unwrap();
    let _tag = arena.tag("mine");
    arena.alloc([0u8; 1000]);
    unsafe { abi::free(arena.as_raw(), p, 1 << 20) };
    assert_eq!(arena.stats().live, 1000);
    let live = |name| arena.report().tags.iter().find(|tag| tag.name == name).map(|tag| tag.live);
    assert_eq!((live(""), live("mine")), (Some(0), Some(1000)));
}

#[test]
fn a_report_has_tags_while_the_arena_is_metered_and_each_phase_once() {
    let arena = checked();
    assert!(arena.report().tags.is_empty());
    arena.set_metered(true).unwrap();
    for _ in 0..2 {
        let _phase = arena.phase("load");
        arena.alloc(1u64);
    }
    let report = arena.report();
    assert_eq!((report.tags.len(), report.phases.len(), report.phases[0].entries), (1, 1, 2));
    arena.set_metered(false).unwrap();
    assert!(arena.report().tags.is_empty());
}

#[test]
fn findings_of_a_scope_are_reported_by_that_scope() {
    let captured = Arc::new(());
    let mut arena = Arena::new();
    for round in 0..2 {
        let scope = arena.scope_guard();
        scope.set_metered(true).unwrap();
        scope.set_tag_budget("", Some(16)).unwrap();
        assert!((0..3).map(|i| scope.try_alloc(i as u64).is_ok()).eq([true, true, false]));
        scope.set_tag_budget("", None).unwrap();
        scope.set_soft_budget(Some(100)).unwrap();
        let kept = captured.clone();
        scope.on_refusal(move |_| Arc::into_inner(kept.clone()).map(|()| 1)).unwrap();
        arena.alloc([0u8; 100]); // of the outer arena
        scope.scope(|inner| inner.alloc([0u8; 96]).len());
        let found = scope.findings();
        assert!(matches!(found[..], [Finding::OverBudget { live: 112, budget: 100, .. }]), "{found:?}");
        drop(scope);
        assert_eq!((Arc::strong_count(&captured), arena.findings()), (1, vec![]), "{round}");
        arena.set_metered(true).unwrap(); // metered when the next scope begins
        arena.set_metered(false).unwrap();
    }
    arena.reset();
}
