//! Calls of `BTreeMap` and `BTreeSet` that the model of a map has no step for.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::panic::catch_unwind;

use toft_pools::{ordered_map::Entry, DensePool, Handle, OrderedMap, OrderedSet, Pool};

#[test]
fn map_range() {
    let map = OrderedMap::from([(3, "a"), (5, "b"), (8, "c")]);
    assert!(map.range((Included(&4), Included(&8))).eq([(&5, &"b"), (&8, &"c")]));
    assert_eq!(map.range(4..).next(), Some((&5, &"b")));
    assert!(map.range::<i32, _>(..).rev().map(|pair| *pair.0).eq([8, 5, 3]));
    assert_eq!(map.range((Excluded(3), Unbounded)).count(), 2);
    assert_eq!(map.range(..=3).last(), Some((&3, &"a")));
    assert_eq!(map.range(6..7).next(), None);
    let words = OrderedMap::from([("alpha".to_string(), 1), ("omega".to_string(), 2)]);
    assert_eq!(words.range::<str, _>((Included("b"), Unbounded)).next().map(|pair| *pair.1), Some(2));
}

#[test]
#[should_panic(expected = "ends before it starts")]
fn map_range_with_swapped_ends() {
    let (low, high) = (3, 5);
    OrderedMap::from([(4, ())]).range(high..low);
}

#[test]
#[should_panic(expected = "excludes")]
fn map_empty_range() {
    OrderedMap::from([(4, ())]).range((Excluded(4), Excluded(4)));
}

#[test]
fn map_iterators() {
    let mut map = OrderedMap::from([("c", 3), ("b", 2), ("a", 1)]);
    assert_eq!(map.iter().next(), Some((&"a", &1)));
    for (key, value) in &mut map {
        if *key != "a" {
            *value += 10;
        }
    }
    assert!(map.values().eq(&[1, 12, 13]));
    map.values_mut().for_each(|value| *value *= 2);
    assert_eq!(map.iter().rev().map(|pair| pair.1).sum::<i32>(), 52);
    assert_eq!(map.iter().len(), 3);
    assert_eq!((map.iter().min(), map.keys().max()), (Some((&"a", &2)), Some(&"c")));
    let mut keys = map.keys();
    keys.next();
    assert!(keys.clone().eq(keys));
    assert!(map.clone().into_keys().eq(["a", "b", "c"]));
    assert!(map.clone().into_values().rev().eq([26, 24, 2]));
    let mut both = map.into_iter();
    assert_eq!((both.next_back(), both.next(), both.len()), (Some(("c", 26)), Some(("a", 2)), 1));
    both.next();
    assert_eq!((both.next(), both.next_back()), (None, None));
}

#[test]
fn map_collected_and_extended() {
    let pairs = [(2, 'b'), (1, 'a'), (2, 'c')];
    let map = OrderedMap::from(pairs);
    assert_eq!(map, pairs.into_iter().collect());
    assert_eq!(map[&2], 'c'); // the last value of equal keys is kept
    let mut other = OrderedMap::new();
    other.extend(&map);
    assert_eq!(other, map);
    assert_eq!(OrderedMap::<u8, u8>::default().len(), 0);
    assert!(OrderedMap::from_sorted((0..1000).map(|i| (i, i))).keys().copied().eq(0..1000));
}

#[test]
#[should_panic(expected = "sorted")]
fn map_from_unsorted_input_of_from_sorted() {
    OrderedMap::from_sorted([(1, 'a'), (1, 'b')]);
}

#[test]
#[should_panic(expected = "not in the map")]
fn map_index_of_no_key() {
    let map = OrderedMap::from([(1, 'a')]);
    let _ = map[&2];
}

#[test]
fn map_compared_hashed_shown() {
    let a = OrderedMap::from([(1, 'a'), (2, 'b')]);
    let b = OrderedMap::from([(1, 'a'), (3, 'a')]);
    assert!(a < b && a != b);
    assert_eq!(a.cmp(&a.clone()), Ordering::Equal);
    assert_eq!(OrderedMap::from([(1, f64::NAN.to_bits())]).len(), 1);
    assert!(OrderedMap::from([(1, f64::NAN)]).partial_cmp(&OrderedMap::from([(1, f64::NAN)])).is_none());
    let mut by_map = HashMap::new();
    by_map.insert(a.clone(), "a");
    assert_eq!(by_map.get(&a), Some(&"a"));
    assert_eq!(format!("{a:?}"), "{1: 'a', 2: 'b'}");
    assert_eq!(format!("{:?}", OrderedSet::from([2, 1])), "{1, 2}");
}

