//! The background thread: it returns cached pages to the system while the program calls nothing. It is off by default,
//! starts when pages come to the cache, sleeps for a window at a time, and ends when the cache is empty.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::system::page_cache::{age, held, window, Setting};

static ON: Setting = Setting::new("TOFT_BACKGROUND_THREAD", 0);

/// The process whose background thread runs; 0: there is none. A forked child does not have its parent's thread.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// WebAssembly has no threads, nor a number of the process.
const HAS_THREADS: bool = !cfg!(target_family = "wasm");

/// Pages are in the cache: if it is on, there is a thread for them.
pub(crate) fn pages_came() {
    if HAS_THREADS && ON.get() != 0 && held() != 0 {
        start();
    }
}

#[cold]
fn start() {
    let process = std::process::id();
    let seen = PROCESS.load(Ordering::Relaxed);
    if seen == process || PROCESS.compare_exchange(seen, process, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    if !spawn("toft", run) {
        PROCESS.store(0, Ordering::Release); // the next pages attempt it again
    }
}

/// Starts a thread of the crate. `false`: the system refused it.
pub(crate) fn spawn(name: &str, run: fn()) -> bool {
    std::thread::Builder::new().name(name.into()).spawn(run).is_ok()
}

fn run() {
    let process = std::process::id();
    loop {
        while held() != 0 && ON.get() != 0 {
            std::thread::sleep(window().max(Duration::from_millis(10)));
            age();
        }
        PROCESS.store(0, Ordering::Release);
        // Pages that came before the store are this thread's.
        let again = held() != 0 && ON.get() != 0;
        if !again || PROCESS.compare_exchange(0, process, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
    }
}

/// Switches the background thread on or off, and returns whether it was on.
///
/// While it is on, a thread of the crate returns what is due also when the program calls nothing: it exists only while
/// pages are cached, and sleeps for a window at a time. In an idle process the cache is empty after three windows. When
/// it is switched off, the thread ends after its present window. Initially on if `TOFT_BACKGROUND_THREAD` in the
/// environment is a number other than 0. It has no effect in WebAssembly. A library with this crate in it must not be
/// unloaded while the thread exists. Thread-safe.
///
/// ```
/// use toft::{cache, Arena};
///
/// let before = cache::set_background_thread(true);
/// let arena = Arena::new();
/// (0..20 << 10).for_each(|_| _ = arena.alloc([0u8; 1024]));
/// drop(arena); // its 20 MiB go back to the system within two seconds
/// cache::set_background_thread(before);
/// ```
pub fn set_background_thread(on: bool) -> bool {
    let before = ON.set(on as usize) != 0;
    pages_came();
    before
}

#[cfg(test)]
#[path = "../../tests/unit/background.rs"]
mod tests;
