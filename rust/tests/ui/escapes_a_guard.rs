// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let arena = Arena::new();
    let scope = arena.scope_guard();
    let x = scope.alloc(1);
    drop(scope);
    *x += 1;
}
