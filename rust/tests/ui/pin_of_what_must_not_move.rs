// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let arena = Arena::new();
    let b = arena.boxed(std::marker::PhantomPinned);
    let _ = toft::Box::into_pin(b);
}
