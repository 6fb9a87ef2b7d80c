// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let arena = Arena::new();
    let scope = arena.scope_guard();
    drop(arena);
    scope.alloc(1);
}
