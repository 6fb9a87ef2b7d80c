//! The process's account of blocks that recyclers have from sources: those in use and the idle ones. All recyclers share
//! one allowance: idle bytes and those in use are together at most what was in use at once in the current or the previous
//! window of time, and a margin for requests of other sizes.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
#[cfg(feature = "std")]
use std::{sync::OnceLock, time::Instant};

use crate::base::policy::MIB;

/// Kept beyond what was in use: as much again up to this, or an eighth if that is more.
const MARGIN: usize = 4 * MIB;
/// A surplus returns after this part of a window, since a program often takes the blocks again at once.
const DELAY: usize = 32;

/// In bytes; sums may be below 0 for a moment, since recyclers add their changes later.
static USED: AtomicUsize = AtomicUsize::new(0);
static IDLE: AtomicUsize = AtomicUsize::new(0);
/// The most bytes in use at once, in the current and in the previous window.
static PEAK: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
/// The start of the window in milliseconds; its number.
static BEGAN: AtomicUsize = AtomicUsize::new(0);
static WINDOW: AtomicUsize = AtomicUsize::new(0);
/// Since when there has been a surplus, in milliseconds; 0: there is none.
static SURPLUS_SINCE: AtomicUsize = AtomicUsize::new(0);

/// A sum, or 0 if it is below.
fn at_least_0(sum: usize) -> usize {
    (sum as isize).max(0) as usize
}

/// Milliseconds, from 1 on; and the length of a window.
#[cfg(feature = "std")]
fn clock() -> (usize, usize) {
    static START: OnceLock<Instant> = OnceLock::new();
    if cfg!(all(target_family = "wasm", target_os = "unknown")) {
        return (1, usize::MAX); // `Instant` panics
    }
    let passed = START.get_or_init(Instant::now).elapsed();
    (passed.as_millis() as usize + 1, crate::system::page_cache::window().as_millis() as usize)
}
/// Windows do not end.
#[cfg(not(feature = "std"))]
fn clock() -> (usize, usize) {
    (1, usize::MAX)
}

/// Begins a window if one has ended.
fn turn((now, length): (usize, usize)) {
    let began = BEGAN.load(Relaxed);
    let passed = now.wrapping_sub(began);
    if passed < length || BEGAN.compare_exchange(began, now, Relaxed, Relaxed).is_err() {
        return;
    }
    let used = at_least_0(USED.load(Relaxed));
    let before = if passed < length.saturating_mul(2) { PEAK[0].load(Relaxed) } else { used };
    PEAK[1].store(before, Relaxed);
    PEAK[0].store(used, Relaxed);
    WINDOW.fetch_add(1, Relaxed);
}

/// Whether a surplus was found.
pub(super) fn exceeds() -> bool {
    SURPLUS_SINCE.load(Relaxed) != 0
}

/// Adds to the sums.
pub(super) fn add(used: isize, idle: isize) {
    if used <= 0 {
        turn(clock());
    }
    let sum = USED.fetch_add(used as usize, Relaxed).wrapping_add(used as usize);
    PEAK[0].fetch_max(at_least_0(sum), Relaxed);
    IDLE.fetch_add(idle as usize, Relaxed);
}

/// What exceeds the allowance.
pub(super) struct Surplus {
    pub(super) bytes: usize,
    /// It returns now: it has lasted for a part of a window, or exceeds what was in use.
    pub(super) is_due: bool,
    /// The number of the window.
    pub(super) window: usize,
}

/// The surplus of the process, with changes that a recycler has not added yet.
pub(super) fn surplus(used: isize, idle: isize) -> Surplus {
    let (now, length) = clock();
    turn((now, length));
    let window = WINDOW.load(Relaxed);
    let used = at_least_0(USED.load(Relaxed).wrapping_add(used as usize));
    let idle = at_least_0(IDLE.load(Relaxed).wrapping_add(idle as usize));
    let peak = used.max(PEAK[0].load(Relaxed)).max(PEAK[1].load(Relaxed)).max(MIB); // small ones add later
    let kept = peak - used + peak.min(MARGIN).max(peak / 8);
    let bytes = idle.saturating_sub(kept);
    if bytes == 0 {
        SURPLUS_SINCE.store(0, Relaxed);
        return Surplus { bytes, is_due: false, window };
    }
    let since = SURPLUS_SINCE.compare_exchange(0, now, Relaxed, Relaxed).map_or_else(|since| since, |_| now);
    let is_due = length == usize::MAX || now.saturating_sub(since) >= length / DELAY || bytes > peak;
    Surplus { bytes, is_due, window }
}
