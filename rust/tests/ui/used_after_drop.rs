// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let arena = Arena::new();
    let x = arena.alloc_str("text");
    drop(arena);
    println!("{x}");
}
