// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let mut arena = Arena::new();
    let escaped = arena.scope_mut(|inner| inner.alloc(1));
    *escaped += 1;
}
