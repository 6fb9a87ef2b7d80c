//! W2, frames in Rust: Toft's arena, other arenas of Rust, and heaps. The program `w2` prints its rows as JSON.
//!
//! A contender is one file: an arena and its handle, which implement the traits of `contender`. Each that depends on a
//! crate has its own feature.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

pub mod cases;
pub mod contender;
mod identifiers;
pub mod loops;

#[cfg(feature = "blink-alloc")]
mod blink;
#[cfg(feature = "bump-scope")]
mod bump_scope;
#[cfg(feature = "bumpalo")]
mod bumpalo;
mod floor;
mod frames;
mod glibc;
mod heap;
#[cfg(any(feature = "jemalloc", feature = "mimalloc", feature = "snmalloc"))]
mod mallocs;
#[cfg(feature = "multitude")]
mod multitude;
mod race;
#[cfg(feature = "stumpalo")]
mod stumpalo;
mod threads;
#[cfg(feature = "toft")]
mod toft;
#[cfg(feature = "typed-arena")]
mod typed_arena;

use cases::{entries, entries_of_frames, Entry};
use contender::Contender;

/// The rows, by case, in the order of the tables.
#[derive(Default)]
struct Cases(Vec<Vec<Entry>>);

impl Cases {
    fn add(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            match self.0.iter_mut().find(|case| case[0].case == entry.case) {
                Some(case) => case.push(entry),
                None => self.0.push(vec![entry]),
            }
        }
    }

    /// An arena on one thread, and on several, each with its own.
    fn arena<A: Contender>(&mut self) {
        self.add(entries::<A>());
        self.add(threads::entries_apart::<A>());
    }

    /// A heap likewise, and one that threads share.
    fn heap<A: heap::Malloc>(&mut self) {
        self.arena::<heap::Heap<A>>();
    }

    #[cfg(feature = "toft")]
    fn toft(&mut self) {
        self.arena::<crate::toft::Toft>();
        self.add(entries_of_frames::<frames::toft::ToftFrames>());
        self.add(threads::entries_apart::<frames::toft::ToftFrames>());
        self.add(entries::<crate::toft::ToftCursor>());
        self.add(entries::<crate::toft::ToftPack>());
    }

    fn floors(&mut self) {
        self.add(entries::<floor::FloorMem>());
        self.add(threads::entries_apart::<floor::FloorMem>());
        self.add(entries::<floor::FloorCursor>());
        self.add(entries::<floor::FloorExact>());
    }

    #[cfg(feature = "bumpalo")]
    fn bumpalo(&mut self) {
        self.arena::<crate::bumpalo::Bumpalo<1>>();
        self.add(entries::<crate::bumpalo::Bumpalo<8>>());
        self.add(entries_of_frames::<frames::bumpalo::LocalBumpalo>());
        self.add(threads::entries_apart::<frames::bumpalo::LocalBumpalo>());
    }

    #[cfg(feature = "bump-scope")]
    fn bump_scope(&mut self) {
        self.arena::<crate::bump_scope::BumpScopeUp>();
        self.arena::<crate::bump_scope::BumpScopeDown>();
    }
}

/// All rows, by case. The first contender has the most cases, so its order is that of the tables.
pub fn all() -> Vec<Vec<Entry>> {
    let mut all = Cases::default();
    #[cfg(feature = "toft")]
    all.toft();
    all.floors();
    #[cfg(feature = "bumpalo")]
    all.bumpalo();
    #[cfg(feature = "bump-scope")]
    all.bump_scope();
    #[cfg(feature = "blink-alloc")]
    all.arena::<blink::BlinkAlloc>();
    #[cfg(feature = "stumpalo")]
    all.arena::<crate::stumpalo::Stumpalo>();
    #[cfg(feature = "multitude")]
    all.arena::<crate::multitude::Multitude>();
    #[cfg(feature = "typed-arena")]
    all.add(entries::<crate::typed_arena::TypedArena>());
    all.heap::<glibc::Glibc>();
    #[cfg(feature = "mimalloc")]
    all.heap::<mallocs::Mimalloc>();
    #[cfg(feature = "jemalloc")]
    all.heap::<mallocs::Jemalloc>();
    #[cfg(feature = "snmalloc")]
    all.heap::<mallocs::Snmalloc>();
    all.0
}
