//! The pattern that tests write into an allocation and verify later. It is copied and compared as a whole from a table.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

/// Of a large allocation, this many bytes at each end are written and verified.
pub const SAMPLED: usize = if cfg!(miri) { 64 } else { 32 << 10 };

const STARTS: usize = 251;

static TABLE: [u8; SAMPLED + STARTS] = {
    let mut table = [0; SAMPLED + STARTS];
    let mut i = 0;
    while i < table.len() {
        table[i] = (i * 7 + (i >> 8) * 13 + 1) as u8;
        i += 1;
    }
    table
};

/// The two ends of `n` bytes, as start and length; one of them may be empty.
fn ends(n: usize) -> [(usize, usize); 2] {
    let front = n.min(SAMPLED);
    let back = (n - front).min(SAMPLED);
    [(0, front), (n - back, back)]
}

fn words(seed: u64, len: usize) -> &'static [u8] {
    let at = (seed % STARTS as u64) as usize;
    &TABLE[at..at + len]
}

/// # Safety
/// `n` bytes at `p` may be written.
pub unsafe fn fill(p: *mut u8, n: usize, seed: u64) {
    for (at, len) in ends(n) {
        p.add(at).copy_from_nonoverlapping(words(seed, len).as_ptr(), len);
    }
}

/// Whether the bytes at `p` match what was written as `n` bytes, up to `kept`.
///
/// # Safety
/// `kept` bytes at `p` may be read, and were written by [`fill`].
pub unsafe fn is_whole(p: *const u8, n: usize, kept: usize, seed: u64) -> bool {
    ends(n).into_iter().all(|(at, len)| {
        let len = len.min(kept.saturating_sub(at));
        len == 0 || std::slice::from_raw_parts(p.add(at), len) == words(seed, len)
    })
}
