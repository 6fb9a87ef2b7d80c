//! Reports of instrumented arenas, compared with counts taken at each call.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![allow(clippy::undocumented_unsafe_blocks)]

#[path = "common/oracle.rs"]
mod oracle;

use std::collections::BTreeSet;

use oracle::{Counted, Granules, Tally, COUNTED, NON_ALLOCATING};
use proptest::prelude::*;
use proptest::test_runner::Config;
use toft::{abi, Arena, Finding, Frames, Mark, Options, Report, Scope};

const MIRI: bool = cfg!(miri);
const TAGS: [&str; 4] = ["", "world", "sound", "ai"];

fn is_short() -> bool {
    MIRI || std::env::var_os("TOFT_SHORT").is_some()
}

fn config(cases: u32) -> Config {
    Config { cases: if is_short() { 4 } else { cases }, failure_persistence: None, ..Config::default() }
}

// ---- every public function is listed ----

/// Public functions of a source file as `Type::function`; free functions as `file::function`.
fn public_functions(source: &str, file: &str) -> Vec<String> {
    let mut all = vec![];
    // The impls that enclose this line, with their indentation.
    let mut within: Vec<(usize, String)> = vec![(0, file.to_string())];
    for line in source.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text == "}" && within.len() > 1 && within.last().unwrap().0 == indent {
            within.pop();
        }
        if let Some(rest) =
            text.strip_prefix("impl").filter(|rest| rest.starts_with([' ', '<']) && !rest.ends_with('}'))
        {
            let mut depth = 0;
            // The text after the parameters of the impl, and after a trait.
            let from = rest.char_indices().find(|(_, c)| {
                depth += (*c == '<') as i32 - (*c == '>') as i32;
                depth == 0 && (*c == ' ')
            });
            let rest = &rest[from.map_or(0, |(at, _)| at)..];
            let rest = rest.rsplit(" for ").next().unwrap().trim();
            within.push((indent, rest.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_string()));
        }
        let of = &within.last().unwrap().1;
        for start in ["pub fn ", "pub unsafe fn "] {
            if let Some(rest) = text.strip_prefix(start) {
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                all.push(format!("{of}::{name}"));
            }
        }
        // Methods from the macros for all arenas; `fn name | try_name[...]` is a pair.
        let pair = text.strip_prefix("fn ").filter(|rest| rest.contains(" | try_"));
        if let Some(rest) = text.strip_prefix("$vis fn ").filter(|rest| !rest.starts_with('$')).or(pair) {
            for rest in rest.split(" | ").take(if pair.is_some() { 2 } else { 1 }) {
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                all.push(format!("Arena::{name}"));
            }
        }
    }
    all
}

fn sources() -> [(&'static str, &'static str); 11] {
    [
        ("arena", include_str!("../src/arena.rs")),
        ("scope", include_str!("../src/scope.rs")),
        ("allocate", include_str!("../src/allocate.rs")),
        ("boxed", include_str!("../src/boxed.rs")),
        ("drops", include_str!("../src/drops.rs")),
        ("cursor", include_str!("../src/cursor.rs")),
        ("promote", include_str!("../src/promote.rs")),
        ("options", include_str!("../src/options.rs")),
        ("collections", include_str!("../src/collections/mod.rs")),
        ("owner", include_str!("../src/owner.rs")),
        ("frames", include_str!("../src/frames.rs")),
    ]
}

/// Public functions that are on no list, and listed functions that do not exist.
fn unlisted(more: &str) -> (Vec<String>, Vec<&'static str>) {
    let mut there: BTreeSet<String> = BTreeSet::new();
    for (file, source) in sources() {
        there.extend(public_functions(source, file));
    }
    there.extend(public_functions(more, "allocate"));
    for source in [include_str!("../src/abi_types.rs"), include_str!("../src/dispatch.rs")] {
        let of_the_abi = public_functions(source, "abi");
        // Those that take the caller's location are private to the crate.
        there.extend(of_the_abi.into_iter().filter(|name| name.starts_with("abi::") && !name.ends_with("_by")));
    }
    let listed: BTreeSet<&str> = COUNTED.iter().map(|c| c.name).chain(NON_ALLOCATING.iter().copied()).collect();
    let new = there.iter().filter(|name| !listed.contains(&***name)).cloned().collect();
    // Of vectors and strings, only examples are counted.
    let removed = listed
        .into_iter()
        .filter(|name| !there.contains(*name) && !name.starts_with("Vec::") && !name.starts_with("String::"))
        .collect();
    (new, removed)
}

