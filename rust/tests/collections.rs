//! Collections of others in an arena: allocator-api2's and hashbrown's on stable, the standard library's on nightly.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "allocator-api2")]
#![cfg_attr(feature = "nightly", feature(allocator_api, btreemap_alloc))]

#[path = "common/pages.rs"]
mod pages;
#[path = "common/strict.rs"]
mod strict;

use allocator_api2::alloc::Allocator;
use allocator_api2::boxed::Box as ApiBox;
use allocator_api2::vec::Vec as ApiVec;
use hashbrown::HashMap;
use pages::Pages;
use std::alloc::Layout;
use toft::{Arena, Options, Scope};

const MANY: u64 = if cfg!(miri) { 100 } else { 5000 };

#[test]
fn a_vector_of_values_with_destructors() {
    strict::balanced(|| {
        let mut arena = Arena::new();
        for _ in 0..3 {
            let mut v = ApiVec::new_in(&arena);
            for i in 0..MANY {
                v.push(format!("value {i}"));
            }
            v.retain(|s| s.len() % 2 == 0);
            v.insert(0, String::from("first"));
            v.extend_from_slice(&[String::from("last")]);
            v.shrink_to_fit();
            assert_eq!((v[0].as_str(), v.last().unwrap().as_str()), ("first", "last"));
            drop(v);
            arena.reset();
        }
    });
}

#[test]
fn maps_of_hashbrown() {
    let pages = Pages::new();
    let mut arena = Scope::from_source(&pages).unwrap();
    for _ in 0..3 {
        let mut map: HashMap<u64, String, std::hash::RandomState, &Arena> =
            HashMap::with_hasher_in(std::hash::RandomState::new(), &arena);
        let mut other = HashMap::with_hasher_in(std::hash::RandomState::new(), &*arena);
        for i in 0..MANY {
            map.insert(i, i.to_string());
            other.insert(i, i * i);
        }
        for i in (0..MANY).step_by(2) {
            assert_eq!(map.remove(&i), Some(i.to_string()));
        }
        map.shrink_to_fit();
        assert_eq!(map.len() as u64, MANY / 2);
        assert!((1..MANY).step_by(2).all(|i| map[&i] == i.to_string() && other[&i] == i * i));
        let clone = map.clone();
        assert_eq!(clone.len(), map.len());
        drop((map, other, clone));
        arena.reset();
    }
    drop(arena);
    assert_eq!(pages.bytes.get(), 0);
}

#[test]
fn boxes_and_vectors_in_vectors() {
    let arena = Arena::new();
    let mut rows: ApiVec<ApiVec<ApiBox<u64, &Arena>, &Arena>, &Arena> = ApiVec::new_in(&arena);
    for i in 0..30 {
        let mut row = ApiVec::new_in(&arena);
        row.extend((0..i).map(|k| ApiBox::new_in(i * k, &arena)));
        rows.push(row);
    }
    rows.reverse();
    assert!(rows.iter().rev().enumerate().all(|(i, row)| row.iter().enumerate().all(|(k, v)| **v == (i * k) as u64)));
}

#[test]
fn a_vector_that_fails_to_grow_stays_whole() {
    let arena = Options::new().budget(1000).create().unwrap();
    let mut v = ApiVec::<u64, &Arena>::new_in(&arena);
    while v.try_reserve(1).is_ok() {
        v.push(v.len() as u64);
    }
    assert!(v.len() >= 32 && v.iter().enumerate().all(|(i, x)| *x == i as u64));
    assert!(v.try_reserve(usize::MAX / 16).is_err());
    assert!(ApiBox::try_new_in([0u8; 2000], &arena).is_err());
}

