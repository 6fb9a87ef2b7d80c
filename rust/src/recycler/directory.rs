//! A map from numbers to pointers that is read without a lock while another thread adds to it: frees find their block
//! by it. Masking an address would yield the block's header too, but a pointer without the provenance of the header.
//! This file has no dependency in the crate, so that `loom/` can test every interleaving.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::atomic::{AtomicPtr, AtomicUsize, Ordering};
use core::ptr::{null_mut, NonNull};

/// An entry of an open-addressing table with linear probing.
pub struct Slot<T> {
    key: AtomicUsize,
    value: AtomicPtr<T>,
}

/// Not a key.
const EMPTY: usize = 0;
const FIRST_KEY: usize = 1;

impl<T> Slot<T> {
    pub const fn of(key: AtomicUsize, value: AtomicPtr<T>) -> Slot<T> {
        Slot { key, value }
    }

    /// Relaxed: a thread that looks for this key got it from the thread that added it, by a synchronization of theirs.
    fn fill(&self, key: usize, value: *mut T) {
        self.value.store(value, Ordering::Relaxed);
        self.key.store(key, Ordering::Relaxed);
    }
}

/// A table beyond the first few slots, in memory of the caller.
pub struct Table<T> {
    slots: *const Slot<T>,
    /// Number of slots, a power of two, less 1.
    mask: usize,
    /// The table that it replaced, which threads may still be reading.
    older: *mut Table<T>,
    bytes: usize,
}

/// One thread at a time adds and removes. Any thread may look up a key that is present during the whole lookup. Removed
/// slots are reused, and replaced tables stay until `clear`; together they are no larger than the present one.
pub struct Directory<T, const FEW: usize> {
    few: [Slot<T>; FEW],
    table: AtomicPtr<Table<T>>,
    count: AtomicUsize,
}

impl<T, const FEW: usize> Directory<T, FEW> {
    /// `FEW` is a power of two.
    pub const fn of(few: [Slot<T>; FEW], table: AtomicPtr<Table<T>>, count: AtomicUsize) -> Directory<T, FEW> {
        Directory { few, table, count }
    }

    /// Acquire: orders the reads of a table after the copying into it.
    #[inline(always)]
    fn slots(&self) -> (*const Slot<T>, usize) {
        let table = self.table.load(Ordering::Acquire);
        if table.is_null() {
            (self.few.as_ptr(), FEW - 1)
        } else {
            // SAFETY: a table does not change until `clear`, which excludes other calls.
            unsafe { ((*table).slots, (*table).mask) }
        }
    }

    /// The value of a key.
    ///
    /// # Safety
    /// The key is present until the call returns.
    #[inline(always)]
    pub unsafe fn find(&self, key: usize) -> NonNull<T> {
        // SAFETY: the caller's contract.
        unsafe {
            let found = self.search(key);
            debug_assert!(found.is_some(), "not an address of this recycler");
            found.unwrap_unchecked()
        }
    }

    /// As [`find`](Directory::find) for a key that may be absent. A hit costs the same.
    ///
    /// # Safety
    /// If the key is present, it stays so until the call returns.
    #[inline(always)]
    pub unsafe fn search(&self, key: usize) -> Option<NonNull<T>> {
        let (slots, mask) = self.slots();
        let first = hash(key);
        let mut i = first;
        loop {
            // SAFETY: within the table.
            let slot = unsafe { &*slots.add(i & mask) };
            if slot.key.load(Ordering::Relaxed) == key + FIRST_KEY {
                return NonNull::new(slot.value.load(Ordering::Relaxed));
            }
            i += 1;
            if i - first > mask {
                return None;
            }
        }
    }

    /// Returns the bytes of a table for [`grow`](Directory::grow) that has space for `more` keys; 0: no table is
    /// needed. A table is at most half full.
    pub fn table_bytes_for(&self, more: usize) -> usize {
        let count = self.count.load(Ordering::Relaxed) + more;
        let (_, mask) = self.slots();
        if 2 * count <= mask + 1 {
            return 0;
        }
        let slots = (2 * count).next_power_of_two();
        (slots * size_of::<Slot<T>>() + size_of::<Table<T>>()).next_multiple_of(4096)
    }

