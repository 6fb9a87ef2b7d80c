//! How a thread tells a `Frames` that it has ended. It has no lock: a thread that ends waits for nobody. This file stands
//! alone, so that `loom/` can try every interleaving of it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::atomic::{AtomicBool, Ordering};
use super::Arc;

/// Shared by a `Frames` and all threads that sit there: has any of them left since it was last asked? What most frames
/// look at, instead of a flag for each thread.
#[derive(Clone)]
pub struct Door(Arc<AtomicBool>);

impl Door {
    pub fn new() -> Door {
        Door(Arc::new(AtomicBool::new(false)))
    }

    /// Nobody has left.
    #[inline(always)]
    pub fn is_quiet(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }

    /// Somebody has left. An exchange: who asks sees of all that knocked before what they had said, not only of the last.
    pub fn knock(&self) {
        self.0.swap(true, Ordering::Release);
    }

    /// Before it is looked who has left. Acquire: the other half of `knock`. Who leaves after this knocks again.
    pub fn hush(&self) {
        self.0.swap(false, Ordering::Acquire);
    }
}

/// Shared by a seat and the thread that sits there.
#[derive(Clone)]
pub struct Presence {
    here: Arc<AtomicBool>,
    door: Door,
}

impl Presence {
    pub fn new(door: Door) -> Presence {
        Presence { here: Arc::new(AtomicBool::new(true)), door }
    }

    /// The thread has ended, but for destructors that borrow what is borrowed for good. Release: what it did to its arena
    /// comes before.
    pub fn leave(&self) {
        self.here.store(false, Ordering::Release);
        self.door.knock();
    }

    /// Acquire: the other half of `leave`.
    pub fn is_here(&self) -> bool {
        self.here.load(Ordering::Acquire)
    }

    /// For the next thread. Relaxed: who gives it the seat orders that by a lock.
    pub fn come(&self) {
        self.here.store(true, Ordering::Relaxed);
    }

    /// Does the other side still have it?
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.here) > 1
    }
}
