//! Blocks of 32 KiB with a live count, the segments that contain them, and the holes between live objects.
//!
//! A freed piece is recorded as bits beside the block's count, and its memory is not touched, neither by the free nor
//! when the block is sparse enough for its holes to be filled, in order of address. Adjacent pieces join by themselves.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

/// Blocks end at multiples of this, and begin one or more lines after one.
pub use crate::heap::UNIT;
/// Requests up to this, with the padding for their alignment, share blocks.
pub const DIRECT: usize = UNIT - 4096;
/// A cache line of the processor; alignment of a source's blocks.
pub const LINE: usize = 64;
/// The end of a search for holes.
pub const NO_HOLE: u32 = u32::MAX;

/// Whether a request shares blocks with others. Else it gets a block of its own.
#[inline(always)]
pub const fn is_direct(size: usize, align: usize) -> bool {
    size <= DIRECT && (align <= LINE || (align <= DIRECT && size <= DIRECT + LINE - align))
}

/// Bytes for a request: rounded up to 8; a size of 0 counts as 1.
#[inline(always)]
pub const fn rounded_size(size: usize) -> usize {
    (size + (size == 0) as usize + 7) & !7
}

/// The unit of an address: a key of the directory.
#[inline(always)]
pub const fn unit_of(address: usize) -> usize {
    address / UNIT
}

/// The first line of a unit is unused, so that no object begins where another block ends. Some units leave up to eight
/// lines unused, so that equal offsets of many blocks do not fall into one cache set.
fn stagger(unit: usize) -> usize {
    LINE * (1 + unit % 8)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListName {
    /// Being filled, or about to be.
    Open,
    Full,
    Sparse,
    Empty,
}

/// Words of the hole bits, one bit for each 8 bytes.
const WORDS: usize = UNIT / 512;

/// A block's header, at the front of its segment. Values are bytes, except as noted; positions are offsets from `base`.
/// Fields are accessed one by one, by raw pointer: other threads may read the owner.
#[repr(C, align(64))]
pub struct Block {
    /// Bytes that are not free, the unused part of a range included.
    pub live: i32,
    /// [`State::update_block`](super::state::State) is called when `live` falls to this or below.
    pub threshold: i32,
    pub capacity: u32,
    /// The shard of a synchronized recycler that owns it. Written before other threads can find the block.
    pub owner: u32,
    pub list: ListName,
    /// The range that opened it, whose list it is in when it is sparse.
    pub class: u8,
    /// Where the search for the next hole starts, while a range fills it. With grains: the longest run of free ones.
    pub sweep: u32,
    pub base: *mut u8,
    pub segment: *mut Segment,
    pub next: *mut Block,
    pub previous: *mut Block,
    holes: [u64; WORDS],
}

const _: () = assert!(size_of::<Block>() == LINE + WORDS * 8);

impl Block {
    /// Records a piece as free, or as not free. The caller updates `live`.
    ///
    /// # Safety
    /// `b` is alive and this thread's; the piece is in it; offset and size are multiples of 8.
    pub unsafe fn mark(b: *mut Block, at: usize, size: usize, free: bool) {
        let (mut bit, end) = ((at / 8) as u32, ((at + size) / 8) as u32);
        // SAFETY: the caller's contract.
        let words = unsafe { (&raw mut (*b).holes).cast::<u64>() };
        while bit < end {
            let n = (end - bit).min(64 - bit % 64);
            let mask = u64::MAX >> (64 - n) << (bit % 64);
            // SAFETY: the caller's contract.
            unsafe {
                let word = words.add(bit as usize / 64);
                *word = if free { *word | mask } else { *word & !mask };
            }
            bit += n;
        }
    }

    /// The word of the grains: see `medium.rs`.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn grains(b: *mut Block) -> *mut u64 {
        // SAFETY: the caller's contract.
        unsafe { (&raw mut (*b).holes).cast() }
    }

    /// Finds the first hole at or after `from` of at least `least` bytes; returns its offset and size.
    ///
    /// # Safety
    /// As above; `from` is the end of a hole, or 0.
    pub unsafe fn hole(b: *const Block, from: usize, least: usize) -> Option<(usize, usize)> {
        // SAFETY: the caller's contract; the index is below the number of words.
        let bits = |word: usize| unsafe { *(&raw const (*b).holes).cast::<u64>().add(word) };
        let mut end = from / 8;
        loop {
            let at = first_set(bits, end)?;
            end = first_set(|word| !bits(word), at).unwrap_or(UNIT / 8);
            if (end - at) * 8 >= least {
                return Some((at * 8, (end - at) * 8));
            }
        }
    }
}

