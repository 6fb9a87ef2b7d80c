//! Spans that allocations are taken from, and lists of blocks.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::ptr::null_mut;

use super::block::{Block, ListName};

/// A span, from which allocations are taken, and the blocks that it fills.
pub struct Range {
    /// Null with the limit 0, or in one block: `block`, or that of a freed piece. Blocks count it as live.
    pub cursor: Cell<*mut u8>,
    pub limit: Cell<usize>,
    /// The block that is filled, or null.
    pub block: Cell<*mut Block>,
    /// Blocks with enough free bytes for a sweep.
    pub sparse: List,
}

impl Range {
    pub const fn new() -> Range {
        Range { cursor: Cell::new(null_mut()), limit: Cell::new(0), block: Cell::new(null_mut()), sparse: List::new() }
    }

    pub fn clear(&self) {
        self.set_span(null_mut(), 0);
        self.block.set(null_mut());
        self.sparse.clear();
    }

    #[inline(always)]
    pub fn left(&self) -> usize {
        self.limit.get() - self.cursor.get().addr()
    }

    pub fn set_span(&self, p: *mut u8, size: usize) {
        self.cursor.set(p);
        self.limit.set(p.addr() + size);
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
            ((*b).list, (*b).previous, (*b).next) = (list, null_mut(), self.first.get());
            match self.first.replace(b) {
                first if first.is_null() => self.last.set(b),
                first => (*first).previous = b,
            }
        }
    }

    pub fn append(&self, b: *mut Block, list: ListName) {
        // SAFETY: as above.
        unsafe {
            ((*b).list, (*b).previous, (*b).next) = (list, self.last.get(), null_mut());
            match self.last.replace(b) {
                last if last.is_null() => self.first.set(b),
                last => (*last).next = b,
            }
        }
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
