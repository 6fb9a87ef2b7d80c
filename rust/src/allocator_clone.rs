//! What the standard library's collections of shared allocators ask for besides, from Rust 1.100 on: that a copy of an
//! allocator is as good as the one it was copied from.
//!
//! A file of its own: `version` is understood where the feature `nightly` is on.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(version("1.100"))]
mod since_1_100 {
    use crate::arena::Arena;
    use crate::bumpalo::Bump;
    use crate::recycler::Recycler;
    use crate::source::Source;

    // SAFETY: a copy of `&Arena` is the same arena, and neither moves it nor ends it.
    unsafe impl core::alloc::AllocatorClone for &Arena {}
    // SAFETY: as above.
    unsafe impl<const MIN_ALIGN: usize> core::alloc::AllocatorClone for &Bump<MIN_ALIGN> {}
    // SAFETY: a copy of `&Recycler` is the same recycler.
    unsafe impl<S: Source> core::alloc::AllocatorClone for &Recycler<S> {}
    // SAFETY: as above.
    #[cfg(feature = "std")]
    unsafe impl<S: Source> core::alloc::AllocatorClone for &crate::SyncRecycler<S> {}

    // For `Rc::from` and its like, as long as their parameter for allocators is not stable.
    impl core::alloc::AllocatorNightly for &Arena {}
    impl<const MIN_ALIGN: usize> core::alloc::AllocatorNightly for &Bump<MIN_ALIGN> {}
    impl<S: Source> core::alloc::AllocatorNightly for &Recycler<S> {}
    #[cfg(feature = "std")]
    impl<S: Source> core::alloc::AllocatorNightly for &crate::SyncRecycler<S> {}
}
