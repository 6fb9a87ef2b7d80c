//! Lists with shared tails against a map of handles, and each promise of their documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[path = "common/cons_model.rs"]
mod cons_model;
#[path = "common/failing.rs"]
mod failing;
#[path = "common/ledger.rs"]
mod ledger;
#[path = "common/look.rs"]
mod look;
#[path = "common/pair.rs"]
mod pair;
#[path = "common/steps.rs"]
mod steps;

use cons_model::{play, Link, KINDS};
use failing::{Failing, Shared};
use ledger::{panics, Ledger};
use look::{out, twin, Look, Step, Twin, FEWER};
use pair::Pair;
use proptest::prelude::*;
use toft::Arena;
use toft::Heap;
use toft_pools::{Columns, ConsList, Full, Handle, Rows};

fn play_all<L: Look>(steps: &[Step]) {
    play(ConsList::<Twin, L, _>::new_in(Heap), steps);
    play(ConsList::<Twin, L, _>::fixed_in(13, Heap), steps);
    play(ConsList::<Twin, L, _>::fixed_in(0, Heap), steps);
    play(ConsList::<Twin, L, _>::new_in(&Arena::new()), steps);
    let memory = Failing::new();
    play(ConsList::<Twin, L, _>::with_capacity_in(7, Shared(&memory)), steps);
    assert_eq!(memory.bytes_out(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_play_as_the_model(steps in steps::steps(KINDS, 100)) {
        play_all::<Rows>(&steps);
    }

    #[test]
    fn columns_play_as_the_model(steps in steps::steps(KINDS, 100)) {
        play_all::<Columns>(&steps);
    }
}

#[test]
fn tails_are_shared() {
    let mut cells = ConsList::new();
    let common = cells.list(["c", "d"], None);
    let a = cells.cons("a", common);
    let b = cells.cons("b", common);
    assert_eq!(cells.len(), 4);
    assert!(cells.iter(a).eq(&["a", "c", "d"]) && cells.iter(b).eq(&["b", "c", "d"]));
    *cells.head_mut(common).unwrap() = "C";
    assert_eq!(cells.iter(a).nth(1), Some(&"C"));
    assert_eq!(cells.uncons(common).unwrap().0, "C");
    assert!(cells.iter(a).eq(&["a"]) && cells.iter(b).eq(&["b"]), "they end where the cell is gone");
    // And still when it has another value.
    let other = cells.list(["x", "y", "z"], None);
    assert!(cells.iter(a).eq(&["a"]) && cells.tail(a).is_none());
    cells.free(other);
    assert_eq!(cells.len(), 3);
}

#[test]
fn a_stale_tail_is_refused() {
    let mut cells = ConsList::new();
    let old = cells.cons(1, None);
    cells.free(old);
    assert!(panics(|| cells.cons(2, old)).is_err());
    assert!(panics(|| cells.try_cons(2, old)).is_err());
    assert!(panics(|| cells.list([2], old)).is_err());
    assert!(cells.is_empty());
    // A cell that does not exist yet could become the tail of itself.
    let list = cells.cons(3, None);
    for generation in 0..64_u64 {
        for index in 0..4 {
            let Some(forged) = Handle::from_bits(list.to_bits() & !0xFF_FFFF_FFFF | generation << 32 | index) else {
                continue;
            };
            if forged != list && !cells.contains_handle(forged) {
                assert!(panics(|| cells.cons(4, forged)).is_err());
            }
        }
    }
    assert_eq!(cells.len(), 1);
}

#[test]
fn handles_are_stale_after_clear() {
    let mut cells = ConsList::new();
    let mut old: Vec<Handle<i32>> = Vec::new();
    for round in 0..50 {
        let mut list = None;
        for n in 0..round % 7 + 1 {
            list = Some(cells.cons(n, list));
            old.extend(list);
        }
        for n in 0..round % 3 {
            let (_, tail) = cells.uncons(list).unwrap();
            list = Some(cells.cons(n, tail));
            old.extend(list);
        }
        cells.clear();
        assert!(old.iter().all(|&list| cells.head(list).is_none()));
        let probe = cells.cons(0, None);
        assert!(old.iter().all(|&list| cells.head(list).is_none()), "round {round}");
        old.push(probe);
        cells.clear();
    }
}

type Act<L> = (&'static str, fn(&mut ConsList<Twin, L>, Link));

#[test]
fn panics_of_values_leave_it_whole() {
    fn shake<L: Look>() {
        let actions: [Act<L>; 5] = [
            ("clear", |cells, _| cells.clear()),
            ("free", |cells, list| cells.free(list)),
            ("drop", |cells, _| drop(core::mem::take(cells))),
            ("clone", |cells, _| drop(cells.clone())),
            ("clone and drop", |cells, _| *cells = cells.clone()),
        ];
        for (name, action) in actions {
            for k in (0..20).step_by(FEWER) {
                for clones in [false, true] {
                    let ledger = Ledger::new();
                    let mut cells = ConsList::<Twin, L>::default();
                    let list = cells.list((0..9).map(|n| twin(&ledger, n)), None);
                    let gone = cells.cons(twin(&ledger, 10), None);
                    cells.free(gone);
                    if clones {
                        ledger.panic_at_clone(k);
                    } else {
                        ledger.panic_at_drop(k);
                    }
                    let _ = panics(|| action(&mut cells, list));
                    ledger.calm();
                    assert_eq!(ledger.live(), cells.len(), "{name} {k}");
                    let more = cells.cons(twin(&ledger, 99), None);
                    assert_eq!(cells.head(more).map(L::number), Some(99));
                    drop(cells);
                    ledger.assert_empty();
                }
            }
        }
    }
    shake::<Rows>();
    shake::<Columns>();
}

#[test]
fn an_iterator_that_panics_leaves_what_it_gave() {
    let ledger = Ledger::new();
    let mut cells = ConsList::new();
    let values = (0..5).map(|n| if n == 3 { panic!("of the iterator") } else { ledger.value(n) });
    assert!(panics(|| cells.list(values, None)).is_err());
    assert_eq!((cells.len(), ledger.live()), (3, 3));
    let mut few = ConsList::fixed(2);
    assert!(panics(|| few.list((0..5).map(|n| ledger.value(n)), None)).is_err());
    assert_eq!((few.len(), ledger.live()), (2, 5));
    drop((cells, few));
    ledger.assert_empty();
}

#[test]
fn out_of_memory_changes_nothing() {
    for k in 0.. {
        let (ledger, memory) = (Ledger::new(), Failing::after(k));
        let mut cells = ConsList::<Twin, Columns, _>::new_in(Shared(&memory));
        let (mut list, mut model) = (None, Vec::new());
        for n in 0..100 / FEWER.min(3) as i64 {
            match cells.try_cons(twin(&ledger, n), list) {
                Ok(handle) => {
                    list = Some(handle);
                    model.push(n);
                }
                Err(Full(value)) => assert_eq!(out(value), n),
            }
            assert!(cells.iter(list).map(|(_, n)| *n).eq(model.iter().rev().copied()));
        }
        drop(cells);
        ledger.assert_empty();
        assert_eq!(memory.bytes_out(), 0);
        if memory.failed.get() == 0 {
            assert!(k > 3);
            return;
        }
    }
}

#[test]
fn values_of_any_size() {
    let mut cells = ConsList::new();
    let mut list = None;
    for _ in 0..100 {
        list = Some(cells.cons((), list));
    }
    assert_eq!(cells.iter(list).count(), 100);
    cells.free(list);
    assert!(cells.is_empty());

    #[repr(align(4096))]
    struct Page(u32);
    let mut pages = ConsList::new();
    let list = pages.list((0..20).map(Page), None);
    assert!(pages.iter(list).all(|page| (page as *const Page as usize) % 4096 == 0));
    assert!(pages.iter(list).map(|page| page.0).eq(0..20));

    let mut columns: ConsList<Pair<u8, u64>, Columns> = ConsList::default();
    let list = columns.list((0..20).map(|n| Pair(n, n.into())), None);
    assert!(columns.iter(list).all(|(a, b)| u64::from(*a) == *b));
    assert!(format!("{columns:?}").contains("len: 20"));
}

#[test]
fn it_grows_while_a_scope_of_its_arena_is_open() {
    let mut arena = Arena::new();
    {
        let mut cells = ConsList::<u64, Rows, _>::new_in(&arena);
        let mut list = None;
        arena.scope(|scope| {
            let mut inner = ConsList::<u64, Rows, _>::new_in(scope);
            let mut other = None;
            for n in 0..300 {
                list = Some(cells.cons(n, list));
                other = Some(inner.cons(n, other));
            }
            assert!(inner.iter(other).copied().eq((0..300).rev()));
        });
        assert!(cells.iter(list).copied().eq((0..300).rev()));
    }
    arena.reset();
}
