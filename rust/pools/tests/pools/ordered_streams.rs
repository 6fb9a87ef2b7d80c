//! Ordered maps against `BTreeMap`: streams of operations, on keys and values of every kind. After each step the
//! invariants of the tree are checked.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::{panics, Counted, Ledger};
use crate::ordered_model::{Large, Look, Step, TestKey, TestValue, World, KINDS};
use crate::pair::Pair;
use crate::refusing::{Refuses, Refusing};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use toft::{Arena, Pages};
use toft::{Blocks, Heap, Memory};
use toft_pools::{Columns, Rows};
use toft_pools::{OrderedMap, OrderedSet};

type Small = Pair<Counted, i64>;
type Wide = Pair<Counted, [i64; 9]>;

/// `all`, or `enough` where each case is slow: under Miri, and with `TOFT_SHORT` (Valgrind).
fn or_fewer<T>(all: T, enough: T) -> T {
    let short = cfg!(miri) || std::env::var_os("TOFT_SHORT").is_some();
    if short {
        enough
    } else {
        all
    }
}

/// Deterministic streams; the fuzz target has others.
fn play<K: TestKey, V: TestValue, L: Look<V>, M: Memory + Clone>(seed: u8, map: impl Fn() -> OrderedMap<K, V, L, M>) {
    let few = or_fewer(24, 1);
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(few);
    let config = ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 2000, ..Default::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let step = (0..KINDS, any::<u16>(), any::<u16>());
    let stream = prop::collection::vec(step, 0..or_fewer(100, 12));
    TestRunner::new_with_rng(config, rng)
        .run(&stream, |steps: Vec<Step>| {
            World::new(map()).play(&steps);
            Ok(())
        })
        .unwrap();
}

#[test]
fn integer_keys_match_the_model() {
    play::<i64, Small, Rows, Heap>(1, || OrderedMap::new_in(Heap));
    play::<u64, Small, Columns, Heap>(2, || OrderedMap::any_in(Heap));
    play::<u8, Wide, Rows, Heap>(3, || OrderedMap::new_in(Heap));
    play::<char, Small, Rows, Heap>(4, || OrderedMap::new_in(Heap));
    play::<u128, Small, Rows, Heap>(5, || OrderedMap::new_in(Heap));
}

#[test]
fn other_keys() {
    play::<String, Small, Rows, Heap>(11, || OrderedMap::new_in(Heap));
    play::<(u32, u32), Wide, Rows, Heap>(12, || OrderedMap::new_in(Heap));
    play::<String, Small, Columns, Heap>(13, || OrderedMap::any_in(Heap));
}

#[test]
fn deep_trees() {
    play::<Large, Small, Rows, Heap>(21, || OrderedMap::new_in(Heap));
    play::<Large, Small, Columns, Heap>(22, || OrderedMap::any_in(Heap));
    play::<Large, Wide, Rows, Heap>(23, || OrderedMap::new_in(Heap));
}

#[test]
fn fixed_maps_match_the_model() {
    let failing = Refusing::default();
    for limit in or_fewer(&[0, 1, 5, 70, 300][..], &[5, 70]).iter().copied() {
        let map = || OrderedMap::try_fixed_in(limit, &failing).unwrap();
        play::<i64, Small, Rows, &Refusing>(31, map);
        let map = || OrderedMap::try_any_fixed_in(limit, &failing).unwrap();
        play::<Large, Small, Columns, &Refusing>(32, map);
        let map = || OrderedMap::try_fixed_in(limit, &failing).unwrap();
        play::<String, Wide, Rows, &Refusing>(33, map);
    }
    assert_eq!(failing.bytes(), 0);
}

#[test]
fn in_other_memory() {
    play::<i64, Small, Rows, _>(41, || OrderedMap::new_in(Blocks(Pages::new())));
    let arena = Arena::new();
    play::<String, Small, Columns, _>(42, || OrderedMap::any_in(&arena));
}

