//! A source for tests: bases at multiples of 4096, a log of blocks taken and returned, and refusals on demand.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

use std::alloc::{alloc, dealloc, Layout};
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use toft::Source;

/// The number of bytes of a fresh block that are filled, so that they cannot pass for zeroes.
const FILLED: usize = if cfg!(miri) { 4096 } else { 1 << 20 };

#[derive(Default)]
pub struct Pages {
    /// The takes to refuse, counted from 1.
    pub fail_at: RefCell<Vec<u64>>,
    /// Takes, including refused ones.
    pub calls: Cell<u64>,
    /// Bytes in use.
    pub bytes: Cell<u64>,
    /// Sizes taken since the log was read.
    pub took: RefCell<Vec<usize>>,
    pub gave: RefCell<Vec<usize>>,
    out: RefCell<Vec<(NonNull<u8>, usize)>>,
}

// SAFETY: one thread at a time uses it, with its arena.
unsafe impl Send for Pages {}

impl Pages {
    pub fn new() -> Pages {
        Pages::default()
    }

    /// Refuses these takes.
    pub fn failing_at(calls: impl IntoIterator<Item = u64>) -> Pages {
        let pages = Pages::new();
        pages.fail_at.borrow_mut().extend(calls);
        pages
    }

    /// Every block in use: base and size.
    pub fn out(&self) -> Vec<(usize, usize)> {
        self.out.borrow().iter().map(|(p, n)| (p.as_ptr() as usize, *n)).collect()
    }
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 4096).expect("a block's size")
}

// SAFETY: blocks of the global allocator, aligned to 4096, valid until they are returned.
unsafe impl Source for Pages {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        self.calls.set(self.calls.get() + 1);
        if self.fail_at.borrow().contains(&self.calls.get()) {
            return None;
        }
        if size == 0 || size % 4096 != 0 {
            fault("a size that is no multiple of 4096");
        }
        // SAFETY: the size is not 0.
        let base = NonNull::new(unsafe { alloc(layout(size)) })?;
        // SAFETY: the block has that many bytes.
        unsafe { base.as_ptr().write_bytes(0xA5, size.min(FILLED)) };
        self.out.borrow_mut().push((base, size));
        self.took.borrow_mut().push(size);
        self.bytes.set(self.bytes.get() + size as u64);
        Some(base)
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        let mut out = self.out.borrow_mut();
        let Some(i) = out.iter().position(|b| *b == (block, size)) else {
            fault("a block put back that was never taken, or of another size")
        };
        out.swap_remove(i);
        self.gave.borrow_mut().push(size);
        self.bytes.set(self.bytes.get() - size as u64);
        dealloc(block.as_ptr(), layout(size));
    }
}

/// A source must not unwind.
fn fault(what: &str) -> ! {
    // Not `eprintln!`, which the test harness captures.
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("test source: {what}\n"));
    std::process::abort()
}

impl Drop for Pages {
    fn drop(&mut self) {
        let out = std::mem::take(self.out.get_mut());
        let left = out.len();
        for (block, size) in out {
            // SAFETY: the source is dropped, so its blocks are not used any more.
            unsafe { dealloc(block.as_ptr(), layout(size)) };
        }
        assert!(left == 0 || std::thread::panicking(), "{left} blocks were never put back");
    }
}
