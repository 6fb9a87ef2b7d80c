// SPDX-License-Identifier: MIT OR Apache-2.0
use toft_pools::Columnar;

#[derive(Columnar)]
struct NamedLikeAField {
    #[columns(group = "x")]
    a: u8,
    x: u8,
}

#[derive(Columnar)]
struct NoName {
    #[columns(group = "Hot")]
    a: u8,
    #[columns(group = "not a name")]
    b: u8,
    #[columns(group = "type")]
    c: u8,
    #[columns(group = 1)]
    d: u8,
}

#[derive(Columnar)]
struct NamedLikeAView {
    #[columns(group = "slices_mut")]
    a: u8,
    #[columns(group = "hot")]
    b: u8,
    #[columns(group = "hot_")]
    c: u8,
}

#[derive(Columnar)]
struct Tuple(#[columns(group = "hot")] u8, u8);

fn main() {}
