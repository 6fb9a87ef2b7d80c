//! Streaming of assets: memory by key within a budget, with loads in any order, and eviction by priority.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
use core::hash::Hash;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::NonNull;
use core::slice;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::atomic::{AtomicUsize, Ordering};
use crate::panics;
use crate::policy::BLOCK_MIN;
use crate::source::Source;
use crate::sources::{Limited, Pages};

/// Assets by key, within a budget of bytes: textures, sounds or meshes that a game loads while it runs.
///
/// [`reserve`](Streaming::reserve) takes the memory of an asset, and evicts others for it if the budget requires.
/// [`begin`](Streaming::begin) or [`begin_next`](Streaming::begin_next) begins to load it, on any thread;
/// [`AssetLoad::finish`] makes it readable. [`get`](Streaming::get) returns it as an [`Asset`], which may be kept: an
/// asset is in use, and not evicted, as long as one exists.
///
/// An asset is evicted if it is loaded, not in use, and of no higher priority than the one that needs its memory. Those
/// of the lowest priority are evicted first, and among equals the one whose last `get` is the longest ago.
///
/// ```
/// use std::io::Write;
/// use toft::{ReserveError, Streaming};
///
/// let assets = Streaming::new(1 << 20);
/// assets.on_evict(|name: &&str, bytes| println!("{name}: {} bytes", bytes.len()));
/// for (name, priority) in [("grass", 1), ("hero", 9)] {
///     assets.reserve(name, 400_000, priority)?;
/// }
/// // A thread that loads: the highest priority first.
/// while let Some(mut load) = assets.begin_next() {
///     let file = vec![load.key().len() as u8; load.size()];
///     load.write_all(&file).unwrap();
///     load.finish().unwrap();
/// }
/// let hero = assets.get("hero").unwrap();
/// assert_eq!((hero.len(), hero[0]), (400_000, 4));
///
/// assets.reserve("cave", 400_000, 5)?; // in place of the grass
/// assert!(assets.get("grass").is_none());
/// assert_eq!(assets.reserve("river", 400_000, 10), Err(ReserveError::OverBudget)); // the hero is in use
/// # Ok::<(), ReserveError>(())
/// ```
///
/// All calls may come from any thread. Keys are hashed, compared, cloned and dropped under a lock: this code of theirs
/// must not use the `Streaming`. The callback of [`on_evict`](Streaming::on_evict) may.
///
/// An asset has a block of its own from a [`Limited`] source, whose size is a multiple of 4096 bytes; an asset of 0
/// bytes has none, and is not evicted.
pub struct Streaming<K, S: Source = Pages> {
    source: Arc<Limited<S>>,
    limit: usize,
    table: Mutex<Table<K, S>>,
    evicted: Mutex<Option<EvictHook<K>>>,
}

type EvictHook<K> = Arc<dyn Fn(&K, &[u8]) + Send + Sync>;

struct Table<K, S: Source> {
    assets: HashMap<K, Entry<S>>,
    /// The number of reservations and uses so far.
    clock: u64,
    hits: u64,
    misses: u64,
    evictions: u64,
}

struct Entry<S: Source> {
    memory: Arc<AssetMemory<S>>,
    priority: i32,
    stage: Stage,
    /// The clock at its reservation or last use.
    used: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Reserved,
    Loading,
    Ready,
}

impl<S: Source> Entry<S> {
    /// Handles are cloned from the table, under its lock, or from other handles.
    fn is_unused(&self) -> bool {
        self.stage == Stage::Ready && Arc::strong_count(&self.memory) == 1
    }
}

/// The memory of an asset: written by its one load, and then read.
struct AssetMemory<S: Source> {
    start: NonNull<u8>,
    size: usize,
    /// Bytes from the start that are initialised.
    written: AtomicUsize,
    source: Arc<Limited<S>>,
}

// SAFETY: it owns its block. One load writes it, and others read it afterwards, ordered by the table's lock. The source
// may be called on any thread.
unsafe impl<S: Source + Send + Sync> Send for AssetMemory<S> {}
// SAFETY: as above.
unsafe impl<S: Source + Send + Sync> Sync for AssetMemory<S> {}