/// The first set bit from `from` on.
#[inline]
fn first_set(bits: impl Fn(usize) -> u64, from: usize) -> Option<usize> {
    let mut row = u64::MAX << (from % 64);
    (from / 64..WORDS).find_map(|word| {
        row &= bits(word);
        let found = (row != 0).then(|| word * 64 + row.trailing_zeros() as usize);
        row = u64::MAX;
        found
    })
}

/// The padding in front of `size` bytes within `room` bytes at `address`; `None`: they do not fit.
pub fn fit(address: usize, room: usize, size: usize, align: usize) -> Option<usize> {
    let pad = address.wrapping_neg() & (align - 1);
    (room >= pad && room - pad >= size).then_some(pad)
}

/// A segment's header, at the front of its memory from the source. Block headers follow, then the blocks.
#[repr(C, align(64))]
pub struct Segment {
    pub next: *mut Segment,
    pub size: usize,
    /// Number of blocks that are not empty.
    pub busy: u32,
    /// Number of blocks, and of those that were ever used.
    pub count: u32,
    pub cut: u32,
}

const _: () = assert!(size_of::<Segment>() == LINE);

impl Segment {
    /// Initialises a segment of `size` bytes. No block header is written yet, so that unused memory is not touched.
    ///
    /// # Safety
    /// The memory is the caller's, at a multiple of 64, and a unit or more.
    pub unsafe fn make(memory: NonNull<u8>, size: usize) -> *mut Segment {
        let s = memory.cast::<Segment>().as_ptr();
        let (first, end) = units_of(memory.addr().get(), size);
        // SAFETY: the caller's contract.
        unsafe {
            s.write(Segment { next: core::ptr::null_mut(), size, busy: 0, count: (end - first) as u32, cut: 0 });
        }
        s
    }

    /// Whether one of its blocks fits any request.
    ///
    /// # Safety
    /// For each call: the segment is alive, and `i` is below `count`.
    pub unsafe fn fits_any_request(s: *mut Segment) -> bool {
        // SAFETY: the caller's contract.
        unsafe { (0..(*s).count).any(|i| Self::extent(s, i).1 >= DIRECT) }
    }

    pub unsafe fn block(s: *mut Segment, i: u32) -> *mut Block {
        // SAFETY: the caller's contract: the block headers follow the segment's, in its memory.
        unsafe { s.add(1).cast::<Block>().add(i as usize) }
    }

    pub unsafe fn unit(s: *mut Segment, i: u32) -> usize {
        // SAFETY: the caller's contract.
        units_of(s.addr(), unsafe { (*s).size }).0 + i as usize
    }

    /// Offset of a block's first byte from the segment, and the block's size.
    pub unsafe fn extent(s: *mut Segment, i: u32) -> (usize, usize) {
        // SAFETY: the caller's contract.
        let (unit, front) = unsafe { (Self::unit(s, i), front((*s).count as usize)) };
        let base = (s.addr() + front).max(unit * UNIT + stagger(unit));
        (base - s.addr(), (unit + 1) * UNIT - base)
    }

    /// Initialises the next block that was never used.
    pub unsafe fn cut(s: *mut Segment, owner: u32) -> *mut Block {
        // SAFETY: the caller's contract: there is one.
        unsafe {
            let i = (*s).cut;
            let b = Self::block(s, i);
            let (start, capacity) = Self::extent(s, i);
            b.write(Block {
                live: 0,
                threshold: 0,
                capacity: capacity as u32,
                owner,
                list: ListName::Open,
                class: 0,
                sweep: 0,
                base: s.cast::<u8>().add(start),
                segment: s,
                next: core::ptr::null_mut(),
                previous: core::ptr::null_mut(),
                holes: [0; WORDS],
            });
            (*s).cut += 1;
            (*s).busy += 1;
            b
        }
    }
}

/// Bytes of the headers.
const fn front(blocks: usize) -> usize {
    size_of::<Segment>() + blocks * size_of::<Block>()
}

/// The first unit of a segment and the one after its last. The end of each unit is in the segment, so no two segments
/// share a unit; the first unit must have space beside the headers.
fn units_of(address: usize, size: usize) -> (usize, usize) {
    let (first, end) = (address / UNIT, (address + size) / UNIT);
    let room = (first + 1) * UNIT - address;
    (if room < front(end - first) + LEAST { first + 1 } else { first }, end)
}

const LEAST: usize = 8192;

#[cfg(test)]
#[path = "../../tests/unit/block.rs"]
mod tests;
