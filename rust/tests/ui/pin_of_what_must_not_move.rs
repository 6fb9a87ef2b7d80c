// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::Arena;
fn main() {
    let arena = Arena::new();
    let b = arena.boxed(std::marker::PhantomPinned);
    let _: std::pin::Pin<toft::Box<_>> = b.into();
}
