// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let arena = Arena::new();
    let escaped = arena.scope(|inner| inner.alloc(1));
    *escaped += 1;
}
