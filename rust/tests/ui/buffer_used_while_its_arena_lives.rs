// SPDX-License-Identifier: MIT OR Apache-2.0
use std::mem::MaybeUninit;
use toft::Arena;
fn main() {
    let mut buffer = [MaybeUninit::uninit(); 2000];
    let arena = Arena::in_buffer(&mut buffer).unwrap();
    buffer[0] = MaybeUninit::new(1);
    arena.alloc(1);
}
