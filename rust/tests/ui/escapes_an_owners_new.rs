// SPDX-License-Identifier: MIT OR Apache-2.0
use toft::{Arena, Owner};
toft::root!(struct Number => &'a i32);
fn main() {
    let mut out: Option<&i32> = None;
    let owner = Owner::<Number>::new(Arena::new(), |arena| {
        let n = &*arena.alloc(1);
        out = Some(n);
        n
    });
    drop(owner);
    println!("{out:?}");
}
