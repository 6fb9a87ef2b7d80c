// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Frames;
fn main() {
    let mut frames = Frames::new();
    let scope = frames.here().scope_guard();
    frames.advance();
    scope.alloc(1);
}
