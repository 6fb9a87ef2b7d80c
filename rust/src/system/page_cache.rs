//! The process's cache of mapped pages, for blocks of 1 MiB and more of every thread. Without it each dropped arena would
//! unmap them, and the next arena would fault all of its pages in again.
//!
//! What is kept follows use: together with the pages in use it never exceeds what was in use at once in the current or
//! the previous window of time. A program that makes one arena of 60 MiB after another keeps 60 MiB; after a peak of use
//! the surplus goes back to the system within two windows, at the next take or put of a block by any thread, or by the
//! background thread. Until then the system may take whole free huge pages when it needs memory.
//!
//! The cache is a table of free ranges, sorted by address; ranges that touch are one. Where the lock is not free after
//! some hundred attempts, pages are mapped or unmapped directly, and later callers attempt it once until one succeeds:
//! a child that was forked while the lock was held works without the cache.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::base::lock::{Guard, Lock};
use crate::base::os;
use crate::base::policy::MIB;
use crate::system::environment::{bytes_of, variable};

const RANGES_MAX: usize = 256;
const LOCK_ATTEMPTS: usize = 512;
/// Ranges that are unmapped each time the lock is taken.
const VICTIMS: usize = 16;
/// Miri would report cached pages as leaks.
const LIMIT: usize = match usize::BITS {
    _ if cfg!(miri) => 0,
    64 => 256 * MIB,
    _ => 32 * MIB,
};
const WINDOW_MS: usize = 500;
/// Cached bytes above which free huge pages are freed lazily.
const LAZY: usize = 32 * MIB;
/// For a huge page; in small pages it takes three times as long and more.
const SLOW: Duration = Duration::from_micros(10);
const SLOW_CALLS: u32 = 4;
const HALF: usize = os::HUGE_PAGE / 2;

/// A range of pages: an exposed address and a size in bytes.
#[derive(Clone, Copy)]
struct Range {
    start: usize,
    size: usize,
}

struct Table {
    /// Bytes that callers hold.
    used: usize,
    /// The most bytes in use at once, in the current and in the previous window.
    peak: [usize; 2],
    /// The start of the current window.
    began: Option<Instant>,
    /// Of `os::free_lazily`, in a row.
    slow_calls: u32,
    len: usize,
    ranges: [Range; RANGES_MAX],
}

struct Cache {
    lock: Lock,
    table: UnsafeCell<Table>,
}

// SAFETY: the table is accessed by the holder of the lock only.
unsafe impl Sync for Cache {}

static CACHE: Cache = Cache {
    lock: Lock::of(AtomicBool::new(false)),
    table: UnsafeCell::new(Table {
        used: 0,
        peak: [0; 2],
        began: None,
        slow_calls: 0,
        len: 0,
        ranges: [Range { start: 0, size: 0 }; RANGES_MAX],
    }),
};

/// Bytes of the ranges. Written with the lock held.
static BYTES: AtomicUsize = AtomicUsize::new(0);

// ---- settings ----

/// A number that the environment may set.
pub(crate) struct Setting {
    /// 0: the environment has not been read yet; else the value plus 1.
    value: AtomicUsize,
    name: &'static str,
    default: usize,
}

static LIMIT_SETTING: Setting = Setting::new("TOFT_PAGE_CACHE", LIMIT);
static WINDOW_SETTING: Setting = Setting::new("TOFT_PAGE_CACHE_MS", WINDOW_MS);

impl Setting {
    pub const fn new(name: &'static str, default: usize) -> Setting {
        Setting { value: AtomicUsize::new(0), name, default }
    }

    pub fn get(&self) -> usize {
        match self.value.load(Ordering::Relaxed) {
            0 => self.read(),
            value => value - 1,
        }
    }

    #[cold]
    fn read(&self) -> usize {
        let value = variable(self.name).and_then(|text| bytes_of(text.to_str()?)).unwrap_or(self.default) + 1;
        match self.value.compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => value - 1,
            Err(first) => first - 1, // all threads use the first result
        }
    }

    pub fn set(&self, value: usize) -> usize {
        let before = self.get();
        self.value.store(value.min(usize::MAX / 2) + 1, Ordering::Relaxed);
        before
    }
}

// ---- the table ----

/// The table, and the lock, which it releases when it is dropped.
struct Locked<'a> {
    table: &'a mut Table,
    _guard: Guard<'a>,
}

/// The latest attempts to take the lock failed.
static BLOCKED: AtomicBool = AtomicBool::new(false);

