//! Recyclers of a checked process: each object has red zones, is filled, and is quarantined when it is freed.
//!
//! The inline paths have no test for this. No class has a slab, so that each allocation calls `State::alloc_slow`, and
//! `State::inline_max` is 0, so that each free calls `State::free_slow`. A recycler is switched at its first
//! allocation, since a `const fn` creates it.
//!
//! An inner recycler on the same source allocates the objects with their red zones.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use core::cell::RefCell;
use core::ptr::{null_mut, NonNull};

use super::class;
use super::state::{Checked, Object, Objects, State};
use super::stats::RecyclerStats;
use super::supply::Supply;
use crate::base::finding::Finding;
use crate::base::policy::{MAX_REQUEST, MIB};
use crate::base::try_box::try_box;
use crate::memory::by_layout::CallSite;
use crate::provider::{Caller, Damage, Fault, FREED_BYTE, REDZONE, REDZONE_BYTE, UNINIT_BYTE};
use crate::system::hook;

/// Bytes that a recycler's quarantine holds.
const QUARANTINE_MAX: usize = MIB;

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
            Damage::of(self.p, self.start, self.p, REDZONE_BYTE)
                .or_else(|| Damage::of(self.p, self.p.add(self.size), self.end, REDZONE_BYTE))
        };
        Some(Fault::Corrupt { caller: self.caller(), size: self.size, damage: damage? })
    }

    fn find_late_write(&self) -> Option<Fault> {
        // SAFETY: the object was freed, and its bytes are not used.
        let damage = unsafe { Damage::of(self.p, self.start, self.end, FREED_BYTE) };
        Some(Fault::LateWrite { caller: self.caller(), size: self.size, damage: damage? })
    }
}

fn found(fault: Option<Fault>) {
    if let Some(fault) = fault {
        hook::found(|| Finding::of(fault));
    }
}

impl Objects {
    /// Reserves memory for one more object, which is quarantined once. `false`: no memory.
    fn reserve(&mut self) -> bool {
        let queued = self.by_address.len() + 1 - self.quarantined.len();
        self.quarantined.try_reserve(queued).is_ok() && self.by_address.try_reserve(1).is_ok()
    }
}

// ---- calls of the state ----

impl Checked {
    pub fn new() -> Option<Box<Checked>> {
        try_box(Checked { objects: RefCell::default(), inner: State::plain() })
    }

    pub fn alloc(&self, supply: &Supply<'_>, size: usize, align: usize, site: CallSite) -> Option<NonNull<u8>> {
        let p = self.alloc_between_red_zones(supply, size, align, site);
        hook::deliver();
        p
    }

    fn alloc_between_red_zones(
        &self,
        supply: &Supply<'_>,
        size: usize,
        align: usize,
        site: CallSite,
    ) -> Option<NonNull<u8>> {
        let front = align.max(REDZONE);
        let whole =
            front.checked_add(class::rounded_size(size))?.checked_add(REDZONE).filter(|whole| *whole <= MAX_REQUEST)?;
        self.flush(supply, QUARANTINE_MAX);
        if !self.objects.borrow_mut().reserve() {
            return None;
        }
        let inner = || self.inner.bump(whole, front).or_else(|| self.inner.alloc_slow(supply, whole, front, site));
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
        let object = Object { start, p, end, size, freed: false, at: site.location };
        self.objects.borrow_mut().by_address.insert(p.addr(), object);
        NonNull::new(p)
    }

    /// Quarantines an object until a later allocation finds the quarantine full. `bytes`: rounded up, as on the inline
    /// path. `false`: not an object of this recycler.
    pub fn free(&self, address: usize, bytes: usize) -> bool {
        let mut objects = self.objects.borrow_mut();
        let Some(object) = objects.by_address.get_mut(&address) else { return false };
        if object.freed || class::rounded_size(object.size) != bytes {
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
        debug_assert!(objects.quarantined.len() <= objects.by_address.len());
        true
    }

    /// Shrinks an object in place. `false`: it does not shrink, or is not an object of this size.
    pub fn resize_in_place(&self, address: usize, old: usize, new: usize) -> bool {
        let mut objects = self.objects.borrow_mut();
        let Some(object) = objects.by_address.get_mut(&address) else { return false };
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
            let Some(address) = objects.quarantined.pop_front() else { return };
            let Some(object) = objects.by_address.remove(&address) else { return };
            debug_assert!(object.freed && object.whole() <= objects.quarantined_bytes);
            objects.quarantined_bytes -= object.whole();
            debug_assert!(!objects.quarantined.is_empty() || objects.quarantined_bytes == 0);
            drop(objects);
            self.free_object(supply, &object);
        }
    }

    fn free_object(&self, supply: &Supply<'_>, object: &Object) {
        found(object.find_late_write());
        let (whole, front) = (object.whole(), object.p.addr() - object.start.addr());
        // SAFETY: allocated there with this layout, and not used any more.
        unsafe { self.inner.free_slow(supply, object.start.addr(), whole, front) }
    }

    pub fn trim(&self, supply: &Supply<'_>, keep: usize) -> usize {
        self.flush(supply, 0);
        let left = self.inner.trim(supply, keep);
        hook::deliver();
        left
    }

    /// Checks all objects, and returns all memory.
    ///
    /// # Safety
    /// No allocation is used any more.
    pub unsafe fn release(&self, supply: &Supply<'_>) {
        self.flush(supply, 0);
        for object in self.objects.borrow().by_address.values() {
            found(object.find_damage());
        }
        // SAFETY: the caller's contract.
        unsafe { self.inner.release(supply) };
    }

    pub fn count(&self, stats: &mut RecyclerStats) {
        stats.add(&self.inner);
    }
}

/// Whether recyclers of this process are checked.
#[inline(always)]
pub fn is_on() -> bool {
    crate::system::process::checks()
}

/// Reports a free or resize of an address that is not an object of this size, or was freed before.
pub fn bad_free(bytes: usize) {
    found(Some(Fault::BadFree { caller: Caller::UNKNOWN, size: bytes }));
}

impl State {
    /// Returns the checks, if the recycler is checked, which its first allocation decides. `Err`: no memory.
    pub fn decide_checked(&self) -> Result<Option<&Checked>, ()> {
        if !self.is_decided.get() {
            if is_on() {
                let checked = Box::leak(Checked::new().ok_or(())?);
                self.checked.set(checked);
                self.inline_max.set(0);
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
        self.inline_max.set(class::CLASS_MAX);
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
