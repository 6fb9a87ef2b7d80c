//! Where a thread begins to search a list that all threads share, so that they do not contend for its first entry.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Lists have at least this many entries.
pub const LINES: usize = 16;

std::thread_local! {
    /// Where this thread starts its search. Has no destructor, so it stays valid until the thread ends.
    static HINT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The start of this thread's search.
#[inline(always)]
pub(crate) fn hint() -> usize {
    let hint = HINT.get();
    if hint < LINES {
        hint
    } else {
        first_hint()
    }
}

/// Assigns starts in turn.
#[cold]
fn first_hint() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let hint = NEXT.fetch_add(1, Ordering::Relaxed) % LINES;
    HINT.set(hint);
    hint
}
