//! A parcel whose value is its arena is not shared by threads: both could allocate.
// SPDX-License-Identifier: MIT OR Apache-2.0

toft::root!(struct Own => &'a toft::Arena);

fn main() {
    let leases = toft::Leases::new();
    let own = leases.parcel::<Own>(|arena| arena);
    std::thread::scope(|s| {
        s.spawn(|| own.with(|arena| *arena.alloc(1)));
    });
}
