//! Streaming of assets: what is loaded, evicted and refused is what a model says, whatever loads, keys, sources and
//! callbacks do.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/random.rs"]
mod random;
#[path = "common/strict.rs"]
mod strict;

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use random::Random;
use toft::{Asset, AssetLoad, AssetState, Pages, ReserveError, Source, Streaming};

const PAGE: usize = 4096;

fn rounds(most: usize, miri: usize) -> usize {
    if cfg!(miri) {
        miri
    } else if std::env::var_os("TOFT_SHORT").is_some() {
        (most / 20).max(miri)
    } else {
        most
    }
}

/// Under Miri some of the bytes.
fn all_are(bytes: &[u8], byte: u8) -> bool {
    bytes.iter().step_by(if cfg!(miri) { 1021 } else { 1 }).all(|other| *other == byte)
}

fn filled<K: std::hash::Hash + Eq + std::fmt::Debug>(mut load: AssetLoad<'_, K>, byte: u8) -> Asset {
    while load.written() < load.size() {
        let part = [byte; 1000];
        assert!(load.write(&part).unwrap() > 0);
    }
    assert_eq!(load.write(&[0]).unwrap(), 0);
    load.finish().unwrap()
}

fn loaded(assets: &Streaming<u32>, key: u32, size: usize, priority: i32) {
    assets.reserve(key, size, priority).unwrap();
    drop(filled(assets.begin(&key).unwrap(), key as u8));
}

type Evicted = Arc<Mutex<Vec<(u32, usize)>>>;

fn recording(assets: &Streaming<u32>) -> Evicted {
    let evicted = Evicted::default();
    let list = evicted.clone();
    assets.on_evict(move |key, bytes| {
        let whole = all_are(bytes, *key as u8); // a failed assertion would be caught
        list.lock().unwrap().push((if whole { *key } else { u32::MAX }, bytes.len()));
    });
    evicted
}

fn taken(evicted: &Evicted) -> Vec<(u32, usize)> {
    std::mem::take(&mut *evicted.lock().unwrap())
}

// ---- every edge ----

#[test]
fn sizes_are_rounded_to_pages_and_compared_with_the_budget() {
    let assets = Streaming::new(2 * PAGE + 1);
    for size in [2 * PAGE + 1, usize::MAX, usize::MAX - PAGE, isize::MAX as usize] {
        assert_eq!(assets.reserve(9, size, i32::MAX), Err(ReserveError::TooLarge));
    }
    assets.reserve(0, 0, 0).unwrap();
    assert_eq!((assets.state(&0), assets.stats().used), (Some(AssetState::Reserved), 0));
    loaded(&assets, 1, 1, 0);
    loaded(&assets, 2, PAGE, 0);
    assert_eq!(assets.stats().used, 2 * PAGE);
    let empty = assets.begin(&0).unwrap().finish().unwrap();
    assert!(empty.is_empty());
    drop(empty);
    loaded(&assets, 3, 2 * PAGE, 0);
    assert_eq!(assets.state(&0), Some(AssetState::Ready)); // it holds nothing that eviction would free
    assert_eq!((assets.stats().ready, assets.stats().evictions), (2, 2));
    let none = Streaming::new(0);
    assert_eq!((none.reserve(1, 1, 0), none.reserve(1, 0, 0)), (Err(ReserveError::TooLarge), Ok(())));
}

#[test]
fn the_lowest_priority_is_evicted_first_then_the_oldest_use() {
    let assets = Streaming::new(4 * PAGE);
    let evicted = recording(&assets);
    for (key, priority) in [(1, 5), (2, 0), (3, 0), (4, -1)] {
        loaded(&assets, key, PAGE, priority);
    }
    assert!(assets.get(&2).is_some()); // now 3 is the oldest of priority 0
    loaded(&assets, 5, 2 * PAGE, 5);
    assert_eq!(taken(&evicted), [(4, PAGE), (3, PAGE)]);
    loaded(&assets, 6, PAGE, 0);
    assert_eq!(taken(&evicted), [(2, PAGE)]);
    // Higher priorities stay, and a refusal evicts nothing: the page of 6 would not be enough.
    assert_eq!(assets.reserve(7, 2 * PAGE, 4), Err(ReserveError::OverBudget));
    assert!(taken(&evicted).is_empty());
    assert!(assets.set_priority(&1, 4) && !assets.set_priority(&8, 4));
    loaded(&assets, 7, 2 * PAGE, 4);
    assert_eq!(taken(&evicted), [(6, PAGE), (1, PAGE)]);
}

