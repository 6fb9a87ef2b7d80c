//! A parcel of a cell is not shared by threads.
// SPDX-License-Identifier: MIT OR Apache-2.0

toft::root!(struct Count => &'a std::cell::Cell<u32>);

fn main() {
    let leases = toft::Leases::new();
    let count = leases.parcel::<Count>(|arena| arena.alloc(std::cell::Cell::new(1)));
    std::thread::scope(|s| {
        s.spawn(|| count.with(|count| count.set(2)));
    });
}
