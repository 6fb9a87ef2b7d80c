//! Where the memory of a recycler comes from, and where it is noted whose an address is: what the shards of a
//! synchronized one share, behind a lock.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::{null_mut, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicUsize};

use super::block::{Block, Segment};
use super::directory::{Directory, Slot};
use super::large::Large;
use super::state::State;
use crate::hook::call_source;
#[cfg(feature = "std")]
use crate::lock::Lock;
use crate::source::Source;

const FEW: usize = 16;

/// Blocks by their unit.
pub type Units = Directory<Block, FEW>;

/// What is known of addresses.
pub struct Index {
    pub units: Units,
    /// Large objects, by the line that they begin with.
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

    pub fn bytes(&self) -> usize {
        self.units.bytes() + self.larges.bytes()
    }
}

/// What a slow call is given.
pub struct Supply<'a> {
    pub source: &'a dyn Source,
    pub index: &'a Index,
    /// Which shard calls.
    pub owner: u32,
    /// Of those who share it: one at a time asks the source, and notes what it gave.
    #[cfg(feature = "std")]
    pub lock: Option<&'a Lock>,
}

impl Supply<'_> {
    #[cfg(feature = "std")]
    fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        let _guard = self.lock.map(Lock::take);
        f()
    }

    #[cfg(not(feature = "std"))]
    fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        f()
    }

    /// Room in a directory for `more` keys; `false`: there is no memory for it.
    ///
    /// Behind the lock, as the next two.
    fn reserve<T>(&self, directory: &Directory<T, FEW>, more: usize) -> bool {
        let bytes = directory.table_bytes_for(more);
        if bytes == 0 {
            return true;
        }
        let Some(memory) = call_source(|| self.source.take(bytes)) else { return false };
        // SAFETY: the source's memory, which `clear` puts back.
        unsafe { directory.grow(memory, bytes) };
        true
    }

    fn take(&self, state: &State, size: usize) -> Option<NonNull<u8>> {
        state.source_calls.set(state.source_calls.get() + 1);
        let p = call_source(|| self.source.take(size))?;
        state.reserved.set(state.reserved.get() + size);
        state.peak.set(state.peak.get().max(state.reserved.get()));
        Some(p)
    }

    unsafe fn put(&self, state: &State, p: NonNull<u8>, size: usize) {
        state.reserved.set(state.reserved.get() - size);
        // SAFETY: the caller's contract: taken with that size.
        unsafe { call_source(|| self.source.put(p, size)) }
    }

    /// A segment, and its blocks are known. `None`: there is no memory, or no whole block would be in it.
    pub fn take_segment(&self, state: &State, size: usize) -> Option<*mut Segment> {
        self.locked(|| {
            if !self.reserve(&self.index.units, size / super::block::UNIT + 1) {
                return None;
            }
            let memory = self.take(state, size)?;
            // SAFETY: it was just taken; its units are known to nobody; there is room for their keys.
            unsafe {
                let s = Segment::make(memory, size);
                if !Segment::fits_any_request(s) {
                    self.put(state, memory, size);
                    return None;
                }
                for i in 0..(*s).count {
                    self.index.units.add(Segment::unit(s, i), NonNull::new_unchecked(Segment::block(s, i)));
                }
                Some(s)
            }
        })
    }

    /// # Safety
    /// Nothing of the segment is used, nor looked for.
    pub unsafe fn put_segment(&self, state: &State, s: *mut Segment) {
        // SAFETY: the caller's contract.
        self.locked(|| unsafe {
            (0..(*s).count).for_each(|i| self.index.units.remove(Segment::unit(s, i)));
            self.put(state, NonNull::new_unchecked(s.cast()), (*s).size);
        });
    }

    /// A block of its own for a large object, which `place` makes known.
    pub fn take_large(&self, state: &State, size: usize) -> Option<NonNull<u8>> {
        self.locked(|| self.take(state, size))
    }

    /// # Safety
    /// It came of `take_large` with that size, and is used no more.
    pub unsafe fn put_large(&self, state: &State, p: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        self.locked(|| unsafe { self.put(state, p, size) });
    }

    /// Notes an object; `false`: there is no memory for that.
    ///
    /// # Safety
    /// The key is not there.
    pub unsafe fn register(&self, key: usize, large: NonNull<Large>) -> bool {
        self.locked(|| {
            let room = self.reserve(&self.index.larges, 1);
            if room {
                // SAFETY: the caller's contract.
                unsafe { self.index.larges.add(key, large) };
            }
            room
        })
    }

    /// # Safety
    /// The key is there, and nobody looks for it.
    pub unsafe fn unregister(&self, key: usize) {
        // SAFETY: the caller's contract.
        self.locked(|| unsafe { self.index.larges.remove(key) });
    }

    /// Returns the memory of the directories.
    ///
    /// # Safety
    /// All states are released, and nobody else is in a call.
    pub unsafe fn clear(&self) {
        // SAFETY: the caller's contract: the source gave it.
        unsafe {
            self.index.units.clear(|p, size| call_source(|| self.source.put(p, size)));
            self.index.larges.clear(|p, size| call_source(|| self.source.put(p, size)));
        }
    }
}
