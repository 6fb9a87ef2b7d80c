//! Secondary maps against a map of the standard library, and what belongs to keys: null handles, key types, mapped values.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::collections::BTreeMap;

use crate::ledger::{panics, Counted, Ledger};
use crate::refusing::{Refuses, Refusing};
use toft::{Arena, Memory};
use toft_pools::{DensePool, Handle, Pool, Rows, SecondaryMap, SparseSecondaryMap};

toft_pools::new_key_type! {
    /// The key of a node.
    struct NodeKey;
    pub struct OtherKey;
}

/// Random steps on a pool and on a map beside it, whose values are those of a map of the standard library.
macro_rules! play {
    ($Name:ident, $seed:expr, $memory:expr) => {{
        let ledger = Ledger::new();
        let mut pool = Pool::<u32, Rows, NodeKey>::with_key();
        let (mut map, mut keys) = ($Name::new_in($memory), vec![]);
        let mut model: BTreeMap<u32, (NodeKey, i64)> = BTreeMap::new();
        let mut random = $seed * 2 + 1;
        for n in 0..if cfg!(miri) { 60 } else { 600i64 } {
            random = (random as u64).wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let kind = (random >> 60) as usize;
            if kind < 4 || keys.is_empty() {
                keys.push(pool.insert(0));
            }
            let key: NodeKey = keys[(random >> 33) as usize % keys.len()]; // live or not
            let present = model.get(&key.index()).copied();
            let of_key = present.filter(|(its, _)| *its == key).map(|(_, number)| number);
            match kind {
                0..=6 => {
                    // The generation counts up: a key with a smaller one is ignored.
                    let ignored = present.is_some_and(|(its, _)| (key.to_bits() >> 32) < (its.to_bits() >> 32));
                    let before = map.insert(key, ledger.value(n));
                    assert_eq!(before.map(|value: Counted| value.number), of_key.filter(|_| !ignored));
                    if !ignored {
                        model.insert(key.index(), (key, n));
                    }
                }
                7 | 8 => {
                    pool.remove(key);
                }
                9 | 10 => {
                    assert_eq!(map.remove(key).map(|value| value.number), of_key);
                    of_key.and_then(|_| model.remove(&key.index()));
                }
                11 => match map.entry(key) {
                    Some(entry) => {
                        assert_eq!(entry.key(), key);
                        entry
                            .and_modify(|value| *value = ledger.value(value.number + 1))
                            .or_insert_with(|| ledger.value(n));
                        model.insert(key.index(), (key, of_key.map_or(n, |number| number + 1)));
                    }
                    None => assert!(present.is_some_and(|(its, _)| its != key)),
                },
                12 => {
                    map.retain(|_, value| value.number % 3 != 0);
                    model.retain(|_, (_, number)| *number % 3 != 0);
                }
                13 if n % 7 == 0 => {
                    let drained: Vec<_> = map.iter().map(|(key, value)| (key, value.number)).collect();
                    assert!(drained.iter().eq(model.values()));
                    map.clear();
                    model.clear();
                }
                _ => map.iter_mut().zip(model.values_mut()).for_each(|((_, value), (_, number))| {
                    *value = ledger.value(value.number + 1);
                    *number += 1;
                }),
            }
            assert_eq!((map.len(), map.iter().len(), ledger.live()), (model.len(), model.len(), model.len()));
            assert!(map.iter().map(|(key, value)| (key, value.number)).eq(model.values().copied()));
            assert_eq!(
                map.get(key).map(|value| value.number),
                model.get(&key.index()).filter(|at| at.0 == key).map(|at| at.1)
            );
        }
        let rest = map.into_iter().map(|(key, value)| (key, value.number));
        assert!(rest.eq(model.into_values()));
        ledger.assert_empty();
    }};
}

#[test]
fn values_match_the_model() {
    for seed in 0..if cfg!(miri) { 1 } else { 50u64 } {
        play!(SecondaryMap, seed, toft::Heap);
        play!(SparseSecondaryMap, seed, toft::Heap);
        let arena = Arena::new();
        play!(SecondaryMap, seed, &arena);
        play!(SparseSecondaryMap, seed, &arena);
    }
}

