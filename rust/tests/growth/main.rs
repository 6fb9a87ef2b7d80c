//! Memory is bounded and source calls stop in steady state; the cache stays within its limit, and each thread returns
//! its own.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "../common/pages.rs"]
mod pages;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/strict.rs"]
mod strict;

mod caches;
mod in_place;
mod rounds;

use std::alloc::Layout;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Mutex;

use pages::Pages;
use random::Random;
use std::time::Duration;
use toft::{cache, Arena, Keep, Options, Reserve, Scope, Source};

const MIRI: bool = cfg!(miri);

/// Fewer under Miri, and with `TOFT_SHORT` (Valgrind).
fn rounds(most: usize) -> usize {
    if MIRI {
        (most / 1000).clamp(3, 40)
    } else if std::env::var_os("TOFT_SHORT").is_some() {
        most / 50
    } else {
        most
    }
}

/// The limit of the caches is global, as are the pages that they keep: the tests run one after another.
static CACHE: Mutex<()> = Mutex::new(());

fn alone() -> impl Drop {
    struct Alone(#[allow(dead_code)] std::sync::MutexGuard<'static, ()>, usize);
    impl Drop for Alone {
        fn drop(&mut self) {
            cache::set_limit(self.1);
            cache::trim();
        }
    }
    let guard = CACHE.lock().unwrap_or_else(|e| e.into_inner());
    cache::trim();
    let limit = cache::set_limit(4 << 20);
    cache::set_limit(limit);
    Alone(guard, limit)
}

/// Allocates memory and writes only its ends: these tests do not measure page faults.
fn take(arena: &Arena, size: usize, align: usize) -> *mut u8 {
    let p = arena.alloc_layout(Layout::from_size_align(size, align).unwrap()).as_ptr();
    assert_eq!(p.addr() % align, 0);
    if size != 0 {
        // SAFETY: the two ends of a new allocation.
        unsafe {
            p.write(1);
            p.add(size - 1).write(2);
        }
    }
    p
}