/// A fixed map allocates all its memory when it is made, and none later.
#[test]
fn a_fixed_map_takes_no_more_memory() {
    let failing = Refusing::default();
    fn run<K: TestKey>(failing: &Refusing, n: u16) {
        let ledger = Ledger::new();
        let mut map: OrderedMap<K, u32, Rows, &Refusing> = OrderedMap::fixed_in(n.into(), failing);
        failing.refuse(Refuses::From(1));
        for round in 0..or_fewer(12, 1) {
            for i in 0..n {
                map.insert(K::key(&ledger, i.wrapping_mul([1, 37, 509, 1023][round % 4])), u32::from(i));
            }
            map.check();
            // Leaves with the minimum of keys, which are not merged.
            let mut i = 0usize;
            map.retain(|_, _| {
                i += 1;
                i % (round + 2) == 0
            });
            for i in 0..n {
                if (usize::from(i) * 7 + round) % 3 != 0 {
                    map.remove(&K::key(&ledger, i));
                }
            }
            map.check();
        }
        failing.refuse(Refuses::Nothing);
    }
    run::<i64>(&failing, or_fewer(1024, 150));
    run::<String>(&failing, or_fewer(1024, 60));
    run::<Large>(&failing, or_fewer(512, 60));
    assert_eq!(failing.bytes(), 0);
}

/// Reserved memory suffices for keys between existing ones, though all leaves are full and all slots used.
#[test]
fn a_map_with_keys_uses_reserved_memory() {
    fn run<K: TestKey, V: TestValue, L: Look<V>>(n: u16, mores: &[u16]) {
        for &more in mores {
            let (failing, ledger) = (Refusing::default(), Ledger::new());
            let pair = |i: u16| (K::key(&ledger, i), V::value(&ledger, i.into()));
            let mut map: OrderedMap<K, V, L, &Refusing> = OrderedMap::any_in(&failing);
            map.extend((0..n).map(|i| pair(2 * i)));
            map.shrink_to_fit();
            map.reserve(more.into());
            failing.refuse(Refuses::From(1));
            map.extend((0..more).map(|i| pair((u32::from(n) * u32::from(i) / u32::from(more)) as u16 * 2 + 1)));
            map.check();
            assert_eq!(map.len(), usize::from(n + more));
            drop(map);
            ledger.assert_empty();
        }
    }
    let (n, mores): (u16, &[u16]) = or_fewer((500, &[1, 2, 8, 40, 250]), (70, &[2]));
    run::<i64, Small, Rows>(n, mores);
    run::<i64, Wide, Rows>(n, mores);
    run::<String, Small, Columns>(n, mores);
    run::<Large, Small, Rows>(n / 2, mores);
}

#[test]
fn a_fixed_map_reserves_no_more() {
    let failing = Refusing::default();
    let mut map: OrderedMap<u32, [u64; 9], Rows, &Refusing> = OrderedMap::fixed_in(100, &failing);
    let taken = failing.bytes();
    map.extend((0..30).map(|i| (i, [7; 9])));
    assert!(map.try_reserve(0).is_ok() && map.try_reserve(70).is_ok());
    assert!(map.try_reserve(71).is_err() && map.try_reserve(usize::MAX).is_err());
    assert!(panics(|| map.reserve(71)).is_err());
    assert_eq!(failing.bytes(), taken);
}

/// Sizes above the maximum are refused before memory is requested.
#[test]
fn absurd_sizes_are_refused() {
    fn run<K, V>(sizes: &[usize]) {
        let failing = Refusing::new(Refuses::From(1));
        for &n in sizes {
            let mut map: OrderedMap<K, V, Rows, &Refusing> = OrderedMap::new_in(&failing);
            assert!(map.try_reserve(n).is_err());
            assert!(OrderedMap::<K, V, Rows, &Refusing>::try_fixed_in(n, &failing).is_err());
        }
        assert_eq!(failing.refused(), 0);
    }
    run::<u64, u64>(&[usize::MAX, usize::MAX - 1]);
    run::<[u8; 512], ()>(&[usize::MAX, usize::MAX - 1]);
    // Slots are numbered with 32 bits.
    run::<u64, [u64; 5]>(&[usize::MAX, usize::MAX / 2, (u32::MAX as usize).saturating_add(1)]);
}

