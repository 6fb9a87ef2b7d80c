//! An owner whose root is its arena is not shared by threads: both could allocate.
// SPDX-License-Identifier: MIT OR Apache-2.0

toft::root!(struct Own => &'a toft::Arena);

fn main() {
    let own = toft::Owner::<Own>::new(toft::Arena::new(), |arena| arena);
    std::thread::scope(|s| {
        s.spawn(|| own.with(|arena| *arena.alloc(1)));
    });
}
