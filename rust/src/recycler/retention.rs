//! What a recycler keeps, trim and release.
//!
//! A block of the source is in use while it has a slab or a large object, else idle. Idle blocks are kept up to what was
//! in use at once in the current or the previous window of time, and as much again, up to the larger of 4 MiB and an eighth
//! of it, for requests of other sizes. The surplus returns to the source when a slab or a large object is freed. The window is that of the cache of
//! pages; without a clock it does not end. Where the source has a limit for several objects, idle blocks return at once.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;
#[cfg(feature = "std")]
use std::time::Instant;

use super::state::{no_slab, State};
use super::supply::Supply;
use crate::policy::MIB;

/// Less is not returned by itself.
const SURPLUS_MIN: usize = 64 << 10;
/// Kept beyond what was in use; an eighth of that if it is more.
const MORE_MIN: usize = 4 * MIB;
/// In parts of a window.
#[cfg(feature = "std")]
const SURPLUS_DELAY: u32 = 32;
/// Elsewhere `Instant` panics.
#[cfg(feature = "std")]
const HAS_CLOCK: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

impl State {
    fn in_use(&self) -> usize {
        self.reserved.get() - self.idle.get()
    }

    /// Idle bytes are used from now on.
    pub fn begin_use(&self, bytes: usize) {
        self.idle.set(self.idle.get() - bytes);
        let recent = &self.retention.recent[0];
        recent.set(recent.get().max(self.in_use()));
        #[cfg(feature = "std")]
        if HAS_CLOCK && self.retention.began.get().is_none() {
            self.retention.began.set(Some(Instant::now()));
        }
    }

    pub fn end_use(&self, bytes: usize) {
        self.idle.set(self.idle.get() + bytes);
    }

    /// Begins a window of time if one has ended.
    #[cfg(feature = "std")]
    fn turn_window(&self) {
        let retention = &self.retention;
        let Some(began) = retention.began.get() else { return };
        let (now, window) = (Instant::now(), crate::page_cache::window());
        let passed = now - began;
        if passed >= window {
            let [recent, before] = &retention.recent;
            before.set(if passed < window.saturating_mul(2) { recent.get() } else { self.in_use() });
            recent.set(self.in_use());
            retention.began.set(Some(now));
            retention.left.set(0);
        }
    }

    /// Whether there has been a surplus for a part of a window.
    #[cfg(feature = "std")]
    fn is_due(&self) -> bool {
        if !HAS_CLOCK {
            return true;
        }
        let now = Instant::now();
        let since = self.retention.surplus_since.get().unwrap_or(now);
        self.retention.surplus_since.set(Some(since));
        now - since >= crate::page_cache::window() / SURPLUS_DELAY
    }

    #[cfg(feature = "std")]
    fn end_surplus(&self) {
        self.retention.surplus_since.set(None);
    }

    /// Without a clock a surplus returns at once, and windows do not end.
    #[cfg(not(feature = "std"))]
    fn turn_window(&self) {}
    #[cfg(not(feature = "std"))]
    fn is_due(&self) -> bool {
        true
    }
    #[cfg(not(feature = "std"))]
    fn end_surplus(&self) {}

    /// Returns the surplus: when there has been one for a part of a window, since a program often takes the blocks again
    /// at once, or when it exceeds what was in use.
    pub fn return_surplus(&self, supply: &Supply<'_>) {
        if self.shares_limit.get() {
            self.flush();
        }
        if self.idle.get() <= SURPLUS_MIN {
            return;
        }
        if self.shares_limit.get() {
            return self.return_down_to(supply, 0);
        }
        self.turn_window();
        let [recent, before] = &self.retention.recent;
        let peak = recent.get().max(before.get());
        let kept = peak + peak.min(MORE_MIN).max(peak / 8) - self.in_use();
        if self.idle.get() <= kept.max(self.retention.left.get()) + SURPLUS_MIN {
            self.end_surplus();
        } else if self.is_due() || self.idle.get() > kept + peak {
            self.return_down_to(supply, kept);
            self.retention.left.set(self.idle.get());
            self.end_surplus();
        }
    }

    /// Returns idle blocks, until about `keep` bytes of them are left.
    fn return_down_to(&self, supply: &Supply<'_>, keep: usize) {
        self.flush();
        let may_return = |size: usize| self.idle.get() - size >= keep;
        self.return_regions(supply, |live, size| live == 0 && may_return(size));
        let mut at = self.segments.get();
        while !at.is_null() {
            // SAFETY: segments are alive until they are returned.
            unsafe {
                let s = at;
                at = (*s).next;
                if (*s).is_free() && may_return((*s).size) {
                    self.put_segment(supply, s);
                }
            }
        }
    }

    /// Returns memory without live objects, until about `keep` bytes of it are left; returns what is left.
    pub fn trim(&self, supply: &Supply<'_>, keep: usize) -> usize {
        if let Some(checked) = self.checked() {
            return checked.trim(supply, keep);
        }
        self.return_down_to(supply, keep);
        self.idle.get()
    }

    /// Returns all memory without live objects, so that a block that was refused may be requested once more; `false`:
    /// there is none.
    #[cold]
    pub fn trim_after_refusal(&self, supply: &Supply<'_>) -> bool {
        let before = self.reserved.get();
        self.trim(supply, 0);
        self.reserved.get() < before
    }

    /// Returns all memory, whether it was freed or not. The state is then as a new one.
    ///
    /// # Safety
    /// No allocation is used any more.
    pub unsafe fn release(&self, supply: &Supply<'_>) {
        self.idle.set(self.reserved.get());
        while !self.segments.get().is_null() {
            // SAFETY: segments are alive until they are returned.
            unsafe {
                let s = self.segments.get();
                self.segments.set((*s).next);
                supply.put(self, NonNull::new_unchecked(s.cast()), (*s).size);
            }
        }
        self.current.iter().for_each(|current| current.set(no_slab()));
        self.held.iter().for_each(|held| held.set(0));
        self.gaps.iter().for_each(|gaps| gaps.set(0));
        for count in
            [&self.live, &self.free_units, &self.slab_count, &self.slab_bytes, &self.page_bytes, &self.retention.left]
        {
            count.set(0);
        }
        self.retention.recent.iter().for_each(|recent| recent.set(0));
        // SAFETY: the caller's contract.
        unsafe {
            self.release_larges(supply);
            self.release_checked(supply);
        }
    }
}
