//! Recyclers of a checked process: each object has red zones, is filled, and is quarantined when it is freed.
//!
//! The inline paths have no test for this. The range that they fill stays empty, so that each allocation calls
//! `State::alloc_slow`. A free extends the pending piece, or passes it on to its block: here the pending piece is
//! always at an address that nothing adjoins, and its block (`State::last_block`) is a sentinel whose threshold is
//! reached by each free, so that `update_block` is called, which finds here what was freed. A recycler is switched at
//! its first allocation, since a `const fn` creates it.
//!
//! An inner recycler on the same source allocates the objects with their red zones.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::panic::Location;
use core::ptr::{null_mut, without_provenance_mut, NonNull};

use super::block::{self, Block};
use super::state::State;
use super::supply::{Index, Supply};
use super::RecyclerStats;
use crate::finding::Finding;
use crate::hook;
use crate::memory::CallSite;
use crate::policy::{MAX_REQUEST, MIB};
use crate::provider::{Caller, Damage, Fault, FREED_BYTE, REDZONE, REDZONE_BYTE, UNINIT_BYTE};
use crate::try_box::try_box;

/// Bytes that a recycler's quarantine holds.
const QUARANTINE_MAX: usize = MIB;

/// The pending piece while nothing is freed. No object is at or next to this address.
pub const NO_PIECE: (usize, usize) = (usize::MAX - 23, usize::MAX - 15);

pub struct Checked {
    sentinel: Cell<Block>,
    objects: RefCell<Objects>,
    inner: State,
    index: Index,
}

/// A red zone, `size` bytes at `p`, a red zone.
#[derive(Clone, Copy)]
struct Object {
    start: *mut u8,
    p: *mut u8,
    end: *mut u8,
    size: usize,
    freed: bool,
    at: &'static Location<'static>,
}

impl Object {
    fn caller(&self) -> Caller {
        Caller { location: Some(self.at), ..Caller::UNKNOWN }
    }

    fn whole(&self) -> usize {
        self.end.addr() - self.start.addr()
    }

    fn find_damage(&self) -> Option<Fault> {
        // SAFETY: the object's bytes; no reference to the red zones exists.
        let damage = unsafe {
            Damage::of(self.p, self.start, self.p, |_| REDZONE_BYTE)
                .or_else(|| Damage::of(self.p, self.p.add(self.size), self.end, |_| REDZONE_BYTE))
        };
        Some(Fault::Corrupt { caller: self.caller(), size: self.size, damage: damage? })
    }

    fn find_late_write(&self) -> Option<Fault> {
        // SAFETY: the object was freed, and its bytes are not used.
        let damage = unsafe { Damage::of(self.p, self.start, self.end, |_| FREED_BYTE) };
        Some(Fault::LateWrite { caller: self.caller(), size: self.size, damage: damage? })
    }
}

fn found(fault: Option<Fault>) {
    if let Some(fault) = fault {
        hook::found(|| Finding::of(fault));
    }
}

// ---- objects by their address ----

/// The live and quarantined objects, by address: an open-addressing table, at most half full.
struct Objects {
    slots: Vec<Option<Object>>,
    count: usize,
    /// Addresses, oldest first, and the objects' total size.
    quarantined: VecDeque<usize>,
    quarantined_bytes: usize,
}

impl Objects {
    fn slot_of(&self, address: usize) -> usize {
        (address / 8).wrapping_mul(0x9E37_79B9) >> 4 & (self.slots.len() - 1)
    }

    fn next(&self, i: usize) -> usize {
        (i + 1) & (self.slots.len() - 1)
    }

