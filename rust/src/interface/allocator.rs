//! The allocator traits of the standard library and of allocator-api2, for references to arenas, task arenas,
//! recyclers, shared arenas and their local parts, and for counted handles.
//!
//! Soundness, for arenas: allocations live until the arena is reset, rewound or released, which needs exclusive access,
//! while the collection holds a shared borrow; a scope claims its memory, so the allocations of a collection outside it
//! survive the scope; copies of `&Arena` are the same arena; and an arena is not `Sync`, so a collection with a
//! reference to one is not `Send`. A task arena's calls take its lock. Recyclers free any allocation, shared arenas
//! only the newest one, and nothing else until they are borrowed exclusively. A `Local` may be dropped while its memory
//! is in use, since the memory is the shared arena's, which the allocations borrow. A counted handle in a collection keeps the
//! memory, whose contract (`Memory`) includes that of these traits.
//!
//! A block of size 0 is an aligned address without memory, which no arena or recycler gets to see: it may come from
//! another allocator of the same type, as that of an empty boxed slice does.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// Implements the trait `$api` for `$of`, whose `Memory` is sound as the head of this file says: `$error` is the trait's.
#[doc(hidden)]
#[macro_export]
macro_rules! __allocator {
    ($api:path, $error:path, [$($generics:tt)*] $of:ty) => {
        // SAFETY: the contract of `Memory`, and what the file that calls this says of `$of`.
        unsafe impl<$($generics)*> $api for $of {
            #[inline(always)]
            fn allocate(&self, layout: ::core::alloc::Layout) -> Result<::core::ptr::NonNull<[u8]>, $error> {
                let p = match layout.size() {
                    0 => $crate::__dangling(layout),
                    _ => $crate::Memory::allocate(self, layout).map_err(|_| $error)?,
                };
                Ok(::core::ptr::NonNull::slice_from_raw_parts(p, layout.size()))
            }

            #[inline(always)]
            unsafe fn deallocate(&self, p: ::core::ptr::NonNull<u8>, layout: ::core::alloc::Layout) {
                if layout.size() != 0 {
                    // SAFETY: the caller's contract.
                    unsafe { $crate::Memory::deallocate(self, p, layout) }
                }
            }

            #[inline(always)]
            unsafe fn grow(&self, p: ::core::ptr::NonNull<u8>, old: ::core::alloc::Layout, new: ::core::alloc::Layout) -> Result<::core::ptr::NonNull<[u8]>, $error> {
                if old.size() == 0 {
                    return <Self as $api>::allocate(self, new);
                }
                // SAFETY: the caller's contract.
                let p = unsafe { $crate::Memory::grow(self, p, old, new) }.map_err(|_| $error)?;
                Ok(::core::ptr::NonNull::slice_from_raw_parts(p, new.size()))
            }

            #[inline(always)]
            unsafe fn grow_zeroed(&self, p: ::core::ptr::NonNull<u8>, old: ::core::alloc::Layout, new: ::core::alloc::Layout) -> Result<::core::ptr::NonNull<[u8]>, $error> {
                // SAFETY: the caller's contract; the new bytes are this allocation's.
                unsafe {
                    let p = <Self as $api>::grow(self, p, old, new)?;
                    p.cast::<u8>().as_ptr().add(old.size()).write_bytes(0, new.size() - old.size());
                    Ok(p)
                }
            }

            #[inline(always)]
            unsafe fn shrink(&self, p: ::core::ptr::NonNull<u8>, old: ::core::alloc::Layout, new: ::core::alloc::Layout) -> Result<::core::ptr::NonNull<[u8]>, $error> {
                if new.size() == 0 {
                    // SAFETY: the caller's contract.
                    unsafe { <Self as $api>::deallocate(self, p, old) };
                    return Ok(::core::ptr::NonNull::slice_from_raw_parts($crate::__dangling(new), 0));
                }
                // SAFETY: the caller's contract.
                let p = unsafe { $crate::Memory::shrink(self, p, old, new) }.map_err(|_| $error)?;
                Ok(::core::ptr::NonNull::slice_from_raw_parts(p, new.size()))
            }
        }
    };
}

/// The same for the trait of the standard library, where the compiler has it.
#[doc(hidden)]
#[cfg(toft_allocator)]
#[macro_export]
macro_rules! __core_allocator {
    ($($of:tt)*) => {
        $crate::__allocator!(::core::alloc::Allocator, ::core::alloc::AllocError, $($of)*);
    };
}
#[doc(hidden)]
#[cfg(not(toft_allocator))]
#[macro_export]
macro_rules! __core_allocator {
    ($($of:tt)*) => {};
}

/// The same for crates that do not use the compiler's feature, in a program where another crate has `nightly` set.
#[doc(hidden)]
#[cfg(not(toft_allocator_gated))]
#[macro_export]
macro_rules! __stable_core_allocator {
    ($($of:tt)*) => {
        $crate::__core_allocator!($($of)*);
    };
}
#[doc(hidden)]
#[cfg(toft_allocator_gated)]
#[macro_export]
macro_rules! __stable_core_allocator {
    ($($of:tt)*) => {};
}

macro_rules! allocators {
    ($($of:tt)*) => {
        #[cfg(feature = "allocator-api2")]
        $crate::__allocator!(allocator_api2::alloc::Allocator, allocator_api2::alloc::AllocError, $($of)*);

        #[cfg(feature = "allocator-api2-03")]
        $crate::__allocator!(allocator_api2_03::alloc::Allocator, allocator_api2_03::alloc::AllocError, $($of)*);

        #[cfg(feature = "allocator-api2-04")]
        $crate::__allocator!(allocator_api2_04::alloc::Allocator, allocator_api2_04::alloc::AllocError, $($of)*);

        $crate::__core_allocator!($($of)*);
    };
}

allocators!(['a] &'a crate::Arena);
allocators!([M: crate::Memory, C: crate::Counter] crate::Counted<M, C>);
#[cfg(feature = "recycler")]
allocators!(['a, S: crate::Source] &'a crate::Recycler<S>);
#[cfg(all(feature = "std", feature = "recycler"))]
allocators!(['a, S: crate::Source] &'a crate::SyncRecycler<S>);
#[cfg(all(feature = "std", feature = "leases"))]
allocators!(['a, 'l] &'a crate::TaskArena<'l>);
#[cfg(all(feature = "std", feature = "shared"))]
allocators!(['a, S: crate::Source] &'a crate::SharedArena<S>);
#[cfg(all(feature = "std", feature = "shared"))]
allocators!(['a, 's, S: crate::Source] &'a crate::Local<'s, S>);
