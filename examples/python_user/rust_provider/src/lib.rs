//! Arenas of the crate for any caller of C functions. Each is released through its own table.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::ffi::c_void;
use std::ptr::{null_mut, NonNull};

use toft::abi::Head;
use toft::{Options, Source};

type Take = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Put = unsafe extern "C" fn(*mut c_void, *mut c_void, usize);

/// A source made of two C functions without a context.
struct Functions(Take, Put);

// SAFETY: the caller of `rust_arena_on` guarantees the contract of a source.
unsafe impl Source for Functions {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        // SAFETY: the caller's function.
        NonNull::new(unsafe { (self.0)(null_mut(), size) }).map(NonNull::cast)
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        // SAFETY: the caller's function, and a block of it.
        unsafe { (self.1)(null_mut(), block.as_ptr().cast(), size) }
    }
}

fn made(options: Options) -> *mut Head {
    options.create().map_or(null_mut(), |arena| arena.into_raw().as_ptr())
}

/// An arena on the heap, or null.
#[no_mangle]
pub extern "C" fn rust_arena() -> *mut Head {
    made(Options::new())
}

/// An arena on a source; a budget of 0 means none. Null: out of memory.
///
/// # Safety
/// The functions must satisfy the contract of `toft::Source`, and outlive the arena.
#[no_mangle]
pub unsafe extern "C" fn rust_arena_on(take: Take, put: Put, budget: u64, reserve: usize) -> *mut Head {
    let options = Options::new().source(Functions(take, put)).reserve(reserve);
    made(if budget == 0 { options } else { options.budget(budget) })
}
