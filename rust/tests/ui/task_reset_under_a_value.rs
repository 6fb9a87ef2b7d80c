// SPDX-License-Identifier: MIT OR Apache-2.0
fn main() {
    let mut arena = toft::TaskArena::new();
    let x = arena.alloc(1);
    arena.reset();
    *x += 1;
}
