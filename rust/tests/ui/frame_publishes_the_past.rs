// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Buffered;
toft::root!(struct Text => &'a str);
fn main() {
    let mut frames = Buffered::<Text>::new(2);
    frames.frame(|_, past| past.with(1, |text| *text).unwrap_or(""));
}