#[test]
fn assets_in_use_reserved_or_being_loaded_are_not_evicted() {
    let assets = Streaming::new(3 * PAGE);
    loaded(&assets, 1, PAGE, 0);
    assets.reserve(2, PAGE, 0).unwrap();
    assets.reserve(3, PAGE, 0).unwrap();
    let (load, asset) = (assets.begin(&3).unwrap(), assets.get(&1).unwrap());
    let copy = asset.clone();
    let stats = assets.stats();
    assert_eq!((stats.reserved, stats.loading, stats.ready, stats.in_use), (1, 1, 1, 1));
    drop(asset);
    assert_eq!(assets.reserve(4, 1, 9), Err(ReserveError::OverBudget));
    assert!(!assets.remove(&3)); // its load may drop it
    drop(copy);
    assets.reserve(4, 1, 9).unwrap();
    drop(load);
    assert_eq!((assets.state(&1), assets.state(&3)), (None, None));
    assert!(assets.get(&2).is_none() && assets.get(&4).is_none());
    assert_eq!((assets.stats().hits, assets.stats().misses), (1, 2));
}

#[test]
fn an_unfinished_load_goes_on_or_removes_its_asset() {
    let assets = Streaming::new(PAGE);
    assets.reserve(1, 100, 0).unwrap();
    let mut load = assets.begin(&1).unwrap();
    load.write_all(&[7; 40]).unwrap();
    let mut load = load.finish().unwrap_err();
    assert_eq!((load.written(), load.unwritten().len()), (40, 60));
    assert_eq!(format!("{load:?}"), "AssetLoad { key: 1, written: 40, size: 100 }");
    assert!(load.write_all(&[7; 61]).is_err()); // 60 were written
    let asset = load.finish().unwrap();
    assert_eq!((&asset[..], format!("{asset:?}")), (&[7; 100][..], "Asset { size: 100 }".to_string()));
    drop(asset);
    assert!(assets.remove(&1));

    assets.reserve(1, 100, 0).unwrap();
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _load = assets.begin(&1).unwrap();
        panic!("in a loader");
    }));
    assert!(unwound.is_err());
    assert_eq!((assets.state(&1), assets.stats().used), (None, 0));
    assert_eq!(format!("{assets:?}"), "Streaming { limit: 4096, assets: 0, .. }");
}

#[test]
fn assets_outlive_the_table() {
    let assets = Streaming::new(PAGE);
    loaded(&assets, 1, 10, 0);
    let asset = assets.get(&1).unwrap();
    drop(assets);
    assert_eq!(thread::spawn(move || asset.to_vec()).join().unwrap(), [1; 10]);
}

// ---- callbacks, keys and sources ----

#[test]
fn a_callback_may_use_the_table_and_panic() {
    static ASSETS: OnceLock<Streaming<u32>> = OnceLock::new();
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let assets = ASSETS.get_or_init(|| Streaming::new(2 * PAGE));
    assets.on_evict(|key, _| {
        let assets = ASSETS.get().unwrap();
        let removed = assets.state(key).is_none();
        if removed && CALLS.fetch_add(1, SeqCst) == 0 {
            assets.on_evict(|_, _| {
                CALLS.fetch_add(1, SeqCst);
                panic!("in a callback");
            });
            drop(assets.get(&2).unwrap());
            let refused = assets.reserve(9, 2 * PAGE, 0) == Err(ReserveError::OverBudget); // the evicted one is still held
            CALLS.fetch_add(if refused { 10 } else { 0 }, SeqCst);
        }
    });
    loaded(assets, 1, PAGE, 0);
    loaded(assets, 2, PAGE, 1);
    loaded(assets, 3, PAGE, 1);
    loaded(assets, 4, PAGE, 1);
    assert_eq!((CALLS.load(SeqCst), assets.stats().evictions), (12, 2));
    for key in [3, 4] {
        assert!(assets.remove(&key));
    }
    assert_eq!(assets.stats().used, 0);
}

