// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::{Arena, Owner};
toft::root!(struct Number => &'a i32);
fn main() {
    let owner = Owner::<Number>::new(Arena::new(), |arena| arena.alloc(1));
    let n: &i32 = owner.with(|n| *n);
    drop(owner);
    println!("{n}");
}
