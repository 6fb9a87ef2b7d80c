//! How a thread tells a `Frames` that it has ended. It has no lock: a thread that ends waits for nobody. This file stands
//! alone, so that `loom/` can try every interleaving of it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::atomic::{AtomicBool, Ordering};
use super::Arc;

/// Shared by a seat and the thread that sits there.
#[derive(Clone)]
pub struct Presence(Arc<AtomicBool>);

impl Presence {
    pub fn new() -> Presence {
        Presence(Arc::new(AtomicBool::new(true)))
    }

    /// The thread has ended, but for destructors that borrow what is borrowed for good. Release: what it did to its arena
    /// comes before.
    pub fn leave(&self) {
        self.0.store(false, Ordering::Release);
    }

    /// Acquire: the other half of `leave`.
    pub fn is_here(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// For the next thread. Relaxed: who gives it the seat orders that by a lock.
    pub fn come(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Does the other side still have it?
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}
