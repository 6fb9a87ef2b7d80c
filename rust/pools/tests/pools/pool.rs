//! Pools against a model, and each guarantee of their documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::collections::{BTreeMap, HashSet};

use crate::ledger::{panics, Counted, Ledger};
use crate::pair::Pair;
use crate::pool_model::{play, Plays, Step, KINDS};
use crate::refusing::{Refuses, Refusing};
use proptest::prelude::*;
use toft::{Arena, Pages};
use toft::{Blocks, Heap, Memory};
use toft_pools::{Columns, Handle, Pool, Rows};

// ---- streams of operations against a model ----

fn steps(n: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0..KINDS, any::<u16>()), 0..if cfg!(miri) { n / 4 } else { n })
}

/// Every kind of pool: layouts, keys, fixed and growing.
fn play_all<L: Plays>(steps: &[Step]) {
    play::<L, Handle<L::T>, _>(Pool::any_in(Heap), steps);
    play::<L, Handle<L::T>, _>(Pool::any_fixed_in(9, Heap), steps);
    play::<L, Handle<L::T, u16>, _>(Pool::any_fixed_in(70, Heap), steps);
    play::<L, u32, _>(PoolOf::<L, u32>::any_in(Heap), steps);
    let failing = Refusing::default();
    play::<L, Handle<L::T>, _>(Pool::any_in(&failing), steps);
    assert_eq!(failing.bytes(), 0);
}

type PoolOf<L, K> = Pool<<L as Plays>::T, L, K, Heap>;

/// The number of streams: each runs on several kinds of pool.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn rows_match_the_model(steps in steps(200)) {
        // The index of a freed slot is reused for the next value: plain indices do not detect staleness, so the model
        // forgets them.
        play::<Rows, Handle<Counted>, _>(Pool::new_in(Heap), &steps);
        play::<Rows, Handle<Counted>, _>(Pool::fixed_in(9, Heap), &steps);
        play::<Rows, Handle<Counted, u16>, _>(Pool::any_fixed_in(70, Heap), &steps);
    }

    #[test]
    fn columns_match_the_model(steps in steps(200)) {
        play::<Columns, Handle<Pair<u8, Counted>>, _>(Pool::any_in(Heap), &steps);
        play::<Columns, Handle<Pair<u8, Counted>>, _>(Pool::any_fixed_in(9, Heap), &steps);
    }

    #[test]
    fn plain_indices_match_the_model(steps in steps(200)) {
        play::<Rows, u16, _>(Pool::any_in(Heap), &steps);
        play::<Rows, u64, _>(Pool::any_fixed_in(65, Heap), &steps);
        play::<Columns, u32, _>(Pool::any_in(Heap), &steps);
        play::<Columns, usize, _>(Pool::any_fixed_in(3, Heap), &steps);
    }

    #[test]
    fn pools_in_other_memory_match_the_model(steps in steps(120)) {
        let failing = Refusing::default();
        play::<Rows, Handle<Counted>, _>(Pool::new_in(&failing), &steps);
        play::<Columns, u32, _>(Pool::any_in(&failing), &steps);
        prop_assert_eq!(failing.bytes(), 0);
        let arena = Arena::new();
        play::<Rows, Handle<Counted>, _>(Pool::new_in(&arena), &steps);
        play::<Columns, Handle<Pair<u8, Counted>>, _>(Pool::any_in(&arena), &steps);
    }
}

#[test]
fn many_values_match_the_model() {
    let steps: Vec<Step> =
        (0..6000u32).map(|i| ((i.wrapping_mul(2654435761) >> 20) as u8 % 11, (i * 7) as u16)).collect();
    let steps = if cfg!(miri) { &steps[..300] } else { &steps[..] };
    let few = &steps[..steps.len() / 12];
    play_all::<Rows>(few);
    play_all::<Columns>(few);
    // Without a full check after each step there is time for many more values.
    let ledger = Ledger::new();
    let (mut pool, mut model) = (Pool::new(), BTreeMap::new());
    for (i, &(what, n)) in steps.iter().enumerate() {
        if what < 8 || model.is_empty() {
            let handle = pool.insert(ledger.value(i as i64));
            assert!(model.insert(handle, i as i64).is_none());
        } else {
            let handle = *model.keys().nth(usize::from(n) % model.len()).unwrap();
            assert_eq!(pool.remove(handle).unwrap().number, model.remove(&handle).unwrap());
        }
    }
    assert!(pool.iter().map(|(key, value)| (key, value.number)).eq(model.into_iter()));
}

