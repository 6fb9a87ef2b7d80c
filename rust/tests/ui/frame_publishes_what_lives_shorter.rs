// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Buffered;
toft::root!(struct Text => &'a str);
fn main() {
    let mut frames = Buffered::<Text>::new(2);
    {
        let text = String::from("shorter");
        frames.frame(|_, _| &text);
    }
    frames.with(0, |text| assert_eq!(*text, "shorter"));
}
