//! The allocator contracts, for `&Bump`: those of `&Arena`, aligned to `MIN_ALIGN`. Sound for the same reasons.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

use toft::Memory;

use crate::Bump;

macro_rules! allocator {
    ($api:path, $error:path) => {
        // SAFETY: the arena's own memory: allocations live while the arena is borrowed, and a copy of `&Bump` is the same arena.
        unsafe impl<const MIN_ALIGN: usize> $api for &Bump<MIN_ALIGN> {
            #[inline(always)]
            fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, $error> {
                let p = Memory::allocate(*self, layout).map_err(|_| $error)?;
                Ok(NonNull::slice_from_raw_parts(p, layout.size()))
            }

            #[inline(always)]
            unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
                // SAFETY: the caller's contract.
                unsafe { Memory::deallocate(*self, p, layout) }
            }

            #[inline(always)]
            unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, $error> {
                // SAFETY: the caller's contract.
                let p = unsafe { Memory::grow(*self, p, old, new) }.map_err(|_| $error)?;
                Ok(NonNull::slice_from_raw_parts(p, new.size()))
            }

            #[inline(always)]
            unsafe fn grow_zeroed(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, $error> {
                // SAFETY: the caller's contract; the new bytes are this allocation's.
                unsafe {
                    let p = Memory::grow(*self, p, old, new).map_err(|_| $error)?;
                    p.as_ptr().add(old.size()).write_bytes(0, new.size() - old.size());
                    Ok(NonNull::slice_from_raw_parts(p, new.size()))
                }
            }

            #[inline(always)]
            unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, $error> {
                // SAFETY: the caller's contract.
                let p = unsafe { Memory::shrink(*self, p, old, new) }.map_err(|_| $error)?;
                Ok(NonNull::slice_from_raw_parts(p, new.size()))
            }
        }
    };
}

#[cfg(feature = "allocator-api2")]
allocator!(allocator_api2::alloc::Allocator, allocator_api2::alloc::AllocError);

#[cfg(feature = "allocator_api")]
allocator!(core::alloc::Allocator, core::alloc::AllocError);
