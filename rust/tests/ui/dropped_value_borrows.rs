// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let text = String::from("text");
    let arena = Arena::new();
    arena.alloc_drop(vec![text.as_str()]);
}
