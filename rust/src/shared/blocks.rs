//! A block that many threads fill, and what happens when it is full: one of them, behind a lock, puts another in its place.
//! This file stands alone, so that `loom/` can try every interleaving of it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::atomic::{AtomicPtr, AtomicUsize, Ordering};
use super::lock::Lock;
use core::cell::Cell;
use core::ptr::{null_mut, NonNull};

/// At the front of its memory.
#[repr(C, align(64))]
pub struct Block {
    /// Of those that an arena has; looked at behind its lock.
    pub next: Cell<*mut Block>,
    /// The first byte that is given out; a multiple of 64.
    base: *mut u8,
    /// Bytes from there; a multiple of 8.
    pub capacity: usize,
    /// As the source gave it.
    pub size: usize,
    /// Of `capacity`: what was given out.
    used: AtomicUsize,
}

impl Block {
    /// # Safety
    /// `base` has `capacity` bytes, which are this block's.
    pub unsafe fn of(base: NonNull<u8>, capacity: usize, size: usize, used: AtomicUsize) -> Block {
        Block { next: Cell::new(null_mut()), base: base.as_ptr(), capacity, size, used }
    }

    /// What was given out. Acquire, as for all that look at it: who gave some back is done with it.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    /// All of it is free. Nobody else looks.
    pub fn empty(&self) {
        self.used.store(0, Ordering::Relaxed);
    }

    /// From `least` to `most` bytes; multiples of 8.
    #[inline]
    pub fn take(&self, least: usize, most: usize, align: usize) -> Option<(NonNull<u8>, usize)> {
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let pad = (self.base.addr() + used).wrapping_neg() & (align - 1);
            let remaining = self.capacity - used;
            if pad > remaining || least > remaining - pad {
                return None;
            }
            let size = most.min(remaining - pad);
            // Acquire: the other half of `give`.
            match self.used.compare_exchange_weak(used, used + pad + size, Ordering::Acquire, Ordering::Relaxed) {
                // SAFETY: the bytes are in the block, and nobody else's.
                Ok(_) => return Some((unsafe { NonNull::new_unchecked(self.base.add(used + pad)) }, size)),
                Err(now) => used = now,
            }
        }
    }

    /// The place of an address in the block, if it is there.
    fn offset_of(&self, at: usize) -> Option<usize> {
        let offset = at.wrapping_sub(self.base.addr());
        (offset <= self.capacity).then_some(offset)
    }

    /// Takes back what was given out last, from `at` to `end`. `false`: something else was. Release: who is given these
    /// bytes next comes after who had them.
    #[inline]
    pub fn free_newest(&self, at: usize, end: usize) -> bool {
        let (Some(at), Some(end)) = (self.offset_of(at), self.offset_of(end)) else { return false };
        self.used.load(Ordering::Relaxed) == end
            && self.used.compare_exchange(end, at, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Makes what was given out last end at `to` instead of `end`, above it, if there is room.
    #[inline]
    pub fn extend(&self, end: usize, to: usize) -> bool {
        let (Some(end), Some(to)) = (self.offset_of(end), self.offset_of(to)) else { return false };
        self.used.compare_exchange(end, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

/// The block that is filled, and the lock to change it behind.
pub struct Current {
    block: AtomicPtr<Block>,
    pub lock: Lock,
}

impl Current {
    pub const fn of(block: AtomicPtr<Block>, lock: Lock) -> Current {
        Current { block, lock }
    }

    /// Acquire: who put it there made it before.
    #[inline]
    pub fn block(&self) -> Option<&Block> {
        // SAFETY: a block that is filled lives until nobody borrows this.
        unsafe { self.block.load(Ordering::Acquire).as_ref() }
    }

    /// From `least` to `most` bytes, of the block that is filled or of the next, which `make` makes, behind the lock: one
    /// in which `least` bytes fit at that alignment.
    #[inline]
    pub fn take(
        &self,
        least: usize,
        most: usize,
        align: usize,
        make: impl FnOnce() -> Option<NonNull<Block>>,
    ) -> Option<(NonNull<u8>, usize)> {
        if let Some(taken) = self.block().and_then(|block| block.take(least, most, align)) {
            return Some(taken);
        }
        self.take_slow(least, most, align, make)
    }

    #[cold]
    fn take_slow(
        &self,
        least: usize,
        most: usize,
        align: usize,
        make: impl FnOnce() -> Option<NonNull<Block>>,
    ) -> Option<(NonNull<u8>, usize)> {
        let _guard = self.lock.take();
        // Somebody else may have put a new one there meanwhile.
        if let Some(taken) = self.block().and_then(|block| block.take(least, most, align)) {
            return Some(taken);
        }
        let block = make()?;
        // Taken before others know of it, who might leave nothing.
        // SAFETY: it was just made.
        let taken = unsafe { block.as_ref() }.take(least, most, align);
        self.block.store(block.as_ptr(), Ordering::Release);
        taken
    }

    /// None is filled. Nobody else looks.
    pub fn clear(&self) {
        self.block.store(null_mut(), Ordering::Relaxed);
    }
}
