//! A block of an arena, and its header.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::ops::Deref;
use core::ptr::NonNull;

use crate::base::policy::HEADER;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Initial,
    Regular,
    /// One allocation, which can be freed while the block is the newest.
    Dedicated,
    /// Serves allocations while a range is claimed.
    Side,
    Spare,
}

/// A block's header, at its base. That of the initial block is in the arena's state.
#[repr(C)]
pub struct BlockHeader {
    /// The block acquired before it; of a spare, the next spare.
    pub next: Cell<Option<Block>>,
    /// Regular: the regular block that was current before it.
    pub below: Cell<Option<Block>>,
    /// S, as requested from the source.
    pub size: Cell<usize>,
    /// Creation epoch (M13).
    pub epoch: Cell<usize>,
    /// End of the bytes in use; not maintained for the current block, where it is the cursor.
    pub used_end: Cell<*mut u8>,
    /// Dedicated: the bytes counted in live.
    pub charge: Cell<usize>,
    pub index: Cell<u32>,
    pub kind: Cell<Kind>,
}

/// A block, as the address of its header. The pointer's provenance covers the block (of an initial block, the arena's).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Block(pub(super) NonNull<BlockHeader>);

impl Block {
    /// Writes the header of a block of `size` bytes at `base`.
    ///
    /// # Safety
    /// `base` is a multiple of 64 and valid for `size` bytes, at least a header, for as long as the block is used.
    pub unsafe fn write(base: NonNull<u8>, size: usize) -> Block {
        debug_assert!(base.addr().get() % HEADER == 0 && size >= HEADER);
        base.as_ptr().expose_provenance(); // M22: clients may compute the cursor from integers
        let at = base.cast::<BlockHeader>();
        // SAFETY: the caller's contract.
        unsafe { at.write(BlockHeader::new(size)) };
        Block(at)
    }

    pub fn base(self) -> *mut u8 {
        self.0.as_ptr().cast()
    }
}

impl BlockHeader {
    pub(super) const fn new(size: usize) -> BlockHeader {
        BlockHeader {
            next: Cell::new(None),
            below: Cell::new(None),
            size: Cell::new(size),
            epoch: Cell::new(0),
            used_end: Cell::new(core::ptr::null_mut()),
            charge: Cell::new(0),
            index: Cell::new(0),
            kind: Cell::new(Kind::Initial),
        }
    }
}

impl Deref for Block {
    type Target = BlockHeader;
    fn deref(&self) -> &BlockHeader {
        // SAFETY: `write` initialised it, and blocks are used only while their arena has them. All fields are cells.
        unsafe { self.0.as_ref() }
    }
}
