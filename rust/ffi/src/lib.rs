//! What C has: libtoft's arenas, and a user of any arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::ffi::{c_char, c_int};
use std::ptr::NonNull;

use toft::abi::Head;
use toft::Arena;

#[repr(C)]
pub struct Node {
    pub next: Option<NonNull<Node>>,
    pub value: u64,
}

extern "C" {
    pub fn toft_create() -> *mut Head;
    pub fn toft_cache_held() -> usize;
    pub fn toft_cache_trim();
    pub fn user_list(arena: *mut Head, n: u64) -> *const Node;
    pub fn user_scope(arena: *mut Head, size: usize) -> c_int;
    pub fn user_bytes(arena: *mut Head, n: usize) -> *const u8;
    pub fn user_live(arena: *mut Head) -> usize;
    pub fn watched_fill(arena: *mut Head, n: usize, size: usize, site: usize, tag: u64, name: *const c_char) -> usize;
    pub fn watched_fault(arena: *mut Head, size: usize, at: isize) -> c_int;
    pub fn watched_misuse(arena: *mut Head, size: usize) -> c_int;
}

/// An arena of libtoft's, in Rust's hands.
pub fn created_in_c() -> Arena {
    // SAFETY: new, and nobody else's; libtoft's arenas may change their thread.
    unsafe { Arena::from_raw(NonNull::new(toft_create()).expect("memory")).expect("version 1") }
}

/// The values of a list, from the newest.
///
/// # Safety
/// The list is alive.
pub unsafe fn values(list: *const Node) -> Vec<u64> {
    let mut values = vec![];
    let mut at = NonNull::new(list.cast_mut());
    while let Some(node) = at {
        // SAFETY: the caller's contract.
        let node = unsafe { node.as_ref() };
        values.push(node.value);
        at = node.next;
    }
    values
}
