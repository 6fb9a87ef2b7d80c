//! What recyclers keep: memory without live objects returns to the source by itself when it exceeds recent use. One
//! program, since the window is a setting of the process.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![cfg(not(all(target_family = "wasm", target_os = "unknown")))] // no clock

#[path = "common/recycled.rs"]
mod recycled;
#[path = "common/refusing.rs"]
mod refusing;

use std::alloc::Layout;
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::Duration;

use recycled::{check, Object, Recycling};
use refusing::Refusing;
use toft::{cache, Recycler, SyncRecycler};

const MIB: usize = 1 << 20;
const OBJECTS: usize = if cfg!(miri) { 4 * MIB / 16_000 } else { 16 * MIB / 1000 };

static SETTING: Mutex<()> = Mutex::new(());
static ALONE: Mutex<()> = Mutex::new(());

/// What recyclers of other tests have would count too.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn window(milliseconds: u64) -> MutexGuard<'static, ()> {
    let guard = SETTING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    cache::set_page_window(Duration::from_millis(milliseconds));
    guard
}

fn layout(large: bool) -> Layout {
    let size = if large { 24_000 } else { 16 * MIB / OBJECTS };
    Layout::from_size_align(size, 8).unwrap()
}

fn fill(r: &impl Recycling, large: bool) -> Vec<Object> {
    let n = if large { 16 * MIB / 24_000 } else { OBJECTS };
    (0..if cfg!(miri) { n / 4 } else { n }).map(|i| Object::of(r, layout(large), i as u8).unwrap()).collect()
}

/// Frees slabs and large objects, until the recycler reads the clock.
fn free_enough(r: &impl Recycling) {
    (0..16).for_each(|_| free_some(r));
}

/// Frees a slab and a large object.
fn free_some(r: &impl Recycling) {
    let (some, large) = (Object::of(r, layout(false), 1).unwrap(), Object::of(r, layout(true), 2).unwrap());
    let slab: Vec<Object> = (0..100).map(|i| Object::of(r, layout(false), i).unwrap()).collect();
    slab.into_iter().for_each(|object| object.free(r));
    some.free(r);
    large.free(r);
}

fn held(r: &impl Recycling) -> usize {
    let s = r.numbers();
    check(&s, 0);
    (s.reserved - s.wasted) as usize
}

/// Two windows after the last use all but some blocks returns with the next frees of slabs.
fn surplus_returns(r: &impl Recycling) {
    for large in [false, true] {
        {
            let _window = window(1 << 40);
            fill(r, large).into_iter().for_each(|object| object.free(r));
            free_some(r);
            assert!(held(r) > if cfg!(miri) { 3 * MIB } else { 15 * MIB }, "{:?}", r.numbers());
            // in one window
        }
        let _window = window(5);
        sleep(Duration::from_millis(11));
        free_enough(r);
        assert!(held(r) <= 5 * MIB, "{:?}", r.numbers());
    }
}

#[test]
fn surplus_returns_to_the_heap() {
    let _alone = alone();
    surplus_returns(&Recycler::new());
    surplus_returns(&SyncRecycler::new());
}

#[test]
fn surplus_returns_to_a_source() {
    let _alone = alone();
    let source = Refusing::shifted(3);
    let r = Recycler::from_source(&source);
    surplus_returns(&r);
    assert!(source.bytes() <= 5 * MIB && source.bytes() as u64 == r.stats().reserved, "{}", source.bytes());
    surplus_returns(&SyncRecycler::from_source(&source));
}

/// Without a window everything above twice the use returns as soon as it is free.
#[test]
fn with_a_window_of_0_idle_blocks_return_at_once() {
    let _alone = alone();
    let _window = window(0);
    let source = Refusing::shifted(0);
    let r = Recycler::from_source(&source);
    for large in [false, true] {
        fill(&r, large).into_iter().for_each(|object| object.free(&r));
        assert!(source.bytes() <= 5 * MIB, "{}", source.bytes());
    }
}

/// Rounds of the same sizes call the source in the first round only.
#[test]
fn what_was_in_use_is_kept() {
    let _alone = alone();
    let _window = window(1 << 40);
    for large in [false, true] {
        let (r, mut calls) = (Recycler::new(), 0);
        for round in 0..4 {
            fill(&r, large).into_iter().for_each(|object| object.free(&r));
            if round == 0 {
                calls = r.stats().source_calls;
            }
        }
        assert_eq!(r.stats().source_calls, calls);
    }
}

/// Recyclers that are not used any more keep the allowance of one, not each its own.
#[test]
fn recyclers_share_the_allowance() {
    let _alone = alone();
    let _window = window(1 << 40);
    let recyclers: Vec<Recycler> = (0..if cfg!(miri) { 2 } else { 20 }).map(|_| Recycler::new()).collect();
    for r in &recyclers {
        fill(r, true).into_iter().for_each(|object| object.free(r));
    }
    let most = if cfg!(miri) { 4 * MIB } else { 16 * MIB };
    let kept: u64 = recyclers.iter().map(|r| r.stats().kept).sum();
    assert!(kept as usize <= 3 * most + 5 * MIB, "{kept}");
}