#[test]
fn keys_of_no_value_are_ignored() {
    let mut map = SecondaryMap::new();
    assert_eq!(map.insert(Handle::<u8>::NULL, 'a'), None);
    assert!(map.is_empty() && map.get(Handle::NULL).is_none() && map.entry(Handle::default()).is_none());
    let mut map = SparseSecondaryMap::new();
    map.extend([(u32::MAX, 'a'), (7, 'b')]);
    assert_eq!((map.len(), map[7]), (1, 'b'));
    assert_eq!(Handle::<u8>::from_bits(Handle::<u8>::NULL.to_bits()), Some(Handle::NULL));
    assert!(NodeKey::default().is_null() && NodeKey::NULL == NodeKey::from_bits(NodeKey::NULL.to_bits()).unwrap());
    let mut pool = Pool::<_, Rows, OtherKey>::with_key();
    assert!(pool.remove(OtherKey::NULL).is_none() && !pool.contains(OtherKey::NULL));
    assert!(!pool.insert('a').is_null());
    assert!(DensePool::<u8>::new().get(Handle::NULL).is_none());
    let mut list = toft_pools::List::from([1]);
    assert!(list.get(Handle::NULL).is_none() && list.remove(Handle::NULL).is_none());
}

fn refused_insertions_change_nothing<M: Memory + Copy>(memory: M, refuse: impl Fn(Refuses)) {
    let (mut dense, mut sparse) = (SecondaryMap::new_in(memory), SparseSecondaryMap::new_in(memory));
    assert!(dense.insert(0u32, 'a').is_none() && sparse.insert(0u32, 'a').is_none());
    refuse(Refuses::From(1));
    assert_eq!(dense.try_insert(100_000, 'b').unwrap_err().into_inner(), 'b');
    assert!((1..1000).any(|i| sparse.try_insert(i, 'b').is_err()));
    assert!(panics(|| dense.insert(100_000, 'b')).is_err());
    refuse(Refuses::Nothing);
    assert_eq!((dense.len(), dense[0], sparse[0]), (1, 'a', 'a'));
    assert_eq!(dense.insert(100_000, 'b'), None);
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn refusals_are_errors() {
    let memory = Refusing::default();
    refused_insertions_change_nothing(&memory, |refuses| memory.refuse(refuses));
    assert_eq!(memory.bytes(), 0);
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn mapped_values_have_the_same_keys() {
    let ledger = Ledger::new();
    let mut pool = Pool::new();
    let keys: Vec<_> = (0..200).map(|n| pool.insert(ledger.value(n))).collect();
    let stale: Vec<_> = keys.iter().copied().filter(|key| key.index() % 3 == 0).collect();
    stale.iter().for_each(|key| drop(pool.remove(*key)));
    let doubled = pool.clone().map_values(|_, value| value.number * 2);
    assert!(keys.iter().all(|key| doubled.get(*key).copied() == pool.get(*key).map(|value| value.number * 2)));
    let (mut doubled, mut again) = (doubled, pool.clone());
    for _ in 0..100 {
        assert_eq!(doubled.insert(0).to_bits(), again.insert(ledger.value(0)).to_bits());
        // the same free slots
    }
    drop(again);
    assert!(panics(|| pool.map_values(|key, value| if key.index() == 100 { panic!() } else { value })).is_err());
    ledger.assert_empty();

    let mut dense = DensePool::new();
    let keys: Vec<_> = (0..50).map(|n| dense.insert(ledger.value(n))).collect();
    dense.remove(keys[7]);
    let texts = dense.clone().map_values(|_, value| value.number.to_string());
    assert!(texts.get(keys[7]).is_none() && texts[keys[8]] == "8" && texts.len() == 49);
    assert!(panics(|| dense.map_values(|_, value| if value.number == 30 { panic!() } else { value })).is_err());
    ledger.assert_empty();
}

#[test]
fn swaps_of_one_position_and_a_wrapped_pair_in_a_large_queue() {
    let mut queue = toft_pools::Queue::with_capacity(64);
    queue.push_back(Box::new(1));
    queue.push_front(Box::new(0));
    queue.swap(0, 0);
    assert_eq!(queue.make_contiguous().iter().map(|value| **value).collect::<Vec<_>>(), [0, 1]);
    queue.extend((2..64).map(Box::new));
    queue.rotate_left(40);
    queue.make_contiguous().sort();
    assert!(queue.iter().map(|value| **value).eq(0..64));
}
