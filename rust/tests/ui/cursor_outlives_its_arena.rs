// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let mut cursor = {
        let arena = Arena::new();
        arena.cursor()
    };
    cursor.alloc(1);
}