/// A value that a full map refuses is dropped, and the map is unchanged.
#[test]
fn a_refused_append_leaves_both_maps_consistent() {
    let ledger = Ledger::new();
    let pair = |i: i64| (i, Small::value(&ledger, i));
    for n in [5, 100] {
        let mut low = OrderedMap::fixed(3);
        low.extend([pair(0)]);
        let mut high: OrderedMap<i64, Small> = (0..n).map(pair).collect();
        assert!(panics(|| low.append(&mut high)).is_err());
        low.check();
        high.check();
        assert!(low.keys().copied().eq(0..3));
        assert!(high.keys().copied().eq(4..n));
        assert_eq!(ledger.live(), low.len() + high.len());
    }
    ledger.assert_empty();
}

/// Trees of integer keys that are large enough to split and merge inner nodes.
#[test]
fn large_trees_of_numbers() {
    let n: u64 = or_fewer(60_000, 150);
    let spread = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
    for order in 0..4 {
        let key = |i: u64| match order {
            0 => i,
            1 => n - i,
            2 => spread(i),
            _ => i % 16 * n + i / 16, // sixteen interleaved runs
        };
        let mut map = OrderedMap::new();
        let mut model = BTreeMap::new();
        for i in 0..n {
            assert_eq!(map.insert(key(i), i), model.insert(key(i), i));
        }
        map.check();
        assert!(map.iter().eq(model.iter()));
        for removal in 0..3 {
            let mut map = map.clone();
            let mut model = model.clone();
            map.check();
            for i in 0..n {
                let i = match removal {
                    0 => i,
                    1 => n - 1 - i,
                    _ => i * 7 % n,
                };
                assert_eq!(map.remove(&key(i)), model.remove(&key(i)));
                if i % (n / 16) == 0 {
                    map.check();
                    assert!(map.iter().eq(model.iter()));
                }
            }
            map.check();
            assert_eq!(map.len(), model.len());
        }
        if order < 2 {
            // Keys that are added in order fill their leaves: 17 bytes each, with the overhead of nodes.
            map.shrink_to_fit();
            assert!(n < 1000 || map.memory_use() < n as usize * 18, "{} bytes", map.memory_use());
        }
    }
}

