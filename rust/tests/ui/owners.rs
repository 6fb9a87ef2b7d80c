//! Owners: an arena with a value in it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::{cell::Cell, marker::PhantomData};
use toft::{Arena, Owner, Parcel};

toft::root!(struct Number => &'a i32);
toft::root!(struct Numbers => Vec<&'a i32>);
toft::root!(struct Count => &'a Cell<u32>);
toft::root!(struct Own => &'a Arena);

fn escapes_an_owners_new() {
    let mut out: Option<&i32> = None;
    let owner = Owner::<Number>::new(Arena::new(), |arena| {
        let n = &*arena.alloc(1);
        out = Some(n); //~ E0521
        n
    });
    drop(owner);
    println!("{out:?}");
}

fn escapes_an_owners_with() {
    let owner = Owner::<Number>::new(Arena::new(), |arena| arena.alloc(1));
    let n: &i32 = owner.with(|n| *n); //~ lifetime may not live long enough
    drop(owner);
    println!("{n}");
}

fn shorter_lived_value_in_an_owner() {
    let mut owner = Owner::<Numbers>::new(Arena::new(), |_| vec![]);
    let n = 1;
    owner.with_mut(|all, _| all.push(&n)); //~ E0597
}

/// An owner of a cell is not shared by threads.
fn owner_of_a_cell_shared() {
    let count = Owner::<Count>::new(Arena::new(), |arena| arena.alloc(Cell::new(1)));
    std::thread::scope(|s| {
        s.spawn(|| count.with(|count| count.set(2))); //~ E0277
    });
}

/// An owner whose root is its arena is not shared by threads: both could allocate.
fn owner_of_its_arena_shared() {
    let own = Owner::<Own>::new(Arena::new(), |arena| arena);
    std::thread::scope(|s| {
        s.spawn(|| own.with(|arena| *arena.alloc(1))); //~ E0277
    });
}

/// A value that may be sent for the lifetime 'static only is borrowed for a shorter one in both owners.
fn owner_of_what_is_send_for_static() {
    struct Token<'a>(&'a Cell<u8>, PhantomData<*const ()>);
    // SAFETY: the program is not run.
    unsafe impl Send for Token<'static> {}
    toft::root!(struct Tokens => Token<'a>);
    fn sent<T: Send>() {}
    sent::<Owner<Tokens>>(); //~ implementation of `Send` is not general enough
    sent::<Parcel<'static, Tokens>>(); //~ implementation of `Send` is not general enough
}

fn main() {}
