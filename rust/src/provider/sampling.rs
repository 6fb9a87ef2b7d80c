//! Counts by call site: of every allocation in a checked arena, else of samples.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]
#![allow(improper_ctypes_definitions)] // these functions do not unwind

use super::caller::Caller;
use super::instrument_types::{Count, Fault, Instruments, Shared};
use super::state::*;
use crate::base::abi_types as abi;

impl Shared {
    pub(super) fn count(&mut self, caller: Caller, tag: usize, count: f64, bytes: f64) {
        #[cfg(feature = "std")]
        if self.record.is_some() {
            super::profile::count(caller, &self.tags[tag], count, bytes);
        }
        let found = self.counts.binary_search_by_key(&(caller.key(), tag), |c| (c.caller.key(), c.tag));
        match found {
            Ok(at) => {
                self.counts[at].count += count;
                self.counts[at].bytes += bytes;
            }
            Err(at) => {
                if self.counts.try_reserve(1).is_ok() {
                    self.counts.insert(at, Count { caller, tag, count, bytes });
                }
            }
        }
    }

    /// Returns the bytes to the next sample, `period` on average, exponentially distributed. The distribution is
    /// memoryless, so scopes may start anew and end in any order.
    pub(super) fn distance(&mut self, period: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let u = (self.random >> 32) | 1; // of 2^32
        let whole = u.ilog2() as u64;
        // The fraction bits of the logarithm, by squaring: without std there is no ln.
        let (mut log, mut y) = (whole << 16, u << (31 - whole));
        for bit in (0..16).rev() {
            y = (y * y) >> 31;
            if y >> 32 != 0 {
                log |= 1 << bit;
                y >>= 1;
            }
        }
        let nats = ((32 << 16) - log) as f64 / 65536.0 * core::f64::consts::LN_2;
        // The geometric distribution: nats / ln(1 + 1 / period), by its first terms.
        let middle = period as f64 + 0.5;
        let y = 0.25 / (middle * middle);
        (nats * middle / (1.0 + y / 3.0 + y * y / 5.0)) as u64
    }
}

impl RawArena {
    pub fn sample(self) -> u64 {
        self.instruments().map_or(0, |instruments| instruments.period.get())
    }

    pub fn set_sample(self, period: u64) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        instruments.period.set(period);
        let distance = instruments.shared().borrow_mut().distance(period);
        instruments.own.borrow_mut().next_sample = self.slow().allocated.get().saturating_add(distance);
        self.next_epoch();
        self.update_instrumented(instruments);
        abi::OK
    }

    /// Counts an allocation. `before`: the value of `allocated` before it.
    pub(super) fn count_allocation(self, instruments: &Instruments, size: usize, caller: Caller, before: u64) {
        let mut own = instruments.own.borrow_mut();
        let allocated = self.slow().allocated.get();
        if self.is(CHECKED) {
            instruments.shared().borrow_mut().count(caller, own.tag, 1.0, size as f64);
        } else if instruments.period.get() != 0 {
            let period = instruments.period.get();
            let mut hits = 0;
            let many = allocated.saturating_sub(own.next_sample.max(before)) / period;
            if many > 256 {
                hits = many; // an approximation for many samples
                own.next_sample = allocated.saturating_add(instruments.shared().borrow_mut().distance(period));
            }
            while own.next_sample < allocated {
                // else the sample was in a range, or in an allocation of the arena's own
                hits += (own.next_sample >= before) as u64;
                let distance = instruments.shared().borrow_mut().distance(period);
                own.next_sample = own.next_sample.saturating_add(distance);
            }
            // An allocation of `charge` bytes is sampled once in period / charge times.
            let charge = allocated.saturating_sub(before).max(1);
            if hits != 0 {
                let count = hits as f64 * period as f64 / charge as f64;
                instruments.shared().borrow_mut().count(caller, own.tag, count, count * size as f64);
            }
        }
        drop(own);
        let (soft, passed) = (instruments.shared().borrow().soft_budget, instruments.shared().borrow().soft_passed);
        if soft != u64::MAX && !passed {
            let live = self.root().live_with_scopes();
            if live > soft {
                let mut shared = instruments.shared().borrow_mut();
                shared.soft_passed = true;
                shared.fault(Fault::OverBudget { caller, live, budget: soft });
            }
        }
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn count_growth(self, more: usize, caller: Caller, before: u64) {
        if let Some(instruments) = self.instruments().filter(|_| self.slow().allocated.get() > before) {
            self.count_allocation(instruments, more, caller, before);
        }
    }
}
