//! Placement policy 1 (abi/SPEC.md, section 12): arithmetic on sizes, without addresses. The model, both providers and
//! the vectors change together.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

pub(crate) use crate::base::abi_types::round8;

pub const MIB: usize = 1 << 20;
/// P5: regular blocks double up to this size.
pub const CAP: usize = MIB;
/// P10: a reset merges blocks up to this size.
pub const MERGE: usize = 64 * MIB;
/// P12: bytes of spares that rewinds keep.
pub const SPARE: usize = 4 * MIB;
/// P2: size of the initial block; blocks are multiples of it.
pub const BLOCK_MIN: usize = 4096;
/// P2: bytes of the initial block for the head and the provider's state.
pub const INITIAL_START: usize = 512;
/// P3: minimum bytes in front of a block's first byte.
pub const HEADER: usize = 64;
/// M9: no sum of two requests wraps.
pub const MAX_REQUEST: usize = isize::MAX as usize / 2;

const STAGGERED: usize = 64 << 10;

/// `n` rounded up to a multiple of `to`, a power of two; `n` is at most twice `MAX_REQUEST`.
pub const fn round(n: usize, to: usize) -> usize {
    n.wrapping_add(to - 1) & !(to - 1)
}

/// Bytes from an address to the next multiple of `align`.
pub const fn pad(address: usize, align: usize) -> usize {
    address.wrapping_neg() & (align - 1)
}

/// Bytes of a block that fits `size` bytes at this alignment: a block starts on a line of 64 bytes.
pub const fn need(size: usize, align: usize) -> usize {
    round8(size) + align.saturating_sub(HEADER)
}

/// M9: larger requests are refused before any sum is computed.
pub const fn is_request(size: usize, align: usize) -> bool {
    align.is_power_of_two() && size <= MAX_REQUEST && align <= MAX_REQUEST
}

/// P3: blocks above 64 KiB start one line later each, so that regular spacings do not collide in one cache set.
pub const fn stagger(block_size: usize, index: u32) -> usize {
    if block_size > STAGGERED {
        HEADER * (1 + index as usize % 8)
    } else {
        HEADER
    }
}

/// P3: bytes of a regular block for allocations.
pub const fn usable(block_size: usize) -> usize {
    block_size - if block_size > STAGGERED { 8 * HEADER } else { HEADER }
}

/// P5: the size of the block after one of `current` bytes.
pub fn next_size(current: usize) -> usize {
    (2 * round(current.min(CAP), BLOCK_MIN)).min(CAP)
}

/// P5, P6: the size of a regular block for `need` bytes; `next`: by growth; `None`: P7, a dedicated block.
pub fn regular_size(need: usize, next: usize, idle: bool) -> Option<usize> {
    if idle && need <= next.saturating_sub(512) {
        Some(next)
    } else if need <= CAP / 4 {
        Some(next.max(pow2(4 * need).min(CAP)))
    } else {
        None
    }
}

/// P7
pub const fn dedicated_size(need: usize) -> usize {
    round(need + HEADER, BLOCK_MIN)
}

/// P9: the smallest regular block that `need` bytes fit into.
pub const fn least_size(need: usize) -> usize {
    let size = dedicated_size(need);
    if size <= STAGGERED {
        size
    } else {
        round(need + 8 * HEADER, BLOCK_MIN)
    }
}

/// P10: the size of one block for a round of `high` bytes.
pub fn merged_size(high: u64) -> usize {
    if high >= MERGE as u64 {
        MERGE
    } else if high <= CAP as u64 {
        pow2(high as usize)
    } else {
        round(high as usize, CAP).min(MERGE)
    }
}

fn pow2(n: usize) -> usize {
    n.next_power_of_two().max(BLOCK_MIN)
}

/// P10: the blocks to keep for the next round.
pub struct Keep {
    /// The size of one block that suffices for a round; a present one up to `most` is as good.
    pub wanted: usize,
    pub most: usize,
    /// Blocks stay unmerged, up to `bound` bytes.
    pub unmerged: bool,
    pub bound: usize,
}

/// The state before a reset: the highest need of the recent rounds (H), and the blocks besides the initial one.
pub struct Round {
    pub high: u64,
    pub others: usize,
    pub dedicated_count: usize,
    pub spare_bytes: usize,
}

/// P10, for a policy of `reset` and its bytes.
pub fn keep(round_: &Round, policy: u32, bytes: usize) -> Keep {
    let &Round { high, others, dedicated_count, spare_bytes } = round_;
    let alike = dedicated_count == 0 && others > CAP;
    let above = high > MERGE as u64;
    let wanted = merged_size(high);
    // Half more than the round, as P6 may waste a quarter of each block.
    let half_more = if high < (MAX_REQUEST / 2) as u64 { (high + high / 2) as usize } else { MAX_REQUEST };
    // Many equal blocks serve any round as well as one large block, and their memory has been touched already.
    let unmerged = above || (alike && high > CAP as u64);
    match policy {
        crate::base::abi_types::KEEP_ALL => Keep {
            wanted: wanted.max(others.min(MERGE)),
            most: usize::MAX,
            unmerged: above || others > MERGE || alike,
            bound: others + spare_bytes,
        },
        crate::base::abi_types::KEEP_BYTES => {
            let bound = bytes.min(MAX_REQUEST);
            let wanted = wanted.min(round(bound, BLOCK_MIN).max(BLOCK_MIN));
            Keep {
                wanted,
                most: (4 * wanted).min(wanted.max(bound)),
                unmerged: unmerged && bound > if above { MERGE } else { CAP },
                bound,
            }
        }
        _ => Keep { wanted, most: 4 * wanted, unmerged, bound: round(half_more, CAP) + CAP },
    }
}

#[cfg(any(kani, test))]
#[path = "../../tests/unit/policy.rs"]
mod tests;
