//! The assertions of the crate's own invariants. In builds with debug assertions, as those of tests, fuzzing and Miri are,
//! `debug_assert!` states the preconditions of functions, and slow paths end with a verification of the whole object, by
//! the functions named `verify`, which return true or panic. Fast paths verify what takes constant time at most.
//!
//! Here the profile decides, in C `TOFT_ASSERTIONS`: a program's own tests verify what its unsafe code may break.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Steps that a call may take, and those that calls which took fewer leave to later ones.
const STEPS: usize = 32;
const LEFT_MAX: usize = 1 << 14;

/// Whether a verification of so many steps is made now: the more steps, the more calls pass without one, so that a program
/// is slower by a constant factor.
#[doc(hidden)]
pub fn verifies(steps: usize) -> bool {
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    let left = LEFT.load(Relaxed) + STEPS;
    let now = left >= steps;
    LEFT.store(if now { (left - steps).min(LEFT_MAX) } else { left }, Relaxed);
    now
}
