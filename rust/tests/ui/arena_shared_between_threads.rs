// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let arena = Arena::new();
    std::thread::scope(|s| {
        s.spawn(|| arena.alloc(1).clone());
    });
}
