//! Unit tests of `src/recycler/block.rs`: the geometry of recycler blocks, and their holes.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn sizes_in_shared_blocks() {
    assert!(is_direct(0, 1) && is_direct(DIRECT, 64) && is_direct(DIRECT - 64, 128) && is_direct(64, DIRECT));
    assert!(!is_direct(DIRECT + 1, 1) && !is_direct(DIRECT - 63, 128) && !is_direct(8, 1 << 15));
    assert!(!is_direct(8, 1 << (usize::BITS - 1)) && !is_direct(usize::MAX, 8));
    assert_eq!((rounded_size(0), rounded_size(1), rounded_size(8), rounded_size(9)), (8, 8, 8, 16));
}

#[test]
fn each_segment_has_a_block_for_each_request() {
    for size in [2 * UNIT, 4 * UNIT, 32 * UNIT] {
        for line in 0..UNIT / LINE {
            let address = 7 * UNIT + line * LINE;
            let (first, end) = units_of(address, size);
            let front = front(end - first);
            let mut largest = 0;
            for unit in first..end {
                let base = (address + front).max(unit * UNIT + stagger(unit));
                assert!(base % LINE == 0 && base + LEAST - 8 * LINE <= (unit + 1) * UNIT);
                assert!((unit + 1) * UNIT <= address + size);
                largest = largest.max((unit + 1) * UNIT - base);
            }
            assert!(largest >= DIRECT, "{line} {size}");
        }
    }
    // Aligned, one unit suffices.
    let (first, end) = units_of(8 * UNIT, UNIT);
    assert!(end - first == 1 && UNIT - front(1) >= DIRECT);
}

#[test]
fn holes_are_found_and_joined() {
    let mut memory = [0u64; UNIT / 8 + 8 * LINE];
    let at = NonNull::from(&mut memory).cast::<u8>();
    // SAFETY: the memory is eight lines longer than a unit.
    let at = unsafe { at.add(at.align_offset(LINE)) };
    let holes = |b| {
        let mut from = 0;
        core::iter::from_fn(move || {
            // SAFETY: as below: the hole bits are initialised.
            let (at, size) = unsafe { Block::hole(b, from, 8) }?;
            from = at + size;
            Some((at, size))
        })
        .collect::<alloc::vec::Vec<_>>()
    };
    let b = at.cast::<Block>().as_ptr();
    // SAFETY: the memory has room for a block, of which only the hole bits are used.
    unsafe {
        (&raw mut (*b).holes).write([0; WORDS]);
        assert_eq!(holes(b), []);
        Block::mark(b, 8, 16, true);
        Block::mark(b, 504, 16, true); // across two words
        Block::mark(b, 24, 8, true); // joins its neighbour
        Block::mark(b, 1024, 1536, true); // whole words
        Block::mark(b, UNIT - 8, 8, true);
        assert_eq!(holes(b), [(8, 24), (504, 16), (1024, 1536), (UNIT - 8, 8)]);
        let find = |from, least| Block::hole(b, from, least);
        assert_eq!((find(0, 24), find(0, 32), find(32, 16)), (Some((8, 24)), Some((1024, 1536)), Some((504, 16))));
        assert_eq!((find(0, 1536), find(0, 1544), find(2560, 8)), (Some((1024, 1536)), None, Some((UNIT - 8, 8))));
        Block::mark(b, 1024, 1536, false);
        Block::mark(b, 16, 8, false);
        assert_eq!(holes(b), [(8, 8), (24, 8), (504, 16), (UNIT - 8, 8)]);
        Block::mark(b, 0, UNIT, false);
        assert_eq!(Block::hole(b, 0, 8), None);
        Block::mark(b, 0, UNIT, true);
        assert_eq!(holes(b), [(0, UNIT)]);
    }
}
