//! Unit tests of `src/interface/counted.rs`: counters that no program reaches by cloning.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::sealed::Counter as _;
use super::*;

#[test]
fn a_full_counter_stays_where_it_is() {
    let count = Cell::new(STUCK - 1);
    count.add();
    count.add();
    assert_eq!(count.get(), STUCK);
    assert!(!count.remove());
    assert_eq!(count.get(), STUCK);
}

#[cfg(feature = "std")]
#[test]
fn a_full_atomic_counter_stays_above_all_handles() {
    let count = AtomicUsize::new(STUCK - 1);
    count.add();
    count.add();
    for _ in 0..1000 {
        assert!(!count.remove());
        count.add();
        assert!(!count.remove());
    }
    assert!(sealed::Counter::get(&count) > STUCK);
}
