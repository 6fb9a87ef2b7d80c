//! W2, frames in Rust: Toft's arena beside the other arenas of Rust and beside heaps. The program `w2` prints its rows
//! as JSON, `cargo bench` gives the same cases to criterion.
//!
//! A contender is one file: an arena and its hand, by the traits of `contender`. Each that depends on a crate is behind
//! a feature of its own.
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
mod glibc;
mod heap;
#[cfg(feature = "jemalloc")]
mod jemalloc;
#[cfg(feature = "mimalloc")]
mod mimalloc;
#[cfg(feature = "multitude")]
mod multitude;
#[cfg(feature = "snmalloc")]
mod snmalloc;
#[cfg(feature = "stumpalo")]
mod stumpalo;
#[cfg(feature = "toft")]
mod toft;
#[cfg(feature = "typed-arena")]
mod typed_arena;

use cases::{entries, Entry};

/// Every contender's rows, in the order of the tables.
pub fn all() -> Vec<Vec<Entry>> {
    vec![
        #[cfg(feature = "toft")]
        entries::<crate::toft::Toft>(),
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
