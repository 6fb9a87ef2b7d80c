// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let arena = Arena::new();
    let mut escaped: Option<&mut i32> = None;
    arena.scope(|inner| escaped = Some(inner.alloc(1)));
    println!("{escaped:?}");
}
