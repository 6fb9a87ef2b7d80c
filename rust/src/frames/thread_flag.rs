//! How a thread tells a `Frames` that it has ended. It has no lock: a thread that ends waits for nobody. This file stands
//! alone, so that `loom/` can try every interleaving of it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::atomic::{AtomicBool, Ordering};
use super::Arc;

/// Shared by a `Frames` and all threads that sit there: has any of them left since it was last asked? What most frames
/// look at, instead of a flag for each thread.
#[derive(Clone)]
pub struct AnyExited(Arc<AtomicBool>);

impl AnyExited {
    pub fn new() -> AnyExited {
        AnyExited(Arc::new(AtomicBool::new(false)))
    }

    /// Nobody has left.
    #[inline(always)]
    pub fn is_clear(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }

    /// Somebody has left. An exchange: who asks sees of all that knocked before what they had said, not only of the last.
    pub fn set(&self) {
        self.0.swap(true, Ordering::Release);
    }

    /// Before it is looked who has left. Acquire: the other half of `set`. Who leaves after this knocks again.
    pub fn clear(&self) {
        self.0.swap(false, Ordering::Acquire);
    }
}

/// Shared by a seat and the thread that sits there.
#[derive(Clone)]
pub struct ThreadFlag {
    running: Arc<AtomicBool>,
    any_exited: AnyExited,
}

impl ThreadFlag {
    pub fn new(any_exited: AnyExited) -> ThreadFlag {
        ThreadFlag { running: Arc::new(AtomicBool::new(true)), any_exited }
    }

    /// The thread has ended, but for destructors that borrow what is borrowed for good. Release: what it did to its arena
    /// comes before.
    pub fn set_exited(&self) {
        self.running.store(false, Ordering::Release);
        self.any_exited.set();
    }

    /// Acquire: the other half of `leave`.
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// For the next thread. Relaxed: who gives it the seat orders that by a lock.
    pub fn set_running(&self) {
        self.running.store(true, Ordering::Relaxed);
    }

    /// Does the other side still have it?
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.running) > 1
    }
}
