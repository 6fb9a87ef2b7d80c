// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Buffered;
toft::root!(struct Text => &'a str);
fn main() {
    let mut frames = Buffered::<Text>::new(2);
    frames.frame(|now, _| now.here().alloc_str("first"));
    let kept: &str = frames.with(0, |text| *text).unwrap();
    for _ in 0..2 {
        frames.frame(|now, _| now.here().alloc_str("next"));
    }
    assert_eq!(kept, "first");
}
