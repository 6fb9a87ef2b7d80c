//! The instruments of an arena: records with red zones, samples, bytes by tag and phase, budgets of tags. They are
//! allocated when the first one is switched on. Their only hook is the compare of the inline path: `set_limit` lowers
//! the limit to the next byte that an instrument must see, and sets the instrumented bit, so that rewinds, resizes and
//! frees call ops.
//!
//! Functions called by the rest of the provider are `extern "C"`, which prevents unwinding into clients in other
//! languages.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(improper_ctypes_definitions)]

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::caller::Caller;
use super::instrument_types::{Fault, Instruments, Own, Shared, Tag};
use super::state::*;
#[cfg(feature = "std")]
use crate::base::abi_types as abi;

/// Further findings are counted, not kept.
const FINDINGS_MAX: usize = 1000;

impl Shared {
    pub(super) fn fault(&mut self, fault: Fault) {
        #[cfg(feature = "std")]
        crate::system::hook::found(|| crate::base::finding::Finding::of(fault));
        if self.faults.len() < FINDINGS_MAX && self.faults.try_reserve(1).is_ok() {
            self.faults.push(fault);
        } else {
            self.faults_lost += 1;
        }
    }
}

impl Instruments {
    pub fn fault(&self, fault: Fault) {
        self.shared().borrow_mut().fault(fault);
    }

    pub(super) fn shared(&self) -> &RefCell<Shared> {
        // SAFETY: it is released with the outermost arena, after all scopes.
        unsafe { self.shared.as_ref() }
    }
}

/// An address that is unique among the running threads.
pub fn thread_id() -> usize {
    #[cfg(feature = "std")]
    {
        std::thread_local!(static HERE: u8 = const { 0 });
        HERE.with(|here| core::ptr::from_ref(here).addr())
    }
    #[cfg(not(feature = "std"))]
    1
}

impl RawArena {
    /// The instruments, if they were ever created.
    pub fn instruments(&self) -> Option<&Instruments> {
        // SAFETY: a box made by `instruments_or_new`, and freed only by `release_instruments`, with the arena.
        self.slow().instruments.get().map(|instruments| unsafe { instruments.as_ref() })
    }

    pub(super) fn instruments_or_new(&self) -> Option<&Instruments> {
        if self.slow().instruments.get().is_none() {
            let mut tags: Vec<Tag> = Vec::new();
            tags.try_reserve(1).ok()?;
            tags.push(Tag { number: Some(0), name: String::new(), budget: u64::MAX, allocated: 0 });
            let random = 0x9E37_79B9_7F4A_7C15 ^ self.base().addr() as u64;
            let shared = Shared { tags, soft_budget: u64::MAX, random, ..Shared::default() };
            let shared = NonNull::from(Box::leak(crate::base::try_box::try_box(RefCell::new(shared))?));
            if !self.attach_instruments(shared, 0) {
                // SAFETY: made from a box just now.
                drop(unsafe { Box::from_raw(shared.as_ptr()) });
            }
        }
        self.instruments()
    }

    pub(super) fn attach_instruments(&self, shared: NonNull<RefCell<Shared>>, tag: usize) -> bool {
        let slow = self.slow();
        let (since, from, counted) = (self.epoch(), self.head.cursor.get().addr(), slow.allocated.get());
        let own = Own { since, from, tag, claim_tag: tag, counted, ..Own::default() };
        let instruments = Instruments {
            shared,
            own: RefCell::new(own),
            freed: RefCell::new(Vec::new()),
            metered: Cell::new(false),
            period: Cell::new(0),
            thread: Cell::new(0),
            wrong_thread_calls: AtomicUsize::new(0),
        };
        let Some(instruments) = crate::base::try_box::try_box(instruments) else { return false };
        slow.instruments.set(Some(NonNull::from(Box::leak(instruments))));
        true
    }

