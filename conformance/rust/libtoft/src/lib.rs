//! Bindings for libtoft's arenas.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

use toft::abi::Head;
use toft::Arena;

/// The library as a file, for programs that a test compiles.
pub const ARCHIVE: &str = concat!(env!("OUT_DIR"), "/libtoft_c.a");

unsafe extern "C" {
    fn toft_create() -> *mut Head;
    pub fn toft_set_metered(arena: *mut Head, on: c_int) -> c_int;
    pub fn toft_set_tag_budget(arena: *mut Head, path: *const c_char, bytes: u64) -> c_int;
    pub fn toft_tag_push_slow(arena: *mut Head, name: *const c_char) -> c_int;
    pub fn toft_tag_pop_slow(arena: *mut Head);
    pub fn toft_phase_begin_slow(arena: *mut Head, name: *const c_char) -> Phase;
    pub fn toft_phase_end_slow(arena: *mut Head, phase: *mut Phase);
    pub fn toft_snapshot_text(arena: *mut Head, o: *const SnapshotOptions, text: *mut c_char, size: usize) -> usize;
}

/// Creates an arena of libtoft, owned by Rust.
pub fn created_in_c() -> Arena {
    // SAFETY: it is new, and has no other owner; libtoft's arenas may move between threads.
    unsafe { Arena::from_raw(NonNull::new(toft_create()).expect("memory")).expect("version 1") }
}

/// libtoft's `toft_phase`.
#[repr(C)]
pub struct Phase {
    pub name: *const c_char,
    pub allocated: u64,
    pub live: u64,
}

/// Options of libtoft's snapshots.
#[repr(C)]
pub struct SnapshotOptions {
    pub size: usize,
    pub flags: u32,
    pub symbolizer: *const c_void,
    pub symbolizer_arg: *const c_void,
}

/// The snapshot of an arena of libtoft. Bit 0 of the flags clears the counts; bit 1 resolves symbols with libdw.
pub fn snapshot_in_c(arena: &Arena, flags: u32) -> String {
    let options = SnapshotOptions {
        size: size_of::<SnapshotOptions>(),
        flags,
        symbolizer: std::ptr::null(),
        symbolizer_arg: std::ptr::null(),
    };
    let mut text = vec![0u8; 4 << 20];
    // SAFETY: a live arena, and a buffer of that size.
    let n = unsafe { toft_snapshot_text(arena.as_raw().as_ptr(), &options, text.as_mut_ptr().cast(), text.len()) };
    assert!(n != 0 && n < text.len());
    text.truncate(n);
    String::from_utf8(text).expect("UTF-8")
}
