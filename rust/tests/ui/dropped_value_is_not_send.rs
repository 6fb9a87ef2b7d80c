// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let arena = Arena::new();
    arena.alloc_drop(std::rc::Rc::new(1));
}