#[test]
fn a_callback_may_add_the_key_that_is_reserved() {
    static ASSETS: OnceLock<Streaming<u32>> = OnceLock::new();
    let assets = ASSETS.get_or_init(|| Streaming::new(PAGE));
    assets.on_evict(|_, _| ASSETS.get().unwrap().reserve(2, 0, 7).unwrap());
    loaded(assets, 1, PAGE, 0);
    assert_eq!(assets.reserve(2, PAGE, 0), Err(ReserveError::Exists));
    assert_eq!((assets.state(&2), assets.stats().used), (Some(AssetState::Reserved), 0));
}

#[test]
fn a_source_that_refuses_changes_nothing_more() {
    struct Refusing(AtomicBool);
    // SAFETY: the pages of the system.
    unsafe impl Source for Refusing {
        fn take(&self, size: usize) -> Option<NonNull<u8>> {
            if self.0.load(SeqCst) {
                return None;
            }
            Pages::new().take(size)
        }
        unsafe fn put(&self, block: NonNull<u8>, size: usize) {
            // SAFETY: the same contract.
            unsafe { Pages::new().put(block, size) }
        }
    }
    let assets = Streaming::<u32, _>::with_source(Refusing(AtomicBool::new(true)), PAGE);
    assert_eq!(assets.reserve(1, 1, 0), Err(ReserveError::Memory));
    assert_eq!((assets.state(&1), assets.stats().used), (None, 0));
    for error in [ReserveError::Exists, ReserveError::TooLarge, ReserveError::OverBudget, ReserveError::Memory] {
        assert!(!error.to_string().is_empty());
    }
}

/// Keys that are equal at random: no asset may be read before it was written, nor written while it is read.
#[test]
fn keys_without_a_consistent_equality_find_only_whole_assets() {
    thread_local!(static DICE: Cell<u64> = const { Cell::new(7) });
    fn roll(n: u64) -> u64 {
        DICE.set(DICE.get().wrapping_mul(6364136223846793005).wrapping_add(1));
        (DICE.get() >> 33) % n
    }
    #[derive(Debug)]
    struct Any;
    impl Clone for Any {
        fn clone(&self) -> Any {
            Any
        }
    }
    impl PartialEq for Any {
        fn eq(&self, _: &Any) -> bool {
            roll(2) == 0
        }
    }
    impl Eq for Any {}
    impl std::hash::Hash for Any {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            state.write_u64((roll(6) == 0) as u64);
        }
    }
    static PARTLY_WRITTEN: AtomicBool = AtomicBool::new(false);
    let whole = |bytes: &[u8]| assert!(all_are(bytes, 5));
    let start = |load: &mut AssetLoad<'_, Any>| load.unwritten().as_ptr().addr() - load.written();
    let (mut evictions, mut round, least) = (0, 0, rounds(1000, 10));
    // Assets whose key is not found again stay in their table, so each table is used for a short time. A table places
    // keys by a random seed, so that the number of rounds before the first eviction differs by process.
    while round < least || (evictions == 0 && !cfg!(miri) && round < 10_000) {
        round += 1;
        let assets = Streaming::new(6 * PAGE);
        assets.on_evict(|_: &Any, bytes| _ = PARTLY_WRITTEN.fetch_or(!all_are(bytes, 5), SeqCst));
        let (mut loads, mut held): (Vec<AssetLoad<'_, Any>>, Vec<Asset>) = (Vec::new(), Vec::new());
        for _ in 0..60 {
            match roll(8) {
                0..=2 => _ = assets.reserve(Any, 1 + roll(2 * PAGE as u64) as usize, roll(3) as i32),
                way @ (3 | 4) => {
                    if let Some(mut load) = if way == 3 { assets.begin(&Any) } else { assets.begin_next() } {
                        let new = start(&mut load);
                        assert!(loads.iter_mut().all(|other| start(other) != new), "two loads write the same memory");
                        assert!(held.iter().all(|asset| asset.as_ptr().addr() != new), "a load writes what is read");
                        loads.push(load);
                    }
                }
                5 if !loads.is_empty() => {
                    let load = loads.swap_remove(roll(loads.len() as u64) as usize);
                    if roll(4) != 0 {
                        whole(&filled(load, 5));
                    }
                }
                6 => held.extend(assets.get(&Any)),
                _ => _ = assets.remove(&Any),
            }
            if held.len() > 2 {
                whole(&held.swap_remove(0));
            }
        }
        evictions += assets.stats().evictions;
    }
    assert!(!PARTLY_WRITTEN.load(SeqCst), "an eviction saw an asset that was partly written");
    assert!(cfg!(miri) || evictions > 0, "no asset was evicted in {round} rounds");
}

