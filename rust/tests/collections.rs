//! Collections of other crates in an arena: allocator-api2's and hashbrown's on stable, the standard library's on
//! nightly.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![cfg(feature = "allocator-api2")]
#![cfg_attr(feature = "nightly", feature(allocator_api, btreemap_alloc))]

#[path = "common/pages.rs"]
mod pages;
#[path = "common/strict.rs"]
mod strict;

use allocator_api2::boxed::Box as ApiBox;
use allocator_api2::vec::Vec as ApiVec;
use hashbrown::HashMap;
use pages::Pages;
use toft::{Arena, Scope};

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

/// hashbrown's maps, in each of its versions whose allocator-api2 trait the crate implements.
macro_rules! maps_of {
    ($($hashbrown:ident),*) => {$(
        #[test]
        fn $hashbrown() {
            use $hashbrown::HashMap;
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
    )*};
}

maps_of!(hashbrown_015, hashbrown_016, hashbrown);

/// The collections of allocator-api2 itself, by each version's trait.
macro_rules! vectors_of {
    ($api:ident) => {
        #[test]
        fn $api() {
            strict::balanced(|| {
                let mut arena = Arena::new();
                for _ in 0..3 {
                    let mut values = $api::vec::Vec::new_in(&arena);
                    for i in 0..MANY {
                        values.push($api::boxed::Box::new_in(i.to_string(), &arena));
                    }
                    values.shrink_to_fit();
                    assert!(values.iter().enumerate().all(|(i, value)| ***value == i.to_string()));
                    drop(values);
                    arena.reset();
                }
            });
        }
    };
}

vectors_of!(allocator_api2);
#[cfg(feature = "allocator-api2-03")]
vectors_of!(allocator_api2_03);
#[cfg(feature = "allocator-api2-04")]
vectors_of!(allocator_api2_04);

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
fn collections_of_the_outer_arena_grow_beside_one_in_a_scope() {
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

// ---- the same calls on every type ----

/// Calls each allocating method of a value, by name.
macro_rules! each_method {
    ($arena:ident: $($name:ident $([$($generics:tt)*])? ($($argument:expr),*);)*) => {
        const METHODS: &[&str] = &[$(stringify!($name)),*];

        /// For types that have inherent methods: the trait is not in scope.
        macro_rules! call_each {
            ($value:expr) => {{
                let $arena = $value;
                $(let _ = $arena.$name$($($generics)*)?($($argument),*);)*
            }};
        }

        fn call_by_trait<A: toft::Allocate>($arena: &A) {
            $(let _ = $arena.$name$($($generics)*)?($($argument),*);)*
        }
    };
}

each_method! { arena:
    alloc(1); try_alloc(1);
    alloc_with(|| 1); try_alloc_with(|| 1);
    alloc_try_with(|| Ok::<_, ()>(1)); try_alloc_try_with(|| Ok::<_, ()>(1));
    alloc_uninit [::<u32>] (); try_alloc_uninit [::<u32>] ();
    alloc_zeroed [::<u32>] (); try_alloc_zeroed [::<u32>] ();
    alloc_layout(std::alloc::Layout::new::<u64>()); try_alloc_layout(std::alloc::Layout::new::<u64>());
    alloc_batch([1, 2]); try_alloc_batch([1, 2]);
    alloc_batch_with [::<_, 2>] (|i| i); try_alloc_batch_with [::<_, 2>] (|i| i);
    alloc_slice_copy(&[1]); try_alloc_slice_copy(&[1]);
    alloc_slice_clone(&[Some(1)]); try_alloc_slice_clone(&[Some(1)]);
    alloc_slice_fill(2, 1); try_alloc_slice_fill(2, 1);
    alloc_slice_fill_with(2, |i| i); try_alloc_slice_fill_with(2, |i| i);
    alloc_slice_try_fill_with(2, Ok::<_, ()>); try_alloc_slice_try_fill_with(2, Ok::<_, ()>);
    alloc_slice_default [::<u32>] (2); try_alloc_slice_default [::<u32>] (2);
    alloc_slice_from_iter(0..2); try_alloc_slice_from_iter(0..2);
    alloc_uninit_slice [::<u32>] (2); try_alloc_uninit_slice [::<u32>] (2);
    alloc_zeroed_slice [::<u32>] (2); try_alloc_zeroed_slice [::<u32>] (2);
    alloc_str("a"); try_alloc_str("a");
    alloc_fmt(format_args!("{}", 1)); try_alloc_fmt(format_args!("{}", 1));
    boxed(1); try_boxed(1);
    boxed_slice(0..2); try_boxed_slice(0..2);
    boxed_str("a"); try_boxed_str("a");
    vec [::<u32>] ();
    vec_with_capacity [::<u32>] (2); try_vec_with_capacity [::<u32>] (2);
    vec_from_iter(0..2); try_vec_from_iter(0..2);
    string();
    string_with_capacity(2); try_string_with_capacity(2);
    string_from("a"); try_string_from("a");
}

#[test]
fn every_allocating_type_has_every_method() {
    let arena = toft::Arena::new();
    call_each!(&arena);
    call_each!(&arena.scope_guard());
    call_by_trait(&arena);
    call_by_trait(&toft::Recycler::new());
    call_by_trait(&toft_bumpalo::Bump::new());
    #[cfg(feature = "std")]
    {
        let (leases, frames) = (toft::Leases::new(), toft::Frames::new());
        call_each!(&leases.get());
        call_each!(frames.here());
        let (task, shared, sync) = (toft::TaskArena::new(), toft::SharedArena::new(), toft::SyncRecycler::new());
        call_each!(&task);
        call_each!(&shared);
        call_each!(&shared.local());
        call_by_trait(&task);
        call_by_trait(&shared);
        call_by_trait(&shared.local());
        call_by_trait(&sync);
    }
}

/// The list above is complete.
#[test]
#[cfg(not(miri))]
fn each_method_is_called() {
    let source = include_str!("../src/memory/allocate.rs");
    let name = |rest: &'static str| rest.split(['<', '(', '[']).next().unwrap();
    let mut names: Vec<&str> =
        source.split("$vis fn ").skip(1).map(name).filter(|name| !name.starts_with('$')).collect();
    for (first, second) in source.lines().filter_map(|line| line.trim_start().strip_prefix("fn ")?.split_once(" | ")) {
        names.extend([first, name(second)]);
    }
    names.sort_unstable();
    let mut methods = METHODS.to_vec();
    methods.sort_unstable();
    assert_eq!(names, methods);
}

/// Vectors and strings grow in memory of any kind, and are `Send` if a reference to the memory is.
#[cfg(feature = "std")]
#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn collections_of_every_arena() {
    fn check<A: toft::Allocate>(arena: &A) {
        let (mut numbers, mut text) = (arena.vec(), arena.string());
        for n in 0..1000u32 {
            numbers.push(n);
            text.push(char::from(b'a' + (n % 26) as u8));
        }
        assert!(numbers.drain(10..990).eq(10..990) && numbers.len() == 20 && text.starts_with("abc"));
        numbers.shrink_to_fit();
        let mut more = arena.vec_from_iter([7u32; 5]);
        more.append(&mut numbers);
        assert_eq!((more.len(), more.into_slice()[5], text.into_str().len()), (25, 0, 1000));
    }
    let (task, shared) = (toft::TaskArena::new(), toft::SharedArena::new());
    check(&task);
    check(&shared);
    check(&shared.local());
    check(&toft::Recycler::new());
    let mut on_the_heap = toft::collections::Vec::new_in(&toft::Heap);
    on_the_heap.extend(0..1000);
    let mut sent = task.vec_from_iter(["one".to_string()]);
    std::thread::scope(|threads| {
        threads.spawn(move || sent.push("two".to_string()));
        shared.vec::<u32>().push(1);
    });
    let recycler = toft::Recycler::new();
    drop(toft::collections::Vec::from_array_in([1u64; 10], &recycler));
    assert_eq!(recycler.stats().live, 0); // freed with the vector
}
