//! Dense pools against a model, with refused memory, worn generations and destructors that panic.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

use toft::{Arena, Heap, Memory, RcArena};
use toft_pools::{CapacityError, Columns, DensePool, Handle, Key, Rows};

use crate::ledger::Ledger;
use crate::pool_model::Plays;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

fn compare<L: Plays, K, M: Memory>(pool: &DensePool<L::T, L, K, M>, model: &HashMap<K, i64>)
where
    K: Key<L::T> + Hash + Debug,
{
    assert_eq!((pool.len(), pool.is_empty()), (model.len(), model.is_empty()));
    assert!(pool.capacity() >= pool.len());
    assert_eq!(pool.iter().map(|(key, value)| (key, L::number(value))).collect::<HashMap<_, _>>(), *model);
    for (&key, &number) in model {
        assert_eq!(pool.get(key).map(L::number), Some(number));
    }
    assert!(pool.keys().iter().zip(pool.values()).all(|(key, value)| model[key] == L::number(value)));
}

/// Random operations. `stale`: removed keys match nothing, since they are handles.
fn stream<L: Plays, K, M: Memory + Clone>(memory: M, seed: u64, stale: bool)
where
    K: Key<L::T> + Hash + Debug,
{
    let (ledger, mut random) = (Ledger::new(), Random(seed));
    let mut pool: DensePool<L::T, L, K, M> = DensePool::any_in(memory);
    let (mut model, mut removed) = (HashMap::new(), Vec::new());
    for step in 0..if cfg!(miri) { 60 } else { 3000 } {
        match random.below(12) {
            0..6 => {
                let key = pool.insert(L::make(ledger.value(step)));
                assert_eq!(model.insert(key, step), None);
            }
            6..10 if !model.is_empty() => {
                let key = pool.keys()[random.below(pool.len())];
                assert_eq!(pool.remove(key).map(L::back), model.remove(&key));
                removed.push(key);
            }
            10 if random.below(40) == 0 => {
                removed.extend(model.drain().map(|(key, _)| key));
                pool.clear();
            }
            11 if random.below(20) == 0 => pool.shrink_to_fit(),
            _ => _ = pool.try_reserve(random.below(50)),
        }
        if stale {
            let some = random.below(removed.len());
            assert!(removed.iter().skip(some).take(20).all(|key| !pool.contains(*key) && pool.get(*key).is_none()));
        }
        if step % 16 == 0 {
            compare(&pool, &model);
        }
    }
    compare(&pool, &model);
    assert_eq!(pool.into_iter().map(|(key, value)| (key, L::back(value))).collect::<HashMap<_, _>>(), model);
    assert_eq!(ledger.live(), 0);
}

#[test]
fn random_operations_agree_with_a_model() {
    let (arena, handle) = (Arena::new(), RcArena::default());
    for seed in 0..if cfg!(miri) { 1 } else { 5 } {
        stream::<Rows, Handle<()>, _>(Heap, seed, true);
        stream::<Columns, Handle<()>, _>(&arena, seed, true);
        stream::<Rows, Handle<(), u8>, _>(handle.clone(), seed, true);
        stream::<Rows, u16, _>(Heap, seed, false);
        stream::<Columns, usize, _>(Heap, seed, false);
    }
}

#[test]
fn a_fixed_pool_has_as_many_values_as_slots() {
    for n in [0, 1, 10, 1000] {
        let mut pool: DensePool<usize, Rows, u16> = DensePool::try_any_fixed_in(n, Heap).unwrap();
        for round in 0..3 {
            let keys: Vec<_> = (0..n).map(|i| pool.try_insert(i).unwrap()).collect();
            assert_eq!((pool.len(), pool.try_insert(7)), (n, Err(CapacityError(7))), "round {round}");
            assert!(pool.try_reserve(1).is_err() && pool.capacity() == n);
            assert!(keys.iter().enumerate().all(|(i, key)| pool[*key] == i));
            pool.clear();
        }
    }
    assert!(DensePool::<u8, Rows, u16>::try_any_fixed_in(65_536, Heap).is_err());
}

#[test]
fn a_worn_slot_is_retired() {
    let mut pool: DensePool<u32, Rows, Handle<u32, u8>> = DensePool::default();
    let mut seen = std::collections::HashSet::new();
    for i in 0..1000 {
        let key = pool.insert(i);
        assert!(seen.insert(key), "a handle came back");
        assert_eq!(pool.remove(key), Some(i));
    }
    assert!(seen.iter().all(|key| !pool.contains(*key)));
}

#[test]
fn a_handle_of_another_pool_finds_nothing() {
    let (mut one, mut other) = (DensePool::new(), DensePool::new());
    let keys: Vec<_> = (0..100).map(|i| (one.insert(i), other.insert(i))).collect();
    assert!(keys.iter().all(|(a, b)| one.get(*b).is_none() && other.get(*a).is_none()));
}

#[test]
fn values_without_a_size() {
    let mut pool = DensePool::new();
    let keys: Vec<_> = (0..100).map(|_| pool.insert(())).collect();
    assert_eq!((pool.remove(keys[50]), pool.remove(keys[50]), pool.len()), (Some(()), None, 99));
    assert_eq!(pool.as_slice().len(), 99);
}

#[test]
fn retain_keeps_the_keys_of_the_others() {
    let mut pool = DensePool::new();
    let keys: Vec<_> = (0..1000).map(|i| pool.insert(i)).collect();
    pool.retain(|key, value| {
        assert_eq!(key, keys[*value as usize]);
        *value % 3 == 0
    });
    assert!(keys.iter().enumerate().all(|(i, key)| pool.get(*key) == (i % 3 == 0).then_some(&(i as i32))));
    assert_eq!(pool.clone().into_iter().map(|(_, value)| value).sum::<i32>(), (0..1000).step_by(3).sum::<i32>());
}
