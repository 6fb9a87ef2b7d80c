//! What the standard library's collections of shared allocators ask for besides, from Rust 1.100 on: that a copy of an
//! allocator is as good as the one it was copied from.
//!
//! A file of its own: `version` is understood where the feature `nightly` is on.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(version("1.100"))]
mod since_1_100 {
    use crate::arena::Arena;
    use crate::bumpalo::Bump;

    // SAFETY: a copy of `&Arena` is the same arena, and neither moves it nor ends it.
    unsafe impl core::alloc::AllocatorClone for &Arena {}
    // SAFETY: as above.
    unsafe impl<const MIN_ALIGN: usize> core::alloc::AllocatorClone for &Bump<MIN_ALIGN> {}

    // For `Rc::from` and its like, as long as their parameter for allocators is not stable.
    impl core::alloc::AllocatorNightly for &Arena {}
    impl<const MIN_ALIGN: usize> core::alloc::AllocatorNightly for &Bump<MIN_ALIGN> {}
}
