//! Unit tests of `src/base/policy.rs`: the arithmetic on sizes.
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

contracts! {
    fn blocks_hold_the_request(size: usize, align_bits: u32, next_blocks: usize, number: u32) {
        let align = 1 << (align_bits % usize::BITS);
        assume!(is_request(size, align));
        assume!((1..=MERGE / BLOCK_MIN).contains(&next_blocks));
        let (need, next) = (need(size, align), next_blocks * BLOCK_MIN);
        assert!(need >= size);
        if let Some(regular) = regular_size(need, next, number % 2 == 1) {
            assert!(regular % BLOCK_MIN == 0 && regular <= MERGE && usable(regular) >= need);
        } else {
            assert!(dedicated_size(need) % BLOCK_MIN == 0 && dedicated_size(need) >= need + HEADER);
        }
    }

    fn staggered_blocks_hold_what_is_usable(size: usize, index: u32) {
        assume!((BLOCK_MIN..=MERGE).contains(&size));
        assert!(stagger(size, index) >= HEADER && stagger(size, index) % HEADER == 0);
        assert!(size - stagger(size, index) >= usable(size));
    }

    fn merged_blocks_are_bounded(high: u64) {
        let size = merged_size(high);
        assert!((BLOCK_MIN..=MERGE).contains(&size) && size % BLOCK_MIN == 0);
        assert!(size as u64 >= high || size == MERGE);
    }

    // A block starts at a multiple of 64 bytes.
    fn aligned_requests_fit_their_need(line: usize, size: usize, align_bits: u32) {
        let align = 1 << (align_bits % usize::BITS);
        assume!(is_request(size, align));
        assume!(line <= usize::MAX / 4 / HEADER);
        let pad = pad(line * HEADER, align);
        assert!(pad < align && (line * HEADER + pad) % align == 0 && pad + size <= need(size, align));
    }
}
