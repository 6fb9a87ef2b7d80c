// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Frames;
fn main() {
    let mut frames = Frames::new();
    let mut list = frames.here().vec();
    list.push(1);
    frames.advance();
    list.push(2);
}
