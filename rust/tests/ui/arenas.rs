//! Arenas, their values, and the sources of their memory.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::mem::MaybeUninit;
use toft::{Arena, Limited, Options, Pages, Scope};

fn used_after_drop() {
    let arena = Arena::new();
    let x = arena.alloc_str("text");
    drop(arena); //~ E0505
    println!("{x}");
}

fn used_after_reset() {
    let mut arena = Arena::new();
    let x = arena.alloc(1);
    arena.reset(); //~ E0502
    *x += 1;
}

fn arena_shared_between_threads() {
    let arena = Arena::new();
    std::thread::scope(|s| {
        s.spawn(|| arena.alloc(1).clone()); //~ E0277
    });
}

fn rewind_is_unsafe() {
    let arena = Arena::new();
    let mark = arena.mark();
    let _ = arena.rewind(mark); //~ E0133
}

fn self_borrow_without_an_owner() {
    struct Document<'a> {
        arena: Arena,
        words: Vec<&'a str>,
    }
    let mut document = Document { arena: Arena::new(), words: vec![] };
    document.words.push(document.arena.alloc_str("word"));
    let moved = document; //~ E0505
    println!("{}", moved.words.len());
}

fn buffer_used_while_its_arena_lives() {
    let mut buffer = [MaybeUninit::uninit(); 2000];
    let arena = Arena::in_buffer(&mut buffer).unwrap();
    buffer[0] = MaybeUninit::new(1); //~ E0506
    arena.alloc(1);
}

fn owned_source_borrows() {
    let source = Limited::new(Pages::new(), 1 << 20);
    let arena = Options::new().source(&source).create().unwrap(); //~ E0597
    arena.alloc(1);
}

fn source_ends_before_its_arena() {
    let arena = {
        let source = Limited::new(Pages::new(), 1 << 20);
        Scope::from_source(&source).unwrap() //~ E0597
    };
    arena.alloc(1);
}

fn main() {}