#[test]
fn entries() {
    let mut map: OrderedMap<String, usize> = OrderedMap::new();
    assert_eq!(map.entry("poneyland".into()).key(), "poneyland");
    map.entry("poneyland".into()).or_insert_with_key(|key| key.chars().count());
    assert_eq!(map["poneyland"], 9);
    match map.entry("poneyland".into()) {
        Entry::Occupied(mut entry) => {
            *entry.get_mut() += 10;
            assert_eq!(*entry.get(), 19);
            *entry.get_mut() += 2;
            assert_eq!(entry.insert(12), 21);
            *entry.into_mut() += 1;
        }
        Entry::Vacant(_) => unreachable!(),
    }
    assert_eq!(map["poneyland"], 13);
    if let Entry::Vacant(entry) = map.entry("new".into()) {
        assert_eq!(entry.key(), "new");
        assert_eq!(entry.into_key(), "new");
    }
    assert_eq!(map.len(), 1);
    if let Entry::Vacant(entry) = map.entry("new".into()) {
        *entry.insert(1) += 1;
    }
    assert_eq!(map.entry("new".into()).or_default(), &mut 2);
    assert_eq!(map.entry("more".into()).or_default(), &mut 0);
    if let Entry::Occupied(entry) = map.entry("new".into()) {
        assert_eq!(entry.remove_entry(), ("new".to_string(), 2));
    }
    assert!(!map.contains_key("new"));
    assert_eq!(map.entry("more".into()).insert_entry(7).get(), &7);
}

/// A call that is refused panics with its caller's location.
#[test]
fn panics_have_the_callers_location() {
    thread_local! {
        static FILE: RefCell<String> = const { RefCell::new(String::new()) };
    }
    std::panic::set_hook(Box::new(|info| FILE.set(info.location().unwrap().file().into())));
    let full = || {
        let mut map = OrderedMap::fixed(1);
        map.insert(1, 'a');
        map
    };
    type CapacityError = OrderedMap<i32, char>;
    let calls: [fn(CapacityError) -> usize; 19] = [
        |mut map| map.insert(2, 'b').map_or(0, char::len_utf8),
        |mut map| {
            map.reserve(1);
            map.len()
        },
        |mut map| {
            map.append(&mut OrderedMap::from([(2, 'b')]));
            map.len()
        },
        |mut map| map.entry(2).or_insert('b').len_utf8(),
        |mut map| map.entry(2).or_insert_with(|| 'b').len_utf8(),
        |mut map| map.entry(2).or_insert_with_key(|_| 'b').len_utf8(),
        |mut map| map.entry(2).or_default().len_utf8(),
        |mut map| map.entry(2).insert_entry('b').get().len_utf8(),
        |map| map.range((Included(2), Included(1))).count(),
        |mut map| map.range_mut((Included(2), Included(1))).count(),
        |_| OrderedMap::<u64, u64>::with_capacity(usize::MAX).len(),
        |_| OrderedSet::<u64>::fixed(usize::MAX).len(),
        |_| OrderedSet::from_sorted([2, 1]).len(),
        |_| Pool::fixed(0).insert('a').index() as usize,
        |_| Pool::new()[Handle::<usize>::NULL],
        |_| {
            Pool::<u8>::fixed(0).reserve(1);
            0
        },
        |_| DensePool::fixed(0).insert('a').index() as usize,
        |_| Pool::<u8>::with_capacity(usize::MAX).len(),
        |_| Pool::<u8>::fixed(usize::MAX).len(),
    ];
    for (i, call) in calls.into_iter().enumerate() {
        FILE.set(String::new());
        assert!(catch_unwind(|| call(full())).is_err());
        assert_eq!(FILE.take(), file!(), "call {i}");
    }
    let _ = std::panic::take_hook();
}

#[test]
fn set_first_last_pop() {
    let mut set = OrderedSet::new();
    assert_eq!((set.first(), set.last()), (None, None));
    assert_eq!((set.pop_first(), set.pop_last()), (None, None));
    set.extend([2, 1, 3]);
    assert_eq!((set.first(), set.last()), (Some(&1), Some(&3)));
    assert_eq!((set.pop_last(), set.pop_first(), set.len()), (Some(3), Some(1), 1));
}

