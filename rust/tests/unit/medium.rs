//! Contracts of size classes and of the grains of medium objects: `src/recycler/class.rs` and `medium.rs`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::super::{block::DIRECT, class};
use super::*;

fn is_run(grains: u64, start: usize, count: usize) -> bool {
    start + count <= 64 && !grains >> start & u64::MAX >> (64 - count) == 0
}

contracts! {
    fn classes_hold_their_sizes(size: usize, larger: usize) {
        assume!(size <= larger);
        match (class::of(size, 8), class::of(larger, 8)) {
            (Some((k, bytes)), Some((l, more))) => {
                assert!(size > 0 && bytes >= size && bytes % 8 == 0 && k <= l && bytes <= more);
                assert!(if size <= 128 { bytes - size < 8 } else { bytes - size <= size / 8 });
                assert!(class::of(bytes, 8) == Some((k, bytes)));
            }
            (Some((_, bytes)), None) => assert!(bytes <= 4096 && larger > 4096),
            (None, _) => assert!(size == 0 || size > 4096),
        }
    }

    fn runs_are_found(grains: u64, count: usize, start: usize) {
        let (count, start) = (count % 64 + 1, start % 64);
        assert!((runs_of(grains, count) >> start & 1 == 1) == is_run(grains, start, count));
    }

    fn the_longest_run_is_found(grains: u64, count: usize, start: usize) {
        assume!(grains != u64::MAX); // blocks without objects are in another list
        let (count, start, longest) = (count % 64 + 1, start % 64, longest_run(grains));
        assert!(longest < 64 && (longest == 0 || runs_of(grains, longest) != 0));
        assume!(count > longest);
        assert!(!is_run(grains, start, count));
    }

    // A byte of an object is in one of its grains, and each of its grains has a byte of the object.
    fn an_object_has_its_grains(from: usize, size: usize, at: usize, grain: usize) {
        assume!(size > 0 && size <= DIRECT && from <= DIRECT - size);
        assume!(at < size && from + size <= 64 * GRAIN);
        let (mask, grain) = (grains_of(DIRECT as u32, from, size), grain % 64);
        let there = DIRECT / GRAIN;
        assert!((from + at) / GRAIN >= there || mask >> ((from + at) / GRAIN) & 1 == 1);
        assume!(mask >> grain & 1 == 1);
        assert!(grain * GRAIN < from + size && (grain + 1) * GRAIN > from);
    }
}
