// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::Columnar;

#[derive(Columnar)]
struct Inner(u8);

#[derive(Columnar)]
struct Outer {
    #[columns(nested, align = 64)]
    a: Inner,
    #[columns(group = "hot", nested)]
    b: Inner,
}

fn main() {}
