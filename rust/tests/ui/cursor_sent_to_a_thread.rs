// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let arena = Arena::new();
    let mut cursor = arena.cursor();
    std::thread::scope(|s| {
        s.spawn(move || *cursor.alloc(1));
    });
}
