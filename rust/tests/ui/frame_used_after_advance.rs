// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Frames;
fn main() {
    let mut frames = Frames::new();
    let number = frames.here().alloc(1);
    frames.advance();
    *number += 1;
}
