//! The calls of an arena, by the inline paths or by the table, and cleanups that find the arena closed.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

use toft::abi::{self, Head, Mark, Ops, Range};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    Inline,
    Table,
    Quiet,
}

/// Values that no provider supports.
pub const NO_POLICY: u32 = 99;
pub const NO_SETTING: u32 = 99;

#[derive(Clone, Copy)]
pub struct Calls {
    pub head: NonNull<Head>,
    pub how: How,
}

pub fn or_null(p: Option<NonNull<u8>>) -> *mut u8 {
    p.map_or(ptr::null_mut(), NonNull::as_ptr)
}

impl Calls {
    pub fn at(&self) -> *mut Head {
        self.head.as_ptr()
    }

    pub fn table(&self) -> &'static Ops {
        // SAFETY: the arena is alive; its table is static.
        unsafe { &*(*self.at()).ops.get() }
    }

    /// Whether the inline paths accept the request: they require a valid layout.
    pub fn is_layout(&self, n: usize, align: usize) -> bool {
        self.how != How::Table && std::alloc::Layout::from_size_align(n, align).is_ok()
    }

    pub fn alloc(&self, n: usize, align: usize, zero: bool) -> *mut u8 {
        // SAFETY: a live arena of this thread.
        unsafe {
            if zero || !(self.is_layout(n, align) || (self.how != How::Table && align == 8)) {
                (self.table().alloc)(self.at(), n, align, if zero { abi::ZERO } else { 0 }, 0).cast()
            } else if align == 8 {
                or_null(abi::alloc(self.head, n))
            } else {
                or_null(abi::alloc_aligned(self.head, n, align))
            }
        }
    }

    pub fn resize(&self, p: *mut u8, old: usize, n: usize, align: usize, flags: u32) -> *mut u8 {
        // SAFETY: a live arena; p is its allocation, or null with size 0.
        unsafe {
            if flags != 0 || !self.is_layout(n, align) {
                (self.table().resize)(self.at(), p.cast(), old, n, align, flags, 0).cast()
            } else {
                or_null(abi::resize(self.head, p, old, n, align))
            }
        }
    }

    pub fn free(&self, p: *mut u8, n: usize) {
        // SAFETY: a live arena; p is its allocation, and not used any more.
        unsafe {
            if self.how != How::Table {
                abi::free(self.head, p, n);
            } else if let Some(free) = self.table().free {
                free(self.at(), p.cast(), n);
            }
        }
    }

    pub fn mark(&self) -> Mark {
        // SAFETY: a live arena.
        unsafe { abi::mark(self.head) }
    }

    pub fn rewind(&self, mark: Mark) -> c_int {
        // SAFETY: a live arena; allocations after the mark are not used any more.
        unsafe {
            if self.how == How::Table {
                (self.table().rewind)(self.at(), mark.cursor, mark.epoch)
            } else {
                abi::rewind(self.head, mark)
            }
        }
    }

    pub fn reset(&self, policy: u32, keep: usize) -> c_int {
        // SAFETY: a live arena; none of its allocations are used any more.
        unsafe { (self.table().reset)(self.at(), policy, keep) }
    }

    pub fn claim(&self, range: &mut Range, n: usize, align: usize) -> *mut u8 {
        // SAFETY: a live arena; the range is of its claims or zeroed.
        unsafe { (self.table().claim)(self.at(), range, n, align).cast() }
    }

    pub fn give(&self, range: &mut Range) -> c_int {
        // SAFETY: a live arena.
        unsafe { (self.table().give)(self.at(), range) }
    }

    pub fn set(&self, what: u32, value: u64) -> c_int {
        // SAFETY: a live arena.
        unsafe { (self.table().set)(self.at(), what, value, ptr::null(), 0) }
    }

    pub fn contains(&self, p: *const u8) -> bool {
        // SAFETY: a live arena.
        unsafe { (self.table().contains)(self.at(), p.cast()) == 1 }
    }
}

// ---- cleanups ----

/// The argument of a cleanup.
pub struct Cleaner {
    pub id: String,
    pub calls: Calls,
    pub ran: *const RefCell<Vec<String>>,
}

pub unsafe extern "C" fn on_cleanup(arg: *mut c_void) {
    let cleaner = &*arg.cast::<Cleaner>();
    let (c, table) = (&cleaner.calls, cleaner.calls.table());
    let mut range = Range::EMPTY;
    let closed = c.alloc(8, 8, false).is_null()
        && c.rewind(c.mark()) == abi::EBUSY
        && c.reset(abi::KEEP_RECENT, 0) == abi::EBUSY
        && c.reset(NO_POLICY, 0) == abi::EARG
        && (table.cleanup)(c.at(), Some(on_cleanup), arg).is_null()
        && c.claim(&mut range, 0, 8).is_null()
        && c.set(abi::SET_BUDGET, 0) == abi::EBUSY
        && c.set(NO_SETTING, 0) == abi::ENOSYS;
    (table.trim)(c.at(), 0);
    (table.release)(c.at()); // ignored
    (*cleaner.ran).borrow_mut().push(if closed { cleaner.id.clone() } else { format!("{}, open", cleaner.id) });
}
