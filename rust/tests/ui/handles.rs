//! Counted handles of an arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft::{Arena, Counted, RcArena};

fn sent_to_a_thread() {
    let arena = RcArena::default();
    std::thread::spawn(move || *arena.alloc(1)); //~ E0277
}

fn value_after_its_handle() {
    let arena = RcArena::default();
    let other = arena.clone();
    let n = other.alloc(1);
    drop(other); //~ E0505
    println!("{n}");
}

fn reset_under_a_value() {
    let mut arena = RcArena::default();
    let n = arena.alloc(1);
    RcArena::get_mut(&mut arena).unwrap().reset(); //~ E0502
    println!("{n}");
}

fn reset_through_a_handle() {
    let arena = RcArena::default();
    arena.reset(); //~ E0596
}

/// An arena that one thread owns is not shared by an atomic counter.
fn arena_shared_by_threads() {
    let arena: Counted<Arena, std::sync::atomic::AtomicUsize> = Counted::default();
    std::thread::spawn(move || *arena.alloc(1)); //~ E0277
}

fn main() {}