fn lock() -> Option<Locked<'static>> {
    let attempts = if BLOCKED.load(Ordering::Relaxed) { 1 } else { LOCK_ATTEMPTS };
    for attempt in 0..attempts {
        if let Some(guard) = CACHE.lock.try_take() {
            if attempts == 1 {
                BLOCKED.store(false, Ordering::Relaxed);
            }
            // SAFETY: the lock is held for as long as this reference lives.
            return Some(Locked { table: unsafe { &mut *CACHE.table.get() }, _guard: guard });
        }
        if attempt >= crate::base::SPINS {
            std::thread::yield_now();
        }
    }
    BLOCKED.store(true, Ordering::Relaxed);
    None
}

impl Table {
    fn erase(&mut self, at: usize) {
        self.ranges.copy_within(at + 1..self.len, at);
        self.len -= 1;
    }

    /// Adds a free range and merges it with its neighbours. Returns false if the table is full.
    fn insert(&mut self, start: usize, size: usize) -> bool {
        let at = self.ranges[..self.len].partition_point(|r| r.start < start);
        let joins_low = os::SPLITS && at > 0 && self.ranges[at - 1].start + self.ranges[at - 1].size == start;
        let joins_high = os::SPLITS && at < self.len && start + size == self.ranges[at].start;
        match (joins_low, joins_high) {
            (true, true) => {
                self.ranges[at - 1].size += size + self.ranges[at].size;
                self.erase(at);
            }
            (true, false) => self.ranges[at - 1].size += size,
            (false, true) => self.ranges[at] = Range { start, size: size + self.ranges[at].size },
            (false, false) if self.len == RANGES_MAX => return false,
            (false, false) => {
                self.ranges.copy_within(at..self.len, at + 1);
                self.ranges[at] = Range { start, size };
                self.len += 1;
            }
        }
        BYTES.store(BYTES.load(Ordering::Relaxed) + size, Ordering::Relaxed);
        if os::SPLITS && BYTES.load(Ordering::Relaxed) > LAZY && self.slow_calls < SLOW_CALLS {
            self.free_lazily(start, size);
        }
        true
    }

    /// The system may take the whole huge pages that have become free with these bytes when it needs memory, and counts
    /// them as used until then. Where memory is in small pages this costs as much as writing them, so it ends when four
    /// calls in a row are slow.
    fn free_lazily(&mut self, start: usize, size: usize) {
        let at = self.ranges[..self.len].partition_point(|r| r.start <= start);
        let Some(range) = at.checked_sub(1).map(|at| self.ranges[at]) else { return };
        let page = os::HUGE_PAGE;
        let low = start.next_multiple_of(page) - if start % page != 0 { page } else { 0 };
        let low = if low < range.start { low + page } else { low };
        let high = (start + size).next_multiple_of(page);
        let high = if high > range.start + range.size { high - page } else { high };
        if low >= high {
            return;
        }
        let began = Instant::now();
        // SAFETY: free pages of the cache, whose content is not used any more.
        unsafe { os::free_lazily(pointer(low), high - low) };
        let slow = began.elapsed() > SLOW * ((high - low) / page) as u32;
        self.slow_calls = if slow { self.slow_calls + 1 } else { 0 };
    }

    /// Removes `size` bytes from the smallest range that has them; where a mapping cannot be split, from a range of
    /// exactly that size.
    fn remove(&mut self, size: usize) -> Option<usize> {
        let serves = |r: &Range| r.size == size || (os::SPLITS && r.size > size);
        let ranges = self.ranges[..self.len].iter().enumerate();
        let (at, range) = ranges.filter(|(_, r)| serves(r)).min_by_key(|(_, r)| r.size)?;
        let start = range.start;
        if range.size == size {
            self.erase(at);
        } else {
            self.ranges[at] = Range { start: start + size, size: range.size - size };
        }
        BYTES.store(BYTES.load(Ordering::Relaxed) - size, Ordering::Relaxed);
        Some(start)
    }

    /// Adds `size` to the bytes in use; the peak counts `spare` bytes more.
    fn count_use(&mut self, size: usize, spare: usize) {
        let (now, window) = (Instant::now(), window());
        let passed = self.began.map_or(Duration::MAX, |began| now - began);
        if passed >= window {
            self.peak[1] = if passed < window.saturating_mul(2) { self.peak[0] } else { self.used };
            self.peak[0] = self.used;
            self.began = Some(now);
        }
        self.used += size;
        self.peak[0] = self.peak[0].max(self.used + spare);
    }

