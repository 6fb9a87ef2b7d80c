// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let text = {
        let arena = Arena::new();
        let pack = arena.pack();
        pack.alloc_str("text")
    };
    println!("{text}");
}
