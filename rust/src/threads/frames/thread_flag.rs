//! The flags that a thread sets to report its end to a `Frames`, without a lock, so that an ending thread does not
//! wait. This file has no dependency in the crate, so that `loom/` can test every interleaving.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::atomic::{AtomicBool, Ordering};
use super::Arc;

/// Shared by a `Frames` and its threads: whether any of them has ended since the last `clear`. Most frames read only
/// this flag, instead of one for each thread.
#[derive(Clone)]
pub struct AnyExited(Arc<AtomicBool>);

impl AnyExited {
    pub fn new() -> AnyExited {
        AnyExited(Arc::new(AtomicBool::new(false)))
    }

    /// Whether no thread has ended.
    #[inline(always)]
    pub fn is_clear(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }

    /// An exchange: the reader then sees the writes of all threads that have set it, not only of the last.
    pub fn set(&self) {
        self.0.swap(true, Ordering::Release);
    }

    /// Called before the threads' flags are read. Acquire: pairs with `set`.
    pub fn clear(&self) {
        self.0.swap(false, Ordering::Acquire);
    }
}

/// Shared by a slot and its thread.
#[derive(Clone)]
pub struct ThreadFlag {
    running: Arc<AtomicBool>,
    any_exited: AnyExited,
}

impl ThreadFlag {
    pub fn new(any_exited: AnyExited) -> ThreadFlag {
        ThreadFlag { running: Arc::new(AtomicBool::new(true)), any_exited }
    }

    /// The thread has ended, except for destructors that use leaked borrows. Release: orders its uses of the arena
    /// before.
    pub fn set_exited(&self) {
        self.running.store(false, Ordering::Release);
        self.any_exited.set();
    }

    /// Acquire: pairs with `set_exited`.
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// For the next thread. Relaxed: the lock under which it gets the slot orders this.
    pub fn set_running(&self) {
        self.running.store(true, Ordering::Relaxed);
    }

    /// Whether the other side still has the flag.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.running) > 1
    }
}
