//! The fast paths of recyclers and of parts of shared arenas, each as a function: rust/asm/check-fast-path counts
//! their instructions.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::Layout;
use std::ptr::{null_mut, NonNull};

use toft::{Local, Recycler};

const NODE: Layout = Layout::new::<[u64; 6]>();

#[no_mangle]
pub extern "C" fn recycler_alloc(r: &Recycler) -> *mut u8 {
    r.try_alloc_layout(NODE).map_or(null_mut(), NonNull::as_ptr)
}

#[no_mangle]
pub unsafe extern "C" fn recycler_free(r: &Recycler, p: NonNull<u8>) {
    // SAFETY: the caller's contract.
    unsafe { r.deallocate(p, NODE) }
}

#[no_mangle]
pub extern "C" fn local_alloc(local: &Local<'_>) -> *mut u8 {
    local.try_alloc_layout(NODE).map_or(null_mut(), NonNull::as_ptr)
}
