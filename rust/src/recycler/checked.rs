//! Recyclers of a process that is checked: each object has red zones, is filled, and waits in a quarantine when it is freed.
//!
//! Nothing of the inline paths knows of this. The range that they fill stays empty, so that each allocation is a call of
//! `State::more`. And a free joins what was freed before it, or hands that on to its block: here that is always a piece at an
//! address that nothing adjoins, of a block (`State::seen`) that is none and wants to be noticed at each free. `update_block`
//! finds here what was really freed. A recycler decides at its first allocation, since it is made by a `const fn`.
//!
//! The objects with their zones come from a recycler within, which asks the same source.
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
use crate::construct::CallSite;
use crate::hook;
use crate::policy::{MAX_REQUEST, MIB};
use crate::provider::{boxed, Caller, Damage, Fault, FREED_BYTE, REDZONE, REDZONE_BYTE, UNINIT_BYTE};
use crate::report::Finding;

/// Bytes that wait in a recycler's quarantine.
const QUARANTINE_MAX: usize = MIB;

/// What seems to be freed while nothing is: no object is there, or next to it.
pub const NO_PIECE: (usize, usize) = (usize::MAX - 23, usize::MAX - 15);

pub struct Checked {
    /// What `State::free` takes for a block.
    sentinel: Cell<Block>,
    objects: RefCell<Objects>,
    inner: State,
    index: Index,
}

/// Zone, `size` bytes at `p`, zone.
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
        // SAFETY: the object's bytes; the zones are written by nothing but this file, and by mistake.
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

/// Live ones, and those that wait. An open table, at most half full.
struct Objects {
    slots: Vec<Option<Object>>,
    count: usize,
    /// Addresses, oldest first, and their objects' bytes.
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

    /// Room for one more. `false`: there is no memory.
    fn reserve(&mut self) -> bool {
        if self.quarantined.try_reserve(self.count + 1 - self.quarantined.len()).is_err() {
            return false; // each will wait once
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

    /// There is room.
    fn insert(&mut self, object: Object) {
        let mut i = self.slot_of(object.p.addr());
        while self.slots[i].is_some() {
            i = self.next(i);
        }
        self.slots[i] = Some(object);
        self.count += 1;
    }

    /// Those behind it move up, so that a search may end at an empty slot.
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

// ---- what a state does ----

impl Checked {
    pub fn new() -> Option<Box<Checked>> {
        let sentinel = Block::sentinel(without_provenance_mut(NO_PIECE.0));
        boxed(Checked {
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

    /// The unit of what seems to be freed, and its block.
    pub fn sentinel_entry(&self) -> (usize, *mut Block) {
        (block::unit_of(NO_PIECE.0), self.sentinel.as_ptr())
    }

    /// As before a free.
    pub fn reset_sentinel(&self) {
        // SAFETY: no reference to it is held.
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
        // What waits may be all that a source with a limit has left.
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

    /// The object waits until something is allocated, by then to be looked at if too much waits. `bytes`: rounded up, as
    /// the inline path does. `false`: it is no object of this recycler.
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
        // SAFETY: the object's bytes, which its user gave up.
        unsafe { object.start.write_bytes(FREED_BYTE, object.whole()) };
        objects.quarantined.push_back(address);
        objects.quarantined_bytes += object.whole();
        true
    }

    /// Whether an object of these bytes is made smaller where it is.
    pub fn resize_in_place(&self, address: usize, old: usize, new: usize) -> bool {
        let mut objects = self.objects.borrow_mut();
        let Some(object) = objects.find(address).and_then(|i| objects.slots[i].as_mut()) else { return false };
        if object.freed || object.size != old || new > old {
            return false;
        }
        object.size = new;
        // SAFETY: the object's bytes, which its user gave up.
        unsafe { object.p.add(new).write_bytes(REDZONE_BYTE, old - new) };
        true
    }

    /// The oldest leave the quarantine, until `bound` bytes wait.
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
        // SAFETY: it came from there with this layout, and is used no more.
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

    /// Looks at all objects, and returns all memory.
    ///
    /// # Safety
    /// Nothing that was allocated is used any more.
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

/// A free or resize of what is no object here, or of another size, or freed before.
pub fn bad_free(bytes: usize) {
    found(Some(Fault::BadFree { caller: Caller::UNKNOWN, size: bytes }));
}

impl State {
    /// Is the recycler checked? Its first allocation decides. `Err`: there is no memory to note objects.
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

    /// What `update_block` does in a recycler that is checked. `extern "C"`, since it does not unwind: the inline path relies on it.
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

    /// As a new one.
    ///
    /// # Safety
    /// Nothing that was allocated is used any more.
    pub unsafe fn release_checked(&self, supply: &Supply<'_>) {
        let checked = self.checked.replace(null_mut());
        self.is_decided.set(false);
        if checked.is_null() {
            return;
        }
        // SAFETY: a box, which nothing refers to now.
        let checked = unsafe { Box::from_raw(checked.cast_mut()) };
        // SAFETY: the caller's contract.
        unsafe { checked.release(supply) };
        hook::deliver();
    }
}
