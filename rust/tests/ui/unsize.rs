//! `unsize!`: coercions that the language does not have.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::ptr::slice_from_raw_parts_mut;

/// The length of a slice is unknown at compile time.
fn unsize_a_slice_to_an_array() {
    let arena = toft::Arena::new();
    let bytes = toft::unsize!(arena.boxed_slice([1u8, 2, 3]) => [u8; 4]); //~ E0308
    println!("{}", bytes[3]);
}

/// `Send` is not added to a trait object.
fn unsize_adds_send() {
    let arena = toft::Arena::new();
    let any = toft::unsize!(arena.boxed(std::rc::Rc::new(1)) => dyn std::any::Any);
    let sent = toft::unsize!(any => dyn std::any::Any + Send); //~ E0308
    std::thread::scope(|s| {
        s.spawn(move || drop(sent));
    });
}

/// The function behind `unsize!` is unsafe: it does not check its arguments.
fn unsize_by_a_false_length() {
    let arena = toft::Arena::new();
    let bytes = toft::Box::__unsize::<[u8]>(arena.boxed(1u8), |p| slice_from_raw_parts_mut(p, 100_000)); //~ E0133
    println!("{}", bytes[99_999]);
}

/// The borrows of a trait object must outlive it, also after `unsize!`.
fn unsize_extends_a_lifetime() {
    fn extend<'x, 'y>(b: toft::Box<'x, dyn Display + 'y>) -> toft::Box<'x, dyn Display + 'static> {
        toft::unsize!(b => dyn Display + 'static) //~ lifetime may not live long enough
    }
    let arena = toft::Arena::new();
    let shown = {
        let text = String::from("ends here");
        extend(toft::unsize!(arena.boxed(text.as_str()) => dyn Display + '_)) //~ E0597
    };
    println!("{shown}");
}

/// Three bytes are not four.
fn unsize_to_a_longer_array() {
    let arena = toft::Arena::new();
    let bytes = toft::unsize!(arena.boxed([1u8, 2, 3]) => [u8; 4]); //~ E0308
    println!("{}", bytes[3]);
}

/// Bytes are no `u32`.
fn unsize_to_a_slice_of_another_type() {
    let arena = toft::Arena::new();
    let numbers = toft::unsize!(arena.boxed_slice([1u8, 2, 3]) => [u32]); //~ E0308
    println!("{}", numbers[2]);
}

/// Numbers are no `String`.
fn unsize_to_a_type_with_pointers() {
    let arena = toft::Arena::new();
    let text: toft::Box<String> = toft::unsize!(arena.boxed([8usize, 0x1234, 8]) => String); //~ E0308
    println!("{}", *text);
}

/// A trait object is of a trait that the type has.
fn unsize_to_an_unimplemented_trait() {
    let arena = toft::Arena::new();
    let shown = toft::unsize!(arena.boxed(vec![1]) => dyn std::fmt::Display); //~ E0277
    println!("{shown}");
}

/// A byte is no `u64`.
fn unsize_to_another_type() {
    let arena = toft::Arena::new();
    let number = toft::unsize!(arena.boxed(1u8) => u64); //~ E0308
    println!("{}", *number);
}

fn main() {}
