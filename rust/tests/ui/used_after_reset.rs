// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let mut arena = Arena::new();
    let x = arena.alloc(1);
    arena.reset();
    *x += 1;
}
