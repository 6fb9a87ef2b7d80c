//! Parcels: a lease with a value in it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cell::Cell;
use toft::{Arena, Leases};

toft::root!(struct Text => &'a str);
toft::root!(struct Count => &'a Cell<u32>);
toft::root!(struct Own => &'a Arena);
toft::root!(struct Counted => std::rc::Rc<&'a str>);

fn parcel_lets_nothing_out() {
    let leases = Leases::new();
    let parcel = leases.parcel::<Text>(|arena| arena.alloc_str("x"));
    let text: &str = parcel.with(|text| *text); //~ lifetime may not live long enough
    drop(parcel);
    println!("{text}");
}

/// A parcel of a cell is not shared by threads.
fn parcel_of_a_cell_shared() {
    let leases = Leases::new();
    let count = leases.parcel::<Count>(|arena| arena.alloc(Cell::new(1)));
    std::thread::scope(|s| {
        s.spawn(|| count.with(|count| count.set(2))); //~ E0277
    });
}

/// A parcel whose value is its arena is not shared by threads: both could allocate.
fn parcel_of_its_arena_shared() {
    let leases = Leases::new();
    let own = leases.parcel::<Own>(|arena| arena);
    std::thread::scope(|s| {
        s.spawn(|| own.with(|arena| *arena.alloc(1))); //~ E0277
    });
}

fn parcel_of_what_is_not_send() {
    static LEASES: Leases = Leases::new();
    let parcel = LEASES.parcel::<Counted>(|arena| std::rc::Rc::new(arena.alloc_str("x")));
    std::thread::spawn(move || drop(parcel)); //~ E0277
}

fn main() {}
