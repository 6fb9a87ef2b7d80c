//! The guarantee that collections of the standard library require of shared allocators: a copy of an allocator is equivalent
//! to the original.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::AllocatorClone;

#[cfg(any(feature = "recycler", feature = "shared"))]
use crate::base::source::Source;
use crate::interface::counted::{Counted, Counter};
use crate::memory::arena::Arena;
use crate::memory::by_layout::Memory;

macro_rules! cloned {
    ($([$($generics:tt)*] $of:ty),* $(,)?) => {
        $(
            // SAFETY: a copy of a reference, or of a counted handle, is the same memory; it neither moves nor releases it.
            unsafe impl<$($generics)*> AllocatorClone for $of {}
            // For `Rc::from` and similar calls, while their allocator parameter is not stable.
            #[cfg(toft_allocator_nightly)]
            impl<$($generics)*> core::alloc::AllocatorNightly for $of {}
        )*
    };
}

cloned!([] &Arena, [M: Memory, C: Counter] Counted<M, C>);
#[cfg(feature = "recycler")]
cloned!([S: Source] &crate::recycler::Recycler<S>);
#[cfg(all(feature = "std", feature = "recycler"))]
cloned!([S: Source] &crate::recycler::SyncRecycler<S>);
#[cfg(all(feature = "std", feature = "leases"))]
cloned!([] &crate::threads::task::TaskArena<'_>);
#[cfg(all(feature = "std", feature = "shared"))]
cloned!([S: Source] &crate::threads::shared::SharedArena<S>, [S: Source] &crate::threads::shared::Local<'_, S>);
