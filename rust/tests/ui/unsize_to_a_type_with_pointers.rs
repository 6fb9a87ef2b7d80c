//! Numbers are no `String`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

fn main() {
    let arena = toft::Arena::new();
    let text: toft::Box<String> = toft::unsize!(arena.boxed([8usize, 0x1234, 8]) => String);
    println!("{}", *text);
}
