//! Boxes, and values that an arena drops.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft::{Arena, Box};

fn box_outlives_its_arena() {
    let b = {
        let arena = Arena::new();
        arena.boxed(String::from("text")) //~ E0597
    };
    println!("{b}");
}

fn dropped_value_borrows() {
    let text = String::from("text");
    let arena = Arena::new();
    arena.alloc_drop(vec![text.as_str()]); //~ E0597
}

fn dropped_value_is_not_send() {
    let arena = Arena::new();
    arena.alloc_drop(std::rc::Rc::new(1)); //~ E0277
}

fn pin_of_what_must_not_move() {
    let arena = Arena::new();
    let b = arena.boxed(std::marker::PhantomPinned);
    let _: std::pin::Pin<Box<_>> = b.into(); //~ E0277
}

fn pinned_value_borrows() {
    let text = String::from("text");
    let arena = Arena::new();
    arena.alloc_pin(vec![&text]); //~ E0597
}

fn promoted_value_outlives_its_arena() {
    let shorter = Arena::new();
    let kept = {
        let longer = Arena::new();
        Box::promote(shorter.boxed(1), &longer) //~ E0597
    };
    assert_eq!(*kept, 1);
}

fn main() {}