    /// Moves what exceeds `keep` bytes to `victims`: from the highest address on, and in whole huge pages where a range
    /// is cut. A range that cannot be cut stays, unless the cache exceeds `limit`. Returns the number of victims.
    fn evict(&mut self, keep: usize, limit: usize, victims: &mut [Range; VICTIMS]) -> usize {
        let mut n = 0;
        for at in (0..self.len).rev() {
            let (held, Range { start, size }) = (BYTES.load(Ordering::Relaxed), self.ranges[at]);
            if n == VICTIMS || held <= keep {
                break;
            }
            let kept = match size.checked_sub(held - keep) {
                None | Some(0) => 0,
                Some(_) if !os::SPLITS && held > limit => 0,
                Some(kept) => (start + kept).next_multiple_of(os::HUGE_PAGE) - start,
            };
            if kept != 0 && !(os::SPLITS && kept < size) {
                continue;
            }
            victims[n] = Range { start: start + kept, size: size - kept };
            n += 1;
            BYTES.store(held - (size - kept), Ordering::Relaxed);
            if kept == 0 {
                self.erase(at);
            } else {
                self.ranges[at].size = kept;
            }
        }
        debug_assert!(victims[..n].iter().all(|victim| victim.size != 0 && victim.size % os::page_size() == 0));
        n
    }

    /// See `assertions.rs`.
    fn verify(&self) -> bool {
        debug_assert!(self.len <= RANGES_MAX && self.used <= self.peak[0]);
        if !crate::base::assertions::verifies(self.len) {
            return true;
        }
        let ranges = &self.ranges[..self.len];
        let are_apart = |low: &Range, high: &Range| match low.start + low.size {
            end if end == high.start => !os::SPLITS, // else they were one
            end => end < high.start,
        };
        debug_assert!(ranges.windows(2).all(|two| are_apart(&two[0], &two[1])));
        debug_assert!(ranges.iter().all(|range| range.size != 0 && range.size % os::page_size() == 0));
        debug_assert!(ranges.iter().all(|range| range.start % os::page_size() == 0));
        debug_assert!(ranges.iter().map(|range| range.size).sum::<usize>() == BYTES.load(Ordering::Relaxed));
        true
    }
}

impl Locked<'_> {
    /// Releases the lock, and returns to the system what exceeds the recent use, or `limit`.
    fn release(self, limit: usize) {
        debug_assert!(self.table.verify());
        let mut locked = self;
        let mut victims = [Range { start: 0, size: 0 }; VICTIMS];
        loop {
            let recent = locked.table.peak[0].max(locked.table.peak[1]);
            let n = locked.table.evict(recent.saturating_sub(locked.table.used).min(limit), limit, &mut victims);
            drop(locked);
            for victim in &victims[..n] {
                // SAFETY: the range was in the table, so it is unused.
                unsafe { os::unmap(pointer(victim.start), victim.size) };
            }
            if n < VICTIMS {
                return;
            }
            match lock() {
                Some(again) => locked = again,
                None => return,
            }
        }
    }
}

fn pointer(start: usize) -> NonNull<u8> {
    // SAFETY: it is the address of a mapping, which was exposed when it entered the table.
    unsafe { NonNull::new_unchecked(core::ptr::with_exposed_provenance_mut(start)) }
}

// ---- the operations ----

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
use super::first_touch;
#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
mod first_touch {
    pub(super) fn map() -> Option<super::NonNull<u8>> {
        map_in_part(super::os::HUGE_PAGE)
    }
    pub(super) fn map_in_part(size: usize) -> Option<super::NonNull<u8>> {
        super::os::map(size, true)
    }
    pub(super) unsafe fn end_part(_: super::NonNull<u8>, _: usize) {}
}
/// Sizes of a recycler's regions, and of merged blocks.
const IN_PART: [usize; 2] = [os::HUGE_PAGE, 2 * os::HUGE_PAGE];

/// Maps pages. With half a huge page the other half is mapped too, and goes to the cache.
#[cold]
fn map(size: usize) -> Option<NonNull<u8>> {
    let pair = if os::SPLITS && size == HALF && limit() >= HALF { first_touch::map() } else { None };
    let map_whole = || if IN_PART.contains(&size) { first_touch::map_in_part(size) } else { os::map(size, true) };
    let p = pair.or_else(map_whole)?;
    let other = pair.map(|p| p.as_ptr().expose_provenance() + HALF);
    let mut kept = false;
    if let Some(locked) = lock() {
        locked.table.count_use(size, if pair.is_some() { HALF } else { 0 });
        kept = other.is_some_and(|other| locked.table.insert(other, HALF));
        locked.release(limit());
    }
    if let (Some(other), false) = (other, kept) {
        // SAFETY: the second half of a new mapping.
        unsafe { os::unmap(pointer(other), HALF) };
    }
    Some(p)
}

