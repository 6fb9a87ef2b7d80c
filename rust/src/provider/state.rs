//! The state of an arena behind its head. All fields are cells: code that runs during an operation (a cleanup, a
//! source) may read the head, so no part of the state is ever borrowed mutably.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::{Cell, UnsafeCell};
use core::mem::{size_of, MaybeUninit};
use core::ops::Deref;
use core::ptr::NonNull;

use super::block::BlockHeader;
pub(super) use super::block::{Block, Kind};
#[cfg(feature = "diagnostics")]
use super::instrument_types::Instruments;
pub(crate) use crate::base::abi_types::Start;
use crate::base::abi_types::{Cleanup, Head, Range};
use crate::base::policy::{HEADER, INITIAL_START};
use crate::base::source::{Portion, Source};

/// Only the first part of the state is initialised: no slow call has happened yet.
pub const PRISTINE: u32 = 1;
/// A range is claimed, or a scope is open.
pub const CLAIMED: u32 = 2;
/// A cleanup is running.
pub const BUSY: u32 = 4;
/// The initial block is empty and takes no allocations: see `initial_is_idle`.
pub const INITIAL_IDLE: u32 = 8;
/// The initial block is from the heap: it may wait in the thread's cache.
pub const CACHEABLE: u32 = 16;
/// The initial block is a caller's buffer, or part of a block of the outer arena.
pub const BORROWED: u32 = 32;
/// The source extends blocks in place.
pub const EXTENDS: u32 = 64;
/// An outer arena has a budget.
pub const BUDGETED: u32 = 128;
/// There is no source: the initial block is the only one.
pub const FIXED: u32 = 512;
/// A leaked scope whose memory is about to be freed: its cleanups may borrow values that no longer exist.
pub const LEAKED: u32 = 1024;
/// The arena owns its source, and drops it on release.
pub const OWNS_SOURCE: u32 = 256;
/// One of the instruments is on.
pub const INSTRUMENTED: u32 = 2048;
/// Every allocation has a record and red zones.
pub const CHECKED: u32 = 4096;

/// The source refused the last request (P9).
pub const REFUSED: u32 = 1 << 14;
/// The source refused a request of this round.
pub const ROUND_REFUSED: u32 = 1 << 15;
/// The source refused, and has granted nothing in a later round: P10 merges no blocks.
pub const KEEPS_BLOCKS: u32 = 1 << 16;
/// The claimed range goes on: the current block holds it, even if nothing is live.
pub const RANGE_GROWS: u32 = 1 << 17;

/// The source has a limit that other arenas share.
pub const SHARES_LIMIT: u32 = 1 << 18;

/// A limit that other arenas share counts the live bytes: there is a portion. Not of scopes.
pub const COUNTS_LIVE: u32 = 1 << 19;

/// With `BUSY`: a hook for findings is running.
#[cfg(feature = "std")]
pub const IN_HOOK: u32 = 8192;

/// P10 takes the highest peak of the last 8 windows of 8 rounds each.
pub const WINDOWS: usize = 8;
pub const WINDOW: u32 = 8;

/// The entry of a [`Cleanup`] in the arena's list. Four words: the vectors depend on it (P17).
#[repr(C)]
pub struct Node {
    pub user: Cell<Cleanup>,
    pub older: Cell<Option<NonNull<Node>>>,
    pub epoch: Cell<usize>,
}

/// Never made.
#[cfg(not(feature = "diagnostics"))]
pub enum Instruments {}

/// At the base of an arena's initial block.
#[repr(C)]
pub struct State {
    pub head: Head,
    /// The true end of the current block; `limit` may be lower.
    pub end: Cell<*mut u8>,
    /// The cursor when live was last updated, less what fast resets freed. In the thread's cache: the next arena.
    pub synced: Cell<*mut u8>,
    /// The highest cursor at which the next reset may be fast, or 0: see `reset.rs`.
    pub steady_top: Cell<usize>,
    pub flags: Cell<u32>,
    /// Limit on live; [`u64::MAX`]: none.
    pub budget: Cell<u64>,
    /// `None`: the heap.
    pub source: Cell<Option<NonNull<dyn Source>>>,
    pub initial_end: Cell<*mut u8>,
    pub initial_size: Cell<usize>,
    /// The outer arena, of which this is a scope.
    pub parent: Cell<Option<RawArena>>,
    /// The next scope of the same parent.
    pub sibling: Cell<Option<RawArena>>,
    /// Not initialised while `PRISTINE`, so that an arena without a slow call never pays for it.
    slow: UnsafeCell<MaybeUninit<Slow>>,
}

const _: () = assert!(core::mem::offset_of!(State, synced) == crate::system::heap::READY_LINK);

