//! Bytes are no `u32`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

fn main() {
    let arena = toft::Arena::new();
    let numbers = toft::unsize!(arena.boxed_slice([1u8, 2, 3]) => [u32]);
    println!("{}", numbers[2]);
}
