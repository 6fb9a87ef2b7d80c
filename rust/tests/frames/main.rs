//! Frames: each thread has its own arena, all of them are emptied together, and a destructor runs once, also after panics
//! and leaks, whatever ends first.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "../common/random.rs"]
mod random;
#[path = "../common/strict.rs"]
mod strict;

mod ends;
mod parties;
mod steps;
mod threads;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::mem::forget;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Once, OnceLock, RwLock};
use std::thread;

use random::Random;
use toft::{AllocError, Arena, Frames, Options};

const MIRI: bool = cfg!(miri);

/// Fewer under Miri, and with `TOFT_SHORT` (Valgrind).
fn rounds(most: usize, miri: usize) -> usize {
    if MIRI {
        miri
    } else if std::env::var_os("TOFT_SHORT").is_some() {
        (most / 50).max(miri)
    } else {
        most
    }
}

/// Counts its drops, and panics in the first one if the flag is set.
struct Counted(Arc<AtomicUsize>, bool);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        if self.1 {
            panic!("a destructor's panic");
        }
    }
}

#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn value(&self) -> Counted {
        Counted(self.0.clone(), false)
    }

    fn bomb(&self) -> Counted {
        Counted(self.0.clone(), true)
    }

    fn count(&self) -> usize {
        self.0.load(SeqCst)
    }

    /// Values that were made and not dropped yet.
    fn alive(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

fn panics(f: impl FnOnce()) -> bool {
    // A one-line hook: the standard library's would print a backtrace of a panic within a panic, which takes minutes
    // under Miri.
    static ONE_LINE: Once = Once::new();
    ONE_LINE.call_once(|| std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))));
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

fn address(frames: &Frames) -> usize {
    std::ptr::from_ref(frames.here()).addr()
}

fn live(frames: &mut Frames) -> u64 {
    frames.arenas().map(|arena| arena.stats().live).sum()
}

fn reserved(frames: &mut Frames) -> u64 {
    frames.arenas().map(|arena| arena.stats().reserved).sum()
}

/// On a thread that has ended when this returns, including its thread-locals.
fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|threads| threads.spawn(f).join().unwrap())
}