// ---- keys ----

#[test]
fn a_foreign_handle_finds_nothing() {
    let mut pools: Vec<Pool<usize>> = (0..50).map(|_| Pool::new()).collect();
    let handles: Vec<_> = pools.iter_mut().enumerate().map(|(i, pool)| pool.insert(i)).collect();
    for (i, pool) in pools.iter_mut().enumerate() {
        for (j, handle) in handles.iter().enumerate() {
            assert_eq!(pool.get(*handle).copied(), (i == j).then_some(i));
            assert_eq!(pool.get_mut(*handle).is_some(), i == j);
            assert!(i == j || pool.remove(*handle).is_none());
        }
    }
}

type ShortHandle = Handle<u32, u8>;

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn a_slot_is_retired_where_the_documentation_says() {
    let mut pool: Pool<u32, Rows, ShortHandle> = Pool::any_fixed_in(1, Heap);
    let mut old = vec![];
    for round in 0..127 {
        let handle = pool.insert(round);
        assert!(old.iter().all(|handle| pool.get(*handle).is_none()), "{round} uses after the first one");
        old.push(handle);
        // Clearing counts as a use.
        if round % 2 == 0 {
            pool.remove(handle);
        } else {
            pool.clear();
        }
    }
    for _ in 0..3 {
        assert_eq!(pool.try_insert(127).unwrap_err().into_inner(), 127);
        assert!(panics(|| pool.insert(127)).is_err());
        assert!(old.iter().all(|handle| !pool.contains(*handle)));
        assert_eq!((pool.len(), pool.capacity(), pool.iter().count(), pool.key_at(0)), (0, 1, 0, None));
        pool.clear();
    }
    assert!(pool.clone().try_insert(127).is_err());
}

#[test]
fn slots_of_plain_indices_are_not_retired() {
    let mut pool: Pool<u32, Rows, u32> = Pool::any_fixed_in(1, Heap);
    for round in 0..1000 {
        assert_eq!(pool.insert(round), 0);
        assert_eq!(pool.remove(0), Some(round));
        assert_eq!(pool.insert(round), 0);
        pool.clear();
    }
}

/// No handle is returned twice in 10^5 steps, also if whole-pool operations run from time to time; memory is lost only
/// for slots with at least half of their uses.
#[test]
fn no_stale_handle_matches_after_any_number_of_uses() {
    fn play(name: &str, change: impl Fn(&mut Pool<u32, Rows, ShortHandle>)) {
        let (mut pool, mut live, mut returned) = (Pool::with_key(), vec![], HashSet::new());
        let mut random = 1u64;
        for step in 0..if cfg!(miri) { 400 } else { 100_000 } {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let number = (random >> 33) as usize;
            if number % 128 >= live.len() {
                let handle: ShortHandle = pool.insert(step);
                assert!(returned.insert(handle), "{name}, step {step}: {handle:?} was returned before");
                live.push((handle, step));
            } else {
                let (handle, value) = live.swap_remove(number / 128 % live.len());
                assert_eq!(pool.remove(handle), Some(value), "{name}");
            }
            if step % 300 == 299 {
                change(&mut pool);
                live.retain(|(handle, value)| pool.get(*handle).inspect(|found| assert_eq!(*found, value)).is_some());
                if step % 6000 == 5999 {
                    assert_eq!(returned.iter().filter(|handle| pool.contains(**handle)).count(), live.len(), "{name}");
                }
                assert_eq!((pool.len(), pool.iter().count()), (live.len(), live.len()), "{name}");
            }
        }
        assert!(pool.capacity() <= 2 * (128 + returned.len() / 64), "{name}: {} slots", pool.capacity());
        // Retired slots do not count as reserved ones.
        pool.reserve(100);
        let capacity = pool.capacity();
        for _ in 0..100 {
            assert!(returned.insert(pool.insert(0)), "{name}");
        }
        assert_eq!(pool.capacity(), capacity, "{name}");
    }
    play("no change", |_| ());
    play("clear", Pool::clear);
    play("drain", |pool| drop(pool.drain()));
    play("retain", |pool| pool.retain(|handle, _| handle.index() % 3 == 0));
    play("truncate", |pool| {
        pool.retain(|handle, _| handle.index() < 20);
        pool.shrink_to_fit();
    });
    play("clear and shrink", |pool| {
        pool.clear();
        pool.shrink_to_fit();
    });
    play("clone", |pool| *pool = pool.clone());
    play("clear and clone", |pool| {
        pool.clear();
        *pool = pool.clone();
    });
    #[cfg(feature = "serde")]
    {
        let restored = |pool: &Pool<_, _, _>| serde_json::from_str(&serde_json::to_string(pool).unwrap()).unwrap();
        play("store", |pool| *pool = restored(pool));
        play("clear and store", |pool| {
            pool.clear();
            *pool = restored(pool);
        });
        play("clear, shrink and store", |pool| {
            pool.clear();
            pool.shrink_to_fit();
            *pool = restored(pool);
        });
    }
}