impl<S: Source> AssetMemory<S> {
    fn take(source: &Arc<Limited<S>>, size: usize) -> Option<AssetMemory<S>> {
        let start = if size == 0 { NonNull::dangling() } else { source.take(block_size(size)?)? };
        Some(AssetMemory { start, size, written: AtomicUsize::new(0), source: source.clone() })
    }
}

impl<S: Source> Drop for AssetMemory<S> {
    fn drop(&mut self) {
        if let Some(block) = block_size(self.size).filter(|block| *block != 0) {
            // SAFETY: taken with this size, and no handle is left.
            unsafe { self.source.put(self.start, block) };
        }
    }
}

fn block_size(size: usize) -> Option<usize> {
    size.checked_next_multiple_of(BLOCK_MIN)
}

/// Why [`Streaming::reserve`] failed. The asset was not added.
///
/// ```
/// use toft::{ReserveError, Streaming};
/// let assets = Streaming::new(8192);
/// assert_eq!(assets.reserve("sky", 8193, 0), Err(ReserveError::TooLarge));
/// assert_eq!(assets.reserve("sky", 8192, 0), Ok(()));
/// assert_eq!(assets.reserve("sky", 1, 0), Err(ReserveError::Exists));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReserveError {
    /// There is an asset of this key.
    Exists,
    /// The asset alone is larger than the budget.
    TooLarge,
    /// The other assets are in use, being loaded, or of higher priority. None was evicted.
    OverBudget,
    /// There is no memory. Assets may have been evicted.
    Memory,
}

impl fmt::Display for ReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReserveError::Exists => "there is an asset of this key",
            ReserveError::TooLarge => "the asset alone is larger than the budget",
            ReserveError::OverBudget => "the other assets are in use, being loaded, or of higher priority",
            ReserveError::Memory => "there is no memory for the asset",
        })
    }
}

impl core::error::Error for ReserveError {}

/// How far an asset is: [`Streaming::state`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssetState {
    /// It has memory, and no load has begun.
    Reserved,
    /// A load has begun.
    Loading {
        /// Its bytes that are written.
        written: usize,
        /// All of its bytes.
        size: usize,
    },
    /// It can be read.
    Ready,
}

/// Statistics: [`Streaming::stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamingStats {
    /// The budget in bytes.
    pub limit: usize,
    /// The bytes that assets hold, in whole pages, those of removed ones that are in use included.
    pub used: usize,
    /// Assets with memory whose load has not begun.
    pub reserved: usize,
    /// Assets that are being loaded.
    pub loading: usize,
    /// Assets that can be read.
    pub ready: usize,
    /// Of these, those that are in use.
    pub in_use: usize,
    /// Calls of `get` that returned an asset.
    pub hits: u64,
    /// Other calls of `get`.
    pub misses: u64,
    /// Assets evicted.
    pub evictions: u64,
}

impl<K: Hash + Eq + Clone> Streaming<K> {
    /// Creates a table without assets, with memory of [`Pages`], and a budget of `limit` bytes.
    pub fn new(limit: usize) -> Streaming<K> {
        Streaming::with_source(Pages::new(), limit)
    }
}

impl<K: Hash + Eq + Clone, S: Source> Streaming<K, S> {
    /// As [`new`](Streaming::new), with memory of another source, which must be `Send` and `Sync` for use by several
    /// threads.
    ///
    /// ```
    /// let assets = toft::Streaming::<u32, _>::with_source(toft::Pages::huge(), 256 << 20);
    /// assert_eq!(assets.stats().limit, 256 << 20);
    /// ```
    pub fn with_source(source: S, limit: usize) -> Streaming<K, S> {
        let table = Table { assets: HashMap::new(), clock: 0, hits: 0, misses: 0, evictions: 0 };
        let source = Arc::new(Limited::new(source, limit));
        Streaming { source, limit, table: Mutex::new(table), evicted: Mutex::new(None) }
    }

