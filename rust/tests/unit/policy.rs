//! Unit tests of `src/policy.rs`: the arithmetic on sizes.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn sizes() {
    assert_eq!((pad(1, 8), pad(8, 8), pad(0, 4096), pad(4095, 4096)), (7, 0, 0, 1));
    assert_eq!((need(1, 8), need(1, 64), need(1, 128), need(0, 1)), (8, 8, 72, 0));
    assert_eq!((stagger(65536, 3), stagger(65537, 3), stagger(MIB, 8)), (64, 256, 64));
    assert_eq!((usable(4096), usable(MIB)), (4032, MIB - 512));
    assert_eq!((next_size(4096), next_size(CAP), next_size(5000)), (8192, CAP, 16384));
    assert_eq!(regular_size(100, 8192, false), Some(8192));
    assert_eq!(regular_size(100_000, 8192, false), Some(512 << 10));
    assert_eq!(regular_size(CAP / 4 + 1, 8192, false), None);
    assert_eq!(regular_size(MERGE - 512, MERGE, true), Some(MERGE));
    assert_eq!((dedicated_size(4032), dedicated_size(4033)), (4096, 8192));
    assert_eq!((merged_size(1), merged_size(5000), merged_size(CAP as u64 + 1)), (4096, 8192, 2 * CAP));
    assert_eq!(merged_size(u64::MAX), MERGE);
}

#[test]
fn requests() {
    assert!(is_request(0, 1) && is_request(MAX_REQUEST, 1 << 20));
    assert!(
        !is_request(MAX_REQUEST + 1, 1)
            && !is_request(1, 0)
            && !is_request(1, 3)
            && !is_request(1, 1 << (usize::BITS - 1))
    );
}
