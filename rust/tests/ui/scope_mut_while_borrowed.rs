// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let mut arena = Arena::new();
    let x = arena.alloc(1);
    arena.scope_mut(|inner| drop(inner.boxed(2)));
    *x += 1;
}