    /// Sets the callback for evictions, which gets the key and bytes of an asset after it was removed from the table,
    /// and before its memory is returned. It may use the table. A panic of it is caught.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// let assets = toft::Streaming::new(4096);
    /// let evicted = Arc::new(Mutex::new(Vec::new()));
    /// let list = evicted.clone();
    /// assets.on_evict(move |key: &u32, bytes| list.lock().unwrap().push((*key, bytes.len())));
    /// assets.reserve(1, 0, 0).unwrap();
    /// assets.reserve(2, 4096, 0).unwrap();
    /// while let Some(mut load) = assets.begin_next() {
    ///     std::io::copy(&mut std::io::repeat(0), &mut load).unwrap_err(); // until it is full
    ///     load.finish().unwrap();
    /// }
    /// assets.reserve(3, 1, 0).unwrap();
    /// assert_eq!(*evicted.lock().unwrap(), [(2, 4096)]);
    /// ```
    pub fn on_evict(&self, hook: impl Fn(&K, &[u8]) + Send + Sync + 'static) {
        let hook: EvictHook<K> = Arc::new(hook);
        let before = self.evicted.lock().unwrap_or_else(PoisonError::into_inner).replace(hook);
        drop(before); // without the lock, since it may be user code
    }

    /// Adds an asset: takes memory for it, and evicts others if that is needed and enough.
    ///
    /// # Errors
    /// See [`ReserveError`].
    pub fn reserve(&self, key: K, size: usize, priority: i32) -> Result<(), ReserveError> {
        let block = block_size(size).filter(|block| *block <= self.limit).ok_or(ReserveError::TooLarge)?;
        loop {
            let mut table = self.lock();
            if table.assets.contains_key(&key) {
                return Err(ReserveError::Exists);
            }
            let excess = self.source.used().saturating_add(block).saturating_sub(self.limit);
            let evicted = table.evict(excess, priority)?;
            if !evicted.is_empty() {
                drop(table);
                self.report_evicted(evicted);
                continue; // other threads, or the callback, may have taken the memory
            }
            table.assets.try_reserve(1).map_err(|_| ReserveError::Memory)?;
            let memory = Arc::new(AssetMemory::take(&self.source, size).ok_or(ReserveError::Memory)?);
            let used = table.tick();
            table.assets.insert(key, Entry { memory, priority, stage: Stage::Reserved, used });
            return Ok(());
        }
    }

    /// Without the lock.
    fn report_evicted(&self, evicted: Vec<(K, Entry<S>)>) {
        let hook = self.evicted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (key, entry) in evicted {
            // Keys whose equality is wrong may have found another entry, which is not initialised.
            if let Some(hook) = hook.as_ref().filter(|_| entry.stage == Stage::Ready) {
                let asset = Asset { memory: entry.memory };
                panics::catch(|| hook(&key, &asset));
            }
        }
    }

    /// Begins to load a reserved asset. `None`: there is no such asset, or its load has begun.
    ///
    /// ```
    /// let assets = toft::Streaming::new(1 << 20);
    /// assets.reserve("sky".to_string(), 10, 0).unwrap();
    /// let load = assets.begin("sky").unwrap();
    /// assert!(assets.begin("sky").is_none() && assets.begin("sea").is_none());
    /// drop(load); // an abandoned load removes its asset
    /// assert_eq!(assets.state("sky"), None);
    /// ```
    pub fn begin<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<AssetLoad<'_, K, S>>
    where
        K: Borrow<Q>,
    {
        let mut table = self.lock();
        let key = table.assets.get_key_value(key).filter(|(_, entry)| entry.stage == Stage::Reserved)?.0.clone();
        self.begin_reserved(&mut table, key)
    }

