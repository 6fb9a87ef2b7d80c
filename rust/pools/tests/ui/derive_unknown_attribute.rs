// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::Columnar;

#[derive(Columnar)]
#[columns(aligned)]
struct Struct {
    #[columns(hot)]
    x: f32,
    #[columns(derive(Hash))]
    y: f32,
    #[columns]
    z: f32,
}

#[derive(Columnar)]
#[columns(align = 64)]
struct Misplaced {
    #[columns(crate = "toft")]
    x: f32,
}

fn main() {}
