//! Commits one misuse, on purpose, and ends: `misuse ROW`, a row of the tables in docs/checked.md. scripts/test misuse runs
//! it, and compares what was found with the table. What the borrow checker refuses is not here.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::undocumented_unsafe_blocks)] // it commits faults on purpose

use core::alloc::Layout;
use core::ptr::NonNull;

use toft::{abi, Arena, Options, Recycler};

const SIXTEEN: Layout = Layout::new::<[u8; 16]>();

fn bytes(arena: &Arena) -> *mut u8 {
    arena.alloc_layout(SIXTEEN).as_ptr()
}

fn write_at(p: *mut u8, at: isize) {
    unsafe { p.wrapping_offset(at).write_volatile(1) }
}

/// What a user in another language does.
fn free(arena: &Arena, p: *mut u8, size: usize) {
    unsafe { abi::free(arena.as_raw(), p, size) }
}

/// A recycler, and 16 bytes of it.
struct Recycled<'a>(&'a Recycler, NonNull<u8>);

impl Recycled<'_> {
    fn write(&self, at: isize) {
        write_at(self.1.as_ptr(), at);
    }

    fn free(&self, size: usize) {
        unsafe { self.0.deallocate(self.1, Layout::from_size_align_unchecked(size, 1)) }
    }
}

fn recycler(misuse: impl FnOnce(&Recycled<'_>)) {
    let recycler = Recycler::new();
    misuse(&Recycled(&recycler, recycler.alloc_layout(SIXTEEN)));
}

/// Returns whether there is such a misuse: a write to freed memory.
fn write_late(row: &str, mut arena: Arena) -> bool {
    match row {
        "write after rewind" => {
            let mark = arena.mark();
            let p = bytes(&arena);
            unsafe { arena.rewind(mark) }.unwrap();
            write_at(p, 3);
            bytes(&arena); // there again
        }
        "write after reset" => {
            let p = bytes(&arena);
            arena.reset();
            write_at(p, 3);
        }
        "write after release" => {
            let p = bytes(&arena);
            drop(arena);
            write_at(p, 3);
        }
        "lazy write after release" => {
            let lazy = toft::LazyArena::new();
            let p = bytes(lazy.get());
            drop(lazy);
            write_at(p, 3);
        }
        "write after return" => {
            let leases = toft::Leases::new();
            let lease = leases.get();
            let p = bytes(&lease);
            drop(lease);
            write_at(p, 3);
        }
        _ => return false,
    }
    true
}

/// Returns whether there is such a misuse.
fn misuse_arena(row: &str) -> bool {
    let mut arena = Arena::new();
    match row {
        "overrun" => write_at(bytes(&arena), 16),
        "underrun" => write_at(bytes(&arena), -1),
        "read after reset" => {
            let p = bytes(&arena);
            write_at(p, 3);
            arena.reset();
            if unsafe { p.add(3).read_volatile() } == 1 {
                println!("it was still there");
            }
        }
        "read before write" => {
            if unsafe { bytes(&arena).add(3).read_volatile() } == 1 {
                println!("it happened to be 1");
            }
        }
        "double free" => {
            let p = bytes(&arena);
            free(&arena, p, 16);
            free(&arena, p, 16);
        }
        "wrong size" => free(&arena, bytes(&arena), 24),
        "foreign pointer" => {
            let other = Options::new().create().unwrap();
            free(&arena, bytes(&other), 16);
        }
        "stale mark" => {
            let outer = arena.mark();
            bytes(&arena);
            let inner = arena.mark();
            unsafe { arena.rewind(outer) }.unwrap();
            bytes(&arena);
            unsafe { arena.rewind(inner) }.unwrap();
        }
        "overrun, alive at exit" => {
            write_at(bytes(&arena), 16);
            core::mem::forget(arena);
        }
        _ => return write_late(row, arena),
    }
    true
}

/// Returns whether there is such a misuse.
fn misuse_recycler(row: &str) -> bool {
    match row {
        "overrun" => recycler(|r| r.write(16)),
        "underrun" => recycler(|r| r.write(-1)),
        "late write" => recycler(|r| {
            r.free(16);
            r.write(3);
        }),
        "write after release" => {
            let recycler = Recycler::new();
            let p = recycler.alloc_layout(SIXTEEN);
            drop(recycler);
            write_at(p.as_ptr(), 3);
        }
        "double free" => recycler(|r| {
            r.free(16);
            r.free(16);
        }),
        "wrong size" => recycler(|r| r.free(24)),
        "foreign pointer" => {
            let other = Recycler::new();
            let p = other.alloc_layout(SIXTEEN);
            recycler(|r| unsafe { r.0.deallocate(p, SIXTEEN) });
        }
        "overrun, alive at exit" => recycler(|r| {
            r.write(16);
            std::process::exit(0);
        }),
        _ => return false,
    }
    true
}

fn main() {
    let row = std::env::args().nth(1).unwrap_or_default();
    let known = match row.strip_prefix("recycler ") {
        Some(row) => misuse_recycler(row),
        None => misuse_arena(&row),
    };
    if !known {
        eprintln!("misuse: what is to be done?");
        std::process::exit(2);
    }
}
