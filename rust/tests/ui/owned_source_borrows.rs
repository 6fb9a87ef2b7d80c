// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::{Limited, Options, Pages};
fn main() {
    let source = Limited::new(Pages::new(), 1 << 20);
    let arena = Options::new().source(&source).create().unwrap();
    arena.alloc(1);
}
