// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::{Limited, Pages, Scope};
fn main() {
    let arena = {
        let source = Limited::new(Pages::new(), 1 << 20);
        Scope::from_source(&source).unwrap()
    };
    arena.alloc(1);
}