#[test]
fn every_public_function_that_allocates_is_counted() {
    let (new, removed) = unlisted("");
    assert!(new.is_empty(), "neither in COUNTED nor in NON_ALLOCATING of tests/common/oracle.rs: {new:?}");
    assert!(removed.is_empty(), "on a list of tests/common/oracle.rs, but not in the sources: {removed:?}");
    let (new, _) = unlisted("impl<'a> Arena {\n    pub fn alloc_twice<T>(&self) -> &mut T {\n}\n");
    assert_eq!(new, ["Arena::alloc_twice"]);
}

// ---- one by one ----

#[test]
fn each_call_is_reported() {
    let mut wrong = vec![];
    for Counted { name, line, call } in COUNTED {
        for n in [1, 7, 100, 3000] {
            let mut arena = Arena::new();
            arena.set_checked(true).unwrap();
            let mut tally = Tally::default();
            for _ in 0..3 {
                tally.note(*line, "", call(&arena, n));
            }
            let report = arena.report();
            let result = std::panic::catch_unwind(|| tally.check(&report, "oracle.rs"));
            if result.is_err() {
                wrong.push((name, n, report.sites));
            }
            arena.reset();
            assert_eq!(arena.findings(), [], "{name}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// ---- streams ----

/// The bytes of a vector that its arena drops: a cleanup of four words, and the vector.
const DROPPED: usize = (7 * size_of::<usize>()).next_multiple_of(8);

#[derive(Clone, Debug)]
enum Op {
    /// A call of the list.
    Call(usize, usize),
    Alloc(usize),
    Drops,
    /// Grows or shrinks the newest allocation.
    Resize(usize),
    Free,
    Cursor(usize),
    Tag(usize),
    Untag,
    Phase(usize),
    Unphase,
    Open,
    Close(usize),
    Mark,
    Rewind(usize),
    Take,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (any::<usize>(), 1..300usize).prop_map(|(k, n)| Op::Call(k, n)),
        6 => prop_oneof![9 => 1..300usize, 1 => 1..20_000usize].prop_map(Op::Alloc),
        1 => Just(Op::Drops),
        2 => (1..600usize).prop_map(Op::Resize),
        1 => Just(Op::Free),
        1 => (1..30usize).prop_map(Op::Cursor),
        3 => (0..TAGS.len()).prop_map(Op::Tag),
        2 => Just(Op::Untag),
        1 => (0..2usize).prop_map(Op::Phase),
        1 => Just(Op::Unphase),
        1 => Just(Op::Open),
        1 => (0..9usize).prop_map(Op::Close),
        1 => Just(Op::Mark),
        1 => (0..9usize).prop_map(Op::Rewind),
        1 => Just(Op::Take),
    ]
}

fn rounds() -> impl Strategy<Value = Vec<Vec<Op>>> {
    prop::collection::vec(prop::collection::vec(op(), if MIRI { 1..15 } else { 1..120 }), 1..5)
}

/// Counts and bytes by site and tag are exact in a checked arena, with tags, and scopes that end in any order.
fn check_counts(rounds: &[Vec<Op>]) {
    let mut arena = Arena::new();
    arena.set_metered(true).unwrap();
    arena.set_checked(true).unwrap();
    for round in rounds {
        let mut tally = Tally::default();
        {
            // Each scope, with its previous tag.
            let mut scopes: Vec<(Scope<'_>, usize)> = vec![];
            let (mut tags, mut now): (Vec<toft::Tag<'_>>, Vec<usize>) = (vec![], vec![0]);
            for op in round {
                let ground = *now.last().unwrap();
                let (at, tag) = scopes.last().map_or((&arena, ground), |(scope, tag)| (&**scope, *tag));
                match op {
                    Op::Call(k, n) => {
                        let call = &COUNTED[k % COUNTED.len()];
                        tally.note(call.line, TAGS[tag], (call.call)(at, *n));
                    }
                    Op::Alloc(n) => {
                        let call = COUNTED.iter().find(|c| c.name == "Arena::alloc_layout").unwrap();
                        tally.note(call.line, TAGS[ground], (call.call)(&arena, *n));
                        // outside of the scopes
                    }
                    Op::Tag(k) if *k != 0 => {
                        tags.push(arena.tag(&format!("/{}", TAGS[*k])));
                        now.push(*k);
                    }
                    Op::Untag => {
                        if let Some(tag) = tags.pop() {
                            drop(tag);
                            now.pop();
                        }
                    }
                    Op::Open if scopes.len() < 4 => scopes.push((arena.scope_guard(), ground)),
                    Op::Close(k) if !scopes.is_empty() => drop(scopes.swap_remove(k % scopes.len())),
                    Op::Take => {
                        tally.check(&arena.take_report(), "oracle.rs");
                        tally = Tally::default();
                    }
                    _ => {}
                }
            }
            tally.check(&arena.report(), "oracle.rs");
            while tags.pop().is_some() {}
        }
        tally.check(&arena.take_report(), "oracle.rs");
        arena.reset();
        assert_eq!((arena.findings(), arena.stats().live), (vec![], 0));
        assert!(arena.report().tags.iter().all(|tag| tag.live == 0));
    }
}

struct Place<'a> {
    /// `None`: the arena itself.
    scope: Option<Scope<'a>>,
    granules: Granules,
    tag: usize,
    marks: Vec<(Mark, usize)>,
    newest: Option<(*mut u8, usize)>,
}

#[derive(Default, Clone, PartialEq, Debug)]
struct Spent {
    allocated: u64,
    by_tag: [u64; 4],
}

/// Bytes by tag and phase are exact; budgets of tags hold to the byte; a soft budget gives one finding, at the right
/// call.
///
/// Dedicated blocks are not freed early here: by section 6 of the ABI's specification their bytes are then subtracted
/// from the newest ones, whatever their tag.
fn check_bytes(rounds: &[Vec<Op>], budgets: [Option<u64>; 4], soft: Option<u64>) {
    let mut arena = Arena::new();
    arena.set_metered(true).unwrap();
    for (tag, budget) in TAGS.iter().zip(budgets).skip(1) {
        arena.set_tag_budget(tag, budget).unwrap();
    }
    arena.set_soft_budget(soft).unwrap();
    let mut spent = Spent::default();
    for round in rounds {
        let ground = &arena;
        let mut phases: Vec<(toft::Phase<'_>, usize, u64, u64)> = vec![];
        let mut expected = [(0u64, 0u64, 0i64); 2];
        let (mut tags, mut before): (Vec<toft::Tag<'_>>, Vec<usize>) = (vec![], vec![]);
        let mut places =
            vec![Place { scope: None, granules: Granules::default(), tag: 0, marks: vec![], newest: None }];
        let mut passed: Option<(u32, u64)> = None;
        for (step, op) in round.iter().enumerate() {
            let i = if step % 3 == 0 { 0 } else { places.len() - 1 };
            let open = places.len() > 1 && i == 0;
            let live = |places: &[Place<'_>]| places.iter().map(|p| p.granules.live()).sum::<u64>();
            let allows = |places: &[Place<'_>], more: usize| {
                let tag = places[i].tag;
                let used: u64 = places.iter().map(|p| p.granules.live_of(tag)).sum();
                budgets[tag].is_none_or(|budget| tag == 0 || used + more.next_multiple_of(8) as u64 <= budget)
            };
            let at = |places: &[Place<'_>]| -> *const Arena {
                places[i].scope.as_ref().map_or(&arena, |scope| scope) as *const Arena
            };
            macro_rules! took {
                ($bytes:expr, $line:expr) => {{
                    let (place, bytes) = (&mut places[i], $bytes);
                    place.granules.push(bytes, place.tag);
                    spent.allocated += bytes.next_multiple_of(8) as u64;
                    spent.by_tag[place.tag] += bytes.next_multiple_of(8) as u64;
                    if open {
                        place.marks.clear(); // allocations outside of the range may survive a rewind to such a mark
                    }
                    let live = live(&places);
                    if passed.is_none() && soft.is_some_and(|soft| live > soft) {
                        passed = Some(($line, live));
                    }
                }};
            }
            let a = unsafe { &*at(&places) };
            match op {
                Op::Call(_, n) | Op::Alloc(n) => {
                    let line = line!() + 1;
                    let got = a.try_alloc_uninit_slice::<u8>(*n).map(|s| s.as_mut_ptr().cast::<u8>());
                    assert_eq!(got.is_ok(), allows(&places, *n), "{op:?}");
                    if let Ok(p) = got {
                        took!(*n, line);
                        places[i].newest = Some((p, *n)).filter(|_| *n < 300 && !open);
                    }
                }
                Op::Drops if allows(&places, DROPPED) => {
                    let line = line!() + 1;
                    a.alloc_drop(vec![1u8]);
                    took!(DROPPED, line);
                    places[i].newest = None;
                }
                Op::Resize(n) => {
                    let Some((p, old)) = places[i].newest else { continue };
                    let line = line!() + 1;
                    let got = unsafe { abi::resize(a.as_raw(), p, old, *n, 8) };
                    let more = n.next_multiple_of(8) as i64 - old.next_multiple_of(8) as i64;
                    match got {
                        None => assert!(!allows(&places, *n) && more > 0),
                        Some(q) if q.as_ptr() == p => {
                            if more > 0 {
                                assert!(allows(&places, more as usize));
                                took!(more as usize, line);
                            } else if !open {
                                places[i].granules.pop(-more as usize);
                            } else {
                                continue;
                            }
                        }
                        Some(_) => {
                            assert!(more > 0 && allows(&places, *n));
                            took!(*n, line);
                        }
                    }
                    if let Some(q) = got {
                        places[i].newest = Some((q.as_ptr(), *n)).filter(|_| !open);
                    }
                }
                Op::Free if !open => {
                    let Some((p, n)) = places[i].newest.take() else { continue };
                    unsafe { abi::free(a.as_raw(), p, n) };
                    places[i].granules.pop(n);
                }
                Op::Cursor(n) if !open => {
                    let mut cursor = a.cursor();
                    let mut made = 0;
                    while made < *n && cursor.try_alloc(7u64).is_ok() {
                        made += 1;
                    }
                    drop(cursor);
                    for k in 0..made {
                        assert!(allows(&places, 8), "{k} of {made}");
                        took!(8, 0);
                    }
                    assert!(made == *n || !allows(&places, 8), "{made} of {n}");
                    if made != 0 {
                        places[i].newest = None;
                    }
                }
                Op::Tag(k) if *k != 0 => {
                    tags.push(ground.tag(&format!("/{}", TAGS[*k])));
                    before.push(std::mem::replace(&mut places[0].tag, *k));
                }
                Op::Untag => {
                    if let Some(tag) = tags.pop() {
                        drop(tag);
                        places[0].tag = before.pop().unwrap();
                    }
                }
                Op::Phase(k) if phases.len() < 4 => {
                    let phase = ground.phase(["load", "draw"][*k]);
                    phases.push((phase, *k, spent.allocated, live(&places)));
                }
                Op::Unphase => {
                    if let Some((phase, k, allocated, was)) = phases.pop() {
                        drop(phase);
                        let e = &mut expected[k];
                        *e = (e.0 + 1, e.1 + spent.allocated - allocated, e.2 + live(&places) as i64 - was as i64);
                    }
                }
                Op::Open if places.len() < 5 => {
                    let scope = ground.scope_guard();
                    let tag = places[0].tag;
                    places[0].newest = None;
                    let (granules, marks) = (Granules::default(), vec![]);
                    places.push(Place { scope: Some(scope), granules, tag, marks, newest: None });
                }
                Op::Close(k) if places.len() > 1 => drop(places.swap_remove(1 + k % (places.len() - 1))),
                Op::Mark if !open => {
                    let mark = (a.mark(), places[i].granules.tags.len());
                    places[i].marks.push(mark);
                    places[i].newest = None;
                }
                Op::Rewind(k) if !open && !places[i].marks.is_empty() => {
                    let k = k % places[i].marks.len();
                    let (mark, n) = places[i].marks[k];
                    unsafe { a.rewind(mark) }.unwrap();
                    let place = &mut places[i];
                    place.granules.tags.truncate(n);
                    place.marks.truncate(k + 1);
                    place.newest = None;
                }
                Op::Take => {
                    let report = arena.report();
                    check_tags(&report, &places, &spent);
                }
                _ => {}
            }
        }
        while let Some((phase, k, allocated, was)) = phases.pop() {
            drop(phase);
            let live = places.iter().map(|p| p.granules.live()).sum::<u64>();
            let e = &mut expected[k];
            *e = (e.0 + 1, e.1 + spent.allocated - allocated, e.2 + live as i64 - was as i64);
        }
        let report = arena.take_report();
        check_tags(&report, &places, &spent);
        for (name, (entries, allocated, kept)) in ["load", "draw"].iter().zip(expected) {
            let reported = report.phases.iter().find(|phase| phase.name == *name);
            let reported = reported.map_or((0, 0, 0), |phase| (phase.entries, phase.allocated, phase.kept));
            assert_eq!(reported, (entries, allocated, kept), "phase {name}");
        }
        let found: Vec<(u32, u64)> = arena
            .findings()
            .iter()
            .map(|finding| match finding {
                Finding::OverBudget { site, live, .. } => (site.line, *live),
                other => panic!("{other}"),
            })
            .collect();
        match passed {
            // A claimed range counts when it is given, or another is claimed: which call exceeded the budget is not
            // exact to the byte.
            Some((0, _)) => assert!(found.len() <= 1, "{found:?}"),
            // A cursor may report it at a later call.
            Some(passed) => assert_eq!(found, [passed]),
            None => assert_eq!(found, []),
        }
        spent = Spent::default();
        while tags.pop().is_some() {}
        drop((tags, phases, places));
        arena.reset();
        assert!(arena.report().tags.iter().all(|tag| tag.live == 0 && tag.allocated == 0));
    }
}

fn check_tags(report: &Report, places: &[Place<'_>], spent: &Spent) {
    for (k, name) in TAGS.iter().enumerate() {
        let reported = report.tags.iter().find(|tag| tag.name == *name);
        let live: u64 = places.iter().map(|place| place.granules.live_of(k)).sum();
        let reported = reported.map_or((0, 0), |tag| (tag.live, tag.allocated));
        assert_eq!(reported, (live, spent.by_tag[k]), "tag {name:?}: live and allocated");
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn counts_by_site_and_tag_are_exact(rounds in rounds()) {
        check_counts(&rounds);
    }

    #[test]
    fn bytes_by_tag_and_phase_are_exact(rounds in rounds()) {
        check_bytes(&rounds, [None; 4], None);
    }

    #[test]
    fn budgets_of_tags_hold_to_the_byte(rounds in rounds(), a in 0..4000u64, b in 0..20_000u64) {
        check_bytes(&rounds, [None, Some(a), Some(b), None], None);
    }

    #[test]
    fn a_soft_budget_is_reported_once_a_round(rounds in rounds(), soft in 0..20_000u64) {
        check_bytes(&rounds, [None; 4], Some(soft));
    }

    #[test]
    fn budgets_of_tags_and_soft_budgets_together(rounds in rounds(), a in 0..8000u64, soft in 0..20_000u64) {
        check_bytes(&rounds, [None, Some(a), None, Some(a / 2)], Some(soft));
    }
}

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

// ---- samples ----

fn count_at(report: &Report, line: u32) -> (f64, f64) {
    let sites = report.sites.iter().filter(|site| site.site.line == line);
    sites.fold((0.0, 0.0), |sum, site| (sum.0 + site.count as f64, sum.1 + site.bytes as f64))
}

/// Within six deviations of `hits` samples; rounding to bytes adds an error for short periods.
#[track_caller]
fn about(reported: f64, expected: f64, hits: f64, what: &str) {
    let bound = (6.0 / hits.sqrt()).max(0.02);
    assert!(
        (reported - expected).abs() <= expected * bound,
        "{what}: reported {reported}, expected {expected}, within {bound}"
    );
}

#[test]
fn estimates_are_accurate_for_each_size_and_period() {
    let n = if MIRI { 2000 } else { 100_000u64 };
    for period in [8, 64, 1000, 4096, 65_536] {
        let mut arena = Arena::new();
        arena.set_sampling(period).unwrap();
        let lines = [6, 7, 8].map(|below| line!() + below);
        // A repeating pattern: 32, 8 and 64 + 8 bytes.
        for i in 0..n {
            if i % 1000 == 999 {
                arena.reset();
            }
            arena.alloc([i; 4]);
            arena.alloc([i as u8; 3]);
            arena.alloc([i; 9]);
        }
        let report = arena.report();
        for (line, expected, charge) in [(lines[0], 32, 32), (lines[1], 3, 8), (lines[2], 72, 72)] {
            let (count, bytes) = count_at(&report, line);
            let hits = (n * charge) as f64 / period as f64;
            about(count, n as f64, hits, &format!("count of {expected}, period {period}"));
            about(bytes, (n * expected) as f64, hits, &format!("bytes of {expected}, period {period}"));
        }
    }
}

#[test]
fn estimates_are_accurate_for_the_shortest_periods() {
    let most = if is_short() { 20_000 } else { 100_000u64 };
    let n = if MIRI { 10 } else { most };
    for period in [1, 2, 4] {
        let mut arena = Arena::new();
        arena.set_sampling(period).unwrap();
        let line = line!() + 5;
        for i in 0..n {
            if i % 1000 == 999 {
                arena.reset();
            }
            arena.alloc([i; 16]);
        }
        let (count, bytes) = count_at(&arena.report(), line);
        let bound = n as f64 * if MIRI { 0.5 } else { 0.005 };
        assert!((count - n as f64).abs() < bound && (bytes / 128.0 - n as f64).abs() < bound, "{period}: {count}");
    }
}

#[test]
fn an_allocation_after_a_large_one_is_sampled_by_its_size() {
    let (n, period) = (if MIRI { 20 } else { 20_000u64 }, 4096);
    let mut arena = Arena::new();
    arena.set_sampling(period).unwrap();
    let line = line!() + 4;
    for i in 0..n {
        arena.reset();
        arena.try_alloc_uninit_slice::<u8>(2 << 20).unwrap();
        arena.alloc(i);
    }
    about(count_at(&arena.report(), line).0, n as f64, (n * 8) as f64 / period as f64, "small ones");
}

#[test]
fn each_site_of_a_repeating_program_is_sampled() {
    let rounds = if MIRI { 40 } else { 20_000u64 };
    for period in [512, 4096] {
        // Rounds of exactly a period, of half a period, and less.
        for words in [8, period / 16, period / 8] {
            let mut arena = Arena::new();
            arena.set_sampling(period).unwrap();
            let line = line!() + 4;
            for _ in 0..rounds {
                arena.reset();
                for i in 0..words {
                    arena.alloc(i);
                }
            }
            let expected = (rounds * words) as f64;
            about(count_at(&arena.report(), line).0, expected, expected * 8.0 / period as f64, "resets");
        }
    }
}

#[test]
fn scopes_are_sampled_like_the_arena_around_them() {
    let rounds = if MIRI { 40 } else { 20_000u64 };
    for period in [512, 4096] {
        for words in [8, period / 16, period / 8] {
            let arena = Arena::new();
            arena.set_sampling(period).unwrap();
            let line = line!() + 4;
            for _ in 0..rounds {
                arena.scope(|inner| {
                    for i in 0..words {
                        inner.alloc(i);
                    }
                });
            }
            let expected = (rounds * words) as f64;
            about(count_at(&arena.report(), line).0, expected, expected * 8.0 / period as f64, "scopes");
        }
    }
}

#[test]
fn sibling_scopes_are_both_sampled() {
    let rounds = if MIRI { 150 } else { 100_000u64 };
    let arena = Arena::new();
    arena.set_sampling(1024).unwrap();
    let below = line!();
    for i in 0..rounds {
        let (one, other) = (arena.scope_guard(), arena.scope_guard());
        one.alloc([i; 4]);
        if i % 2 == 0 {
            other.alloc([i; 2]);
        }
        arena.alloc(i); // outside of both
        if i % 3 == 0 {
            drop((one, other));
        } else {
            drop((other, one));
        }
        arena.scope(|inner| inner.alloc([i; 3]).len());
    }
    let report = arena.report();
    for (line, times, size) in [(3, rounds, 32), (5, rounds / 2, 16), (7, rounds, 8), (13, rounds, 24)] {
        let reported = count_at(&report, below + line).0;
        about(reported, times as f64, (times * size) as f64 / 1024.0, &format!("{size} bytes"));
    }
}

#[test]
fn empty_scopes_do_not_change_the_estimate() {
    let rounds = if MIRI { 150 } else { 100_000u64 };
    let (beside, around) = (Arena::new(), Arena::new());
    beside.set_sampling(1024).unwrap();
    around.set_sampling(1024).unwrap();
    let below = line!();
    for i in 0..rounds {
        let (one, other) = (beside.scope_guard(), beside.scope_guard());
        one.alloc([i; 4]);
        drop(one);
        drop(other);
        let scope = around.scope_guard();
        around.alloc([i; 4]);
        drop(scope);
    }
    for (arena, line) in [(&beside, 3), (&around, 7)] {
        let reported = count_at(&arena.report(), below + line).0;
        about(reported, rounds as f64, (rounds * 32) as f64 / 1024.0, "beside and around");
    }
}

#[test]
fn rewound_allocations_are_sampled_too() {
    let rounds = if MIRI { 300 } else { 200_000u64 };
    let arena = Arena::new();
    arena.set_sampling(1024).unwrap();
    let mark = arena.mark();
    let line = line!() + 2;
    for i in 0..rounds {
        arena.alloc([i; 2]);
        unsafe { arena.rewind(mark) }.unwrap();
    }
    about(count_at(&arena.report(), line).0, rounds as f64, rounds as f64 * 16.0 / 1024.0, "rewound");
}

// ---- frames ----

#[test]
fn summaries_and_snapshots_are_the_sums_of_the_threads() {
    let (threads, rounds) = if MIRI { (3, 2) } else { (8, 20) };
    let mut frames = Frames::new();
    frames.set_metered(true).unwrap();
    frames.set_checked(true).unwrap();
    for round in 0..rounds {
        let tallies: Vec<(Tally, u64)> = std::thread::scope(|scope| {
            let work = |k: usize| {
                let frames = &frames;
                move || {
                    let (arena, mut tally) = (oracle::here(frames), Tally::default());
                    let _phase = arena.phase("work");
                    let before = arena.stats().allocated;
                    for i in 0..50 {
                        let name = TAGS[(i + k) % TAGS.len()];
                        let _tag = arena.tag(name);
                        let call = &COUNTED[(i * 7 + k * 3 + round) % COUNTED.len()];
                        tally.note(call.line, name, (call.call)(arena, i + 1));
                    }
                    (tally, arena.stats().allocated - before)
                }
            };
            let all: Vec<_> = (0..threads).map(|k| scope.spawn(work(k))).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut sum = Tally::default();
        for (tally, _) in &tallies {
            sum.add(tally);
        }
        let snapshot = frames.snapshot();
        let mut report = Report::default();
        snapshot.threads.iter().for_each(|thread| report.add(&thread.report));
        sum.check(&report, "oracle.rs");
        assert_eq!(snapshot.frame, round as u64);
        assert_eq!(snapshot.last.map(|last| last.frame), (round > 0).then_some(round as u64));

        frames.advance();
        let summary = frames.summary().unwrap();
        sum.check(&summary.report, "oracle.rs");
        assert_eq!((summary.frame, summary.findings.len()), (round as u64 + 1, 0));
        assert_eq!(summary.report.stats.live, report.stats.live);
        let by_tag: u64 = summary.report.tags.iter().map(|tag| tag.live).sum();
        assert_eq!(by_tag, summary.report.stats.live);
        assert_eq!(summary.report.phases.len(), 1);
        assert_eq!(summary.report.phases[0].entries, threads as u64);
        let now = frames.snapshot();
        assert!(now.threads.iter().all(|thread| thread.report.stats.live == 0 && thread.report.count() == 0));
    }
}

#[test]
fn a_sum_of_no_arenas_has_no_budget() {
    let mut frames = Frames::new();
    frames.set_metered(true).unwrap();
    frames.advance();
    assert_eq!(frames.summary().unwrap().report.stats.budget, u64::MAX);
    let (small, large) = (Options::new().budget(8).create().unwrap(), Options::new().budget(80).create().unwrap());
    let mut sum = Report::default();
    for (report, budget) in [(small.report(), 8), (large.report(), 88), (Report::default(), 88)] {
        sum.add(&report);
        assert_eq!(sum.stats.budget, budget);
    }
    sum.add(&Arena::new().report());
    assert_eq!(sum.stats.budget, u64::MAX);
}

#[cfg(feature = "serde")]
#[test]
fn json_has_the_same_values() {
    let mut frames = Frames::new();
    frames.set_metered(true).unwrap();
    frames.set_checked(true).unwrap();
    for _ in 0..2 {
        let arena = frames.here();
        let _phase = arena.phase("load");
        let _tag = arena.tag("a \"tag\" of\nlines");
        arena.alloc(String::from("lost"));
        arena.alloc_slice_fill(100, 7u16);
        drop((_tag, _phase));
        frames.advance();
    }
    frames.here().alloc(1u64);
    let snapshot = frames.snapshot();
    let json: serde_json::Value = serde_json::from_str(&serde_json::to_string(&snapshot).unwrap()).unwrap();
    let same = |report: &Report, json: &serde_json::Value| {
        let s = &report.stats;
        let stats = [s.live, s.allocated, s.peak, s.budget, s.reserved, s.wasted, s.blocks, s.source_calls];
        let names = ["live", "allocated", "peak", "budget", "reserved", "wasted", "blocks", "source_calls"];
        for (value, name) in stats.iter().zip(names) {
            let value = (*value != u64::MAX).then_some(*value); // no budget is null
            assert_eq!(json["stats"][name], serde_json::json!(value), "{name}");
        }
        assert_eq!(json["tags"].as_array().unwrap().len(), report.tags.len());
        for (tag, json) in report.tags.iter().zip(json["tags"].as_array().unwrap()) {
            assert_eq!((json["name"].as_str(), json["number"].as_u64()), (Some(&*tag.name), tag.number));
            assert_eq!((&json["live"], &json["allocated"]), (&tag.live.into(), &tag.allocated.into()));
            assert_eq!(json["budget"], serde_json::json!((tag.budget != u64::MAX).then_some(tag.budget)));
        }
        assert_eq!(json["sites"].as_array().unwrap().len(), report.sites.len());
        for (site, json) in report.sites.iter().zip(json["sites"].as_array().unwrap()) {
            assert_eq!(
                (json["site"]["file"].as_str(), &json["site"]["line"]),
                (Some(&*site.site.file), &site.site.line.into())
            );
            assert_eq!(
                (&json["count"], &json["bytes"], json["tag"].as_str()),
                (&site.count.into(), &site.bytes.into(), Some(&*site.tag))
            );
        }
        for (phase, json) in report.phases.iter().zip(json["phases"].as_array().unwrap()) {
            assert_eq!((json["name"].as_str(), &json["entries"]), (Some(&*phase.name), &phase.entries.into()));
            assert_eq!((&json["allocated"], &json["kept"]), (&phase.allocated.into(), &phase.kept.into()));
        }
    };
    assert_eq!((&json["frame"], json["threads"].as_array().unwrap().len()), (&2.into(), snapshot.threads.len()));
    for (thread, json) in snapshot.threads.iter().zip(json["threads"].as_array().unwrap()) {
        assert_eq!(json["name"].as_str(), thread.name.as_deref());
        same(&thread.report, &json["report"]);
    }
    let last = snapshot.last.as_ref().unwrap();
    assert_eq!(
        (last.report.count(), last.report.bytes(), last.findings.len()),
        (2, 200 + size_of::<String>() as u64, 1)
    );
    same(&last.report, &json["last"]["report"]);
    assert_eq!(json["last"]["findings"][0]["Leak"]["size"], size_of::<String>());
}