/// Returns pages, which the caller returns by [`put`] with the same size.
pub(crate) fn take(size: usize) -> Option<NonNull<u8>> {
    let size = whole_pages(size);
    if BYTES.load(Ordering::Relaxed) >= size {
        if let Some(locked) = lock() {
            let start = locked.table.remove(size);
            if start.is_some() {
                locked.table.count_use(size, 0);
            }
            locked.release(limit());
            if let Some(start) = start {
                return Some(pointer(start));
            }
        }
    }
    map(size)
}

/// # Safety
/// `p` came from [`take`] with that size, and is not used any more.
pub(crate) unsafe fn put(p: NonNull<u8>, size: usize) {
    let size = whole_pages(size);
    if limit() >= size {
        if IN_PART.contains(&size) {
            // SAFETY: the caller's contract.
            unsafe { first_touch::end_part(p, size) };
        }
        if let Some(locked) = lock() {
            let kept = locked.table.insert(p.as_ptr().expose_provenance(), size);
            locked.table.count_use(0, 0);
            locked.table.used = locked.table.used.saturating_sub(size); // it may have been mapped without the lock
            locked.release(limit());
            if kept {
                return;
            }
        }
    }
    // SAFETY: the caller's contract.
    unsafe { os::unmap(p, size) };
}

fn whole_pages(size: usize) -> usize {
    size.next_multiple_of(os::page_size())
}

/// Returns what is due, if a window has ended. For callers that take or put other blocks.
#[cold]
pub(crate) fn age() {
    if held() != 0 {
        if let Some(locked) = lock() {
            locked.table.count_use(0, 0);
            locked.release(limit());
        }
    }
}

/// Returns all cached pages to the system.
pub(crate) fn trim() {
    if held() != 0 {
        if let Some(locked) = lock() {
            locked.release(0);
        }
    }
}

// ---- control ----

fn limit() -> usize {
    LIMIT_SETTING.get()
}

pub(crate) fn window() -> Duration {
    Duration::from_millis(WINDOW_SETTING.get() as u64)
}

/// Sets how many bytes of pages the process keeps for the next arenas, and returns the previous limit.
///
/// Initially `TOFT_PAGE_CACHE` in the environment, a number that `K`, `M` or `G` may follow, or else 256 MiB, and 32 MiB
/// where pointers have 32 bits. 0 switches the cache off. What exceeds a lower limit goes back to the system at once.
/// Thread-safe.
///
/// ```
/// use toft::{cache, Arena};
///
/// cache::set_page_limit(8 << 20);
/// let arena = Arena::new();
/// (0..20 << 10).for_each(|_| _ = arena.alloc([0u8; 1024]));
/// drop(arena); // of its 20 MiB the next arena finds up to 8
/// assert!(cache::pages_held() <= 8 << 20);
/// ```
pub fn set_page_limit(bytes: usize) -> usize {
    let before = LIMIT_SETTING.set(bytes);
    if held() > bytes {
        if let Some(locked) = lock() {
            locked.release(bytes);
        }
    }
    before
}

/// Sets the length of a window, in whole milliseconds, and returns the previous one: pages that were not in use at once
/// in the current or the previous window go back to the system.
///
/// Initially `TOFT_PAGE_CACHE_MS` in the environment, or half a second. With 0 pages go back as soon as they are not in
/// use. Thread-safe.
///
/// ```
/// use std::time::Duration;
///
/// let before = toft::cache::set_page_window(Duration::from_secs(2));
/// assert_eq!(toft::cache::set_page_window(before), Duration::from_secs(2));
/// ```
pub fn set_page_window(window: Duration) -> Duration {
    let milliseconds = usize::try_from(window.as_millis()).unwrap_or(usize::MAX);
    Duration::from_millis(WINDOW_SETTING.set(milliseconds) as u64)
}

/// Returns the bytes in the process's cache of pages.
///
/// ```
/// toft::cache::trim();
/// assert_eq!(toft::cache::pages_held(), 0);
/// ```
pub fn held() -> usize {
    BYTES.load(Ordering::Relaxed)
}

#[cfg(test)]
#[path = "../../tests/unit/page_cache.rs"]
mod tests;
