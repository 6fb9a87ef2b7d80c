// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Buffered;
toft::root!(struct Text => &'a str);
fn main() {
    let mut frames = Buffered::<Text>::new(2);
    let mut escaped = "";
    frames.frame(|now, _| {
        escaped = now.here().alloc_str("of the frame");
        escaped
    });
    assert_eq!(escaped, "of the frame");
}
