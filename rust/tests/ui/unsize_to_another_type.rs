//! A byte is no `u64`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

fn main() {
    let arena = toft::Arena::new();
    let number = toft::unsize!(arena.boxed(1u8) => u64);
    println!("{}", *number);
}
