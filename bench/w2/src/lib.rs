//! W2, frames in Rust: Toft's arena, other arenas of Rust, and heaps. The program `w2` prints its rows as JSON, `cargo
//! bench` runs the same cases with criterion.
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
mod boxed;
#[cfg(feature = "bump-scope")]
mod bump_scope;
#[cfg(feature = "bumpalo")]
mod bumpalo;
mod floor;
mod frames;
mod glibc;
mod heap;
pub mod held;
#[cfg(feature = "jemalloc")]
mod jemalloc;
pub mod leases;
#[cfg(feature = "mimalloc")]
mod mimalloc;
#[cfg(feature = "multitude")]
mod multitude;
mod race;
#[cfg(feature = "snmalloc")]
mod snmalloc;
#[cfg(feature = "stumpalo")]
mod stumpalo;
mod threads;
#[cfg(feature = "toft")]
mod toft;
#[cfg(feature = "typed-arena")]
mod typed_arena;
#[cfg(feature = "toft")]
mod watched;

use cases::{entries, Entry};

/// The rows, by case, in the order of the tables.
pub fn all() -> Vec<Vec<Entry>> {
    let mut cases: Vec<Vec<Entry>> = Vec::new();
    let mut lists = single();
    lists.extend(several());
    lists.extend(leases());
    #[cfg(feature = "toft")]
    lists.push(watched::all());
    for entry in lists.into_iter().flatten() {
        match cases.iter_mut().find(|case| case[0].case == entry.case) {
            Some(case) => case.push(entry),
            None => cases.push(vec![entry]),
        }
    }
    cases
}

/// One thread with an arena or heap.
fn single() -> Vec<Vec<Entry>> {
    vec![
        #[cfg(feature = "toft")]
        entries::<crate::toft::Toft>(),
        #[cfg(feature = "toft")]
        cases::entries_of_frames::<frames::toft::ToftFrames>(),
        #[cfg(feature = "toft")]
        entries::<crate::toft::ToftCursor>(),
        #[cfg(feature = "toft")]
        entries::<crate::toft::ToftPack>(),
        entries::<floor::FloorMem>(),
        entries::<floor::FloorCursor>(),
        entries::<floor::FloorExact>(),
        #[cfg(feature = "bumpalo")]
        entries::<crate::bumpalo::Bumpalo<1>>(),
        #[cfg(feature = "bumpalo")]
        entries::<crate::bumpalo::Bumpalo<8>>(),
        #[cfg(feature = "bumpalo")]
        cases::entries_of_frames::<frames::bumpalo::LocalBumpalo>(),
        #[cfg(feature = "bump-scope")]
        entries::<crate::bump_scope::BumpScopeUp>(),
        #[cfg(feature = "bump-scope")]
        entries::<crate::bump_scope::BumpScopeDown>(),
        #[cfg(feature = "blink-alloc")]
        entries::<blink::BlinkAlloc>(),
        #[cfg(feature = "stumpalo")]
        entries::<crate::stumpalo::Stumpalo>(),
        #[cfg(feature = "multitude")]
        entries::<crate::multitude::Multitude>(),
        #[cfg(feature = "typed-arena")]
        entries::<crate::typed_arena::TypedArena>(),
        entries::<boxed::Boxed>(),
        entries::<heap::Heap<glibc::Glibc>>(),
        #[cfg(feature = "mimalloc")]
        entries::<heap::Heap<crate::mimalloc::Mimalloc>>(),
        #[cfg(feature = "jemalloc")]
        entries::<heap::Heap<crate::jemalloc::Jemalloc>>(),
        #[cfg(feature = "snmalloc")]
        entries::<heap::Heap<crate::snmalloc::Snmalloc>>(),
    ]
}

