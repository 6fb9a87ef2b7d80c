//! Doubly linked lists against a vector of handles, a test for each call of `LinkedList`, and for each guarantee of the
//! documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::failing::{Failing, Shared};
use crate::ledger::{panics, Ledger};
use crate::list_model::{check, play, KINDS};
use crate::look::{out, twin, Action, Look, Step, Twin, FEWER};
use crate::pair::Pair;
use proptest::prelude::*;
use toft::{Arena, Pages};
use toft::{Blocks, Heap, Memory};
use toft_pools::{CapacityError, Columns, Handle, List, Rows};

fn play_all<L: Look>(steps: &[Step]) {
    play(List::<Twin, L, _>::new_in(Heap), steps);
    play(List::<Twin, L, _>::with_capacity_in(9, Heap), steps);
    play(List::<Twin, L, _>::fixed_in(13, Heap), steps);
    play(List::<Twin, L, _>::fixed_in(0, Heap), steps);
    play(List::<Twin, L, _>::new_in(&Arena::new()), steps);
    play(List::<Twin, L, _>::new_in(Blocks(Pages::new())), steps);
    let memory = Failing::new();
    play(List::<Twin, L, _>::new_in(Shared(&memory)), steps);
    assert_eq!(memory.bytes_out(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_match_the_model(steps in crate::steps::steps(KINDS, 100)) {
        play_all::<Rows>(&steps);
    }

    #[test]
    fn columns_match_the_model(steps in crate::steps::steps(KINDS, 100)) {
        play_all::<Columns>(&steps);
    }
}

// ---- calls of LinkedList ----

#[test]
fn append() {
    let mut here = List::from(['x']);
    let mut there = List::from(['y', 'z']);
    here.append(&mut there);
    assert!(here.iter().eq(&['x', 'y', 'z']) && there.is_empty());
    here.append(&mut there);
    there.push_back('w');
    assert_eq!((here.len(), there.len()), (3, 1));
}

#[test]
fn iter() {
    let mut list: List<u32> = List::new();
    list.push_back(10);
    list.push_back(20);
    list.push_front(0);
    let mut iter = list.iter();
    assert_eq!((iter.next(), iter.next(), iter.next(), iter.next()), (Some(&0), Some(&10), Some(&20), None));
}

#[test]
fn iter_mut() {
    let mut list = List::from([0, 10, 20]);
    for n in list.iter_mut() {
        *n += 1;
    }
    assert_eq!(list, List::from([1, 11, 21]));
}

#[test]
fn is_empty_and_len() {
    let mut list = List::new();
    assert!(list.is_empty());
    list.push_front(2);
    assert_eq!((list.is_empty(), list.len()), (false, 1));
    list.push_front(1);
    list.push_back(3);
    assert_eq!(list.len(), 3);
}

#[test]
fn clear() {
    let mut list = List::from([2, 1]);
    list.clear();
    assert_eq!((list.len(), list.front()), (0, None));
    list.push_back(7);
    assert_eq!(list.front(), Some(&7));
}

#[test]
fn contains() {
    let list = List::from([0, 1, 2]);
    assert!(list.contains(&0) && !list.contains(&10));
}

#[test]
fn front_and_back() {
    let mut list = List::new();
    assert_eq!((list.front(), list.back()), (None, None));
    list.push_back(5);
    list.push_back(6);
    assert_eq!((list.front(), list.back()), (Some(&5), Some(&6)));
    *list.front_mut().unwrap() = 50;
    *list.back_mut().unwrap() = 60;
    assert!(list.iter().eq(&[50, 60]));
    list.clear();
    assert!(list.front_mut().is_none() && list.back_mut().is_none());
}

#[test]
fn push_and_pop() {
    let mut list = List::new();
    assert_eq!((list.pop_front(), list.pop_back()), (None, None));
    list.push_back(1);
    list.push_front(0);
    list.push_back(2);
    assert_eq!(
        (list.pop_front(), list.pop_back(), list.pop_front(), list.pop_front()),
        (Some(0), Some(2), Some(1), None)
    );
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn split_off() {
    let mut list = List::from(["a", "b", "c"]);
    let mut rest = list.split_off(2);
    assert_eq!((rest.pop_front(), rest.pop_front()), (Some("c"), None));
    assert!(list.split_off(2).is_empty());
    assert_eq!(list.split_off(0).len(), 2);
    assert!(list.is_empty());
    assert!(panics(|| drop(list.split_off(1))).is_err());
}

#[test]
fn retain() {
    let mut list = List::from([3, 4, 5, 6]);
    list.retain(|n| n % 2 == 0);
    assert!(list.iter().eq(&[4, 6]));
    let mut keeps = [false, true].into_iter();
    list.retain_mut(|n| {
        *n += 1;
        keeps.next().unwrap()
    });
    assert!(list.iter().eq(&[7]));
}

#[test]
fn cursors() {
    let mut list = List::from(["two", "four"]);
    let mut cursor = list.cursor_front_mut();
    cursor.insert_before("one");
    cursor.insert_after("three");
    cursor.move_next();
    assert_eq!(cursor.as_cursor().current(), Some(&"three"));
    cursor.move_next();
    cursor.move_next(); // the gap
    assert_eq!(cursor.current(), None);
    assert_eq!(cursor.handle(), None);
    assert_eq!(cursor.peek_next(), Some(&mut "one"));
    assert_eq!(cursor.remove_current(), None);
    cursor.insert_before("five");
    cursor.insert_after("zero");
    assert_eq!(cursor.peek_prev(), Some(&mut "five"));
    assert!(list.iter().eq(&["zero", "one", "two", "three", "four", "five"]));
    let mut cursor = list.cursor_back();
    let other = cursor.clone();
    cursor.move_prev();
    assert_eq!((cursor.current(), cursor.peek_next(), other.current()), (Some(&"four"), Some(&"five"), Some(&"five")));
    assert_eq!((cursor.peek_prev(), other.peek_next()), (Some(&"three"), None));
    let mut cursor = list.cursor_front_mut();
    while cursor.remove_current().is_some() {}
    assert!(list.is_empty());
    assert!(list.cursor_front().current().is_none() && list.cursor_back().peek_prev().is_none());
    list.cursor_back_mut().insert_after("again");
    assert_eq!((list.front(), list.back()), (Some(&"again"), Some(&"again")));
}

#[test]
fn compares_and_collects() {
    let mut list: List<u8> = [1, 2].into_iter().collect();
    list.extend([3]);
    list.extend(&[4]);
    assert_eq!(format!("{list:?}"), "[1, 2, 3, 4]");
    assert!(list < List::from([1, 3]) && list != List::from([1, 2, 3]) && list == list.clone());
    let mut seen = std::collections::HashSet::new();
    assert!(seen.insert(list.clone()) && !seen.insert(list.clone()));
    for n in &mut list {
        *n *= 2;
    }
    assert_eq!((&list).into_iter().sum::<u8>(), 20);
    assert_eq!(list.into_iter().rev().collect::<Vec<_>>(), [8, 6, 4, 2]);
    let columns: List<Pair<u8, u8>, Columns> = [Pair(1, 2)].into_iter().collect();
    assert_eq!(columns, columns.clone());
    assert_eq!(format!("{columns:?}"), "[(1, 2)]");
}

// ---- guarantees ----

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn panics_of_values_leave_the_list_consistent() {
    fn shake<L: Look>() {
        let actions: [Action<List<Twin, L>>; 7] = [
            ("clear", |list| list.clear()),
            ("retain", |list| L::retain_list(list, |n| n % 2 == 0)),
            ("retain with a panic", |list| {
                L::retain_list(list, |n| if n == 5 { panic!("of the closure") } else { n % 2 == 0 })
            }),
            ("into_iter", |list| drop(core::mem::take(list).into_iter().nth(3))),
            ("drop", |list| drop(core::mem::take(list))),
            ("clone", |list| drop(list.clone())),
            ("clone and drop", |list| *list = list.clone()),
        ];
        for (name, action) in actions {
            for k in (0..20).step_by(FEWER) {
                for clones in [false, true] {
                    let ledger = Ledger::new();
                    let mut list: List<Twin, L> = (4..9).map(|n| twin(&ledger, n)).collect();
                    for n in (0..4).rev() {
                        list.push_front(twin(&ledger, n));
                    }
                    if clones {
                        ledger.panic_at_clone(k);
                    } else {
                        ledger.panic_at_drop(k);
                    }
                    let _ = panics(|| action(&mut list));
                    ledger.calm();
                    let model: Vec<_> = list.handles().zip(list.iter().map(L::number)).collect();
                    assert!(model.is_sorted_by_key(|(_, n)| *n), "{name} {k}");
                    check(&mut list, &model);
                    assert_eq!(ledger.live(), model.len(), "{name} {k}");
                    list.push_back(twin(&ledger, 99));
                    list.push_front(twin(&ledger, -1));
                    drop(list);
                    ledger.assert_empty();
                }
            }
        }
    }
    shake::<Rows>();
    shake::<Columns>();
}

#[test]
fn out_of_memory_changes_nothing() {
    fn starve<L: Look>() {
        for k in 0.. {
            let (ledger, memory) = (Ledger::new(), Failing::after(k));
            let mut list = List::<Twin, L, _>::new_in(Shared(&memory));
            let mut model = Vec::new();
            for n in 0..100 / FEWER as i64 {
                match list.try_push_back(twin(&ledger, n)) {
                    Ok(handle) => model.push((handle, n)),
                    Err(CapacityError(value)) => assert_eq!(out(value), n),
                }
                check(&mut list, &model);
            }
            let _ = list.try_reserve(1000);
            check(&mut list, &model);
            drop(list);
            ledger.assert_empty();
            assert_eq!(memory.bytes_out(), 0);
            if memory.failed.get() == 0 {
                assert!(k > 3);
                return;
            }
        }
    }
    starve::<Rows>();
    starve::<Columns>();
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn fixed_lists_refuse_more_values() {
    let mut list = List::fixed(2);
    let one = list.push_back(1);
    list.push_back(2);
    assert!(panics(|| list.push_back(3)).is_err());
    assert!(panics(|| list.push_front(3)).is_err());
    assert!(panics(|| list.insert_before(one, 3)).is_err());
    assert!(panics(|| list.cursor_front_mut().insert_after(3)).is_err());
    assert!(panics(|| list.append(&mut List::from([3]))).is_err());
    assert!(list.iter().eq(&[1, 2]));
    list.remove(one);
    assert!(panics(|| list.insert_before(one, 3)).is_err(), "stale");
    assert!(panics(|| list[one]).is_err());
    assert!(List::<u8, Rows, _>::try_with_capacity_in((u32::MAX as usize).saturating_add(1), Heap).is_err());
    assert!(panics(|| List::<u8>::with_capacity(usize::MAX)).is_err());
}

#[test]
fn handles_are_stale_after_clear_and_in_other_lists() {
    let mut list = List::new();
    let mut old = Vec::new();
    for round in 0..50 {
        let handles: Vec<_> = (0..round % 7 + 1).map(|n| list.push_back(n)).collect();
        for _ in 0..round % 3 {
            let (handle, n) = (list.front_handle().unwrap(), list.pop_front().unwrap());
            old.push(handle);
            list.push_front(n);
        }
        assert!(old.iter().all(|&handle| list.get(handle).is_none()), "round {round}");
        old.extend(handles);
        old.extend(list.handles());
        list.clear();
        assert!(old.iter().all(|&handle| list.get(handle).is_none()));
    }
    let mut other = List::new();
    let theirs: Vec<_> = (0..10).map(|n| other.push_back(n)).collect();
    list.extend(0..10);
    assert!(theirs.iter().all(|&handle| list.get(handle).is_none()));
    assert!(Handle::from_bits(1 << 32 | 1 << 20).is_none_or(|handle| list.get(handle).is_none()));
}

#[test]
fn values_of_no_size_and_of_pages() {
    let mut list = List::new();
    let handles: Vec<_> = (0..100).map(|_| list.push_back(())).collect();
    assert_eq!(list.remove(handles[50]), Some(()));
    assert_eq!(list.iter().count(), 99);
    let mut columns: List<Pair<(), u64>, Columns> = List::default();
    columns.extend((0..100).map(|n| Pair((), n)));
    assert!(columns.iter().map(|(_, n)| *n).eq(0..100));

    #[repr(align(4096))]
    struct Page(u32);
    fn pages<M: Memory>(memory: M) {
        let mut list = List::<Page, Rows, M>::new_in(memory);
        for n in 0..10 {
            list.push_front(Page(n));
            assert!(list.iter().all(|page| (page as *const Page as usize) % 4096 == 0));
        }
        assert!(list.iter().rev().map(|page| page.0).eq(0..10));
    }
    pages(Heap);
    pages(Arena::new());
    pages(Blocks(Pages::new()));
}

#[test]
fn a_list_grows_while_a_scope_of_its_arena_is_open() {
    let mut arena = Arena::new();
    {
        let mut list = List::<u64, Rows, _>::new_in(&arena);
        list.extend(0..5);
        arena.scope(|scope| {
            let mut inner = List::<u64, Rows, _>::new_in(scope);
            for n in 5..300 {
                list.push_back(n);
                inner.push_front(n);
            }
            assert!(inner.iter().rev().copied().eq(5..300));
        });
        assert!(list.iter().copied().eq(0..300));
    }
    arena.reset();
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn values_may_borrow_and_go_to_threads() {
    let text = String::from("a bc def");
    let mut words: List<&str> = text.split(' ').collect();
    words.retain(|word| word.len() > 1);
    words.retain_mut(|word| word.len() > 1);
    assert!(words.contains(&"bc"));
    let moved = std::thread::scope(|scope| scope.spawn(|| words.iter().count()).join().unwrap());
    assert_eq!(moved, 2);
    fn sends<T: Send>() {}
    sends::<List<String>>();
    sends::<toft_pools::list::IterMut<'_, String>>();
    sends::<toft_pools::list::CursorMut<'_, String>>();
}

#[test]
fn values_are_dropped_in_the_lists_order() {
    use std::cell::RefCell;
    thread_local!(static SEEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    struct Noted(u8);
    impl Drop for Noted {
        fn drop(&mut self) {
            SEEN.with_borrow_mut(|seen| seen.push(self.0));
        }
    }
    let mut list = List::new();
    list.push_back(Noted(2));
    list.push_front(Noted(1));
    let last = list.push_front(Noted(3));
    list.move_to_back(last);
    drop(list);
    assert_eq!(SEEN.take(), [1, 2, 3]);
}