/// The second part of the state. `live` and `allocated` are those at `synced`.
#[repr(C)]
pub struct Slow {
    /// While the arena is steady the first byte of its one block, else null.
    pub steady_start: Cell<*mut u8>,
    /// The epoch at which the next reset begins a window.
    pub window_end: Cell<usize>,
    /// The highest need in the windows: a round above it needs a full reset.
    pub steady_max: Cell<usize>,
    /// The highest need of this window's steady rounds.
    pub steady_peak: Cell<usize>,
    /// Number of resets; while steady, their number at the end of the window.
    pub rounds: Cell<u32>,
    /// Unless steady, the epoch of the last reset: older marks are refused.
    pub last_reset: Cell<usize>,
    pub live: Cell<u64>,
    pub allocated: Cell<u64>,
    pub peak: Cell<u64>,
    pub round_peak: Cell<u64>,
    pub source_calls: Cell<u64>,
    pub current: Cell<Block>,
    pub newest: Cell<Block>,
    /// Kept blocks, the one kept last first.
    pub spares: Cell<Option<Block>>,
    pub spare_bytes: Cell<usize>,
    pub spare_keep: Cell<usize>,
    /// With `INITIAL_IDLE`: the size of the next regular block.
    pub first_size: Cell<usize>,
    /// The epoch at which trim returned the block of the empty arena: older marks mean the initial block's start.
    pub trim_epoch: Cell<usize>,
    pub cleanups: Cell<Option<NonNull<Node>>>,
    pub claim_start: Cell<*mut u8>,
    pub claim_limit: Cell<*mut u8>,
    pub claim_id: Cell<usize>,
    /// Serves other allocations while a range is claimed.
    pub side_block: Cell<Option<Block>>,
    /// The open scopes, newest first.
    pub scopes: Cell<Option<RawArena>>,
    /// Of `COUNTS_LIVE`; a part of the arena's own source.
    pub portion: Cell<Option<NonNull<dyn Portion>>>,
    /// A box, created when an instrument is first switched on.
    pub instruments: Cell<Option<NonNull<Instruments>>>,
    pub initial: BlockHeader,
    pub window_peaks: [Cell<u64>; WINDOWS],
}

const _: () = {
    assert!(size_of::<BlockHeader>() <= HEADER);
    assert!(size_of::<Node>() == 4 * size_of::<usize>());
    assert!(size_of::<State>() <= INITIAL_START);
    assert!(size_of::<Range>() == 3 * size_of::<usize>());
};

/// An arena of this crate, as the address of its state. The pointer's provenance covers the initial block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RawArena(NonNull<State>);

impl Deref for RawArena {
    type Target = State;
    #[inline(always)]
    fn deref(&self) -> &State {
        // SAFETY: `write` initialised it, and an arena is used only until its release. All fields are cells.
        unsafe { self.0.as_ref() }
    }
}

impl RawArena {
    /// The arena of a client's head. The provenance is recovered, since a client's pointer may cover the head only.
    ///
    /// # Safety
    /// `head` is the head of a live arena of this crate.
    #[inline(always)]
    pub unsafe fn of(head: *mut Head) -> RawArena {
        // SAFETY: the caller's contract: not null.
        RawArena(unsafe { NonNull::new_unchecked(head.cast()) })
    }

    #[inline(always)]
    pub fn head(self) -> NonNull<Head> {
        self.0.cast()
    }

    pub fn base(self) -> *mut u8 {
        self.0.as_ptr().cast()
    }

    #[inline(always)]
    pub fn is(self, flags: u32) -> bool {
        self.flags.get() & flags != 0
    }

    pub fn raise(self, flags: u32) {
        self.flags.set(self.flags.get() | flags);
    }

    pub fn lower(self, flags: u32) {
        self.flags.set(self.flags.get() & !flags);
    }

    pub fn initial_start(self) -> *mut u8 {
        self.base().wrapping_add(INITIAL_START)
    }

    /// The second part of the state. Every operation first calls [`sync_in`](RawArena::sync_in), which initialises it.
    #[inline(always)]
    pub fn slow(&self) -> &Slow {
        debug_assert!(!self.is(PRISTINE));
        // SAFETY: not pristine, so it is initialised. All fields are cells.
        unsafe { (*self.slow.get()).assume_init_ref() }
    }

    pub fn initial(self) -> Block {
        // SAFETY: within the state; the address is not null, and has the provenance of the state's.
        Block(unsafe {
            NonNull::new_unchecked((&raw mut (*(*self.0.as_ptr()).slow.get().cast::<Slow>()).initial).cast())
        })
    }

    /// Initialises the second part of the state, on the first slow call.
    #[cold]
    pub fn complete_state(self) {
        let initial = self.initial();
        let header = BlockHeader::new(self.initial_size.get());
        header.epoch.set(self.head.epoch.get() & !1);
        let slow = Slow {
            steady_start: Cell::new(core::ptr::null_mut()),
            window_end: Cell::new(0),
            steady_max: Cell::new(0),
            steady_peak: Cell::new(0),
            rounds: Cell::new(0),
            last_reset: Cell::new(0),
            live: Cell::new(0),
            allocated: Cell::new(0),
            peak: Cell::new(0),
            round_peak: Cell::new(0),
            source_calls: Cell::new(!self.is(BORROWED) as u64),
            current: Cell::new(initial),
            newest: Cell::new(initial),
            spares: Cell::new(None),
            spare_bytes: Cell::new(0),
            spare_keep: Cell::new(0),
            first_size: Cell::new(0),
            trim_epoch: Cell::new(0),
            cleanups: Cell::new(None),
            claim_start: Cell::new(core::ptr::null_mut()),
            claim_limit: Cell::new(core::ptr::null_mut()),
            claim_id: Cell::new(0),
            side_block: Cell::new(None),
            scopes: Cell::new(None),
            portion: Cell::new(None),
            instruments: Cell::new(None),
            initial: header,
            window_peaks: [const { Cell::new(0) }; WINDOWS],
        };
        // SAFETY: within the state, which is alive; no reference to the second part of a pristine arena exists.
        unsafe { (*self.slow.get()).write(slow) };
        self.lower(PRISTINE);
    }
}
