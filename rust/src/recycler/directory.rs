//! From a number to a pointer, read without a lock while somebody adds to it: how memory that is freed finds its block. An
//! address could be masked to where the block keeps its books, but a pointer made so has no right to be there: these
//! have. This file stands alone, so that `loom/` can try every interleaving of it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::atomic::{AtomicPtr, AtomicUsize, Ordering};
use core::ptr::{null_mut, NonNull};

/// Of an open table: the first one at or behind the place of a key's hash that has the key.
pub struct Slot<T> {
    key: AtomicUsize,
    value: AtomicPtr<T>,
}

/// No key is one of these.
const EMPTY: usize = 0;
const FIRST_KEY: usize = 1;

impl<T> Slot<T> {
    pub const fn of(key: AtomicUsize, value: AtomicPtr<T>) -> Slot<T> {
        Slot { key, value }
    }

    /// Release is not needed: whoever looks for this key got it from whoever added it, in an order that both keep.
    fn fill(&self, key: usize, value: *mut T) {
        self.value.store(value, Ordering::Relaxed);
        self.key.store(key, Ordering::Relaxed);
    }
}

/// A table beyond the first few slots, at the front of memory that somebody else takes and puts back.
pub struct Table<T> {
    slots: *const Slot<T>,
    /// One less than there are, which is a power of two.
    mask: usize,
    /// The one that it replaced, where a thread may still be looking.
    older: *mut Table<T>,
    bytes: usize,
}

/// One thread at a time adds and removes; any looks up, at any time, what is there from before it begins until after it
/// has ended. So what was removed leaves its slot to the next, and a table that was outgrown stays until the end: all
/// of those together are no larger than the one in use.
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

    /// Acquire: what was copied into a table is there before the table is.
    #[inline(always)]
    fn slots(&self) -> (*const Slot<T>, usize) {
        let table = self.table.load(Ordering::Acquire);
        if table.is_null() {
            (self.few.as_ptr(), FEW - 1)
        } else {
            // SAFETY: a table stays as it is until `clear`, for which nobody may be here.
            unsafe { ((*table).slots, (*table).mask) }
        }
    }

    /// The value of a key.
    ///
    /// # Safety
    /// The key was added, and will not be removed before this has ended.
    #[inline(always)]
    pub unsafe fn find(&self, key: usize) -> NonNull<T> {
        let (slots, mask) = self.slots();
        let mut i = hash(key);
        loop {
            // SAFETY: within the table. The key is there, so this ends.
            unsafe {
                let slot = &*slots.add(i & mask);
                if slot.key.load(Ordering::Relaxed) == key + FIRST_KEY {
                    return NonNull::new_unchecked(slot.value.load(Ordering::Relaxed));
                }
            }
            i += 1;
        }
    }

    /// As [`find`](Directory::find) of a key that may not be there. The search of one that is costs the same.
    ///
    /// # Safety
    /// If the key is there, it will not be removed before this has ended.
    #[inline(always)]
    #[allow(dead_code)] // without threads
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

    /// Makes sure of room for `more` keys: the bytes of a table to [`renew`](Directory::renew) with; 0: there is room. A
    /// table is at most half full.
    pub fn table_bytes_for(&self, more: usize) -> usize {
        let count = self.count.load(Ordering::Relaxed) + more;
        let (_, mask) = self.slots();
        if 2 * count <= mask + 1 {
            return 0;
        }
        let slots = (2 * count).next_power_of_two();
        (slots * size_of::<Slot<T>>() + size_of::<Table<T>>()).next_multiple_of(4096)
    }

    /// Moves to a larger table.
    ///
    /// # Safety
    /// `memory` has `bytes` bytes, as [`wants`](Directory::wants) said, at a multiple of 64, until `clear` returns it.
    /// Nobody else adds or removes meanwhile.
    pub unsafe fn grow(&self, memory: NonNull<u8>, bytes: usize) {
        let room = (bytes - size_of::<Table<T>>()) / size_of::<Slot<T>>();
        let mask = (room + 1).next_power_of_two() / 2 - 1;
        let table = memory.cast::<Table<T>>().as_ptr();
        // SAFETY: the caller's contract: a table and `room` slots fit; what is looked at is as `slots` says.
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
    /// There is room; the key is not there; nobody else adds or removes meanwhile.
    pub unsafe fn add(&self, key: usize, value: NonNull<T>) {
        let (slots, mask) = self.slots();
        // SAFETY: the caller's contract: the table has an empty slot.
        unsafe { free_slot(slots, mask, key).fill(key + FIRST_KEY, value.as_ptr()) };
        self.count.store(self.count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// # Safety
    /// The key is there, and nobody looks for it, adds or removes meanwhile.
    pub unsafe fn remove(&self, key: usize) {
        let (slots, mask) = self.slots();
        let mut i = hash(key);
        // SAFETY: within the table. The key is there, so this ends.
        while unsafe { &*slots.add(i & mask) }.key.load(Ordering::Relaxed) != key + FIRST_KEY {
            i += 1;
        }
        // SAFETY: as above.
        unsafe { &*slots.add(i & mask) }.key.store(EMPTY, Ordering::Relaxed);
        self.count.store(self.count.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    /// Bytes of all tables.
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

    /// Removes all, and returns the memory of the tables.
    ///
    /// # Safety
    /// Nobody is in another call.
    pub unsafe fn clear(&self, mut put: impl FnMut(NonNull<u8>, usize)) {
        let mut table = self.table.load(Ordering::Acquire);
        self.table.store(null_mut(), Ordering::Relaxed);
        while let Some(t) = NonNull::new(table) {
            // SAFETY: made by `renew`; nobody looks at it any more.
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

/// The golden ratio: what lies side by side comes far apart.
#[inline(always)]
fn hash(key: usize) -> usize {
    #[cfg(target_pointer_width = "64")]
    let spread = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    #[cfg(not(target_pointer_width = "64"))]
    let spread = key.wrapping_mul(0x9E37_79B9u32 as usize) >> 12;
    spread
}

/// Where nothing is yet.
///
/// # Safety
/// There are `mask` + 1 slots, of which one is empty.
unsafe fn free_slot<'a, T>(slots: *const Slot<T>, mask: usize, key: usize) -> &'a Slot<T> {
    let mut i = hash(key);
    // SAFETY: the caller's contract.
    while unsafe { &*slots.add(i & mask) }.key.load(Ordering::Relaxed) != EMPTY {
        i += 1;
    }
    // SAFETY: as above.
    unsafe { &*slots.add(i & mask) }
}
