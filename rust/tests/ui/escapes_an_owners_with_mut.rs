// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::{Arena, Owner};
toft::root!(struct Numbers => Vec<&'a i32>);
fn main() {
    let mut owner = Owner::<Numbers>::new(Arena::new(), |_| vec![]);
    let n: &mut i32 = owner.with_mut(|_, arena| arena.alloc(1));
    drop(owner);
    println!("{n}");
}
