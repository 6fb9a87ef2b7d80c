//! The search among 64-bit integers with AVX2: sixteen comparisons are four instructions.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::arch::x86_64::*;

use super::node::{Node, NodeLayout};
use crate::field_layout::FieldLayout;

/// Whether the processor has the instructions that `descend` uses.
#[inline(always)]
pub(super) fn is_available() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("popcnt")
}

/// The leaf where a key is or would be inserted, and the rank of the key in it.
///
/// # Safety
/// The processor has AVX2 and popcnt. The root is that of a tree of this layout with 64-bit integer keys and `height`
/// inner nodes above each leaf.
#[target_feature(enable = "avx2,popcnt")]
pub(super) unsafe fn descend<const SIGNED: bool, K, V, L: FieldLayout<V>>(
    root: Node,
    height: usize,
    key: i64,
) -> (Node, usize) {
    let mut node = root;
    // SAFETY: as in `search_integer`.
    unsafe {
        for _ in 0..height {
            let i = rank::<SIGNED>(
                NodeLayout::<K, V, L>::separators(node).cast().as_ptr(),
                NodeLayout::<K, V, L>::FANOUT,
                key,
            );
            node = NodeLayout::<K, V, L>::child(node, i);
        }
        (
            node,
            rank::<SIGNED>(
                NodeLayout::<K, V, L>::keys(node).cast().as_ptr(),
                NodeLayout::<K, V, L>::LEAF_CAPACITY,
                key,
            ),
        )
    }
}

/// As `integer_keys::rank`.
///
/// # Safety
/// As there, with `positions` a multiple of 16. The processor has AVX2 and popcnt.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
unsafe fn rank<const SIGNED: bool>(keys: *const i64, positions: usize, key: i64) -> usize {
    debug_assert!(positions % 16 == 0);
    // SAFETY: all indices are below `positions`.
    unsafe {
        let mut rank = 0;
        for i in 1..positions / 16 {
            let last = *keys.add(i * 16 - 1);
            rank += usize::from(if SIGNED { last < key } else { (last as u64) < key as u64 });
        }
        rank *= 16;
        let keys = keys.add(rank).cast::<__m256i>();
        // AVX2 has signed comparisons only: with the highest bit flipped, unsigned integers have the order of signed
        // ones.
        let flip = if SIGNED { 0 } else { i64::MIN };
        let (key, flip) = (_mm256_set1_epi64x(key ^ flip), _mm256_set1_epi64x(flip));
        let less = |i: usize| _mm256_cmpgt_epi64(key, _mm256_xor_si256(_mm256_loadu_si256(keys.add(i)), flip));
        let bytes = _mm256_packs_epi16(_mm256_packs_epi32(less(0), less(1)), _mm256_packs_epi32(less(2), less(3)));
        // Two bits of the mask for each integer.
        rank + _mm256_movemask_epi8(bytes).count_ones() as usize / 2
    }
}
