//! A lock: one exchange to take it, one store to release it. It is held for nanoseconds, or while a source provides a
//! block; most callers use another shard if it is held. This file has no dependency in the crate, so that `loom/` can
//! test every interleaving.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::atomic::{AtomicBool, Ordering};
use super::{yield_now, SPINS};

pub struct Lock(AtomicBool);

/// Releases the lock when it is dropped, also by a panic.
pub struct Guard<'a>(&'a Lock);

impl Lock {
    pub const fn of(taken: AtomicBool) -> Lock {
        Lock(taken)
    }

    /// Takes the lock if it is free. Acquire: pairs with the release.
    #[inline(always)]
    pub fn try_take(&self) -> Option<Guard<'_>> {
        match self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Some(Guard(self)), // made only on success, since its drop releases the lock
            Err(_) => None,
        }
    }

    #[inline(always)]
    pub fn take(&self) -> Guard<'_> {
        match self.try_take() {
            Some(guard) => guard,
            None => self.wait(),
        }
    }

    #[cold]
    fn wait(&self) -> Guard<'_> {
        loop {
            // An exchange takes the cache line from the holder's processor, a load does not.
            let free = (0..SPINS).any(|_| {
                core::hint::spin_loop();
                !self.0.load(Ordering::Relaxed)
            });
            if !free {
                yield_now();
            }
            if let Some(guard) = self.try_take() {
                return guard;
            }
        }
    }
}

impl Drop for Guard<'_> {
    /// Release: orders the holder's writes before the next take.
    #[inline(always)]
    fn drop(&mut self) {
        self.0 .0.store(false, Ordering::Release);
    }
}
