//! Memory that fails at a chosen request or at large ones, and records the allocations that are out.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use core::alloc::Layout;
use core::ptr::NonNull;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use toft::{AllocError, Heap, Memory};

#[derive(Default)]
pub struct Failing {
    /// The number of requests that are served before one fails; `None`: all.
    pub left: Cell<Option<usize>>,
    /// Larger requests fail; `None`: no limit.
    pub largest: Cell<Option<usize>>,
    pub failed: Cell<usize>,
    out: RefCell<HashMap<usize, Layout>>,
}

impl Failing {
    pub fn new() -> Failing {
        Failing::default()
    }

    pub fn after(requests: usize) -> Failing {
        Failing { left: Cell::new(Some(requests)), ..Failing::default() }
    }

    pub fn bytes_out(&self) -> usize {
        self.out.borrow().values().map(Layout::size).sum()
    }

    fn serves(&self, layout: Layout) -> bool {
        if self.largest.get().is_some_and(|largest| layout.size() > largest) {
            self.failed.set(self.failed.get() + 1);
            return false;
        }
        match self.left.get() {
            Some(0) => {
                self.failed.set(self.failed.get() + 1);
                false
            }
            Some(n) => {
                self.left.set(Some(n - 1));
                true
            }
            None => true,
        }
    }
}

/// Guard bytes behind each allocation, which are verified when it is freed. Miri detects such writes itself.
const GUARD: usize = if cfg!(miri) { 0 } else { 64 };

fn guarded(layout: Layout) -> Layout {
    Layout::from_size_align(layout.size() + GUARD, layout.align()).unwrap()
}

/// By reference: a collection and its test share it.
#[derive(Clone, Copy)]
pub struct Shared<'a>(pub &'a Failing);

// SAFETY: memory of the heap.
unsafe impl Memory for Shared<'_> {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        assert_ne!(layout.size(), 0);
        let p = self.0.serves(layout).then(|| Heap.allocate(guarded(layout))).ok_or(AllocError)??;
        self.0.out.borrow_mut().insert(p.as_ptr() as usize, layout);
        // Overwritten, so that stale bytes cannot pass for written ones.
        // SAFETY: it has that many bytes.
        unsafe { p.as_ptr().write_bytes(0xA5, guarded(layout).size()) };
        Ok(p)
    }

    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        let was = self.0.out.borrow_mut().remove(&(p.as_ptr() as usize));
        assert_eq!(was, Some(layout), "freed with another layout, or twice");
        // SAFETY: returned by `allocate`.
        unsafe {
            let guard = core::slice::from_raw_parts(p.as_ptr().add(layout.size()), GUARD);
            assert!(guard.iter().all(|byte| *byte == 0xA5), "written behind the allocation");
            Heap.deallocate(p, guarded(layout));
        }
    }
}
