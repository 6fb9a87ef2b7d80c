//! What a recycler keeps, trim and release.
//!
//! A block of the source is in use while it has a slab or a large object, else idle. Idle blocks are kept up to the
//! allowance of the process (`account.rs`). The surplus returns to the source when a slab or a large object is freed.
//! Where the source has a limit for several objects, idle blocks return at once.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

use super::account;
use super::state::{no_slab, State};
use super::supply::Supply;

/// Less is not returned by itself.
const SURPLUS_MIN: usize = 64 << 10;
/// Frees until the clock is read again, where no more is idle: that takes as long as the free of a large object.
const LOOKS: u32 = 16;
/// Changes that exceed this are added to the account, but for the half of it, so that an object that comes and goes
/// changes no sum.
const STEP: isize = 128 << 10;

impl State {
    /// Idle bytes are used from now on.
    pub fn begin_use(&self, bytes: usize) {
        self.count(bytes as isize, -(bytes as isize));
    }

    pub fn end_use(&self, bytes: usize) {
        self.count(-(bytes as isize), bytes as isize);
    }

    /// Adds to the bytes in use and to the idle ones.
    pub fn count(&self, used: isize, idle: isize) {
        self.idle.set(self.idle.get().wrapping_add_signed(idle));
        if self.shares_limit.get() {
            return;
        }
        let changes = &self.retention.changes;
        changes.set([changes.get()[0] + used, changes.get()[1] + idle]);
        if changes.get().into_iter().any(|change| change.abs() > STEP) {
            self.add_changes(STEP / 2);
        }
    }

    /// Adds to the account what exceeds `left` of each change.
    fn add_changes(&self, left: isize) {
        let [used, idle] = self.retention.changes.get();
        let stay = [used.clamp(-left, left), idle.clamp(-left, left)];
        if [used, idle] != stay {
            self.retention.changes.set(stay);
            account::add(used - stay[0], idle - stay[1]);
        }
    }

    /// Whether enough bytes have become idle to look for a surplus, or the clock is read again.
    fn looks_for_surplus(&self) -> bool {
        let (looked, looks) = self.retention.looked.get();
        let looks_now = self.idle.get() > looked || account::exceeds() || looks + 1 == LOOKS;
        self.retention.looked.set(if looks_now {
            (looked.max(self.idle.get() + SURPLUS_MIN), 0)
        } else {
            (looked, looks + 1)
        });
        looks_now
    }

    /// Returns the surplus of the process as far as this recycler has idle blocks.
    pub fn return_surplus(&self, supply: &Supply<'_>) {
        if self.shares_limit.get() {
            self.flush();
            return if self.idle.get() > SURPLUS_MIN {
                self.return_down_to(supply, 0)
            };
        }
        if self.idle.get() <= SURPLUS_MIN || !self.looks_for_surplus() {
            return;
        }
        let [used, idle] = self.retention.changes.get();
        let surplus = account::surplus(used, idle);
        let (window, left) = self.retention.left.get();
        let is_new = surplus.window != window || self.idle.get() > left + SURPLUS_MIN;
        if surplus.bytes > SURPLUS_MIN && surplus.is_due && is_new {
            self.return_down_to(supply, self.idle.get().saturating_sub(surplus.bytes));
            self.retention.left.set((surplus.window, self.idle.get()));
            self.retention.looked.set((self.idle.get() + SURPLUS_MIN, 0));
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
        debug_assert!(self.verify());
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
        self.end_use(self.reserved.get() - self.idle.get());
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
        for count in [&self.live, &self.free_units, &self.slab_count, &self.slab_bytes, &self.page_bytes] {
            count.set(0);
        }
        self.retention.left.set((0, 0));
        self.retention.looked.set((0, 0));
        // SAFETY: the caller's contract.
        unsafe {
            self.release_larges(supply);
            self.release_checked(supply);
        }
        self.add_changes(0);
    }
}
