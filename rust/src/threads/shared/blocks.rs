//! A block that many threads fill, and its replacement by one of them, under a lock, when it is full. This file has no
//! dependency in the crate, so that `loom/` can test every interleaving.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::atomic::{AtomicPtr, AtomicUsize, Ordering};
use super::lock::Lock;
use core::cell::Cell;
use core::ptr::{null_mut, NonNull};

/// At the front of its memory.
#[repr(C, align(64))]
pub struct Block {
    /// In the arena's list, protected by its lock.
    pub next: Cell<*mut Block>,
    /// The first byte for allocations; a multiple of 64.
    base: *mut u8,
    /// Bytes from there; a multiple of 8.
    pub capacity: usize,
    /// As requested from the source.
    pub size: usize,
    /// Allocated bytes, counted from `base`.
    used: AtomicUsize,
}

impl Block {
    /// # Safety
    /// `base` has `capacity` bytes, which are this block's.
    pub unsafe fn of(base: NonNull<u8>, capacity: usize, size: usize, used: AtomicUsize) -> Block {
        Block { next: Cell::new(null_mut()), base: base.as_ptr(), capacity, size, used }
    }

    /// Acquire, as every load of it: orders the reads after the uses of freed bytes.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    /// Frees all of it. Precondition: no other thread uses the block.
    pub fn empty(&self) {
        self.used.store(0, Ordering::Relaxed);
    }

    /// Takes from `least` to `most` bytes; multiples of 8.
    #[inline]
    pub fn take(&self, least: usize, most: usize, align: usize) -> Option<(NonNull<u8>, usize)> {
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let pad = (self.base.addr() + used).wrapping_neg() & (align - 1);
            debug_assert!(used <= self.capacity && align.is_power_of_two());
            let remaining = self.capacity - used;
            if pad > remaining || least > remaining - pad {
                return None;
            }
            let size = most.min(remaining - pad);
            // Acquire: pairs with `free_newest`.
            match self.used.compare_exchange_weak(used, used + pad + size, Ordering::Acquire, Ordering::Relaxed) {
                // SAFETY: the bytes are in the block, and reserved by this thread.
                Ok(_) => return Some((unsafe { NonNull::new_unchecked(self.base.add(used + pad)) }, size)),
                Err(now) => used = now,
            }
        }
    }

    /// The offset of an address, if it is in the block.
    fn offset_of(&self, at: usize) -> Option<usize> {
        let offset = at.wrapping_sub(self.base.addr());
        (offset <= self.capacity).then_some(offset)
    }

    /// Frees the newest allocation, from `at` to `end`. `false`: it is not the newest. Release: orders the uses of
    /// these bytes before their next allocation.
    #[inline]
    pub fn free_newest(&self, at: usize, end: usize) -> bool {
        let (Some(at), Some(end)) = (self.offset_of(at), self.offset_of(end)) else { return false };
        debug_assert!(at <= end);
        self.used.load(Ordering::Relaxed) == end
            && self.used.compare_exchange(end, at, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Extends the newest allocation from `end` to `to`. `false`: it is not the newest, or does not fit.
    #[inline]
    pub fn extend(&self, end: usize, to: usize) -> bool {
        let (Some(end), Some(to)) = (self.offset_of(end), self.offset_of(to)) else { return false };
        debug_assert!(end <= to);
        self.used.compare_exchange(end, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

/// The current block, and the lock for its replacement.
pub struct Current {
    block: AtomicPtr<Block>,
    pub lock: Lock,
}

impl Current {
    pub const fn of(block: AtomicPtr<Block>, lock: Lock) -> Current {
        Current { block, lock }
    }

    /// Acquire: pairs with the store of a new block.
    #[inline]
    pub fn block(&self) -> Option<&Block> {
        // SAFETY: a current block lives as long as this is borrowed.
        unsafe { self.block.load(Ordering::Acquire).as_ref() }
    }

    /// Takes from `least` to `most` bytes of the current block, or of a new one that `make` returns, under the lock. If it
    /// returns none, it is called once more if `frees`, which is called without the lock, returns `true`.
    /// Precondition: `least` bytes fit in a new block at that alignment.
    #[inline]
    pub fn take(
        &self,
        least: usize,
        most: usize,
        align: usize,
        make: impl FnMut() -> Option<NonNull<Block>>,
        frees: impl FnOnce() -> bool,
    ) -> Option<(NonNull<u8>, usize)> {
        if let Some(taken) = self.block().and_then(|block| block.take(least, most, align)) {
            return Some(taken);
        }
        self.take_slow(least, most, align, make, frees)
    }

    #[cold]
    fn take_slow(
        &self,
        least: usize,
        most: usize,
        align: usize,
        mut make: impl FnMut() -> Option<NonNull<Block>>,
        frees: impl FnOnce() -> bool,
    ) -> Option<(NonNull<u8>, usize)> {
        let taken = self.take_locked(least, most, align, &mut make);
        if taken.is_some() || !frees() {
            return taken;
        }
        self.take_locked(least, most, align, &mut make)
    }

    fn take_locked(
        &self,
        least: usize,
        most: usize,
        align: usize,
        make: &mut impl FnMut() -> Option<NonNull<Block>>,
    ) -> Option<(NonNull<u8>, usize)> {
        let _guard = self.lock.take();
        // Another thread may have replaced the block while this one waited.
        if let Some(taken) = self.block().and_then(|block| block.take(least, most, align)) {
            return Some(taken);
        }
        let block = make()?;
        // Before other threads can take all of it.
        // SAFETY: it was just made.
        let taken = unsafe { block.as_ref() }.take(least, most, align);
        self.block.store(block.as_ptr(), Ordering::Release);
        taken
    }

    /// Removes the current block. Precondition: no other thread uses it.
    pub fn clear(&self) {
        self.block.store(null_mut(), Ordering::Relaxed);
    }
}
