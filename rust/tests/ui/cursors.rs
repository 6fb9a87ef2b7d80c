//! Cursors.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft::Arena;

fn cursor_outlives_its_arena() {
    let mut cursor = {
        let arena = Arena::new();
        arena.cursor() //~ E0597
    };
    cursor.alloc(1);
}

fn cursor_sent_to_a_thread() {
    let arena = Arena::new();
    let mut cursor = arena.cursor();
    std::thread::scope(|s| {
        s.spawn(move || *cursor.alloc(1)); //~ E0277 | E0277 | E0277
    });
}

fn value_of_a_cursor_outlives_its_arena() {
    let mut arena = Arena::new();
    let mut cursor = arena.cursor();
    let x = cursor.alloc(1);
    drop(cursor);
    arena.reset(); //~ E0502
    *x += 1;
}

fn main() {}
