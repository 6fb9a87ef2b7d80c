//! The data types of a recycler, or of a shard. Their methods are in the other files.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(all(feature = "std", feature = "diagnostics"))]
use alloc::collections::VecDeque;
use core::cell::Cell;
#[cfg(all(feature = "std", feature = "diagnostics"))]
use core::cell::RefCell;
#[cfg(all(feature = "std", feature = "diagnostics"))]
use core::hash::BuildHasherDefault;
#[cfg(all(feature = "std", feature = "diagnostics"))]
use core::panic::Location;
use core::ptr::null_mut;
#[cfg(all(feature = "std", feature = "diagnostics"))]
use std::collections::HashMap;
#[cfg(all(feature = "std", feature = "diagnostics"))]
use std::hash::DefaultHasher;

use super::class::{CLASSES, CLASS_MAX};
use super::region::{Pages, Region, LISTS};
use super::segment::{Segment, Slab, LINE, NO_SLAB, RUN_ALL};

struct Never(Slab);
// SAFETY: it is never written.
unsafe impl Sync for Never {}
static NONE: Never = Never(NO_SLAB);

/// The current slab of a class that has none: full. It is never written.
pub(super) const fn no_slab() -> *mut Slab {
    (&raw const NONE.0).cast_mut()
}

pub struct State {
    /// The slab that a class allocates from.
    pub current: [Cell<*mut Slab>; CLASSES],
    /// Sizes above this take the slow path of a free: all in a checked recycler.
    pub inline_max: Cell<usize>,
    /// Bytes of live objects in slabs.
    pub live: Cell<usize>,
    /// Those with space were used last.
    pub segments: Cell<*mut Segment>,
    pub larges: Larges,
    /// Units without a slab; units with one, by their longest free run; [0] is not used.
    pub free_units: Cell<usize>,
    pub gaps: [Cell<usize>; RUN_ALL],
    /// Pages of a class.
    pub held: [Cell<u16>; CLASSES],
    pub slab_count: Cell<usize>,
    pub slab_bytes: Cell<usize>,
    pub page_bytes: Cell<usize>,
    /// Bytes held from the source; those of blocks without objects.
    pub reserved: Cell<usize>,
    pub idle: Cell<usize>,
    pub peak: Cell<usize>,
    pub source_calls: Cell<u64>,
    /// The source has a limit for several objects: blocks without allocations return at once.
    pub shares_limit: Cell<bool>,
    pub retention: Retention,
    /// See `checked.rs`: a box, or null.
    #[cfg(all(feature = "std", feature = "diagnostics"))]
    pub checked: Cell<*const Checked>,
    #[cfg(all(feature = "std", feature = "diagnostics"))]
    pub is_decided: Cell<bool>,
}

impl State {
    pub const fn new() -> State {
        State {
            current: [const { Cell::new(no_slab()) }; CLASSES],
            inline_max: Cell::new(CLASS_MAX),
            live: Cell::new(0),
            segments: Cell::new(null_mut()),
            larges: Larges::new(),
            free_units: Cell::new(0),
            gaps: [const { Cell::new(0) }; RUN_ALL],
            held: [const { Cell::new(0) }; CLASSES],
            slab_count: Cell::new(0),
            slab_bytes: Cell::new(0),
            page_bytes: Cell::new(0),
            reserved: Cell::new(0),
            idle: Cell::new(0),
            peak: Cell::new(0),
            source_calls: Cell::new(0),
            shares_limit: Cell::new(false),
            retention: Retention::new(),
            #[cfg(all(feature = "std", feature = "diagnostics"))]
            checked: Cell::new(core::ptr::null()),
            #[cfg(all(feature = "std", feature = "diagnostics"))]
            is_decided: Cell::new(false),
        }
    }

    /// A state that is not checked in a checked process.
    #[cfg(all(feature = "std", feature = "diagnostics"))]
    pub fn plain() -> State {
        let state = State::new();
        state.is_decided.set(true);
        state
    }
}

/// See `retention.rs`.
pub struct Retention {
    /// Of the bytes in use and of the idle ones, which the account does not have yet.
    pub(super) changes: Cell<[isize; 2]>,
    /// The idle bytes that the last return left, and the number of its window.
    pub(super) left: Cell<(usize, usize)>,
    /// The idle bytes above which a surplus is looked for; frees since the clock was read.
    pub(super) looked: Cell<(usize, u32)>,
}

impl Retention {
    const fn new() -> Retention {
        Retention { changes: Cell::new([0; 2]), left: Cell::new((0, 0)), looked: Cell::new((0, 0)) }
    }
}

/// See `region.rs` and `large.rs`.
pub struct Larges {
    /// The newest first.
    pub(super) regions: Cell<*mut Region>,
    /// By their longest free run, and a bit for each list that is not empty.
    pub(super) with_run: [Cell<*mut Region>; LISTS],
    pub(super) have_run: Cell<u32>,
    /// Bytes of their pages, and of those in use; regions without objects.
    pub(super) region_bytes: Cell<usize>,
    pub(super) run_bytes: Cell<usize>,
    pub(super) idle_regions: Cell<usize>,
    /// Live objects, their bytes, and those up to the ends of their runs.
    pub(super) count: Cell<usize>,
    pub(super) used: Cell<usize>,
    pub(super) room: Cell<usize>,
}

impl Larges {
    const fn new() -> Larges {
        Larges {
            regions: Cell::new(null_mut()),
            with_run: [const { Cell::new(null_mut()) }; LISTS],
            have_run: Cell::new(0),
            region_bytes: Cell::new(0),
            run_bytes: Cell::new(0),
            idle_regions: Cell::new(0),
            count: Cell::new(0),
            used: Cell::new(0),
            room: Cell::new(0),
        }
    }
}

/// The record of a large object, in the line before it.
#[repr(C, align(64))]
pub struct Large {
    pub(super) pages: Pages,
    pub(super) used: usize,
    /// The shard of a synchronized recycler that owns it. Written before other threads can find the object.
    pub owner: u8,
}

const _: () = assert!(size_of::<Large>() == LINE);

/// The checks of a recycler: its objects, and the inner recycler that they are allocated in.
#[cfg(all(feature = "std", feature = "diagnostics"))]
pub struct Checked {
    pub(super) objects: RefCell<Objects>,
    pub(super) inner: State,
}

/// The live and quarantined objects.
#[cfg(all(feature = "std", feature = "diagnostics"))]
#[derive(Default)]
pub(super) struct Objects {
    pub(super) by_address: HashMap<usize, Object, BuildHasherDefault<DefaultHasher>>,
    /// Addresses, oldest first, and the objects' total size.
    pub(super) quarantined: VecDeque<usize>,
    pub(super) quarantined_bytes: usize,
}

/// A red zone, `size` bytes at `p`, a red zone.
#[cfg(all(feature = "std", feature = "diagnostics"))]
#[derive(Clone, Copy)]
pub(super) struct Object {
    pub(super) start: *mut u8,
    pub(super) p: *mut u8,
    pub(super) end: *mut u8,
    pub(super) size: usize,
    pub(super) freed: bool,
    pub(super) at: &'static Location<'static>,
}

/// No recycler is checked.
#[cfg(not(all(feature = "std", feature = "diagnostics")))]
pub enum Checked {}
