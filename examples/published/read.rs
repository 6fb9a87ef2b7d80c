//! Reads a published list in Rust, without a crate: read PATH.
// SPDX-License-Identifier: MIT OR Apache-2.0
use std::ffi::{c_char, c_int, c_void, CStr};
use std::os::{fd::AsRawFd, unix::fs::FileExt};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{env, fs};

extern "C" {
    fn mmap(at: *mut c_void, size: usize, access: c_int, flags: c_int, file: c_int, from: i64) -> *mut c_void;
}
const READ: c_int = 1;
const SHARED_FIXED_NOREPLACE: c_int = 0x10_0001;
const ROOT: usize = 4096 + 64;

#[repr(C)]
struct Entry {
    older: *const Entry,
    name: *const c_char,
    key: i64,
}

#[repr(C)]
struct Book {
    generation: u64,
    root: u64,
    count: i64,
    sum: i64,
    newest: *const Entry,
}

/// The address of the mapping, which stays.
fn open(path: &str, layout: &str) -> Result<*mut c_void, String> {
    let (file, mut header) = (fs::File::open(path).map_err(|e| format!("{path}: {e}"))?, [0; 64]);
    let is_read = file.read_exact_at(&mut header, 0).is_ok() && &header[..8] == b"\x89TOFTP1\n";
    let named = CStr::from_bytes_until_nul(&header[32..]).is_ok_and(|name| name.to_bytes() == layout.as_bytes());
    let word = |at: usize| u64::from_ne_bytes(header[at..at + 8].try_into().unwrap()) as usize;
    let (at, size) = (word(8) as *mut c_void, word(16));
    if !is_read || !named || file.metadata().map_or(0, |m| m.len()) != size as u64 || size <= ROOT {
        return Err(format!("{path}: no whole file of this version and layout"));
    }
    // SAFETY: the flags replace no mapping, and the file has this size.
    if unsafe { mmap(at, size, READ, SHARED_FIXED_NOREPLACE, file.as_raw_fd(), 0) } != at {
        return Err(format!("{path}: its {size} bytes at {at:?} are taken here"));
    }
    Ok(at)
}

fn main() -> Result<(), String> {
    let map = open(&env::args().nth(1).ok_or("read PATH")?, "book 1")?;
    // SAFETY: the layout names these structs, and the writer is trusted.
    let book = unsafe { &*(*map.byte_add(ROOT).cast::<AtomicPtr<Book>>()).load(Ordering::Acquire) };
    let (mut next, mut count, mut sum) = (book.newest, 0, 0);
    while let Some(e) = unsafe { next.as_ref() } {
        let name = unsafe { CStr::from_ptr(e.name) }.to_bytes();
        sum += e.key + name.iter().map(|&byte| i64::from(byte)).sum::<i64>();
        (next, count) = (e.older, count + 1);
    }
    assert_eq!((count, sum), (book.count, book.sum));
    println!("generation {}, root {}, sum {sum}", book.generation, book.root);
    Ok(())
}
