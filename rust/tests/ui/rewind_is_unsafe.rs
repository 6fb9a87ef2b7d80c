// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let arena = Arena::new();
    let mark = arena.mark();
    let _ = arena.rewind(mark);
}