    /// Gives a scope the instruments of its outer arena, to which it reports. `false`: no memory.
    #[cold]
    #[inline(never)]
    pub extern "C" fn inherit_instruments(self, parent: RawArena) -> bool {
        let Some(theirs) = parent.instruments().filter(|_| parent.is(INSTRUMENTED)) else { return true };
        self.sync_in();
        let tag = theirs.own.borrow().tag;
        if !self.attach_instruments(theirs.shared, tag) {
            return false;
        }
        let Some(instruments) = self.instruments() else { return false };
        instruments.metered.set(theirs.metered.get());
        instruments.period.set(theirs.period.get());
        instruments.thread.set(theirs.thread.get());
        instruments.own.borrow_mut().next_sample = instruments.shared().borrow_mut().distance(theirs.period.get());
        self.raise(parent.flags.get() & (INSTRUMENTED | CHECKED));
        true
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn release_instruments(self) {
        let owns_shared = self.root() == self;
        #[cfg(feature = "std")]
        if let Some(instruments) = self.instruments().filter(|_| owns_shared) {
            self.end_profile(instruments);
        }
        if let (Some(instruments), Some(parent)) = (self.instruments(), self.parent.get()) {
            self.sync_tag(instruments);
            parent.add_scope_bytes(self.slow().allocated.get());
        }
        if let Some(instruments) = self.slow().instruments.take() {
            // SAFETY: made from boxes; no reference to them exists between operations, and the scopes have ended.
            let instruments = unsafe { Box::from_raw(instruments.as_ptr()) };
            if owns_shared {
                // SAFETY: as above.
                let shared = unsafe { Box::from_raw(instruments.shared.as_ptr()) };
                crate::base::panics::catch(|| drop(shared)); // a destructor of the refusal hook's captures may panic
            }
        }
    }

    /// Adds the bytes that a scope allocated, which were counted for its tags and sampled.
    pub(super) fn add_scope_bytes(self, allocated: u64) {
        if let Some(instruments) = self.instruments() {
            self.slow().allocated.set(self.slow().allocated.get() + allocated);
            let mut own = instruments.own.borrow_mut();
            own.counted += allocated;
            own.next_sample = own.next_sample.saturating_add(allocated);
        }
    }

    /// Applies a change of the shared part to all limits.
    pub(super) fn set_all_limits(self) {
        self.sync_in();
        self.set_limit();
        self.each_scope(RawArena::set_all_limits);
    }

    /// Updates the flag INSTRUMENTED after a switch.
    pub(super) fn update_instrumented(&self, instruments: &Instruments) {
        let shared = instruments.shared().borrow();
        let on = instruments.metered.get()
            || instruments.period.get() != 0
            || shared.soft_budget != u64::MAX
            || shared.refusal_hook.is_some();
        #[cfg(feature = "std")]
        let on = on || shared.record.is_some();
        if on || self.is(CHECKED) || instruments.thread.get() != 0 {
            self.raise(INSTRUMENTED);
        } else {
            self.lower(INSTRUMENTED);
        }
    }

    // ---- switches; precondition: the arena is synced and not closed ----

    /// Restricts allocation to this thread; 0: no restriction.
    #[cfg(feature = "std")]
    pub fn pin_thread(self, thread: usize) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        instruments.thread.set(thread);
        self.update_instrumented(instruments);
        abi::OK
    }

    /// Delivers the findings of the operation that ends here. This arena and its outer ones are closed during the
    /// delivery: a caller that is about to rewind must not free what a hook allocated.
    #[cfg(feature = "std")]
    #[cold]
    #[inline(never)]
    pub extern "C" fn deliver(self) {
        if self.is(BUSY) {
            return; // the operation that it is part of has not ended
        }
        for a in self.self_and_outer() {
            if !a.is(BUSY) {
                a.raise(BUSY | IN_HOOK);
            }
        }
        self.set_limit();
        crate::system::hook::deliver();
        for a in self.self_and_outer() {
            if a.is(IN_HOOK) {
                a.lower(BUSY | IN_HOOK);
            }
        }
    }

    // ---- calls of the provider ----

