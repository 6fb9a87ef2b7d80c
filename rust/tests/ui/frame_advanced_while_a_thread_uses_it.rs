// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Frames;
fn main() {
    let mut frames = Frames::new();
    std::thread::scope(|threads| {
        threads.spawn(|| *frames.here().alloc(1));
        frames.advance();
    });
}
