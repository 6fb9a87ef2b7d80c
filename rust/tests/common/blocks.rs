//! A source whose blocks begin at a given offset, that fails on demand, and records the blocks that it has out.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code, clippy::field_reassign_with_default)]

use std::alloc::{alloc, dealloc, Layout};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::Mutex;

use toft::Source;

#[derive(Default)]
pub struct Blocks {
    /// The n-th block begins at n times this number of 64-byte lines behind a multiple of 32 KiB.
    pub shift: usize,
    /// Number of takes that are served before one fails; 0: all.
    pub fails: AtomicUsize,
    /// Whether later takes fail too, until `fails` is 0.
    pub lasting: AtomicBool,
    pub failed: AtomicUsize,
    /// Set during a call: several threads may call, but one at a time.
    pub alone: AtomicBool,
    taken: AtomicUsize,
    out: Mutex<HashMap<usize, (usize, usize)>>,
}

const UNIT: usize = 32 << 10;

impl Blocks {
    pub fn shifted(shift: usize) -> Blocks {
        let mut blocks = Blocks::default();
        blocks.shift = shift;
        blocks
    }

    pub fn bytes(&self) -> usize {
        self.out.lock().unwrap().values().map(|(_, size)| size).sum()
    }

    pub fn takes(&self) -> usize {
        self.taken.load(SeqCst)
    }
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size + UNIT, UNIT).unwrap()
}

// SAFETY: blocks of the global allocator, each at another offset of its memory.
unsafe impl Source for Blocks {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        assert!(!self.alone.swap(true, SeqCst), "two at a time");
        assert!(size != 0 && size % 4096 == 0, "{size}");
        let taken = self.taken.fetch_add(1, SeqCst);
        let fails = self.fails.load(SeqCst) == 1;
        if !(fails && self.lasting.load(SeqCst)) {
            self.fails.store(self.fails.load(SeqCst).saturating_sub(1), SeqCst);
        }
        let block = if fails {
            self.failed.fetch_add(1, SeqCst);
            None
        } else {
            let skip = 64 * (taken * self.shift % (UNIT / 64));
            // SAFETY: the size is not 0; the offset is within the memory.
            unsafe {
                let base = NonNull::new(alloc(layout(size))).unwrap();
                let block = base.add(skip);
                block.as_ptr().write_bytes(0xA5, size);
                self.out.lock().unwrap().insert(block.as_ptr() as usize, (base.as_ptr() as usize, size));
                Some(block)
            }
        };
        self.alone.store(false, SeqCst);
        block
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        assert!(!self.alone.swap(true, SeqCst), "two at a time");
        let (base, had) = self.out.lock().unwrap().remove(&(block.as_ptr() as usize)).expect("not of this source");
        assert_eq!(had, size);
        // SAFETY: allocated with this layout; `block` has the base's provenance.
        unsafe { dealloc(block.as_ptr().sub(block.as_ptr() as usize - base), layout(size)) };
        self.alone.store(false, SeqCst);
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.bytes(), 0, "blocks were not put back");
        }
    }
}