    fn find(&self, address: usize) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let mut i = self.slot_of(address);
        while let Some(object) = &self.slots[i] {
            if object.p.addr() == address {
                return Some(i);
            }
            i = self.next(i);
        }
        None
    }

    /// Reserves memory for one more object. `false`: no memory.
    fn reserve(&mut self) -> bool {
        if self.quarantined.try_reserve(self.count + 1 - self.quarantined.len()).is_err() {
            return false; // each object is quarantined once
        }
        if 2 * (self.count + 1) <= self.slots.len() {
            return true;
        }
        let size = (2 * self.slots.len()).max(64);
        let mut slots = Vec::new();
        if slots.try_reserve_exact(size).is_err() {
            return false;
        }
        slots.resize(size, None);
        let old = core::mem::replace(&mut self.slots, slots);
        self.count = 0;
        old.into_iter().flatten().for_each(|object| self.insert(object));
        true
    }

    /// Precondition: `reserve` returned true.
    fn insert(&mut self, object: Object) {
        let mut i = self.slot_of(object.p.addr());
        while self.slots[i].is_some() {
            i = self.next(i);
        }
        self.slots[i] = Some(object);
        self.count += 1;
    }

    /// Moves following entries up, so that a search may end at an empty slot.
    fn remove(&mut self, i: usize) -> Option<Object> {
        let object = self.slots[i].take();
        self.count -= object.is_some() as usize;
        let (mut empty, mut at) = (i, self.next(i));
        while let Some(other) = &self.slots[at] {
            let distance = |slot: usize| slot.wrapping_sub(self.slot_of(other.p.addr())) & (self.slots.len() - 1);
            if distance(empty) < distance(at) {
                self.slots.swap(empty, at);
                empty = at;
            }
            at = self.next(at);
        }
        object
    }
}

// ---- calls of the state ----

impl Checked {
    pub fn new() -> Option<Box<Checked>> {
        let sentinel = Block::sentinel(without_provenance_mut(NO_PIECE.0));
        try_box(Checked {
            sentinel: Cell::new(sentinel),
            objects: RefCell::new(Objects {
                slots: Vec::new(),
                count: 0,
                quarantined: VecDeque::new(),
                quarantined_bytes: 0,
            }),
            inner: State::plain(),
            index: Index::new(),
        })
    }

    /// The unit and the block of `NO_PIECE`.
    pub fn sentinel_entry(&self) -> (usize, *mut Block) {
        (block::unit_of(NO_PIECE.0), self.sentinel.as_ptr())
    }

    /// Restores the sentinel's count after a free.
    pub fn reset_sentinel(&self) {
        // SAFETY: no reference to it exists.
        unsafe { (*self.sentinel.as_ptr()).live = 0 };
    }

    fn supply<'a>(&'a self, supply: &Supply<'a>) -> Supply<'a> {
        Supply { index: &self.index, ..*supply }
    }

    pub fn alloc(&self, supply: &Supply<'_>, size: usize, align: usize, site: CallSite) -> Option<NonNull<u8>> {
        let front = align.max(REDZONE);
        let whole =
            front.checked_add(block::rounded_size(size))?.checked_add(REDZONE).filter(|whole| *whole <= MAX_REQUEST)?;
        self.flush(supply, QUARANTINE_MAX);
        if !self.objects.borrow_mut().reserve() {
            return None;
        }
        let inner = || {
            self.inner.bump(whole, front).or_else(|| self.inner.alloc_slow(&self.supply(supply), whole, front, site))
        };
        // The quarantine may hold all that a limited source has left.
        let start = inner().or_else(|| {
            self.flush(supply, 0);
            inner()
        })?;
        let (start, end) = (start.as_ptr(), start.as_ptr().wrapping_add(whole));
        let p = start.wrapping_add(front);
        // SAFETY: just allocated.
        unsafe {
            start.write_bytes(REDZONE_BYTE, whole);
            p.write_bytes(UNINIT_BYTE, size);
        }
        self.objects.borrow_mut().insert(Object { start, p, end, size, freed: false, at: site.location });
        NonNull::new(p)
    }

    /// Quarantines an object until a later allocation finds the quarantine full. `bytes`: rounded up, as on the inline
    /// path. `false`: not an object of this recycler.
    pub fn free(&self, address: usize, bytes: usize) -> bool {
        let mut objects = self.objects.borrow_mut();
        let Some(i) = objects.find(address) else { return false };
        let Some(object) = objects.slots[i].as_mut() else { return false };
        if object.freed || block::rounded_size(object.size) != bytes {
            bad_free(bytes);
            return true;
        }
        object.freed = true;
        let object = *object;
        found(object.find_damage());
        // SAFETY: the object's bytes, which the caller no longer uses.
        unsafe { object.start.write_bytes(FREED_BYTE, object.whole()) };
        objects.quarantined.push_back(address);
        objects.quarantined_bytes += object.whole();
        true
    }

    /// Shrinks an object in place. `false`: it does not shrink, or is not an object of this size.
    pub fn resize_in_place(&self, address: usize, old: usize, new: usize) -> bool {
        let mut objects = self.objects.borrow_mut();
        let Some(object) = objects.find(address).and_then(|i| objects.slots[i].as_mut()) else { return false };
        if object.freed || object.size != old || new > old {
            return false;
        }
        object.size = new;
        // SAFETY: the object's bytes, which the caller no longer uses.
        unsafe { object.p.add(new).write_bytes(REDZONE_BYTE, old - new) };
        true
    }

