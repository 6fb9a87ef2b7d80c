// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::Columnar;

#[derive(Columnar)]
#[repr(C, packed(2))]
struct Packed {
    a: u8,
    b: u32,
}

fn main() {}