/// The contract of the trait, call by call.
#[test]
fn the_allocators_contract() {
    let arena = Arena::new();
    let a = &arena;
    let layout = |size, align| Layout::from_size_align(size, align).unwrap();
    // SAFETY: blocks of this allocator with their layouts, as the trait wants them.
    unsafe {
        for (size, align) in [(0, 1), (0, 4096), (1, 1), (8, 8), (24, 64), (100, 4096), (10_000, 16)] {
            let p = a.allocate(layout(size, align)).unwrap();
            assert_eq!((p.cast::<u8>().addr().get() % align, p.len()), (0, size));
            p.cast::<u8>().write_bytes(7, size);
            let z = a.allocate_zeroed(layout(size, align)).unwrap();
            assert!((0..size).all(|i| z.cast::<u8>().add(i).read() == 0));
            // Grown to another alignment, and shrunk.
            let g = a.grow(p.cast(), layout(size, align), layout(size + 100, 2 * align)).unwrap();
            assert_eq!((g.cast::<u8>().addr().get() % (2 * align), g.len()), (0, size + 100));
            assert!((0..size).all(|i| g.cast::<u8>().add(i).read() == 7));
            let zeroed = a.grow_zeroed(g.cast(), layout(size + 100, 2 * align), layout(size + 300, align)).unwrap();
            assert!((size + 100..size + 300).all(|i| zeroed.cast::<u8>().add(i).read() == 0));
            let s = a.shrink(zeroed.cast(), layout(size + 300, align), layout(size / 2, 1)).unwrap();
            assert!((0..size / 2).all(|i| s.cast::<u8>().add(i).read() == 7));
            let nothing = a.shrink(s.cast(), layout(size / 2, 1), layout(0, 1)).unwrap();
            a.deallocate(nothing.cast(), layout(0, 1));
            a.deallocate(z.cast(), layout(size, align));
        }
        // Copies of the reference are the same allocator.
        let copy = a;
        let p = copy.allocate(layout(50, 8)).unwrap();
        let live = arena.stats().live;
        a.deallocate(p.cast(), layout(50, 8));
        assert_eq!(arena.stats().live, live - 56);
        assert!(a.allocate(layout(isize::MAX as usize & !7, 8)).is_err());
    }
}

#[test]
fn a_collection_in_a_scope_sees_the_outer_ones_grow() {
    let arena = Arena::new();
    let mut outer: HashMap<u64, u64, std::hash::RandomState, &Arena> =
        HashMap::with_hasher_in(std::hash::RandomState::new(), &arena);
    for round in 0..20 {
        arena.scope(|inner| {
            let mut own = HashMap::with_hasher_in(std::hash::RandomState::new(), inner);
            for i in 0..MANY / 50 {
                own.insert(i, i);
                outer.insert(round * 1000 + i, i);
            }
            assert!((0..MANY / 50).all(|i| own[&i] == i));
        });
        assert!((0..=round).all(|r| (0..MANY / 50).all(|i| outer[&(r * 1000 + i)] == i)));
    }
}

#[cfg(feature = "nightly")]
mod of_the_standard_library {
    use super::{strict, MANY};
    use std::collections::{BTreeMap, VecDeque};
    use std::rc::Rc;
    use std::sync::Arc;
    use toft::Arena;

    #[test]
    fn vec_deque_map_box_and_rc() {
        strict::balanced(|| {
            let mut arena = Arena::new();
            for _ in 0..3 {
                let mut v: Vec<String, &Arena> = Vec::new_in(&arena);
                let mut deque: VecDeque<u64, &Arena> = VecDeque::new_in(&arena);
                let mut map: BTreeMap<u64, String, &Arena> = BTreeMap::new_in(&arena);
                for i in 0..MANY {
                    v.push(i.to_string());
                    deque.push_back(i);
                    deque.push_front(i);
                    map.insert(i * 7 % MANY, i.to_string());
                    if i % 3 == 0 {
                        deque.pop_front();
                        map.remove(&(i / 2));
                    }
                }
                assert!(v.iter().enumerate().all(|(i, s)| *s == i.to_string()));
                assert!(map.keys().is_sorted());
                let shared: Rc<[u64], &Arena> = Rc::from_iter_in_arena(&arena);
                let second = shared.clone();
                assert_eq!((Rc::strong_count(&shared), second.len()), (2, 3));
                let boxed: Box<dyn std::fmt::Display, &Arena> = Box::new_in(42, &arena);
                assert_eq!(boxed.to_string(), "42");
                let counted = Arc::new_in(String::from("x"), &arena);
                assert_eq!(*counted, "x");
                let mut sorted = v.clone();
                sorted.sort();
                sorted.dedup();
                assert_eq!(sorted.len(), v.len());
                drop((v, deque, map, shared, second, boxed, counted, sorted));
                arena.reset();
            }
        });
    }

    trait FromIterIn<'a> {
        fn from_iter_in_arena(arena: &'a Arena) -> Rc<[u64], &'a Arena>;
    }

    impl<'a> FromIterIn<'a> for Rc<[u64], &'a Arena> {
        fn from_iter_in_arena(arena: &'a Arena) -> Rc<[u64], &'a Arena> {
            let mut v = Vec::new_in(arena);
            v.extend([1, 2, 3]);
            let boxed: Box<[u64], &Arena> = v.into_boxed_slice();
            Rc::from(boxed)
        }
    }
}
