//! Without the feature `diagnostics`: no arena is instrumented, so these are not called, or change nothing.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::ptr::NonNull;

use super::caller::Caller;
use super::state::*;
use crate::abi_types::{ENOSYS, OK};

/// Never made.
pub enum Instruments {}

impl RawArena {
    pub fn has_instruments(self) -> bool {
        false
    }

    pub fn inherit_instruments(self, _parent: RawArena) -> bool {
        true
    }

    pub fn release_instruments(self) {}

    pub fn is_wrong_thread(self) -> bool {
        false
    }

    pub fn instrumented_limit(self, remaining: u64) -> u64 {
        remaining
    }

    pub fn alloc_instrumented(self, size: usize, align: usize, _caller: Caller) -> Option<NonNull<u8>> {
        self.alloc_slow(size, align)
    }

    pub fn alloc_hidden(self, size: usize, align: usize) -> Option<NonNull<u8>> {
        self.alloc_slow(size, align)
    }

    pub fn resize_checked(
        self,
        _p: *mut u8,
        _old: usize,
        _new: usize,
        _align: usize,
        _flags: u32,
        _caller: Caller,
    ) -> Option<NonNull<u8>> {
        None
    }

    pub fn free_checked(self, _p: *mut u8, _size: usize) {}

    pub fn count_growth(self, _more: usize, _caller: Caller, _before: u64) {}

    pub fn check_records(self, _epoch: usize) -> i32 {
        OK
    }

    pub fn begin_round(self) {}

    pub fn after_rewind(self, _epoch: usize) {}

    pub fn after_trim(self) {}

    pub fn mark_is_stale(self, _cursor: usize, _epoch: usize) -> bool {
        false
    }

    pub fn poison(self, _from: *mut u8, _to: *mut u8) {}

    pub fn poison_block(self, _block: Block) {}

    pub fn poison_all(self) {}

    pub fn verify_freed(self) -> bool {
        true
    }

    pub fn drop_block_log(self, _block: Block) {}

    pub fn take_block_log(self, _block: Block) -> Option<()> {
        None
    }

    pub fn quarantine(self, _block: Block, _log: Option<()>) -> bool {
        false
    }

    pub fn quarantine_block(self, _block: Block) -> bool {
        false
    }

    pub fn reserve_detached(self) -> bool {
        true
    }

    pub fn detached_add(self, _block: Block, _bytes: usize) {}

    pub fn detached_remove(self, _block: Block) {}

    pub fn fits_tag_budget(self, _charge: usize) -> bool {
        true
    }

    pub fn save_claim_tag(self) {}

    pub fn enter_claim_tag(self) -> Option<usize> {
        None
    }

    pub fn leave_claim_tag(self, _present: usize) {}

    // ---- settings, which are not supported ----

    pub fn set_checked(self, _on: bool) -> i32 {
        ENOSYS
    }

    pub fn sample(self) -> u64 {
        0
    }

    pub fn set_sample(self, _period: u64) -> i32 {
        ENOSYS
    }

    pub fn set_metered(self, _on: bool) -> i32 {
        ENOSYS
    }

    pub fn set_tag(self, _number: u64, _path: &str) -> Option<usize> {
        None
    }
}
