//! The data types of the instruments: `mod.rs` explains them. Their methods are in the other files of the instruments.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::ptr::NonNull;
use core::sync::atomic::AtomicUsize;

use super::block::Block;
use super::caller::Caller;
use super::damage::Damage;
#[cfg(feature = "std")]
use crate::base::report::Report;

/// The instruments of an arena. Created when one is first switched on; released with the arena.
pub struct Instruments {
    /// A box of the outermost instrumented arena: see `root`.
    pub(super) shared: NonNull<RefCell<Shared>>,
    pub(super) own: RefCell<Own>,
    pub(super) freed: RefCell<Vec<BlockLog>>,
    pub(super) metered: Cell<bool>,
    pub(super) period: Cell<u64>,
    /// The thread that the arena is pinned to, as of `thread_id`; 0: none.
    pub(super) thread: Cell<usize>,
    /// Number of calls by other threads.
    pub(super) wrong_thread_calls: AtomicUsize,
}

/// The part of the instruments that an arena shares with its scopes.
#[derive(Default)]
pub struct Shared {
    pub tags: Vec<Tag>,
    pub(super) counts: Vec<Count>,
    pub(super) phases: Vec<Phase>,
    pub faults: Vec<Fault>,
    pub faults_lost: u64,
    pub(super) soft_budget: u64,
    pub(super) soft_passed: bool,
    pub(super) tag_budgets: bool,
    pub(super) random: u64,
    pub(super) refusal_hook: Option<RefusalHook>,
    /// `None`: not in the process's profile.
    #[cfg(feature = "std")]
    pub(super) record: Option<alloc::sync::Arc<std::sync::Mutex<ProfileRecord>>>,
}

/// The part of the instruments that an arena has alone.
#[derive(Default)]
pub(super) struct Own {
    pub(super) records: Vec<Record>,
    /// The epoch and the cursor at the last reset, or when the checks began: older allocations have no record.
    pub(super) since: usize,
    pub(super) from: usize,
    /// `from`, before trim returned the block of an empty arena.
    pub(super) before: usize,
    /// Half-open ranges of epochs whose marks are stale although their cursor is valid: allocations in dedicated blocks
    /// were freed after them, which does not move the cursor; or they were made during a claim, after allocations from
    /// its range, which a rewind to them would free in an arena that is not checked. Ascending.
    pub(super) stale_marks: Vec<(usize, usize)>,
    /// The epoch of the first allocation from the claimed range; 0: none.
    pub(super) claim_epoch: usize,
    /// The value of `allocated` at which the next sample is due.
    pub(super) next_sample: u64,
    /// For bytes in regular blocks, counted from 0 and freed from the end: where the bytes of each tag begin.
    pub(super) tag_stack: Vec<(u64, usize)>,
    /// Bytes in detached blocks in order of allocation: block, tag, size.
    pub(super) detached: Vec<(usize, usize, u64)>,
    pub(super) detached_bytes: u64,
    pub(super) tag: usize,
    /// The tag at the time of the present claim.
    pub(super) claim_tag: usize,
    /// The value of `allocated` up to which tags are counted.
    pub(super) counted: u64,
}

/// What a checked or budgeted arena detects.
#[derive(Clone, Copy)]
pub enum Fault {
    Corrupt { caller: Caller, size: usize, damage: Damage },
    LateWrite { caller: Caller, size: usize, damage: Damage },
    BadFree { caller: Caller, size: usize },
    Leak { caller: Caller, size: usize },
    OverBudget { caller: Caller, live: u64, budget: u64 },
}

/// A live or freed allocation of a checked arena.
#[derive(Clone, Copy)]
pub struct Record {
    /// A red zone, `size` bytes at `p`, a red zone up to `end`.
    pub(super) start: *mut u8,
    pub(super) p: *mut u8,
    pub(super) size: usize,
    pub(super) end: *mut u8,
    pub(super) epoch: usize,
    /// The arena's cursor after the allocation, as in a mark taken then.
    pub(super) cursor: usize,
    pub(super) freed: bool,
    /// An allocation of the arena's own.
    pub(super) hidden: bool,
    pub(super) caller: Caller,
}

/// Freed regions of a block, in descending order, since a block is freed from its end.
pub struct BlockLog {
    pub(super) block: Block,
    pub(super) records: Vec<Record>,
}

/// Allocations by call site and tag.
pub struct Count {
    pub(super) caller: Caller,
    pub(super) tag: usize,
    pub(super) count: f64,
    pub(super) bytes: f64,
}

/// What is counted for a tag; its live bytes are computed.
pub struct Tag {
    pub(super) number: Option<u64>,
    pub(super) name: String,
    pub(super) budget: u64,
    pub(super) allocated: u64,
}

/// What is counted for a phase.
#[derive(Clone, Copy)]
pub struct Phase {
    pub(super) name: &'static str,
    pub(super) entries: u64,
    pub(super) allocated: u64,
    pub(super) kept: i64,
}

/// Called with the live bytes, the budget and the requested size; `Some` is the new budget.
pub type RefusalHook = Box<dyn FnMut(u64, u64, usize) -> Option<u64> + Send>;

/// An arena and its scopes after the last slow call.
#[cfg(feature = "std")]
#[derive(Default)]
pub struct ProfileRecord {
    pub(super) report: Report,
    /// Calls until the blocks are counted again, which takes a step for each.
    pub(super) walk_in: u64,
    /// Bytes in `LIVE`.
    pub(super) counted: usize,
}