thread_local! {
    /// The number of comparisons before one panics.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// A key whose comparison panics.
struct Fickle(Counted);

impl Ord for Fickle {
    fn cmp(&self, other: &Self) -> Ordering {
        assert!(LEFT.get() > 0, "a comparison that panics");
        LEFT.set(LEFT.get() - 1);
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Fickle {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Fickle {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Fickle {}

/// A comparison that panics leaves the map unchanged.
#[test]
fn comparisons_that_panic() {
    for n in 0..or_fewer(12, 3) {
        let ledger = Ledger::new();
        let mut map: OrderedMap<Fickle, Small> = OrderedMap::new();
        let fickle = |n: i64| Fickle(ledger.value(n));
        (0..300).for_each(|i| drop(map.insert(fickle(i * 7 % 300 * 2), Small::value(&ledger, i))));
        for what in 0..6 {
            let before = map.len();
            let key = fickle(101);
            LEFT.set(n);
            let done = panics(|| match what {
                0 => drop(map.insert(key, Small::value(&ledger, 1))),
                1 => drop(map.remove(&key)),
                2 => drop(map.get(&key).is_some()),
                3 => drop(map.range(&key..).count()),
                4 => drop(map.entry(key).or_insert_with(|| Small::value(&ledger, 1))),
                _ => drop(map.split_off(&key)),
            });
            LEFT.set(u64::MAX);
            map.check();
            if done.is_err() {
                assert_eq!(map.len(), before);
            } else {
                map.remove(&fickle(101));
            }
            assert_eq!(ledger.live(), 2 * map.len());
        }
        drop(map);
        ledger.assert_empty();
    }
}

/// Compares equal by its first number, and is distinguished by the second.
#[derive(Clone, Copy, Debug)]
struct Twofold(i64, usize);

impl PartialEq for Twofold {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for Twofold {}
impl PartialOrd for Twofold {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Twofold {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// Sorted, sorted up to a position, reversed, random, with equal keys: as in std, the last of equal keys is kept.
#[test]
fn collected_in_any_order() {
    let ledger = Ledger::new();
    for n in [0i64, 1, 2, 7, or_fewer(3000, 80)] {
        let orders: [&dyn Fn(i64) -> i64; 6] = [
            &|i| i,
            &|i| n - i,
            &|i| if i < n / 2 { 2 * i } else { 2 * (n - i) },
            &|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) >> 8,
            &|i| i * 7919 % (n / 3 + 1),
            &|i| if i + 1 < n { i / 2 } else { 0 },
        ];
        for key in orders {
            let keys: Vec<_> = (0..n).map(|i| Twofold(key(i), i as usize)).collect();
            let theirs: BTreeMap<_, _> = keys.iter().map(|&key| (key, key.1 as i64)).collect();
            let theirs: Vec<_> = theirs.into_iter().map(|(key, value)| (key.0, key.1, value)).collect();
            let ours: OrderedMap<Twofold, Small> =
                keys.iter().map(|&k| (k, Small::value(&ledger, k.1 as i64))).collect();
            ours.check();
            assert_eq!(ours.iter().map(|(key, value)| (key.0, key.1, value.1)).collect::<Vec<_>>(), theirs);
            let ours: OrderedMap<_, Small, Columns> =
                keys.iter().map(|&k| (k, Small::value(&ledger, k.1 as i64))).collect();
            ours.check();
            assert_eq!(ours.iter().map(|(key, value)| (key.0, key.1, *value.1)).collect::<Vec<_>>(), theirs);
            let numbers: Vec<i64> = keys.iter().map(|key| key.0).collect();
            let (ours, theirs): (OrderedSet<i64>, BTreeSet<i64>) =
                (numbers.iter().copied().collect(), numbers.iter().copied().collect());
            assert!(ours.iter().eq(&theirs));
        }
    }
    ledger.assert_empty();
}

/// Keys and values of size 0, and of large alignment.
#[test]
fn odd_sizes() {
    let mut map = OrderedMap::new();
    assert_eq!(map.insert((), ()), None);
    assert_eq!(map.insert((), ()), Some(()));
    map.check();
    assert_eq!(map.len(), 1);
    assert_eq!(map.remove(&()), Some(()));

    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
    #[repr(align(4096))]
    struct Page(u64);
    let mut map = OrderedMap::new();
    for i in 0..or_fewer(100, 10) {
        map.insert(Page(i * 37 % 100), Page(i));
        map.check();
    }
    for (key, value) in &map {
        assert_eq!((key as *const Page as usize % 4096, value as *const Page as usize % 4096), (0, 0));
        assert_eq!(value.0 * 37 % 100, key.0);
    }
    // Eight slots of a value and a number, and a leaf of slot numbers, which needs no alignment for values.
    let map = OrderedMap::from([(1u8, Page(1))]);
    assert!(map.memory_use() <= 8 * 2 * 4096 + 1024, "{} bytes", map.memory_use());
    #[repr(align(32))]
    #[derive(Clone, Copy)]
    struct Wide(u64);
    let map: OrderedMap<u8, Wide> = (0..200).map(|i| (i, Wide(i.into()))).collect();
    assert!(map.iter().all(|(key, value)| value as *const Wide as usize % 32 == 0 && value.0 == u64::from(*key)));
}

/// Maps are `Send` and `Sync` if their keys and values are.
#[test]
fn auto_traits() {
    fn send<T: Send>(_: &T) {}
    fn sync<T: Sync>(_: &T) {}
    let mut map: OrderedMap<u32, Cell<u32>> = OrderedMap::from([(1, Cell::new(2))]);
    send(&map);
    send(&map.iter_mut());
    send(&map.entry(1));
    let mut set = OrderedSet::from([1]);
    sync(&set);
    send(&set.iter());
    set.clear();
    send(&map.into_iter());
}
