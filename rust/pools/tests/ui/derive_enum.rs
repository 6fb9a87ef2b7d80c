// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::Columnar;

#[derive(Columnar)]
enum Shape {
    Dot,
    Circle { radius: f32 },
}

#[derive(Columnar)]
union Bits {
    float: f32,
    int: u32,
}

fn main() {}
