//! Collections and text.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft::{Arena, Frames};

fn packed_text_outlives_its_arena() {
    let text = {
        let arena = Arena::new();
        let pack = arena.pack(); //~ E0597
        pack.alloc_str("text")
    };
    println!("{text}");
}

/// A splice allocates when it is dropped, and its arena belongs to one thread.
fn splice_sent_to_a_thread() {
    let arena = Arena::new();
    let mut v = arena.vec_from_iter([1, 2]);
    let splice = v.splice(..1, [3, 4, 5]);
    std::thread::scope(|threads| {
        threads.spawn(move || drop(splice)); //~ E0277
    });
}

fn vec_of_a_frame_used_after_advance() {
    let mut frames = Frames::new();
    let mut list = frames.here().vec();
    list.push(1);
    frames.advance(); //~ E0502
    list.push(2);
}

fn vec_of_a_frame_sent_to_a_thread() {
    let frames = Frames::new();
    let mut list = frames.here().vec();
    std::thread::scope(|threads| {
        threads.spawn(move || list.push(1)); //~ E0277
    });
}

fn main() {}
