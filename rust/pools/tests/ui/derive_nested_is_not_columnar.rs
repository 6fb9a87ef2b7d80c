// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::Columnar;

struct Plain(u8);

#[derive(Columnar)]
struct Outer {
    #[columns(nested)]
    plain: Plain,
    x: f32,
}

fn main() {}