    /// Begins to load the reserved asset of the highest priority, among equals the oldest. `None`: none is reserved.
    pub fn begin_next(&self) -> Option<AssetLoad<'_, K, S>> {
        let mut table = self.lock();
        let reserved = table.assets.iter().filter(|(_, entry)| entry.stage == Stage::Reserved);
        let (key, _) = reserved.max_by_key(|(_, entry)| (entry.priority, core::cmp::Reverse(entry.used)))?;
        let key = key.clone();
        self.begin_reserved(&mut table, key)
    }

    fn begin_reserved(&self, table: &mut Table<K, S>, key: K) -> Option<AssetLoad<'_, K, S>> {
        // The clone of a key may find another entry, if its equality is wrong.
        let entry = table.assets.get_mut(&key).filter(|entry| entry.stage == Stage::Reserved)?;
        entry.stage = Stage::Loading;
        Some(AssetLoad { owner: self, key, memory: entry.memory.clone() })
    }

    /// Returns an asset that is loaded, for as long as the result exists.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Asset<S>>
    where
        K: Borrow<Q>,
    {
        let mut table = self.lock();
        let now = table.tick();
        let found = table.assets.get_mut(key).filter(|entry| entry.stage == Stage::Ready).map(|entry| {
            entry.used = now;
            Asset { memory: entry.memory.clone() }
        });
        *(if found.is_some() { &mut table.hits } else { &mut table.misses }) += 1;
        found
    }

    /// Returns how far an asset is.
    ///
    /// ```
    /// use std::io::Write;
    /// use toft::AssetState::*;
    /// let assets = toft::Streaming::new(1 << 20);
    /// assets.reserve("sky", 10, 0).unwrap();
    /// assert_eq!(assets.state("sky"), Some(Reserved));
    /// let mut load = assets.begin("sky").unwrap();
    /// load.write_all(b"half").unwrap();
    /// assert_eq!(assets.state("sky"), Some(Loading { written: 4, size: 10 }));
    /// load.write_all(b"of it.").unwrap();
    /// load.finish().unwrap();
    /// assert_eq!(assets.state("sky"), Some(Ready));
    /// ```
    pub fn state<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<AssetState>
    where
        K: Borrow<Q>,
    {
        self.lock().assets.get(key).map(|entry| match entry.stage {
            Stage::Reserved => AssetState::Reserved,
            Stage::Loading => {
                let written = entry.memory.written.load(Ordering::Relaxed);
                AssetState::Loading { written, size: entry.memory.size }
            }
            Stage::Ready => AssetState::Ready,
        })
    }

    /// Changes the priority of an asset. Returns whether there is one of this key.
    ///
    /// ```
    /// let assets = toft::Streaming::new(1 << 20);
    /// assets.reserve("near", 10, 0).unwrap();
    /// assets.reserve("far", 10, 1).unwrap();
    /// assert!(assets.set_priority("near", 2));
    /// assert_eq!(assets.begin_next().map(|load| *load.key()), Some("near"));
    /// ```
    pub fn set_priority<Q: Hash + Eq + ?Sized>(&self, key: &Q, priority: i32) -> bool
    where
        K: Borrow<Q>,
    {
        self.lock().assets.get_mut(key).map(|entry| entry.priority = priority).is_some()
    }

    /// Removes an asset, without the callback. Its memory is returned when it is not in use any more. Returns `false`
    /// if there is none of this key, or it is being loaded: dropping its [`AssetLoad`] removes it.
    ///
    /// ```
    /// let assets = toft::Streaming::new(1 << 20);
    /// assets.reserve("sky", 10, 0).unwrap();
    /// assert!(assets.remove("sky") && !assets.remove("sky"));
    /// assert_eq!(assets.stats().used, 0);
    /// ```
    pub fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let mut table = self.lock();
        if table.assets.get(key).is_none_or(|entry| entry.stage == Stage::Loading) {
            return false;
        }
        let removed = table.assets.remove_entry(key);
        drop(table);
        removed.is_some() // and dropped without the lock
    }

    /// Returns statistics, in time proportional to the number of assets.
    ///
    /// ```
    /// let assets = toft::Streaming::new(1 << 20);
    /// assets.reserve("sky", 10, 0).unwrap();
    /// let stats = assets.stats();
    /// assert_eq!((stats.reserved, stats.used), (1, 4096));
    /// ```
    pub fn stats(&self) -> StreamingStats {
        let table = self.lock();
        let count = |stage| table.assets.values().filter(|entry| entry.stage == stage).count();
        StreamingStats {
            limit: self.limit,
            used: self.source.used(),
            reserved: count(Stage::Reserved),
            loading: count(Stage::Loading),
            ready: count(Stage::Ready),
            in_use: count(Stage::Ready) - table.assets.values().filter(|entry| entry.is_unused()).count(),
            hits: table.hits,
            misses: table.misses,
            evictions: table.evictions,
        }
    }
}

