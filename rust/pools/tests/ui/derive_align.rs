// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::Columnar;

#[derive(Columnar)]
struct Aligned {
    #[columns(align = 48)]
    a: u8,
    #[columns(align = 0)]
    b: u8,
    #[columns(align = 1073741824)]
    c: u8,
    #[columns(align = "64")]
    d: u8,
    #[columns(align)]
    e: u8,
    #[columns(align = -64)]
    f: u8,
}

fn main() {}
