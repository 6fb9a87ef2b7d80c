// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::{Arena, Box};
fn main() {
    let shorter = Arena::new();
    let kept = {
        let longer = Arena::new();
        Box::promote(shorter.boxed(1), &longer)
    };
    assert_eq!(*kept, 1);
}
