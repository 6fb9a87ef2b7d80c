//! The length of a slice is unknown at compile time.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

fn main() {
    let arena = toft::Arena::new();
    let bytes = toft::unsize!(arena.boxed_slice([1u8, 2, 3]) => [u8; 4]);
    println!("{}", bytes[3]);
}
