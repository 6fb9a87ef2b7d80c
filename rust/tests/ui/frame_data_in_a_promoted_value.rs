// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::{Arena, Box, Frames};
fn main() {
    let (longer, mut frames) = (Arena::new(), Frames::new());
    let here = frames.here();
    let names = here.boxed(vec![&*here.alloc_str("of the frame")]);
    let kept = Box::promote(names, &longer);
    frames.advance();
    assert_eq!(kept[0], "of the frame");
}
