//! Shares of a limit on live bytes: of those each arena holds some more than it uses, which its inline path hands out.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

use super::{Budget, LIVE, OF_ARENAS, RESERVED};
use crate::base::source::{Portion, Source};

/// Of a limit at most this part is parked: less than 1 %.
const PARKED_SHARE: usize = 128;
const SPARE_MAX: usize = 64 << 10;

impl Budget {
    /// Parks bytes of the limits for an arena that becomes idle on them: less the more others have.
    fn park(&self) -> usize {
        let most = |budget: &Budget| budget.live_limit().unwrap_or(usize::MAX) / PARKED_SHARE;
        let parking = |budget: &Budget| most(budget).saturating_sub(budget.parked());
        let spare = self.levels().map(|budget| (parking(budget) / 4) & !15).min().unwrap_or(0).min(SPARE_MAX);
        for (i, budget) in self.levels().enumerate() {
            let sum = |parked: usize| Some(parked + spare).filter(|sum| *sum <= most(budget));
            if budget.0.parked.fetch_update(Relaxed, Relaxed, sum).is_err() {
                self.levels().take(i).for_each(|below| _ = below.0.parked.fetch_sub(spare, Relaxed));
                return 0;
            }
        }
        spare
    }

    fn unpark(&self, spare: usize) {
        for budget in self.levels() {
            let before = budget.0.parked.fetch_sub(spare, Relaxed);
            debug_assert!(spare <= before);
        }
    }
}

/// The source of one arena on a budget that counts live bytes, and its portion of the limit. Dropped with the arena.
pub(crate) struct Share {
    budget: Budget,
    /// Bytes that the budget counts as live for this arena.
    granted: Cell<usize>,
    /// Of them at most these are not live between two operations; the budget counts them as parked.
    spare: Cell<usize>,
    /// Bytes that the budget refused in this operation; 0: none.
    refused: Cell<usize>,
}

impl Share {
    pub fn new(budget: Budget) -> Share {
        Share { budget, granted: Cell::new(0), spare: Cell::new(0), refused: Cell::new(0) }
    }

    fn shrink(&self, granted: usize) {
        self.budget.subtract(LIVE, self.granted.replace(granted) - granted);
    }

    fn end(&self) {
        self.shrink(0);
        self.budget.unpark(self.spare.take());
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.end();
    }
}

impl Portion for Share {
    fn granted(&self) -> u64 {
        self.granted.get() as u64
    }

    fn update(&self, used: u64) {
        let (used, spare) = (used as usize, self.spare.get());
        debug_assert!(used <= self.granted.get());
        self.refused.set(0);
        if used == 0 {
            self.end();
        } else if self.granted.get() > used + spare {
            self.shrink(used + spare / 2);
        }
        debug_assert!(self.granted.get() <= used + self.spare.get());
        debug_assert!(self.granted.get() <= self.budget.live());
    }

    fn grow(&self, wanted: u64) -> bool {
        let Ok(wanted) = usize::try_from(wanted) else { return false };
        let Some(more) = wanted.checked_sub(self.granted.get()) else { return true };
        if !self.budget.add(LIVE, more) {
            self.refused.set(more);
            return false;
        }
        self.budget.unpark(self.spare.take());
        self.spare.set(self.budget.park());
        let ahead = self.spare.get() / 2;
        let also = self.budget.try_add(LIVE, ahead).is_ok();
        self.granted.set(wanted + if also { ahead } else { 0 });
        debug_assert!(self.granted.get() <= self.budget.live() && self.spare.get() <= self.budget.parked());
        true
    }

    fn may_retry(&self) -> bool {
        match self.refused.take() {
            0 => false,
            size => self.budget.call_back(LIVE, size),
        }
    }
}

// SAFETY: those of the budget, whose blocks of this source count as reserved only.
unsafe impl Source for Share {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        self.budget.take_for(OF_ARENAS, size)
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.budget.put_for(OF_ARENAS, block, size) }
    }

    unsafe fn extend(&self, block: NonNull<u8>, size: usize, want: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { self.budget.extend_for(OF_ARENAS, block, size, want) }
    }

    fn extends(&self) -> bool {
        self.budget.extends()
    }

    fn shares_limit(&self) -> bool {
        true
    }

    fn refused(&self, size: usize) -> bool {
        self.budget.call_back(RESERVED, size)
    }
}
