// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::Columnar;

#[derive(Columnar)]
#[columns(crate = "toft", crate = "toft")]
struct Twice {
    #[columns(align = 64, align = 128)]
    a: u8,
    #[columns(group = "hot")]
    #[columns(group = "cold")]
    b: u8,
    #[columns(nested, nested)]
    c: u8,
}

fn main() {}
