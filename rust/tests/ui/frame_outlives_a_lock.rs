// SPDX-License-Identifier: MIT OR Apache-2.0
use std::sync::RwLock;
use toft::Frames;
fn main() {
    let frames = RwLock::new(Frames::new());
    let number = frames.read().unwrap().here().alloc(1);
    frames.write().unwrap().advance();
    *number += 1;
}
