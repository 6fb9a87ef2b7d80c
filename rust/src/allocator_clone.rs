//! The guarantee that collections of the standard library require of shared allocators from Rust 1.100 on: a copy of an
//! allocator is equivalent to the original.
//!
//! A file of its own, since `version` is understood only with the feature `nightly`.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(version("1.100"))]
mod since_1_100 {
    use crate::arena::Arena;
    #[cfg(feature = "recycler")]
    use crate::recycler::Recycler;
    #[cfg(feature = "recycler")]
    use crate::source::Source;

    // SAFETY: a copy of `&Arena` is the same arena; copying neither moves nor releases it.
    unsafe impl core::alloc::AllocatorClone for &Arena {}
    // SAFETY: a copy of `&Recycler` is the same recycler.
    #[cfg(feature = "recycler")]
    unsafe impl<S: Source> core::alloc::AllocatorClone for &Recycler<S> {}
    // SAFETY: as above.
    #[cfg(all(feature = "std", feature = "recycler"))]
    unsafe impl<S: Source> core::alloc::AllocatorClone for &crate::SyncRecycler<S> {}

    // For `Rc::from` and similar calls, while their allocator parameter is not stable.
    impl core::alloc::AllocatorNightly for &Arena {}
    #[cfg(feature = "recycler")]
    impl<S: Source> core::alloc::AllocatorNightly for &Recycler<S> {}
    #[cfg(all(feature = "std", feature = "recycler"))]
    impl<S: Source> core::alloc::AllocatorNightly for &crate::SyncRecycler<S> {}
}
