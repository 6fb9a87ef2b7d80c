//! `Send` is not added to a trait object.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

fn main() {
    let arena = toft::Arena::new();
    let any = toft::unsize!(arena.boxed(std::rc::Rc::new(1)) => dyn std::any::Any);
    let sent = toft::unsize!(any => dyn std::any::Any + Send);
    std::thread::scope(|s| {
        s.spawn(move || drop(sent));
    });
}
