//! The borrows of a trait object must outlive it, also after `unsize!`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use std::fmt::Display;

fn extend<'x, 'y>(b: toft::Box<'x, dyn Display + 'y>) -> toft::Box<'x, dyn Display + 'static> {
    toft::unsize!(b => dyn Display + 'static)
}

fn main() {
    let arena = toft::Arena::new();
    let shown = {
        let text = String::from("ends here");
        extend(toft::unsize!(arena.boxed(text.as_str()) => dyn Display + '_))
    };
    println!("{shown}");
}
