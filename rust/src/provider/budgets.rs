//! Budgets of tags, the soft budget, and the hook that may raise a budget.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]
#![allow(improper_ctypes_definitions)] // these functions do not unwind

use super::caller::Caller;
use super::instrument_types::{Instruments, RefusalHook};
use super::records::{size_with_redzones, REDZONE};
use super::state::*;
use crate::base::abi_types as abi;
use crate::base::policy::round8;

impl RawArena {
    pub fn set_tag_budget(self, name: &str, bytes: u64) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        let mut shared = instruments.shared().borrow_mut();
        let Some(tag) = shared.tag_named(None, name.strip_prefix('/').unwrap_or(name)) else { return abi::ENOMEM };
        shared.tags[tag].budget = bytes;
        shared.tag_budgets = shared.tags.iter().any(|tag| tag.budget != u64::MAX);
        drop(shared);
        self.root().set_all_limits();
        abi::OK
    }

    pub fn set_soft_budget(self, bytes: u64) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        let mut shared = instruments.shared().borrow_mut();
        shared.soft_budget = bytes;
        shared.soft_passed = false;
        drop(shared);
        self.next_epoch();
        self.update_instrumented(instruments);
        self.root().set_all_limits();
        abi::OK
    }

    /// Swaps the hook. The caller drops the previous one, whose captures may have destructors, after the operation.
    pub fn set_refusal_hook(self, refusal_hook: &mut Option<RefusalHook>) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        core::mem::swap(&mut instruments.shared().borrow_mut().refusal_hook, refusal_hook);
        self.update_instrumented(instruments);
        abi::OK
    }

    /// Whether the present tag's budget allows `charge` more bytes.
    #[cold]
    #[inline(never)]
    pub extern "C" fn fits_tag_budget(self, charge: usize) -> bool {
        let Some(instruments) = self.instruments() else { return true };
        let (tag, budget) = {
            let (own, shared) = (instruments.own.borrow(), instruments.shared().borrow());
            if !shared.tag_budgets || !instruments.metered.get() {
                return true;
            }
            (own.tag, shared.tags[own.tag].budget)
        };
        let used = || self.root().live_of_tag(tag).saturating_add(self.root().claimed_of_tag(tag));
        budget == u64::MAX || used().saturating_add(charge as u64) <= budget
    }

    pub(super) fn alloc_or_raise_budget(
        self,
        instruments: &Instruments,
        size: usize,
        align: usize,
        caller: Caller,
        hidden: bool,
    ) -> Start {
        let alloc = || {
            if self.is(CHECKED) {
                self.alloc_checked(instruments, size, align, caller, hidden)
            } else {
                self.alloc_slow(size, align)
            }
        };
        self.lower(REFUSED);
        alloc().or_else(|| if self.raise_budgets(instruments, size, align) { alloc() } else { None })
    }

    /// Called after a refusal. Whether the request is to be tried again: all budgets that were the cause were raised, or
    /// the cause was the source and the hook was called.
    pub(super) fn raise_budgets(self, instruments: &Instruments, size: usize, align: usize) -> bool {
        let (charge, align) = match self.is(CHECKED) {
            true => (size_with_redzones(size, align), align.max(REDZONE)),
            false => (Some(round8(size)), align),
        };
        let Some(charge) = charge.filter(|charge| self.fits_tag_budget(*charge)) else { return false };
        let need = charge as u64 + if align > 8 { align as u64 } else { 0 };
        let mut raised = false;
        for a in self.self_and_outer() {
            let budget = a.budget.get();
            if budget != u64::MAX && a.live_and_claimed().saturating_add(need) > budget {
                raised = self.call_refusal_hook(instruments, a, size) == Some(true);
                if !raised {
                    return false;
                }
            }
        }
        // The hook may have freed memory of other arenas, which went back to the source.
        raised || (self.is(REFUSED) && self.call_refusal_hook(instruments, self.root(), size).is_some())
    }

    /// Calls the refusal hook for the budget of `over`, this arena or an outer one. Returns whether it was raised. `None`:
    /// there is no hook.
    pub(super) fn call_refusal_hook(self, instruments: &Instruments, over: RawArena, size: usize) -> Option<bool> {
        for a in self.self_and_outer() {
            if a.is(BUSY) {
                return None; // called by a hook that has not returned yet
            }
        }
        let mut refusal_hook = instruments.shared().borrow_mut().refusal_hook.take()?;
        let (live, budget) = (over.live_with_scopes(), over.budget.get());
        for a in self.self_and_outer() {
            a.raise(BUSY); // the hook may query the arenas, not allocate there
        }
        self.set_limit();
        let mut answer = None;
        crate::base::panics::catch(|| answer = refusal_hook(live, budget, size));
        for a in self.self_and_outer() {
            a.lower(BUSY);
        }
        let replaced = instruments.shared().borrow().refusal_hook.is_some();
        if replaced {
            crate::base::panics::catch(|| drop(refusal_hook)); // the hook replaced itself
        } else {
            instruments.shared().borrow_mut().refusal_hook = Some(refusal_hook);
        }
        let more = answer.filter(|more| *more > budget);
        if let Some(more) = more {
            over.budget.set(more);
        }
        Some(more.is_some())
    }
}
