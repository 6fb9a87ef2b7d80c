//! The allocator contracts, for `&Bump`: those of `&Arena`, aligned to `MIN_ALIGN`. Sound for the same reasons: the
//! allocations live while the arena is borrowed, and a copy of `&Bump` is the same arena.
//!
//! With the feature `next` they are those of `Bump` by value, as in the release after 3.20, and so of `&Bump`
//! too: a collection that owns its arena lends no `&mut Bump`, and memory stays where it is when a `Bump` moves.
// SPDX-License-Identifier: MIT OR Apache-2.0

macro_rules! allocators {
    ($($of:tt)*) => {
        #[cfg(feature = "allocator-api2")]
        toft::__allocator!(allocator_api2::alloc::Allocator, allocator_api2::alloc::AllocError, $($of)*);

        #[cfg(feature = "allocator_api")]
        toft::__core_allocator!($($of)*);
        #[cfg(not(feature = "allocator_api"))]
        toft::__stable_core_allocator!($($of)*);
    };
}

#[cfg(not(feature = "next"))]
allocators!(['a, const MIN_ALIGN: usize] &'a crate::Bump<MIN_ALIGN>);
#[cfg(feature = "next")]
allocators!([const MIN_ALIGN: usize] crate::Bump<MIN_ALIGN>);
