// SPDX-License-Identifier: MIT OR Apache-2.0
fn main() {
    let x;
    {
        let arena = toft::TaskArena::new();
        x = arena.alloc(1);
    }
    *x += 1;
}
