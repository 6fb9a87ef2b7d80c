//! The allocator contracts, for `&Bump`: those of `&Arena`, aligned to `MIN_ALIGN`. Sound for the same reasons: the
//! allocations live while the arena is borrowed, and a copy of `&Bump` is the same arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(feature = "allocator-api2")]
toft::__allocator!(
    allocator_api2::alloc::Allocator,
    allocator_api2::alloc::AllocError,
    ['a, const MIN_ALIGN: usize] &'a crate::Bump<MIN_ALIGN>
);

#[cfg(feature = "allocator_api")]
toft::__core_allocator!(['a, const MIN_ALIGN: usize] &'a crate::Bump<MIN_ALIGN>);
#[cfg(not(feature = "allocator_api"))]
toft::__stable_core_allocator!(['a, const MIN_ALIGN: usize] &'a crate::Bump<MIN_ALIGN>);