impl<K, S: Source> Streaming<K, S> {
    fn lock(&self) -> MutexGuard<'_, Table<K, S>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Hash + Eq + Clone, S: Source> Table<K, S> {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Removes as many unused assets, up to a priority, as hold `excess` bytes.
    fn evict(&mut self, excess: usize, priority: i32) -> Result<Vec<(K, Entry<S>)>, ReserveError> {
        let (mut unused, mut keys, mut evicted) = (Vec::new(), Vec::new(), Vec::new());
        if excess == 0 {
            return Ok(evicted);
        }
        let count = self.assets.len();
        unused.try_reserve_exact(count).map_err(|_| ReserveError::Memory)?;
        keys.try_reserve_exact(count).map_err(|_| ReserveError::Memory)?;
        evicted.try_reserve_exact(count).map_err(|_| ReserveError::Memory)?;
        unused.extend(self.assets.iter().filter(|(_, entry)| entry.is_unused() && entry.priority <= priority));
        unused.sort_unstable_by_key(|(_, entry)| (entry.priority, entry.used));
        let mut freed = 0;
        for (key, entry) in unused {
            let block = block_size(entry.memory.size).unwrap_or(0);
            if block != 0 && freed < excess {
                freed += block;
                keys.push(key.clone());
            }
        }
        if freed < excess {
            return Err(ReserveError::OverBudget);
        }
        evicted.extend(keys.iter().filter_map(|key: &K| self.assets.remove_entry(key)));
        self.evictions += evicted.len() as u64;
        Ok(evicted)
    }
}

/// A load of an asset that has begun: [`Streaming::begin`]. The bytes are written in order, by [`io::Write`] or in
/// place. An abandoned load, dropped without [`finish`](AssetLoad::finish), removes the asset.
///
/// ```
/// let assets = toft::Streaming::new(1 << 20);
/// assets.reserve("sky", 5, 0)?;
/// let mut load = assets.begin("sky").unwrap();
/// std::io::copy(&mut &b"blue!"[..], &mut load).unwrap();
/// assert_eq!(&load.finish().unwrap()[..], b"blue!");
/// # Ok::<(), toft::ReserveError>(())
/// ```
#[must_use = "an abandoned load removes its asset"]
pub struct AssetLoad<'a, K: Hash + Eq, S: Source = Pages> {
    owner: &'a Streaming<K, S>,
    key: K,
    memory: Arc<AssetMemory<S>>,
}

