//! Empty `Vec`s of allocator-api2 as boxed slices: they have no memory, and are deallocated nevertheless.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![cfg(feature = "allocator-api2")]

use allocator_api2::alloc::Allocator;
use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;

#[repr(align(512))]
struct Aligned(#[allow(dead_code)] u8);

fn empty_slices<A: Allocator + Copy>(a: A) {
    let kept = Box::new_in(7u64, a);
    for _ in 0..3 {
        drop(Vec::<u8, A>::new_in(a).into_boxed_slice());
        drop(Vec::<u64, A>::with_capacity_in(10, a).into_boxed_slice());
        drop(Vec::<Aligned, A>::new_in(a).into_boxed_slice());
        let mut shrunk = Vec::with_capacity_in(10, a);
        shrunk.push(1u64);
        shrunk.pop();
        shrunk.shrink_to_fit();
        drop(shrunk);
        drop(Box::new_in((), a));
        assert_eq!(*Box::new_in(9u64, a) + *kept, 16);
    }
}

#[test]
fn empty_boxed_slices_are_deallocated() {
    let recycler = toft::Recycler::new();
    empty_slices(&recycler);
    assert_eq!(recycler.stats().live, 0);
    let recycler = toft::SyncRecycler::new();
    empty_slices(&recycler);
    assert_eq!(recycler.stats().live, 0);
    empty_slices(&toft::Arena::new());
    let shared = toft::SharedArena::new();
    empty_slices(&shared);
    empty_slices(&shared.local());
}
