// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let b = {
        let arena = Arena::new();
        arena.boxed(String::from("text"))
    };
    println!("{b}");
}
