//! The data types of a recycler, or of a shard. Their methods are in the other files.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(feature = "std")]
use alloc::collections::VecDeque;
use core::cell::Cell;
#[cfg(feature = "std")]
use core::cell::RefCell;
#[cfg(feature = "std")]
use core::hash::BuildHasherDefault;
#[cfg(feature = "std")]
use core::panic::Location;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize};
#[cfg(feature = "std")]
use std::collections::HashMap;
#[cfg(feature = "std")]
use std::hash::DefaultHasher;

use super::block::{Block, Segment, LINE, UNIT};
use super::directory::{Directory, Slot};
use super::range::{List, Range};

const CLASSES: usize = 56;
/// The range of classes without blocks of their own.
pub(super) const SHARED: usize = CLASSES;
const RANGES: usize = CLASSES + 1;
pub(super) const SPARES: usize = 16;
pub(super) const FEW: usize = 16;

pub(super) type Units = Directory<Block, FEW>;

pub struct State {
    pub classes: [Class; RANGES],
    /// A bit for each that is not as new.
    pub active: Cell<u64>,
    /// Blocks of medium objects by their longest run of free grains, and a bit for each list that is not empty.
    pub runs: [List; 64],
    pub run_bits: Cell<u64>,
    pub empty: List,
    /// Newest first; only that one may have unused blocks.
    pub segments: Cell<*mut Segment>,
    pub segment_bytes: Cell<usize>,
    pub larges: Larges,
    pub reserved: Cell<usize>,
    pub peak: Cell<usize>,
    pub source_calls: Cell<u64>,
    /// The source has refused a block.
    pub refused: Cell<bool>,
    /// See `checked.rs`: a box, or null.
    #[cfg(feature = "std")]
    pub checked: Cell<*const Checked>,
    #[cfg(feature = "std")]
    pub is_decided: Cell<bool>,
}

impl State {
    pub const fn new() -> State {
        State {
            classes: [const { Class::new() }; RANGES],
            active: Cell::new(0),
            runs: [const { List::new() }; 64],
            run_bits: Cell::new(0),
            empty: List::new(),
            segments: Cell::new(null_mut()),
            segment_bytes: Cell::new(UNIT),
            larges: Larges::new(),
            reserved: Cell::new(0),
            peak: Cell::new(0),
            source_calls: Cell::new(0),
            refused: Cell::new(false),
            #[cfg(feature = "std")]
            checked: Cell::new(core::ptr::null()),
            #[cfg(feature = "std")]
            is_decided: Cell::new(false),
        }
    }

    /// A state that is not checked in a checked process.
    #[cfg(feature = "std")]
    pub fn plain() -> State {
        let state = State::new();
        state.is_decided.set(true);
        state
    }
}

/// A range, and what a size class has beside it.
pub struct Class {
    /// Of a class that shares blocks only the span is used.
    pub range: Range,
    /// The newest held piece; each starts with the address of the one held before.
    pub(super) held: Cell<*mut u8>,
    pub(super) held_bytes: Cell<u32>,
    pub(super) rest_count: Cell<u32>,
    /// Spans that frees replaced, newest first; each starts with the address of the next and its end.
    pub(super) rests: Cell<*mut u8>,
    /// Bytes taken from shared blocks, less those passed back.
    pub(super) granted: Cell<usize>,
}

impl Class {
    pub const fn new() -> Class {
        Class {
            range: Range::new(),
            held: Cell::new(null_mut()),
            held_bytes: Cell::new(0),
            rest_count: Cell::new(0),
            rests: Cell::new(null_mut()),
            granted: Cell::new(0),
        }
    }
}

pub struct Larges {
    pub(super) first: Cell<*mut Large>,
    /// Bytes of the blocks of live objects: now, and the maximum.
    pub(super) bytes: Cell<usize>,
    pub(super) peak: Cell<usize>,
    pub(super) spare_bytes: Cell<usize>,
    pub(super) spare_count: Cell<usize>,
    /// Newest last.
    pub(super) spares: [Cell<Spare>; SPARES],
}

impl Larges {
    pub const fn new() -> Larges {
        Larges {
            first: Cell::new(null_mut()),
            bytes: Cell::new(0),
            peak: Cell::new(0),
            spare_bytes: Cell::new(0),
            spare_count: Cell::new(0),
            spares: [const { Cell::new(Spare { base: null_mut(), size: 0 }) }; SPARES],
        }
    }
}

/// The header of a large object, in the line before it.
#[repr(C, align(64))]
pub struct Large {
    pub(super) next: *mut Large,
    pub(super) previous: *mut Large,
    /// As requested from the source.
    pub(super) base: *mut u8,
    pub(super) size: usize,
    pub(super) used: usize,
    /// The shard of a synchronized recycler that owns it. Written before other threads can find the object.
    pub owner: u32,
}

const _: () = assert!(size_of::<Large>() == LINE);

/// The block of a freed object, kept for reuse.
#[derive(Clone, Copy)]
pub(super) struct Spare {
    pub(super) base: *mut u8,
    pub(super) size: usize,
}

/// The directory: from addresses to blocks and large objects.
pub struct Index {
    pub units: Units,
    /// Large objects, by their line.
    pub larges: Directory<Large, FEW>,
}

const fn empty<T>() -> Directory<T, FEW> {
    let slots = [const { Slot::of(AtomicUsize::new(0), AtomicPtr::new(null_mut())) }; FEW];
    Directory::of(slots, AtomicPtr::new(null_mut()), AtomicUsize::new(0))
}

impl Index {
    pub const fn new() -> Index {
        Index { units: empty(), larges: empty() }
    }
}

/// The checks of a recycler: its objects, and the inner recycler that they are allocated in.
#[cfg(feature = "std")]
pub struct Checked {
    pub(super) objects: RefCell<Objects>,
    pub(super) inner: State,
    pub(super) index: Index,
}

/// The live and quarantined objects.
#[cfg(feature = "std")]
#[derive(Default)]
pub(super) struct Objects {
    pub(super) by_address: HashMap<usize, Object, BuildHasherDefault<DefaultHasher>>,
    /// Addresses, oldest first, and the objects' total size.
    pub(super) quarantined: VecDeque<usize>,
    pub(super) quarantined_bytes: usize,
}

/// A red zone, `size` bytes at `p`, a red zone.
#[cfg(feature = "std")]
#[derive(Clone, Copy)]
pub(super) struct Object {
    pub(super) start: *mut u8,
    pub(super) p: *mut u8,
    pub(super) end: *mut u8,
    pub(super) size: usize,
    pub(super) freed: bool,
    pub(super) at: &'static Location<'static>,
}
