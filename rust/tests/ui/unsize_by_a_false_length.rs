//! The function behind `unsize!` is unsafe: it does not check its arguments.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

fn main() {
    let arena = toft::Arena::new();
    let bytes = toft::Box::__unsize::<[u8]>(arena.boxed(1u8), |p| std::ptr::slice_from_raw_parts_mut(p, 100_000));
    println!("{}", bytes[99_999]);
}
