//! The allocator contracts, for `&Bump`: those of `&Arena`, aligned to `MIN_ALIGN`. Sound for the same reasons.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

use super::Bump;
use crate::arena::Arena;

#[inline(always)]
fn aligned<const MIN_ALIGN: usize>(layout: Layout) -> Option<Layout> {
    if MIN_ALIGN <= 8 {
        Some(layout)
    } else {
        layout.align_to(MIN_ALIGN).ok()
    }
}

macro_rules! allocator {
    ($api:path, $error:path) => {
        // SAFETY: the arena's own, which does not mind a larger alignment than was asked for.
        unsafe impl<const MIN_ALIGN: usize> $api for &Bump<MIN_ALIGN> {
            #[inline(always)]
            fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, $error> {
                let layout = aligned::<MIN_ALIGN>(layout).ok_or($error)?;
                <&Arena as $api>::allocate(&&self.arena, layout)
            }

            #[inline(always)]
            unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
                // SAFETY: the caller's contract.
                unsafe { <&Arena as $api>::deallocate(&&self.arena, p, layout) }
            }

            #[inline(always)]
            unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, $error> {
                let new = aligned::<MIN_ALIGN>(new).ok_or($error)?;
                // SAFETY: the caller's contract.
                unsafe { <&Arena as $api>::grow(&&self.arena, p, old, new) }
            }

            #[inline(always)]
            unsafe fn grow_zeroed(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, $error> {
                let new = aligned::<MIN_ALIGN>(new).ok_or($error)?;
                // SAFETY: the caller's contract.
                unsafe { <&Arena as $api>::grow_zeroed(&&self.arena, p, old, new) }
            }

            #[inline(always)]
            unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, $error> {
                let new = aligned::<MIN_ALIGN>(new).ok_or($error)?;
                // SAFETY: the caller's contract.
                unsafe { <&Arena as $api>::shrink(&&self.arena, p, old, new) }
            }
        }
    };
}

#[cfg(feature = "allocator-api2")]
allocator!(allocator_api2::alloc::Allocator, allocator_api2::alloc::AllocError);

#[cfg(feature = "nightly")]
allocator!(core::alloc::Allocator, core::alloc::AllocError);