#[test]
fn set_insert_replace_take_get() {
    let mut set = OrderedSet::new();
    assert!(set.insert(2) && !set.insert(2));
    assert_eq!((set.get(&2), set.get(&4)), (Some(&2), None));
    assert_eq!((set.take(&2), set.take(&2)), (Some(2), None));
    let mut set = OrderedSet::from([Vec::<i32>::new()]);
    assert_eq!(set.get(&[][..]).unwrap().capacity(), 0);
    set.replace(Vec::with_capacity(10));
    assert_eq!(set.get(&[][..]).unwrap().capacity(), 10);
}

#[test]
fn set_algebra() {
    let (a, b) = (OrderedSet::from([1, 2, 3]), OrderedSet::from([3, 4, 5]));
    assert!(a.union(&b).copied().eq(1..=5));
    assert!(a.intersection(&b).eq(&[3]));
    assert!(a.difference(&b).eq(&[1, 2]));
    assert!(a.symmetric_difference(&b).eq(&[1, 2, 4, 5]));
    assert_eq!(&a | &b, OrderedSet::from([1, 2, 3, 4, 5]));
    assert_eq!(&a & &b, OrderedSet::from([3]));
    assert_eq!(&a - &b, OrderedSet::from([1, 2]));
    assert_eq!(&a ^ &b, OrderedSet::from([1, 2, 4, 5]));
    let empty = OrderedSet::<i32>::new();
    assert_eq!((&a | &empty, &a & &empty), (a.clone(), empty.clone()));
    assert!(a.is_disjoint(&OrderedSet::from([7])) && !a.is_disjoint(&b));
    assert!(empty.is_disjoint(&empty) && empty.is_subset(&a) && a.is_superset(&empty));
}

/// All pairs of small sets, and pairs with one much larger set.
#[test]
fn set_algebra_matches_std() {
    let sets: Vec<Vec<u16>> =
        (0..16u16).map(|bits| (0..4).filter(|i| bits >> i & 1 == 1).collect()).chain([(0..500).collect()]).collect();
    let step = if cfg!(miri) { 4 } else { 1 }; // with none, one, and all of many elements in common
    for x in sets.iter().step_by(step) {
        for y in sets.iter().step_by(step) {
            let (a, b): (OrderedSet<u16>, OrderedSet<u16>) = (x.iter().copied().collect(), y.iter().copied().collect());
            let (s, t): (BTreeSet<u16>, BTreeSet<u16>) = (x.iter().copied().collect(), y.iter().copied().collect());
            assert!(a.union(&b).eq(s.union(&t)));
            assert!(a.intersection(&b).eq(s.intersection(&t)));
            assert!(a.difference(&b).eq(s.difference(&t)));
            assert!(a.symmetric_difference(&b).eq(s.symmetric_difference(&t)));
            assert_eq!(a.is_subset(&b), s.is_subset(&t));
            assert_eq!(a.is_superset(&b), s.is_superset(&t));
            assert_eq!(a.is_disjoint(&b), s.is_disjoint(&t));
            assert_eq!(a.cmp(&b), s.cmp(&t));
            for n in [a.union(&b).size_hint(), a.intersection(&b).size_hint(), a.difference(&b).size_hint()] {
                assert!(n.0 <= n.1.unwrap());
            }
        }
    }
}

#[test]
fn set_range_retain_append_split_off() {
    let mut set = OrderedSet::from([3, 5, 8]);
    assert!(set.range((Included(&4), Included(&8))).eq(&[5, 8]));
    assert_eq!(set.range(4..).next(), Some(&5));
    assert_eq!(set.range(..4).next_back(), Some(&3));
    set.append(&mut OrderedSet::from([8, 9]));
    let high = set.split_off(&8);
    assert!(set.iter().eq(&[3, 5]) && high.iter().eq(&[8, 9]));
    set.retain(|n| n % 5 == 0);
    assert_eq!(set, OrderedSet::from([5]));
}

#[test]
fn set_iterators() {
    let set = OrderedSet::from([3, 1, 2]);
    let mut iter = set.iter();
    assert_eq!((iter.next(), iter.len(), iter.next_back()), (Some(&1), 2, Some(&3)));
    assert!((&set).into_iter().rev().eq(&[3, 2, 1]));
    assert!(set.into_iter().eq([1, 2, 3]));
    let mut set: OrderedSet<i32> = [5, 5, 4].into_iter().collect();
    set.extend(&[9, 4]);
    assert!(set.iter().eq(&[4, 5, 9]));
    assert_eq!(set.clone(), set);
    assert_eq!(OrderedSet::<i32>::default().len(), 0);
}
