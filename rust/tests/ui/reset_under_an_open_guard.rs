// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let mut arena = Arena::new();
    let scope = arena.scope_guard();
    arena.reset();
    scope.alloc(1);
}