    /// Replaces the table by a larger one.
    ///
    /// # Safety
    /// `memory` has `bytes` bytes, as returned by [`table_bytes_for`](Directory::table_bytes_for), at a multiple of 64,
    /// until `clear` returns it. No other thread adds or removes during the call.
    pub unsafe fn grow(&self, memory: NonNull<u8>, bytes: usize) {
        let room = (bytes - size_of::<Table<T>>()) / size_of::<Slot<T>>();
        let mask = (room + 1).next_power_of_two() / 2 - 1;
        let table = memory.cast::<Table<T>>().as_ptr();
        // SAFETY: the caller's contract: a table and `room` slots fit; the old slots are as `slots` returned them.
        unsafe {
            let to = table.add(1).cast::<Slot<T>>();
            for i in 0..=mask {
                to.add(i).write(Slot::of(AtomicUsize::new(EMPTY), AtomicPtr::new(null_mut())));
            }
            let older = self.table.load(Ordering::Relaxed);
            let (from, last) = self.slots();
            for i in 0..=last {
                let slot = &*from.add(i);
                let key = slot.key.load(Ordering::Relaxed);
                if key != EMPTY {
                    free_slot(to, mask, key - FIRST_KEY).fill(key, slot.value.load(Ordering::Relaxed));
                }
            }
            table.write(Table { slots: to, mask, older, bytes });
        }
        self.table.store(table, Ordering::Release);
    }

    /// # Safety
    /// There is space; the key is absent; no other thread adds or removes during the call.
    pub unsafe fn add(&self, key: usize, value: NonNull<T>) {
        let (slots, mask) = self.slots();
        // SAFETY: the caller's contract: the table has an empty slot.
        unsafe { free_slot(slots, mask, key).fill(key + FIRST_KEY, value.as_ptr()) };
        self.count.store(self.count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// # Safety
    /// The key is present, and no other thread looks it up, adds or removes during the call.
    pub unsafe fn remove(&self, key: usize) {
        let (slots, mask) = self.slots();
        let mut i = hash(key);
        // SAFETY: within the table. The key is present, so the loop ends.
        while unsafe { &*slots.add(i & mask) }.key.load(Ordering::Relaxed) != key + FIRST_KEY {
            i += 1;
        }
        // SAFETY: as above.
        unsafe { &*slots.add(i & mask) }.key.store(EMPTY, Ordering::Relaxed);
        self.count.store(self.count.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    pub fn bytes(&self) -> usize {
        let (mut bytes, mut table) = (0, self.table.load(Ordering::Acquire));
        while !table.is_null() {
            // SAFETY: as in `slots`.
            unsafe {
                bytes += (*table).bytes;
                table = (*table).older;
            }
        }
        bytes
    }

    /// Removes all keys, and returns the memory of the tables.
    ///
    /// # Safety
    /// No other call is running.
    pub unsafe fn clear(&self, mut put: impl FnMut(NonNull<u8>, usize)) {
        let mut table = self.table.load(Ordering::Acquire);
        self.table.store(null_mut(), Ordering::Relaxed);
        while let Some(t) = NonNull::new(table) {
            // SAFETY: made by `grow`; not read any more.
            let bytes = unsafe {
                table = t.as_ref().older;
                t.as_ref().bytes
            };
            put(t.cast(), bytes);
        }
        self.few.iter().for_each(|slot| slot.key.store(EMPTY, Ordering::Relaxed));
        self.count.store(0, Ordering::Relaxed);
    }
}

/// Multiplication by the golden ratio, which spreads adjacent keys.
#[inline(always)]
fn hash(key: usize) -> usize {
    #[cfg(target_pointer_width = "64")]
    let spread = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    #[cfg(not(target_pointer_width = "64"))]
    let spread = key.wrapping_mul(0x9E37_79B9u32 as usize) >> 12;
    spread
}

/// The slot for a new key.
///
/// # Safety
/// There are `mask` + 1 slots, one of which is empty.
unsafe fn free_slot<'a, T>(slots: *const Slot<T>, mask: usize, key: usize) -> &'a Slot<T> {
    let mut i = hash(key);
    // SAFETY: the caller's contract.
    while unsafe { &*slots.add(i & mask) }.key.load(Ordering::Relaxed) != EMPTY {
        i += 1;
    }
    // SAFETY: as above.
    unsafe { &*slots.add(i & mask) }
}