#[test]
fn shrinking_does_not_revive_handles() {
    let mut pool: Pool<u32, Rows, Handle<u32, u8>> = Pool::any_in(Heap);
    let mut seen = HashSet::new();
    for round in 0..60 {
        // The slots have different numbers of uses.
        let handles: Vec<_> = (0..100).map(|i| pool.insert(i)).collect();
        for handle in &handles {
            assert!(seen.insert(*handle), "round {round}: {handle:?} was given before");
        }
        for handle in &handles[(round * 7) % 90..] {
            pool.remove(*handle);
        }
        pool.shrink_to_fit();
        assert_eq!(pool.capacity(), (round * 7) % 90);
        pool.clear();
        pool.shrink_to_fit();
        assert_eq!(pool.capacity(), 0);
    }
}

#[test]
fn a_handle_is_restored_from_its_bits() {
    let mut pool = Pool::new();
    let handles: Vec<Handle<u8>> = (0..100).map(|i| pool.insert(i)).collect();
    for handle in handles {
        assert_eq!(Handle::from_bits(handle.to_bits()), Some(handle));
    }
    // Any bits are safe, and bits of no existing handle find no value.
    for bits in [0, 1, u64::MAX, 1 << 32, (1 << 32) + 5, u64::MAX << 32, 0xFFFF_FFFF] {
        if let Some(handle) = Handle::<u8>::from_bits(bits) {
            assert_eq!(handle.to_bits(), bits);
            assert_eq!(pool.get(handle), None);
            assert_eq!(pool.remove(handle), None);
        }
    }
    assert_eq!(Handle::<u8, u8>::from_bits(0x1_0000_0000_0001), None, "more than eight bits");
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn an_index_is_checked() {
    let mut pool: Pool<char, Rows, u32> = Pool::default();
    assert_eq!(pool.get(0), None);
    let a = pool.insert('a');
    assert_eq!((a, pool.get(a)), (0, Some(&'a')));
    for wrong in [1, 15, 16, 63, 64, 1000, u32::MAX] {
        assert_eq!(pool.get(wrong), None);
        assert_eq!(pool.remove(wrong), None);
    }
    let far: Pool<char, Rows, u64> = Pool::default();
    assert_eq!(far.get(u64::MAX), None);
    pool.remove(a);
    assert_eq!(pool.get(a), None);
    assert!(panics(|| pool[a]).is_err());
    assert!(panics(|| pool[a] = 'b').is_err());
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn keys_limit_the_slots() {
    let mut pool: Pool<(), Rows, u16> = Pool::default();
    for i in 0..65535u32 {
        assert_eq!(u32::from(pool.insert(())), i);
    }
    assert!(pool.try_insert(()).is_err());
    assert!(panics(|| pool.insert(())).is_err());
    assert_eq!(pool.len(), 65535);
    assert_eq!(pool.remove(7), Some(()));
    assert_eq!(pool.insert(()), 7);
    assert!(pool.try_reserve(1).is_err());
    assert!(Pool::<u8, Rows, u16>::try_any_fixed_in(65536, Heap).is_err());
    assert!(Pool::<u8, Rows, u16>::try_any_fixed_in(65535, Heap).is_ok());
}

// ---- capacity ----

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn the_fifth_value_in_a_pool_of_four_is_refused() {
    let ledger = Ledger::new();
    let mut pool = Pool::fixed(4);
    let handles: Vec<_> = (0..4).map(|i| pool.insert(ledger.value(i))).collect();
    assert_eq!(pool.capacity(), 4);
    assert_eq!(pool.try_insert(ledger.value(4)).unwrap_err().into_inner().number, 4);
    assert!(panics(|| pool.insert(ledger.value(5))).is_err());
    assert!(panics(|| pool.insert_with(|_| ledger.value(6))).is_err());
    assert!(panics(|| pool.reserve(1)).is_err());
    assert_eq!(ledger.live(), 4);
    assert!(handles.iter().zip(0..).all(|(handle, i)| pool[*handle].number == i));
    drop(pool.remove(handles[2]));
    assert_eq!(pool.insert(ledger.value(7)).index(), 2);
    pool.shrink_to_fit();
    assert_eq!(pool.capacity(), 4, "a fixed pool stays as it is");
    drop(pool);
    ledger.assert_empty();
}

#[test]
fn a_fixed_pool_never_moves_its_values() {
    let mut pool = Pool::fixed(200);
    let handles: Vec<_> = (0..100u64).map(|i| pool.insert(i)).collect();
    let addresses: Vec<_> = handles.iter().map(|handle| (*handle, &raw const pool[*handle])).collect();
    for i in 100..200 {
        pool.insert(i);
    }
    assert!(addresses.iter().all(|(handle, address)| std::ptr::eq(&pool[*handle], *address)));
}

/// Memory for more generations, but none for the links of their groups: no slot without a link is made available.
#[test]
fn generations_without_links() {
    let failing = Refusing::default();
    let mut pool: Pool<u32, Rows, Handle<u32>, _> = Pool::with_capacity_in(320, &failing);
    pool.extend(0..256);
    failing.refuse(Refuses::From(2));
    assert!(pool.try_reserve(1000).is_err());
    assert_eq!(pool.capacity(), 320);
    pool.extend(256..320);
    assert!(pool.try_insert(320).is_err());
    assert!(pool.values().copied().eq(0..320));
    failing.refuse(Refuses::Nothing);
    let handles: Vec<_> = (320..1000).map(|i| pool.insert(i)).collect();
    assert!(handles.into_iter().rev().all(|handle| pool.remove(handle).is_some()));
    assert!(pool.values().copied().eq(0..320));
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn absurd_sizes_are_refused() {
    assert!(Pool::<u64>::new().try_reserve(usize::MAX).is_err());
    assert!(Pool::<u64>::new().try_reserve(1 << 31).is_err() || cfg!(target_pointer_width = "64"));
    assert!(Pool::<[u8; 4096], Rows, usize>::try_any_fixed_in(usize::MAX >> 8, Heap).is_err());
    assert!(Pool::<Pair<u64, [u8; 4096]>, Columns, usize>::try_any_fixed_in(usize::MAX >> 8, Heap).is_err());
    assert!(panics(|| Pool::<u64>::with_capacity(usize::MAX)).is_err());
    let empty = Pool::<u64>::fixed(0);
    assert_eq!((empty.capacity(), empty.memory_use(), empty.iter().count()), (0, 0, 0));
}

#[test]
fn values_of_any_alignment_and_none() {
    #[repr(align(4096))]
    struct Page([u8; 100]);
    fn all<M: Memory>(memory: M) {
        let mut pool: Pool<Page, Rows, u32, M> = Pool::any_in(memory);
        for i in 0..40u8 {
            let i = pool.insert(Page([i; 100]));
            let at = &raw const pool[i] as usize;
            assert_eq!(at % 4096, 0);
        }
        assert!(pool.values().zip(0..).all(|(page, i)| page.0 == [i; 100]));
    }
    all(Heap);
    all(Arena::new());
    all(Blocks(Pages::new()));
    all(Blocks(Pages::new())); // returned blocks serve again
    let mut nothing = Pool::new();
    let handles: Vec<_> = (0..1000).map(|_| nothing.insert(())).collect();
    assert!(handles.iter().all(|handle| nothing.remove(*handle) == Some(())));
    assert!(nothing.insert_with(|_| ()).index() < 1000);
}

#[test]
fn a_pool_grows_while_a_scope_of_its_arena_is_open() {
    let mut arena = Arena::new();
    {
        let mut pool: Pool<u64, Rows, u32, _> = Pool::any_in(&arena);
        for i in 0..10 {
            pool.insert(i);
        }
        arena.scope(|scope| {
            scope.alloc([1u8; 1000]);
            for i in 10..5000 {
                pool.insert(i);
            }
        });
        assert!(pool.values().copied().eq(0..5000));
    }
    arena.reset();
}

// ---- values ----

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn closures_that_panic_change_nothing() {
    let ledger = Ledger::new();
    let mut pool: Pool<Counted> = (0..5).map(|i| ledger.value(i)).collect();
    assert!(panics(|| pool.insert_with(|_| panic!("no value"))).is_err());
    assert_eq!((pool.len(), ledger.live()), (5, 5));
    assert_eq!(pool.insert(ledger.value(5)).index(), 5);
    let mut calls = 0;
    let done = panics(|| {
        pool.retain(|_, _| {
            calls += 1;
            assert!(calls < 4, "no answer");
            calls % 2 == 0
        })
    });
    assert!(done.is_err());
    assert!(pool.values().map(|value| value.number).eq([1, 3, 4, 5]));
    drop(pool);
    ledger.assert_empty();
}

#[test]
fn runs_are_maximal() {
    let mut pool: Pool<Pair<u32, u8>, Columns, u32> = Pool::default();
    for i in 0..300 {
        pool.insert(Pair(i, i as u8));
    }
    let removed = [0, 5, 6, 63, 64, 127, 129, 192, 255, 256, 299];
    for i in removed {
        pool.remove(i);
    }
    let live: Vec<u32> = (0..300).filter(|i| !removed.contains(i)).collect();
    let mut found = vec![];
    let mut end = 0;
    for (numbers, bytes) in pool.slices() {
        assert!(!numbers.is_empty() && numbers.len() == bytes.len());
        assert!(found.is_empty() || numbers[0] > end, "two runs that are one");
        end = numbers[numbers.len() - 1] + 1;
        assert!(numbers.iter().zip(bytes).all(|(n, byte)| *n as u8 == *byte));
        found.extend_from_slice(numbers);
    }
    assert_eq!(found, live);
    for (numbers, _) in pool.slices_mut() {
        numbers.iter_mut().for_each(|n| *n += 1000);
    }
    assert!(pool.values().map(|(n, _)| *n - 1000).eq(live));
    pool.clear();
    assert_eq!(pool.slices().count(), 0);
    for i in 0..64 * 3 {
        pool.insert(Pair(i, 0));
    }
    assert_eq!(pool.slices().map(|(n, _)| n.len()).collect::<Vec<_>>(), [192]);
}

#[test]
fn values_may_borrow() {
    let text = String::from("one two three");
    let words: Vec<&str> = text.split(' ').collect();
    let mut pool: Pool<&str> = words.iter().copied().collect();
    let mut pairs: Pool<Pair<&str, usize>, Columns> = words.iter().map(|word| Pair(*word, word.len())).collect();
    pool.retain(|_, word| word.len() == 3);
    let long = pairs.iter().find(|(_, (word, _))| word.len() == 5).unwrap().0;
    pairs.remove(long);
    assert_eq!((pool.len(), pairs.len()), (2, 2));
    drop((pool, pairs));
    drop(words);
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn a_pool_is_send_and_sync_if_its_values_are() {
    fn send<T: Send>(_: &T) {}
    fn sync<T: Sync>(_: &T) {}
    let mut pool: Pool<String> = Pool::new();
    let handle = pool.insert("sent".into());
    send(&pool);
    sync(&pool);
    let pool = std::thread::spawn(move || {
        pool[handle].push('!');
        pool
    })
    .join()
    .unwrap();
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| assert_eq!(pool.get(handle).unwrap(), "sent!"));
        }
    });
}

#[test]
fn debug_prints_the_values() {
    let mut pool: Pool<&str, Rows, u16> = Pool::default();
    pool.insert("a");
    pool.insert("b");
    pool.remove(0);
    assert_eq!(format!("{pool:?}"), r#"{1: "b"}"#);
    let mut pairs: Pool<Pair<u8, char>, Columns, u16> = Pool::default();
    pairs.insert(Pair(1, 'x'));
    assert_eq!(format!("{pairs:?}"), "{0: (1, 'x')}");
    assert!(format!("{:?}", Pool::<u8>::new().iter()).starts_with("Iter"));
}