// ---- a model ----

struct Expected {
    size: usize,
    priority: i32,
    used: u64,
    stage: usize, // 0 reserved, 1 loading, 2 ready
    pins: usize,
}

/// What the table contains, and which assets a reservation evicts.
#[derive(Default)]
struct Model {
    assets: BTreeMap<u32, Expected>,
    clock: u64,
    /// Removed, and still in use: bytes.
    detached: usize,
}

fn pages(size: usize) -> usize {
    size.div_ceil(PAGE) * PAGE
}

impl Model {
    fn used(&self) -> usize {
        self.detached + self.assets.values().map(|asset| pages(asset.size)).sum::<usize>()
    }

    fn reserve(
        &mut self,
        limit: usize,
        key: u32,
        size: usize,
        priority: i32,
    ) -> Result<Vec<(u32, usize)>, ReserveError> {
        if pages(size) > limit {
            return Err(ReserveError::TooLarge);
        }
        if self.assets.contains_key(&key) {
            return Err(ReserveError::Exists);
        }
        let able =
            |asset: &Expected| asset.stage == 2 && asset.pins == 0 && asset.priority <= priority && asset.size > 0;
        let mut order: Vec<u32> = self.assets.iter().filter(|(_, a)| able(a)).map(|(key, _)| *key).collect();
        order.sort_by_key(|key| (self.assets[key].priority, self.assets[key].used));
        let (mut evicted, mut over) = (vec![], (self.used() + pages(size)).saturating_sub(limit));
        for key in order {
            if over > 0 {
                over = over.saturating_sub(pages(self.assets[&key].size));
                evicted.push((key, self.assets[&key].size));
            }
        }
        if over > 0 {
            return Err(ReserveError::OverBudget);
        }
        evicted.iter().for_each(|(key, _)| _ = self.assets.remove(key));
        self.clock += 1;
        self.assets.insert(key, Expected { size, priority, used: self.clock, stage: 0, pins: 0 });
        Ok(evicted)
    }
}

impl Model {
    /// The reserved asset that the next load is of: that of a key, or any.
    fn next_load(&self, key: Option<u32>) -> Option<u32> {
        let able = |asset: &(&u32, &Expected)| asset.1.stage == 0 && key.is_none_or(|key| key == *asset.0);
        let waiting = self.assets.iter().filter(able);
        waiting.max_by_key(|(_, asset)| (asset.priority, Reverse(asset.used))).map(|(key, _)| *key)
    }

    /// Finishes the load, or drops it.
    fn end(&mut self, load: AssetLoad<'_, u32>, is_dropped: bool) {
        let key = *load.key();
        if is_dropped {
            drop(load);
            self.assets.remove(&key);
        } else {
            drop(filled(load, key as u8));
            self.assets.get_mut(&key).unwrap().stage = 2;
        }
    }

    fn get(&mut self, assets: &Streaming<u32>, key: u32) -> Option<Asset> {
        self.clock += 1;
        let asset = self.assets.get_mut(&key).filter(|asset| asset.stage == 2);
        let found = assets.get(&key);
        assert_eq!(found.as_ref().map(|found| found.len()), asset.as_ref().map(|asset| asset.size));
        if let (Some(found), Some(asset)) = (&found, asset) {
            assert!(all_are(found, key as u8));
            asset.used = self.clock;
        }
        found
    }

    fn compare(&self, assets: &Streaming<u32>, limit: usize) {
        let stats = assets.stats();
        assert!(stats.used <= limit);
        assert_eq!(stats.used, self.used());
        let of_stage = |stage| self.assets.values().filter(|asset| asset.stage == stage).count();
        assert_eq!([stats.reserved, stats.loading, stats.ready], [0, 1, 2].map(of_stage));
        assert_eq!(stats.in_use, self.assets.values().filter(|asset| asset.pins > 0).count());
    }
}

