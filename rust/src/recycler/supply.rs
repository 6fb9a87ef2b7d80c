//! The source of a recycler and its directory of addresses, shared by all shards, under a lock.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

use super::block::Segment;
use super::directory::Directory;
use super::state::{Index, Large, State, FEW};
use crate::hook::call_source;
#[cfg(feature = "std")]
use crate::lock::Lock;
use crate::source::Source;

impl Index {
    pub fn bytes(&self) -> usize {
        self.units.bytes() + self.larges.bytes()
    }
}

/// The arguments of a slow call.
pub struct Supply<'a> {
    pub source: &'a dyn Source,
    pub index: &'a Index,
    pub owner: u32,
    /// Of a synchronized recycler: held while the source is called and the directory changed.
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

    /// Reserves space for `more` keys in a directory; `false`: no memory.
    ///
    /// Under the lock, as the next two.
    fn reserve<T>(&self, state: &State, directory: &Directory<T, FEW>, more: usize) -> bool {
        let bytes = directory.table_bytes_for(more);
        if bytes == 0 {
            return true;
        }
        let Some(memory) = self.call(state, bytes) else { return false };
        // SAFETY: memory of the source, which `clear` returns.
        unsafe { directory.grow(memory, bytes) };
        true
    }

    fn call(&self, state: &State, size: usize) -> Option<NonNull<u8>> {
        let p = call_source(|| self.source.take(size));
        if p.is_none() {
            state.refused.set(true);
        }
        p
    }

    fn take(&self, state: &State, size: usize) -> Option<NonNull<u8>> {
        state.source_calls.set(state.source_calls.get() + 1);
        let p = self.call(state, size)?;
        state.reserved.set(state.reserved.get() + size);
        state.peak.set(state.peak.get().max(state.reserved.get()));
        Some(p)
    }

    unsafe fn put(&self, state: &State, p: NonNull<u8>, size: usize) {
        state.reserved.set(state.reserved.get() - size);
        // SAFETY: the caller's contract: taken with that size.
        unsafe { call_source(|| self.source.put(p, size)) }
    }

    /// Takes a segment, and adds its blocks to the directory. `None`: no memory, or no whole block.
    pub fn take_segment(&self, state: &State, size: usize) -> Option<*mut Segment> {
        self.locked(|| {
            if !self.reserve(state, &self.index.units, size / super::block::UNIT + 1) {
                return None;
            }
            let memory = self.take(state, size)?;
            // SAFETY: it was just taken; its units are not in the directory; there is space for their keys.
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
    /// The segment is not used, and its blocks are not looked up.
    pub unsafe fn put_segment(&self, state: &State, s: *mut Segment) {
        // SAFETY: the caller's contract.
        self.locked(|| unsafe {
            (0..(*s).count).for_each(|i| self.index.units.remove(Segment::unit(s, i)));
            self.put(state, NonNull::new_unchecked(s.cast()), (*s).size);
        });
    }

    /// Takes a block for a large object, which `register` adds to the directory.
    pub fn take_large(&self, state: &State, size: usize) -> Option<NonNull<u8>> {
        self.locked(|| self.take(state, size))
    }

    /// # Safety
    /// It came from `take_large` with that size, and is not used any more.
    pub unsafe fn put_large(&self, state: &State, p: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        self.locked(|| unsafe { self.put(state, p, size) });
    }

    /// Adds a large object to the directory; `false`: no memory.
    ///
    /// # Safety
    /// The key is absent.
    pub unsafe fn register(&self, state: &State, key: usize, large: NonNull<Large>) -> bool {
        self.locked(|| {
            let room = self.reserve(state, &self.index.larges, 1);
            if room {
                // SAFETY: the caller's contract.
                unsafe { self.index.larges.add(key, large) };
            }
            room
        })
    }

    /// # Safety
    /// The key is present, and not looked up.
    pub unsafe fn unregister(&self, key: usize) {
        // SAFETY: the caller's contract.
        self.locked(|| unsafe { self.index.larges.remove(key) });
    }

    /// Returns the memory of the directories.
    ///
    /// # Safety
    /// All states are released, and no other call is running.
    pub unsafe fn clear(&self) {
        // SAFETY: the caller's contract; the memory came from the source.
        unsafe {
            self.index.units.clear(|p, size| call_source(|| self.source.put(p, size)));
            self.index.larges.clear(|p, size| call_source(|| self.source.put(p, size)));
        }
    }
}