impl<K: Hash + Eq, S: Source> AssetLoad<'_, K, S> {
    /// Returns the key of the asset.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Returns the size of the asset.
    pub fn size(&self) -> usize {
        self.memory.size
    }

    /// Returns how many bytes are written.
    ///
    /// ```
    /// # use std::io::Write;
    /// let assets = toft::Streaming::new(1 << 20);
    /// assets.reserve("sky", 5, 0).unwrap();
    /// let mut load = assets.begin("sky").unwrap();
    /// load.write_all(b"bl").unwrap();
    /// assert_eq!(load.written(), 2);
    /// ```
    pub fn written(&self) -> usize {
        self.memory.written.load(Ordering::Relaxed)
    }

    /// Returns the bytes that are not written yet, for code that writes in place.
    ///
    /// ```
    /// let assets = toft::Streaming::new(1 << 20);
    /// assets.reserve("sky", 5, 0).unwrap();
    /// let mut load = assets.begin("sky").unwrap();
    /// load.unwritten().iter_mut().for_each(|byte| _ = byte.write(b'.'));
    /// // SAFETY: all of them were written.
    /// unsafe { load.assume_written(5) };
    /// assert_eq!(&load.finish().unwrap()[..], b".....");
    /// ```
    pub fn unwritten(&mut self) -> &mut [MaybeUninit<u8>] {
        let written = self.written();
        // SAFETY: the rest of the block, which this load alone accesses.
        unsafe { slice::from_raw_parts_mut(self.memory.start.add(written).as_ptr().cast(), self.size() - written) }
    }

    /// Counts bytes as written.
    ///
    /// # Safety
    /// The first `count` bytes of [`unwritten`](AssetLoad::unwritten) exist and are initialised.
    pub unsafe fn assume_written(&mut self, count: usize) {
        self.memory.written.store(self.written() + count, Ordering::Relaxed);
    }

    /// Makes the asset readable, and returns it.
    ///
    /// # Errors
    /// `self`, if bytes are missing.
    pub fn finish(self) -> Result<Asset<S>, Self> {
        if self.written() != self.size() {
            return Err(self);
        }
        let mut table = self.owner.lock();
        // No other call removes an asset that is being loaded. It is another one only if the keys' equality is wrong.
        if let Some(entry) = table.assets.get_mut(&self.key).filter(|entry| Arc::ptr_eq(&entry.memory, &self.memory)) {
            entry.stage = Stage::Ready;
        }
        drop(table);
        Ok(Asset { memory: self.memory.clone() })
    }
}

impl<K: Hash + Eq, S: Source> Drop for AssetLoad<'_, K, S> {
    fn drop(&mut self) {
        let mut table = self.owner.lock();
        let abandoned = table
            .assets
            .get(&self.key)
            .is_some_and(|entry| entry.stage == Stage::Loading && Arc::ptr_eq(&entry.memory, &self.memory));
        let removed = if abandoned { table.assets.remove_entry(&self.key) } else { None };
        drop(table);
        drop(removed);
    }
}

/// Writes the next bytes of the asset, 0 if all are written.
impl<K: Hash + Eq, S: Source> io::Write for AssetLoad<'_, K, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let rest = self.unwritten();
        let count = bytes.len().min(rest.len());
        // SAFETY: `count` bytes of both, which do not overlap: `rest` is borrowed exclusively.
        unsafe { rest.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), count) };
        // SAFETY: just written.
        unsafe { self.assume_written(count) };
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes of a loaded asset: [`Streaming::get`]. It is not evicted as long as this or a clone exists.
///
/// ```
/// let assets = toft::Streaming::new(1 << 20);
/// assets.reserve("nothing", 0, 0).unwrap();
/// let asset = assets.begin("nothing").unwrap().finish().unwrap();
/// assert!(asset.is_empty());
/// ```
pub struct Asset<S: Source = Pages> {
    memory: Arc<AssetMemory<S>>,
}

impl<S: Source> Clone for Asset<S> {
    fn clone(&self) -> Asset<S> {
        Asset { memory: self.memory.clone() }
    }
}

impl<S: Source> Deref for Asset<S> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: a loaded asset is initialised, and not written any more.
        unsafe { slice::from_raw_parts(self.memory.start.as_ptr(), self.memory.size) }
    }
}

impl<K, S: Source> fmt::Debug for Streaming<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let assets = self.lock().assets.len();
        f.debug_struct("Streaming").field("limit", &self.limit).field("assets", &assets).finish_non_exhaustive()
    }
}

impl<K: Hash + Eq + fmt::Debug, S: Source> fmt::Debug for AssetLoad<'_, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (written, size) = (self.written(), self.size());
        f.debug_struct("AssetLoad").field("key", &self.key).field("written", &written).field("size", &size).finish()
    }
}

impl<S: Source> fmt::Debug for Asset<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asset").field("size", &self.memory.size).finish()
    }
}
