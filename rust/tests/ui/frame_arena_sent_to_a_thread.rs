// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Frames;
fn main() {
    let frames = Frames::new();
    let here = frames.here();
    std::thread::scope(|threads| {
        threads.spawn(|| *here.alloc(1));
    });
}
