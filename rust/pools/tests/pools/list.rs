//! Doubly linked lists against the model, the calls that it has no step for, and each guarantee of the documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::ledger::panics;
use crate::look::{Look, Twin};
use crate::pair::Pair;
use crate::refusing::Refusing;
use crate::sequence_model::kinds;
use crate::sequences::{sequence_tests, Noted, Page};
use toft::{Arena, Blocks, Heap, Memory, Pages};
use toft_pools::{Columns, Handle, List, Rows};

sequence_tests!(List, push_back);

// ---- calls that the model has no step for ----

#[test]
fn contains() {
    let list = List::from([0, 1, 2]);
    assert!(list.contains(&0) && !list.contains(&10));
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
fn fixed_lists_refuse_more_values() {
    let mut list = List::fixed(2);
    let one = list.push_back(1);
    list.push_back(2);
    assert!(panics(|| list.push_back(3)).is_err());
    assert!(panics(|| list.push_front(3)).is_err());
    assert!(panics(|| list.insert_before(one, 3)).is_err());
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
fn values_of_no_size() {
    let mut list = List::new();
    let handles: Vec<_> = (0..100).map(|_| list.push_back(())).collect();
    assert_eq!(list.remove(handles[50]), Some(()));
    assert_eq!(list.iter().count(), 99);
    let mut columns: List<Pair<(), u64>, Columns> = List::default();
    columns.extend((0..100).map(|n| Pair((), n)));
    assert!(columns.iter().map(|(_, n)| *n).eq(0..100));
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
}

#[test]
fn values_are_dropped_in_the_lists_order() {
    let mut list = List::new();
    list.push_back(Noted(2));
    list.push_front(Noted(1));
    let last = list.push_front(Noted(3));
    list.move_to_back(last);
    drop(list);
    assert_eq!(Noted::dropped(), [1, 2, 3]);
}
