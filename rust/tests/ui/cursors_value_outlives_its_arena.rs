// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let mut arena = Arena::new();
    let mut cursor = arena.cursor();
    let x = cursor.alloc(1);
    drop(cursor);
    arena.reset();
    *x += 1;
}
