//! A lock: one exchange, and a store to let go. What is done behind it takes nanoseconds, or asks the source for a block;
//! and who finds it taken mostly goes elsewhere. This file stands alone, so that `loom/` can try every interleaving of it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::atomic::{AtomicBool, Ordering};
use super::{yield_now, SPINS};

pub struct Lock(AtomicBool);

/// Lets go when it is dropped, also by a panic.
pub struct Guard<'a>(&'a Lock);

impl Lock {
    pub const fn of(taken: AtomicBool) -> Lock {
        Lock(taken)
    }

    /// If nobody has it. Acquire: the other half of letting go.
    #[inline(always)]
    pub fn try_take(&self) -> Option<Guard<'_>> {
        match self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Some(Guard(self)), // not before: it lets go when it is dropped
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
            // An exchange takes the line away from who has the lock, a look does not.
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
    /// Release: who has it next sees what was done.
    #[inline(always)]
    fn drop(&mut self) {
        self.0 .0.store(false, Ordering::Release);
    }
}
