//! The source of a recycler, shared by all shards, under a lock.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::ptr::NonNull;

use super::state::State;
#[cfg(feature = "std")]
use crate::base::lock::Lock;
use crate::base::source::Source;
use crate::system::hook::call_source;

/// The arguments of a slow call.
pub struct Supply<'a> {
    pub source: &'a dyn Source,
    pub owner: u8,
    /// Bytes of the last block that the source refused; 0: none.
    pub refused: Cell<usize>,
    /// Of a synchronized recycler: held while the source is called.
    #[cfg(feature = "std")]
    pub lock: Option<&'a Lock>,
}

impl Supply<'_> {
    #[cfg(feature = "std")]
    fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        let _guard = self.lock.map(Lock::take);
        call_source(f)
    }

    #[cfg(not(feature = "std"))]
    fn locked<R>(&self, f: impl FnOnce() -> R) -> R {
        call_source(f)
    }

    /// Takes an idle block.
    pub fn take(&self, state: &State, size: usize) -> Option<NonNull<u8>> {
        state.source_calls.set(state.source_calls.get() + 1);
        state.shares_limit.set(self.source.shares_limit());
        let Some(p) = self.locked(|| self.source.take(size)) else {
            self.refused.set(size);
            return None;
        };
        state.reserved.set(state.reserved.get() + size);
        state.count(0, size as isize);
        state.peak.set(state.peak.get().max(state.reserved.get()));
        Some(p)
    }

    /// After a failure, without a lock: whether the source refused a block, and may have it now.
    pub fn source_frees(&self) -> bool {
        let size = self.refused.take();
        size != 0 && call_source(|| self.source.refused(size))
    }

    /// # Safety
    /// It came from `take` with that size, and is not used any more.
    pub unsafe fn put(&self, state: &State, p: NonNull<u8>, size: usize) {
        debug_assert!(size <= state.idle.get());
        state.reserved.set(state.reserved.get() - size);
        state.count(0, -(size as isize));
        // SAFETY: the caller's contract.
        self.locked(|| unsafe { self.source.put(p, size) });
    }
}
