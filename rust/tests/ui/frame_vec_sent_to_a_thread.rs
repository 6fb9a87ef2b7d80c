// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Frames;
fn main() {
    let frames = Frames::new();
    let mut list = frames.here().vec();
    std::thread::scope(|threads| {
        threads.spawn(move || list.push(1));
    });
}
