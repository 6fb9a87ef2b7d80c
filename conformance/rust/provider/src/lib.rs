//! The provider in Rust: arenas of the crate, on the driver's source.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::ffi::{c_char, c_void};
use std::ptr::{self, NonNull};

use toft::abi::Head;
use toft::{Arena, Options, Source};

/// conformance_source.
#[repr(C)]
pub struct RawSource {
    take: unsafe extern "C" fn(*mut RawSource, usize) -> *mut c_void,
    put: unsafe extern "C" fn(*mut RawSource, *mut c_void, usize),
}

/// The driver's source, which outlives the arena and serves all threads.
struct Theirs(NonNull<RawSource>);

// SAFETY: the source takes a lock.
unsafe impl Send for Theirs {}

// SAFETY: the driver's blocks are on pages' boundaries, and stay until they are put back.
unsafe impl Source for Theirs {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        // SAFETY: the source is alive.
        NonNull::new(unsafe { (self.0.as_ref().take)(self.0.as_ptr(), size) }.cast())
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        // SAFETY: the source is alive; the block is of it.
        unsafe { (self.0.as_ref().put)(self.0.as_ptr(), block.as_ptr().cast(), size) }
    }
}

unsafe extern "C" fn make(source: *mut RawSource, budget: u64, reserve: usize) -> *mut Head {
    let mut options = Options::new().reserve(reserve);
    if budget != u64::MAX {
        options = options.budget(budget);
    }
    if let Some(source) = NonNull::new(source) {
        options = options.source(Theirs(source));
    }
    options.create().map_or(ptr::null_mut(), |arena| arena.into_raw().as_ptr())
}

unsafe extern "C" fn release(head: *mut Head) {
    // SAFETY: the driver's arena of this provider, which it does not use again.
    drop(NonNull::new(head).and_then(|head| unsafe { Arena::from_raw(head) }));
}

unsafe extern "C" fn kept() -> usize {
    toft::cache::trim();
    toft::cache::held()
}

/// conformance_provider.
#[repr(C)]
pub struct Table {
    name: *const c_char,
    make: unsafe extern "C" fn(*mut RawSource, u64, usize) -> *mut Head,
    release: unsafe extern "C" fn(*mut Head),
    kept: unsafe extern "C" fn() -> usize,
    supports: u32,
    policy: u32,
    memory: usize,
}

/// CONFORMANCE_ALL.
const ALL: u32 = 2047;

// SAFETY: constant.
unsafe impl Sync for Table {}

#[no_mangle]
pub extern "C" fn conformance_provider_table() -> &'static Table {
    static TABLE: Table =
        Table { name: c"Rust".as_ptr(), make, release, kept, supports: ALL, policy: 1, memory: usize::MAX };
    &TABLE
}