#[test]
fn a_random_stream_does_what_the_model_does() {
    for seed in 1..=rounds(20, 2) as u64 {
        let mut random = Random(0x9E37_79B9_7F4A_7C15u64.wrapping_mul(seed));
        let mut below = |n: usize| random.below(n);
        let limit = 12 * PAGE;
        let assets = Streaming::new(limit);
        let evicted = recording(&assets);
        let mut model = Model::default();
        let mut loads: Vec<AssetLoad<'_, u32>> = vec![];
        let mut pins: Vec<(u32, u64, Asset)> = vec![];
        let (mut generation, mut generations) = (0u64, BTreeMap::<u32, u64>::new());
        for _ in 0..rounds(2000, 150) {
            let key = below(12) as u32;
            match below(9) {
                0..=2 => {
                    let (size, priority) = ([0, 1, below(4 * PAGE), below(14 * PAGE)][below(4)], below(3) as i32);
                    let expected = model.reserve(limit, key, size, priority);
                    let outcome = assets.reserve(key, size, priority).map(|()| taken(&evicted));
                    assert_eq!(outcome, expected);
                    if outcome.is_ok() {
                        generation += 1;
                        generations.insert(key, generation);
                    }
                    assert!(taken(&evicted).is_empty());
                }
                3 => {
                    let next = below(2) == 0;
                    let load = if next { assets.begin_next() } else { assets.begin(&key) };
                    assert_eq!(load.as_ref().map(|load| *load.key()), model.next_load((!next).then_some(key)));
                    if let Some(load) = load {
                        model.assets.get_mut(load.key()).unwrap().stage = 1;
                        loads.push(load);
                    }
                }
                4 | 5 if !loads.is_empty() => {
                    let load = loads.swap_remove(below(loads.len()));
                    model.end(load, below(5) == 0);
                }
                6 => {
                    if let Some(found) = model.get(&assets, key).filter(|_| below(2) == 0) {
                        model.assets.get_mut(&key).unwrap().pins += 1;
                        pins.push((key, generations[&key], found));
                    }
                }
                7 if !pins.is_empty() => {
                    let (key, of, asset) = pins.swap_remove(below(pins.len()));
                    assert!(all_are(&asset, key as u8));
                    match model.assets.get_mut(&key).filter(|_| generations[&key] == of) {
                        Some(expected) => expected.pins -= 1,
                        None if pins.iter().all(|pin| pin.1 != of) => model.detached -= pages(asset.len()),
                        None => {}
                    }
                }
                _ => {
                    let removable = model.assets.get(&key).is_some_and(|asset| asset.stage != 1);
                    assert_eq!(assets.remove(&key), removable);
                    if removable {
                        let asset = model.assets.remove(&key).unwrap();
                        model.detached += if asset.pins > 0 { pages(asset.size) } else { 0 };
                        generation += 1;
                        generations.insert(key, generation);
                    }
                }
            }
            model.compare(&assets, limit);
        }
    }
}

// ---- threads ----

#[test]
fn threads_load_use_and_evict() {
    let assets = Streaming::new(8 * PAGE);
    let evictions = Arc::new(AtomicUsize::new(0));
    let counter = evictions.clone();
    assets.on_evict(move |key: &u32, bytes| {
        counter.fetch_add(all_are(bytes, *key as u8) as usize, SeqCst);
    });
    thread::scope(|threads| {
        for seed in 0..4u32 {
            let assets = &assets;
            threads.spawn(move || {
                for n in 0..rounds(2000, 8) as u32 {
                    let key = (n * 7 + seed * 3) % 20;
                    if let Some(asset) = assets.get(&key) {
                        assert!(all_are(&asset, key as u8));
                        continue;
                    }
                    let _ = assets.reserve(key, (key as usize % 3 + 1) * PAGE, 0);
                    if let Some(mut load) = assets.begin_next() {
                        let key = *load.key();
                        load.unwritten().fill(MaybeUninit::new(key as u8));
                        // SAFETY: all bytes were written.
                        unsafe { load.assume_written(load.size()) };
                        let asset = load.finish().unwrap();
                        assert!(all_are(&asset, key as u8));
                    }
                    assert!(assets.stats().used <= 8 * PAGE);
                }
            });
        }
    });
    assert_eq!(assets.stats().evictions, evictions.load(SeqCst) as u64);
    assert!(assets.stats().in_use == 0 && (cfg!(miri) || assets.stats().evictions > 0));
}
