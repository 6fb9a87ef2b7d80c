//! The allocator traits of the standard library and of allocator-api2, for references to arenas, task arenas,
//! recyclers, shared arenas and their local parts.
//!
//! Soundness, for arenas: allocations live until the arena is reset, rewound or released, which needs exclusive access,
//! while the collection holds a shared borrow; a scope claims its memory, so the allocations of a collection outside it
//! survive the scope; copies of `&Arena` are the same arena; and an arena is not `Sync`, so a collection with a
//! reference to one is not `Send`. A task arena's calls take its lock. Recyclers free any allocation, shared arenas
//! only the newest one, and nothing else until they are borrowed exclusively. A `Local` may be dropped while its memory
//! is in use, since the memory is the shared arena's, which the allocations borrow.
//!
//! A block of size 0 is an aligned address without memory, which no arena or recycler gets to see: it may come from
//! another allocator of the same type, as that of an empty boxed slice does.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::arena::Arena;
use crate::memory::{dangling, Memory};
#[cfg(any(feature = "recycler", feature = "shared"))]
use crate::source::Source;

macro_rules! allocator {
    ($api:path, $error:path, [$($generics:tt)*] $of:ty) => {
        // SAFETY: see the head of this file.
        unsafe impl<$($generics)*> $api for &$of {
            #[inline(always)]
            fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, $error> {
                let p = match layout.size() {
                    0 => dangling(layout),
                    _ => Memory::allocate(*self, layout).map_err(|_| $error)?,
                };
                Ok(NonNull::slice_from_raw_parts(p, layout.size()))
            }

            #[inline(always)]
            unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
                if layout.size() != 0 {
                    // SAFETY: the caller's contract.
                    unsafe { Memory::deallocate(*self, p, layout) }
                }
            }

            #[inline(always)]
            unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, $error> {
                if old.size() == 0 {
                    return <Self as $api>::allocate(self, new);
                }
                // SAFETY: the caller's contract.
                let p = unsafe { Memory::grow(*self, p, old, new) }.map_err(|_| $error)?;
                Ok(NonNull::slice_from_raw_parts(p, new.size()))
            }

            #[inline(always)]
            unsafe fn grow_zeroed(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, $error> {
                // SAFETY: the caller's contract; the new bytes are this allocation's.
                unsafe {
                    let p = <Self as $api>::grow(self, p, old, new)?;
                    p.cast::<u8>().as_ptr().add(old.size()).write_bytes(0, new.size() - old.size());
                    Ok(p)
                }
            }

            #[inline(always)]
            unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, $error> {
                if new.size() == 0 {
                    // SAFETY: the caller's contract.
                    unsafe { <Self as $api>::deallocate(self, p, old) };
                    return Ok(NonNull::slice_from_raw_parts(dangling(new), 0));
                }
                // SAFETY: the caller's contract.
                let p = unsafe { Memory::shrink(*self, p, old, new) }.map_err(|_| $error)?;
                Ok(NonNull::slice_from_raw_parts(p, new.size()))
            }
        }
    };
}

macro_rules! allocators {
    ($($of:tt)*) => {
        #[cfg(feature = "allocator-api2")]
        allocator!(allocator_api2::alloc::Allocator, allocator_api2::alloc::AllocError, $($of)*);

        #[cfg(feature = "allocator-api2-03")]
        allocator!(allocator_api2_03::alloc::Allocator, allocator_api2_03::alloc::AllocError, $($of)*);

        #[cfg(feature = "allocator-api2-04")]
        allocator!(allocator_api2_04::alloc::Allocator, allocator_api2_04::alloc::AllocError, $($of)*);

        #[cfg(feature = "nightly")]
        allocator!(core::alloc::Allocator, core::alloc::AllocError, $($of)*);
    };
}

allocators!([] Arena);
#[cfg(feature = "recycler")]
allocators!([S: Source] crate::recycler::Recycler<S>);
#[cfg(all(feature = "std", feature = "recycler"))]
allocators!([S: Source] crate::recycler::SyncRecycler<S>);
#[cfg(all(feature = "std", feature = "leases"))]
allocators!(['l] crate::task::TaskArena<'l>);
#[cfg(all(feature = "std", feature = "shared"))]
allocators!([S: Source] crate::shared::SharedArena<S>);
#[cfg(all(feature = "std", feature = "shared"))]
allocators!(['s, S: Source] crate::shared::Local<'s, S>);
