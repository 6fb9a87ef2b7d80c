//! Without the feature `diagnostics`: no arena is instrumented, so these are not called, or change nothing.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::caller::Caller;
use super::state::*;
use crate::base::abi_types::{ENOSYS, OK};

/// Methods that ignore their arguments.
macro_rules! omitted {
    ($(fn $name:ident($($of:ty),*) $(-> $result:ty = $value:expr)?;)*) => {
        impl RawArena {
            $(pub fn $name(self $(, _: $of)*) $(-> $result)? {
                $($value)?
            })*
        }
    };
}

omitted! {
    fn has_instruments() -> bool = false;
    fn inherit_instruments(RawArena) -> bool = true;
    fn release_instruments();
    fn is_wrong_thread() -> bool = false;
    fn resize_checked(*mut u8, usize, usize, usize, u32, Caller) -> Start = None;
    fn free_checked(*mut u8, usize);
    fn count_growth(usize, Caller, u64);
    fn check_records(usize) -> i32 = OK;
    fn begin_round();
    fn after_rewind(usize);
    fn after_trim();
    fn mark_is_stale(usize, usize) -> bool = false;
    fn note_claim_alloc();
    fn end_marks_of_claim();
    fn poison(*mut u8, *mut u8);
    fn poison_block(Block);
    fn poison_all();
    fn verify_freed() -> bool = true;
    fn drop_block_log(Block);
    fn take_block_log(Block) -> Option<()> = None;
    fn quarantine(Block, Option<()>) -> bool = false;
    fn quarantine_block(Block) -> bool = false;
    fn reserve_detached() -> bool = true;
    fn detached_add(Block, usize);
    fn detached_remove(Block);
    fn fits_tag_budget(usize) -> bool = true;
    fn save_claim_tag();
    fn enter_claim_tag() -> Option<usize> = None;
    fn leave_claim_tag(usize);
    // Settings, which are not supported.
    fn set_checked(bool) -> i32 = ENOSYS;
    fn sample() -> u64 = 0;
    fn set_sample(u64) -> i32 = ENOSYS;
    fn set_metered(bool) -> i32 = ENOSYS;
    fn set_tag(u64, &str) -> Option<usize> = None;
}

impl RawArena {
    pub fn instrumented_limit(self, remaining: u64) -> u64 {
        remaining
    }

    pub fn alloc_instrumented(self, size: usize, align: usize, _caller: Caller) -> Start {
        self.alloc_slow(size, align)
    }

    pub fn alloc_hidden(self, size: usize, align: usize) -> Start {
        self.alloc_slow(size, align)
    }
}