    /// Frees quarantined objects, oldest first, until at most `bound` bytes are left.
    fn flush(&self, supply: &Supply<'_>, bound: usize) {
        loop {
            let mut objects = self.objects.borrow_mut();
            if objects.quarantined_bytes <= bound {
                return;
            }
            let Some(object) = objects.quarantined.pop_front().and_then(|address| objects.find(address)) else {
                return;
            };
            let Some(object) = objects.remove(object) else { return };
            objects.quarantined_bytes -= object.whole();
            drop(objects);
            self.free_object(supply, &object);
        }
    }

    fn free_object(&self, supply: &Supply<'_>, object: &Object) {
        found(object.find_late_write());
        let (whole, front) = (object.whole(), object.p.addr() - object.start.addr());
        // SAFETY: allocated there with this layout, and not used any more.
        unsafe {
            if block::is_direct(whole, front) {
                self.inner.free(&self.index.units, object.start.addr(), whole);
            } else {
                self.inner.larges.free(&self.inner, &self.supply(supply), object.start.addr());
            }
        }
    }

    pub fn trim(&self, supply: &Supply<'_>, keep: usize) -> usize {
        self.flush(supply, 0);
        self.inner.trim(&self.supply(supply), keep)
    }

    /// Checks all objects, and returns all memory.
    ///
    /// # Safety
    /// No allocation is used any more.
    pub unsafe fn release(&self, supply: &Supply<'_>) {
        self.flush(supply, 0);
        for object in self.objects.borrow().slots.iter().flatten() {
            found(object.find_damage());
        }
        let supply = self.supply(supply);
        // SAFETY: the caller's contract.
        unsafe {
            self.inner.release(&supply);
            supply.clear();
        }
    }

    pub fn count(&self, stats: &mut RecyclerStats) {
        stats.add(&self.inner, &self.index.units);
        stats.reserved += self.index.bytes() as u64;
    }
}

/// Reports a free or resize of an address that is not an object of this size, or was freed before.
pub fn bad_free(bytes: usize) {
    found(Some(Fault::BadFree { caller: Caller::UNKNOWN, size: bytes }));
}

impl State {
    /// Returns the checks, if the recycler is checked, which its first allocation decides. `Err`: no memory.
    pub fn decide_checked(&self) -> Result<Option<&Checked>, ()> {
        if !self.is_decided.get() {
            if crate::process::checks() {
                let checked = Box::leak(Checked::new().ok_or(())?);
                self.last_block.set(checked.sentinel_entry());
                self.pending.first.set(NO_PIECE.0);
                self.pending.end.set(NO_PIECE.1);
                self.checked.set(checked);
            }
            self.is_decided.set(true);
        }
        Ok(self.checked())
    }

    #[inline]
    pub fn checked(&self) -> Option<&Checked> {
        // SAFETY: a box, until the state is released.
        unsafe { self.checked.get().as_ref() }
    }

    /// As `update_block`, for a checked recycler. `extern "C"`: the inline path relies on no unwinding.
    #[cold]
    #[allow(improper_ctypes_definitions)]
    pub extern "C" fn update_block_checked(&self, checked: &Checked) {
        let (first, end) = (self.pending.first.replace(NO_PIECE.0), self.pending.end.replace(NO_PIECE.1));
        checked.reset_sentinel();
        self.free_checked(checked, first, end - first);
    }

    #[cold]
    pub fn free_checked(&self, checked: &Checked, at: usize, bytes: usize) {
        if !checked.free(at, bytes) {
            bad_free(bytes);
        }
        hook::deliver();
    }

    /// Switches back to the state of a new recycler.
    ///
    /// # Safety
    /// No allocation is used any more.
    pub unsafe fn release_checked(&self, supply: &Supply<'_>) {
        let checked = self.checked.replace(null_mut());
        self.is_decided.set(false);
        if checked.is_null() {
            return;
        }
        // SAFETY: a box, to which no reference exists now.
        let checked = unsafe { Box::from_raw(checked.cast_mut()) };
        // SAFETY: the caller's contract.
        unsafe { checked.release(supply) };
        hook::deliver();
    }
}