    /// Whether the arena is pinned to another thread. Called before anything is changed.
    #[cold]
    #[inline(never)]
    pub extern "C" fn is_wrong_thread(self) -> bool {
        let Some(instruments) = self.instruments() else { return false };
        let pinned = instruments.thread.get();
        if pinned == 0 || pinned == thread_id() {
            return false;
        }
        instruments.wrong_thread_calls.fetch_add(1, Ordering::Relaxed);
        #[cfg(feature = "std")]
        {
            crate::system::hook::found(|| crate::base::finding::Finding::WrongThread { calls: 1 });
            crate::system::hook::deliver(); // nothing of the arena has changed
        }
        true
    }

    /// Part of `set_limit`: the bytes up to the next one that an instrument must see.
    #[cold]
    #[inline(never)]
    pub extern "C" fn instrumented_limit(self, mut remaining: u64) -> u64 {
        let Some(instruments) = self.instruments() else { return remaining };
        let slow = self.slow();
        let live = slow.live.get();
        self.sync_tag(instruments);
        instruments.own.borrow_mut().cut_tags(live);
        #[cfg(feature = "std")]
        if self.update_profile(instruments) {
            remaining = remaining.min(super::profile::LAG);
        }
        let (own, shared) = (instruments.own.borrow(), instruments.shared().borrow());
        if self.is(CHECKED) || instruments.thread.get() != 0 {
            return 0;
        }
        if instruments.period.get() != 0 {
            // The allocation that contains the next sample takes the slow path.
            remaining = remaining.min(own.next_sample.saturating_sub(slow.allocated.get()) & !7);
        }
        let shares = self.parent.get().is_some() || slow.scopes.get().is_some();
        if shared.soft_budget != u64::MAX && !shared.soft_passed {
            remaining = remaining.min(if shares { 0 } else { shared.soft_budget.saturating_sub(live) & !7 });
        }
        let budget = shared.tags[own.tag].budget;
        if budget != u64::MAX && instruments.metered.get() {
            remaining = remaining.min(if shares { 0 } else { budget.saturating_sub(own.live_of(own.tag, live)) & !7 });
        }
        remaining
    }

    /// This arena and its outer ones, innermost first.
    pub(super) fn self_and_outer(self) -> impl Iterator<Item = RawArena> {
        core::iter::successors(Some(self), |a| a.parent.get())
    }

    /// The outermost arena with the same shared part.
    pub(super) fn root(self) -> RawArena {
        let shared = |a: &RawArena| a.instruments().map(|instruments| instruments.shared);
        let mine = shared(&self);
        self.self_and_outer().take_while(|a| shared(a) == mine).last().unwrap_or(self)
    }

    /// As `alloc_slow`, for the instruments.
    #[cold]
    #[inline(never)]
    pub extern "C" fn alloc_instrumented(self, size: usize, align: usize, caller: Caller) -> Start {
        let Some(instruments) = self.instruments() else { return self.alloc_slow(size, align) };
        let before = self.slow().allocated.get();
        let p = self.alloc_or_raise_budget(instruments, size, align, caller, false);
        if p.is_some() {
            self.count_allocation(instruments, size, caller, before);
        }
        p
    }

    // ---- queries ----

    /// Whether instruments were ever created.
    pub fn has_instruments(self) -> bool {
        !self.is(PRISTINE) && self.slow().instruments.get().is_some()
    }

    pub fn is_closed(self) -> bool {
        self.is(CLAIMED | BUSY)
    }

    /// Calls f with the shared part, after updating it.
    pub fn with_shared<R>(self, f: impl FnOnce(&mut Shared) -> R) -> Option<R> {
        let instruments = self.instruments()?;
        self.sync_tag(instruments);
        self.sync_scope_tags();
        let mut shared = instruments.shared().borrow_mut();
        Some(f(&mut shared))
    }

    /// Returns and clears the number of calls by wrong threads.
    pub fn take_wrong_thread_calls(self) -> u64 {
        self.instruments().map_or(0, |instruments| instruments.wrong_thread_calls.swap(0, Ordering::Relaxed) as u64)
    }
}
