//! A trait object is of a trait that the type has.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

fn main() {
    let arena = toft::Arena::new();
    let shown = toft::unsize!(arena.boxed(vec![1]) => dyn std::fmt::Display);
    println!("{shown}");
}
