//! The allocator contracts of the standard library and of allocator-api2, for references to arenas, recyclers, shared
//! arenas and their parts.
//!
//! Of arenas, sound for these reasons: the trait's blocks live until the arena is reset, rewound or ended, which takes the arena
//! exclusively while the collection holds it shared; a scope claims its room, so what a collection outside gets meanwhile
//! survives the scope; copies of `&Arena` are the same arena, wherever they are; and an arena is not `Sync`, so neither
//! is a collection that holds a reference to one `Send`. Recyclers give back what is freed, shared
//! arenas the newest alone, and nothing else until they are borrowed exclusively. A `Local` may end while its memory is
//! in use, and what is allocated there borrows it all the same.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::abi;
use crate::arena::Arena;
use crate::recycler::{Recycler, Recycles};
#[cfg(feature = "std")]
use crate::shared::Room;
use crate::source::Source;

// A size of 0 is a size like another: an address that is not read, and moves with the cursor.
impl Arena {
    #[inline(always)]
    fn obtain(&self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the arena is alive and this thread's; a layout's sizes are as `alloc_aligned` wants them.
        unsafe { abi::alloc_aligned(self.head(), layout.size(), layout.align()) }
    }

    /// Only the newest allocation is really given back.
    #[inline(always)]
    unsafe fn return_(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { abi::free(self.head(), p.as_ptr(), layout.size()) }
    }

    /// In place when it is the newest allocation and there is room.
    #[inline(always)]
    unsafe fn refit(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the caller's contract.
        unsafe { abi::resize(self.head(), p.as_ptr(), old.size(), new.size(), new.align()) }
    }
}

macro_rules! allocator {
    ($api:path, $error:path, [$($generics:tt)*] $of:ty) => {
        // SAFETY: see the head of this file.
        unsafe impl<$($generics)*> $api for &$of {
            #[inline(always)]
            fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, $error> {
                let p = self.obtain(layout).ok_or($error)?;
                Ok(NonNull::slice_from_raw_parts(p, layout.size()))
            }

            #[inline(always)]
            unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
                // SAFETY: the caller's contract.
                unsafe { self.return_(p, layout) }
            }

            #[inline(always)]
            unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, $error> {
                // SAFETY: the caller's contract.
                let p = unsafe { self.refit(p, old, new) }.ok_or($error)?;
                Ok(NonNull::slice_from_raw_parts(p, new.size()))
            }

            #[inline(always)]
            unsafe fn grow_zeroed(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, $error> {
                // SAFETY: the caller's contract; the new bytes are this allocation's.
                unsafe {
                    let p = self.refit(p, old, new).ok_or($error)?;
                    p.as_ptr().add(old.size()).write_bytes(0, new.size() - old.size());
                    Ok(NonNull::slice_from_raw_parts(p, new.size()))
                }
            }

            #[inline(always)]
            unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, $error> {
                // SAFETY: the caller's contract.
                let p = unsafe { self.refit(p, old, new) }.ok_or($error)?;
                Ok(NonNull::slice_from_raw_parts(p, new.size()))
            }
        }
    };
}

macro_rules! allocators {
    ($($of:tt)*) => {
        #[cfg(feature = "allocator-api2")]
        allocator!(allocator_api2::alloc::Allocator, allocator_api2::alloc::AllocError, $($of)*);

        #[cfg(feature = "nightly")]
        allocator!(core::alloc::Allocator, core::alloc::AllocError, $($of)*);
    };
}

allocators!([] Arena);
allocators!([S: Source] Recycler<S>);
#[cfg(feature = "std")]
allocators!([S: Source] crate::recycler::SyncRecycler<S>);
#[cfg(feature = "std")]
allocators!([S: Source] crate::shared::SharedArena<S>);
#[cfg(feature = "std")]
allocators!(['s, S: Source] crate::shared::Local<'s, S>);
