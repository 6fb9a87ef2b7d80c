//! The part of a block that allocations are taken from, and lists of blocks.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::ptr::{null_mut, NonNull};

use super::block::{self, Block, ListName};

const NO_HOLE: usize = usize::MAX;

/// The part of a block that allocations are taken from.
pub struct Range {
    pub cursor: Cell<*mut u8>,
    pub limit: Cell<usize>,
    /// Null: none, and the range is empty.
    pub block: Cell<*mut Block>,
    /// Where the search for the next hole of the block starts.
    sweep: Cell<usize>,
}

impl Range {
    pub const fn new() -> Range {
        Range {
            cursor: Cell::new(null_mut()),
            limit: Cell::new(0),
            block: Cell::new(null_mut()),
            sweep: Cell::new(NO_HOLE),
        }
    }

    pub fn clear(&self) {
        self.cursor.set(null_mut());
        self.limit.set(0);
        self.block.set(null_mut());
        self.sweep.set(NO_HOLE);
    }

    pub fn left(&self) -> usize {
        self.limit.get() - self.cursor.get().addr()
    }

    /// Whether its block has no live object.
    pub fn is_idle(&self) -> bool {
        let b = self.block.get();
        // SAFETY: a range's block is alive, and this thread's.
        !b.is_null() && unsafe { (*b).live } as usize == self.left()
    }

    fn span(&self, b: *mut Block, at: usize, size: usize) {
        // SAFETY: as above; the offset is in the block.
        let p = unsafe { (*b).base.add(at) };
        self.cursor.set(p);
        self.limit.set(p.addr() + size);
    }

    /// Allocates in the range, if the request fits.
    pub fn alloc(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let (p, b) = (self.cursor.get(), self.block.get());
        let pad = block::fit(p.addr(), self.left(), size, align)?;
        // SAFETY: it fits, so there is a block, and the bytes are free and in it.
        unsafe {
            if pad != 0 {
                Block::free(b, p.addr() - (*b).base.addr(), pad);
                (*b).live -= pad as i32;
            }
            self.cursor.set(p.add(pad + size));
            NonNull::new(p.add(pad))
        }
    }

    /// Makes the rest of the range a hole.
    pub fn drop_rest(&self) {
        let (rest, b) = (self.left(), self.block.get());
        if rest != 0 {
            // SAFETY: a range that is not empty has a block.
            unsafe {
                Block::free(b, self.cursor.get().addr() - (*b).base.addr(), rest);
                (*b).live -= rest as i32;
            }
            self.limit.set(self.cursor.get().addr());
        }
    }

    /// Whether the holes of its block are being filled.
    pub fn is_sweeping(&self) -> bool {
        self.sweep.get() != NO_HOLE
    }

    /// Begins to fill the holes of a block.
    pub fn sweep(&self, b: *mut Block) {
        self.block.set(b);
        self.sweep.set(0);
    }

    /// Moves the range to the next hole that fits the request; smaller ones are left for the next sweep.
    pub fn next_hole(&self, size: usize, align: usize) -> bool {
        if !self.is_sweeping() {
            return false;
        }
        let (b, from) = (self.block.get(), self.sweep.get());
        let found = self.hole(from, size, align);
        // SAFETY: a range's block is alive, and this thread's; the hole is in it.
        unsafe {
            match found {
                Some((at, wide)) => {
                    Block::fill(b, at, wide);
                    self.drop_rest();
                    (*b).live += wide as i32;
                    self.span(b, at, wide);
                    self.sweep.set(at + wide);
                }
                None => {
                    if from == 0 {
                        (*b).widest = (size + align - 8) as u32; // narrower holes may remain
                    }
                    self.sweep.set(NO_HOLE);
                }
            }
        }
        found.is_some()
    }

    /// Finds a hole from `from` on that fits the request.
    fn hole(&self, from: usize, size: usize, align: usize) -> Option<(usize, usize)> {
        let (b, mut from) = (self.block.get(), from);
        // SAFETY: as above.
        unsafe {
            loop {
                let (at, wide) = Block::hole(b, from, size)?;
                if block::fit((*b).base.addr() + at, wide, size, align).is_some() {
                    return Some((at, wide));
                }
                from = at + wide;
            }
        }
    }

    /// Begins to fill an empty block.
    pub fn open(&self, b: *mut Block) {
        // SAFETY: the block is empty, and this thread's.
        unsafe {
            (*b).live = (*b).capacity as i32;
            (*b).threshold = i32::MIN; // never reached while it is filled
            Block::fill_all(b);
            (*b).swept = false;
            (*b).widest = 0;
            (*b).list = ListName::Open;
            self.clear();
            self.block.set(b);
            self.span(b, 0, (*b).capacity as usize);
        }
    }
}

/// A list of blocks, linked through their headers.
pub struct List {
    pub first: Cell<*mut Block>,
    last: Cell<*mut Block>,
}

impl List {
    pub const fn new() -> List {
        List { first: Cell::new(null_mut()), last: Cell::new(null_mut()) }
    }

    pub fn clear(&self) {
        self.first.set(null_mut());
        self.last.set(null_mut());
    }

    pub fn push(&self, b: *mut Block, list: ListName) {
        // SAFETY: as in the next two: a block in a list is alive and this thread's, and in one list.
        unsafe {
            (*b).list = list;
            (*b).previous = null_mut();
            (*b).next = self.first.get();
            match self.first.get() {
                first if first.is_null() => self.last.set(b),
                first => (*first).previous = b,
            }
        }
        self.first.set(b);
    }

    pub fn append(&self, b: *mut Block, list: ListName) {
        // SAFETY: as above.
        unsafe {
            (*b).list = list;
            (*b).next = null_mut();
            (*b).previous = self.last.get();
            match self.last.get() {
                last if last.is_null() => self.first.set(b),
                last => (*last).next = b,
            }
        }
        self.last.set(b);
    }

    pub fn unlink(&self, b: *mut Block) {
        // SAFETY: as above.
        unsafe {
            match (*b).previous {
                before if before.is_null() => self.first.set((*b).next),
                before => (*before).next = (*b).next,
            }
            match (*b).next {
                after if after.is_null() => self.last.set((*b).previous),
                after => (*after).previous = (*b).previous,
            }
            (*b).list = ListName::Open;
        }
    }
}
