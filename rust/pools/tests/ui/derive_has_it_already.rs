// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::Columnar;

#[derive(Columnar)]
#[columns(derive(Hash, Clone))]
struct Point {
    x: u8,
}

fn main() {}