/// Several threads, each with its own arena, then all with one.
fn several() -> Vec<Vec<Entry>> {
    use threads::{entries_apart, entries_together, Freed};
    vec![
        #[cfg(feature = "toft")]
        entries_apart::<crate::toft::Toft>(),
        #[cfg(feature = "toft")]
        entries_apart::<frames::toft::ToftFrames>(),
        entries_apart::<floor::FloorMem>(),
        #[cfg(feature = "bumpalo")]
        entries_apart::<crate::bumpalo::Bumpalo<1>>(),
        #[cfg(feature = "bumpalo")]
        entries_apart::<frames::bumpalo::LocalBumpalo>(),
        #[cfg(feature = "bump-scope")]
        entries_apart::<crate::bump_scope::BumpScopeUp>(),
        #[cfg(feature = "bump-scope")]
        entries_apart::<crate::bump_scope::BumpScopeDown>(),
        #[cfg(feature = "blink-alloc")]
        entries_apart::<blink::BlinkAlloc>(),
        #[cfg(feature = "stumpalo")]
        entries_apart::<crate::stumpalo::Stumpalo>(),
        #[cfg(feature = "multitude")]
        entries_apart::<crate::multitude::Multitude>(),
        entries_apart::<boxed::Boxed>(),
        entries_apart::<heap::Heap<glibc::Glibc>>(),
        #[cfg(feature = "mimalloc")]
        entries_apart::<heap::Heap<crate::mimalloc::Mimalloc>>(),
        #[cfg(feature = "jemalloc")]
        entries_apart::<heap::Heap<crate::jemalloc::Jemalloc>>(),
        #[cfg(feature = "snmalloc")]
        entries_apart::<heap::Heap<crate::snmalloc::Snmalloc>>(),
        #[cfg(feature = "toft")]
        entries_together::<::toft::Frames>(),
        entries_together::<threads::Barriers>(),
        #[cfg(feature = "bumpalo")]
        entries_together::<threads::Locals>(),
        #[cfg(feature = "bumpalo")]
        entries_together::<bumpalo_herd::Herd>(),
        #[cfg(feature = "bump-scope")]
        entries_together::<leases::BumpPool>(),
        entries_together::<Freed<heap::Heap<glibc::Glibc>>>(),
        #[cfg(feature = "mimalloc")]
        entries_together::<Freed<heap::Heap<crate::mimalloc::Mimalloc>>>(),
        #[cfg(feature = "jemalloc")]
        entries_together::<Freed<heap::Heap<crate::jemalloc::Jemalloc>>>(),
        #[cfg(feature = "snmalloc")]
        entries_together::<Freed<heap::Heap<crate::snmalloc::Snmalloc>>>(),
    ]
}

/// Arenas for the duration of a call.
fn leases() -> Vec<Vec<Entry>> {
    use leases::{entries_together, Anew};
    vec![
        #[cfg(feature = "toft")]
        entries_together::<::toft::Leases>(),
        #[cfg(feature = "toft")]
        entries_together::<Anew<crate::toft::Toft>>(),
        #[cfg(feature = "bumpalo")]
        entries_together::<Anew<crate::bumpalo::Bumpalo<1>>>(),
        #[cfg(feature = "bumpalo")]
        entries_together::<leases::Locked>(),
        #[cfg(feature = "bumpalo")]
        leases::entries::<bumpalo_herd::Herd>(),
        #[cfg(feature = "bump-scope")]
        entries_together::<Anew<crate::bump_scope::BumpScopeUp>>(),
        #[cfg(feature = "bump-scope")]
        entries_together::<Anew<crate::bump_scope::BumpScopeDown>>(),
        #[cfg(feature = "bump-scope")]
        leases::entries::<leases::BumpPool>(),
        #[cfg(feature = "blink-alloc")]
        entries_together::<Anew<blink::BlinkAlloc>>(),
        #[cfg(feature = "stumpalo")]
        entries_together::<Anew<crate::stumpalo::Stumpalo>>(),
        #[cfg(feature = "multitude")]
        entries_together::<Anew<crate::multitude::Multitude>>(),
        entries_together::<Anew<boxed::Boxed>>(),
        entries_together::<Anew<heap::Heap<glibc::Glibc>>>(),
        #[cfg(feature = "mimalloc")]
        entries_together::<Anew<heap::Heap<crate::mimalloc::Mimalloc>>>(),
        #[cfg(feature = "jemalloc")]
        entries_together::<Anew<heap::Heap<crate::jemalloc::Jemalloc>>>(),
        #[cfg(feature = "snmalloc")]
        entries_together::<Anew<heap::Heap<crate::snmalloc::Snmalloc>>>(),
    ]
}
