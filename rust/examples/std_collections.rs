//! The standard library's collections in an arena, with a nightly compiler: Vec, VecDeque, BTreeMap, Box, Rc.
//!
//!     cargo +nightly run --example std_collections --features nightly
// SPDX-License-Identifier: MIT OR Apache-2.0
#![feature(allocator_api)]
#![allow(stable_features)] // parts of it may be stable
#![feature(btreemap_alloc)]

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use toft::{Arena, RcArena};

/// A value that keeps its arena: the arena is dropped with the last `Rc`.
fn kept(number: u64) -> Rc<u64, RcArena> {
    Rc::new_in(number, RcArena::default())
}

fn main() {
    let clone = kept(7).clone();
    assert_eq!((*clone, RcArena::count(Rc::allocator(&clone))), (7, 1));
    let mut arena = Arena::new();
    for round in 0..3u64 {
        let mut squares = BTreeMap::new_in(&arena);
        let mut queue = VecDeque::new_in(&arena);
        let mut shared = Vec::new_in(&arena);
        for i in 0..1000 {
            squares.insert(i, i * i + round);
            queue.push_back(i);
            if i % 3 == 0 {
                queue.pop_front();
            }
        }
        let name = Rc::new_in(String::from("a name"), &arena); // its text is on the heap, and freed with the last Rc
        for _ in 0..10 {
            shared.push(name.clone());
        }
        assert_eq!(squares.range(10..13).map(|(_, square)| square - round).collect::<Vec<_>>(), [100, 121, 144]);
        assert_eq!((queue.front(), queue.len()), (Some(&334), 666));
        assert_eq!(Rc::strong_count(&name), 11);

        let total = arena.scope(|inner| {
            let mut boxes = Vec::new_in(inner);
            boxes.extend(squares.values().map(|square| Box::new_in(*square, inner)));
            squares.insert(1000, 0); // the map outside grows inside the scope
            boxes.iter().map(|b| **b).sum::<u64>()
        });
        assert_eq!(total, 332_833_500 + 1000 * round);
        assert_eq!(squares.len(), 1001);
        drop((squares, queue, shared, name));
        arena.reset();
    }
    println!("{:?}", arena.stats());
}
