//! Memory by layout, for collections and pools: the heap, arenas, recyclers and sources.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::abi;
use crate::arena::Arena;
use crate::construct::{CallSite, Construct};
use crate::heap;
use crate::recycler::{Recycler, UNIT};
use crate::source::Source;

/// Memory that is allocated and returned by layout: [`Heap`], `&Arena`, a reference to a recycler or a shared arena,
/// [`Blocks`] of a [`Source`], or a user's type. A type parameter of the pools and collections of the crate
/// `toft-pools`.
///
/// The thread that owns the value makes all calls.
///
/// ```
/// use core::alloc::Layout;
/// use toft::{Arena, Memory};
///
/// fn works<M: Memory>(memory: M) -> bool {
///     let layout = Layout::new::<[u64; 10]>();
///     let Some(p) = memory.take(layout) else { return false };
///     // SAFETY: `take` returned `p` for this layout, and it is not used afterwards.
///     unsafe { memory.put(p, layout) };
///     true
/// }
///
/// assert!(works(toft::Heap) && works(&Arena::new()));
/// ```
///
/// # Safety
/// `take` and `grow` return memory of the requested layout, valid for reads and writes and used by no other code until
/// it is returned by `put` or grown, even if this value is moved. A clone takes and returns the same memory. No
/// function unwinds.
pub unsafe trait Memory {
    /// Allocates memory. Precondition: the size is not 0. `None`: no memory.
    fn take(&self, layout: Layout) -> Option<NonNull<u8>>;

    /// Returns memory.
    ///
    /// # Safety
    /// `p` came from `take` or `grow` of this value (or a clone) with this layout, and is not used any more.
    unsafe fn put(&self, p: NonNull<u8>, layout: Layout);

    /// Grows an allocation, which may move. `None`: refused, nothing changed.
    ///
    /// # Safety
    /// `p` has the layout `old` and is this value's, as for `put`; `new` is not smaller and has the same alignment.
    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<u8>> {
        let to = self.take(new)?;
        // SAFETY: the caller's contract; new memory does not overlap the old, and is at least as large.
        unsafe {
            to.as_ptr().copy_from_nonoverlapping(p.as_ptr(), old.size());
            self.put(p, old);
        }
        Some(to)
    }
}

/// The global allocator. As a [`Source`], it provides blocks of the heap through the thread's [`cache`](crate::cache),
/// as to an arena without a source of its own.
///
/// ```
/// let recycler = toft::Recycler::from_source(toft::Limited::new(toft::Heap, 1 << 20));
/// assert_eq!(recycler.stats().reserved, 0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Heap;

// SAFETY: the global allocator's contract.
unsafe impl Memory for Heap {
    fn take(&self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the size is not 0.
        NonNull::new(unsafe { alloc::alloc::alloc(layout) })
    }

    unsafe fn put(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { alloc::alloc::dealloc(p.as_ptr(), layout) }
    }

    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the caller's contract; the new size is not 0, and not more than a layout's.
        NonNull::new(unsafe { alloc::alloc::realloc(p.as_ptr(), old, new.size()) })
    }
}

/// Recycler blocks of whole units are aligned to a unit.
const fn align_of(size: usize) -> usize {
    if size % UNIT == 0 {
        UNIT
    } else {
        LINE
    }
}

// SAFETY: the heap's blocks; each size has one alignment.
unsafe impl Source for Heap {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        heap::take_aligned(size, align_of(size))
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { heap::put_aligned(block, size, align_of(size)) }
    }
}

macro_rules! memory {
    ($of:ty) => {
        // SAFETY: its allocations are used by no other code until they are freed; a reset needs an exclusive borrow.
        unsafe impl<S: Source> Memory for &$of {
            fn take(&self, layout: Layout) -> Option<NonNull<u8>> {
                self.raw_alloc(layout, CallSite::caller(false))
            }

            unsafe fn put(&self, p: NonNull<u8>, layout: Layout) {
                // SAFETY: the caller's contract.
                unsafe { self.raw_free(p, layout) }
            }

            /// In place if it is the newest allocation and fits.
            unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<u8>> {
                // SAFETY: the caller's contract.
                unsafe { self.raw_realloc(p, old, new, CallSite::caller(false)) }
            }
        }
    };
}
memory!(Recycler<S>);
#[cfg(feature = "std")]
memory!(crate::SyncRecycler<S>);
#[cfg(feature = "std")]
memory!(crate::SharedArena<S>);

// SAFETY: allocations live until the arena is reset, rewound or released, which an exclusive borrow excludes here; a
// scope claims its memory, so what a pool outside it takes survives the scope.
unsafe impl Memory for &Arena {
    fn take(&self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the arena is alive and this thread's; a layout's size and alignment meet the requirements.
        unsafe { abi::alloc_aligned(self.head(), layout.size(), layout.align()) }
    }

    /// Only the newest allocation is freed.
    unsafe fn put(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { abi::free(self.head(), p.as_ptr(), layout.size()) }
    }

    /// In place if it is the newest allocation and fits.
    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the caller's contract.
        unsafe { abi::resize(self.head(), p.as_ptr(), old.size(), new.size(), new.align()) }
    }
}

/// Memory from a [`Source`]: each allocation is a block of its own, a multiple of 4096 bytes.
///
/// ```
/// use core::alloc::Layout;
/// use toft::{Blocks, Memory, Pages};
///
/// let pages = Blocks(Pages::new());
/// let layout = Layout::new::<[u8; 100]>();
/// let p = pages.take(layout).unwrap();
/// // SAFETY: `take` returned `p` for this layout, and it is not used afterwards.
/// unsafe { pages.put(p, layout) };
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct Blocks<S>(pub S);

/// Alignment of a source's blocks.
const LINE: usize = 64;

impl<S: Source> Blocks<S> {
    /// The size of the block for a layout. A larger alignment needs padding, and the block's address in front of the
    /// allocation.
    fn size(layout: Layout) -> Option<usize> {
        let more = if layout.align() > LINE { layout.align() } else { 0 };
        layout.size().checked_add(more)?.checked_next_multiple_of(4096)
    }
}

// SAFETY: the source's contract.
unsafe impl<S: Source> Memory for Blocks<S> {
    fn take(&self, layout: Layout) -> Option<NonNull<u8>> {
        let block = self.0.take(Self::size(layout)?)?;
        if layout.align() <= LINE {
            return Some(block);
        }
        // SAFETY: a block is at a multiple of LINE, so the next multiple of the alignment above the block's address is
        // LINE to `align` bytes above it: the address below it and the layout above it fit.
        unsafe {
            let skip = layout.align() - block.as_ptr() as usize % layout.align();
            let p = block.add(skip);
            p.cast::<NonNull<u8>>().sub(1).write(block);
            Some(p)
        }
    }

    unsafe fn put(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract; for alignments above LINE `take` wrote the block's address below `p`.
        unsafe {
            let block = if layout.align() <= LINE { p } else { p.cast::<NonNull<u8>>().sub(1).read() };
            self.0.put(block, Self::size(layout).unwrap_unchecked());
        }
    }

    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<u8>> {
        let (had, wants) = (Self::size(old)?, Self::size(new)?);
        // SAFETY: the caller's contract.
        unsafe {
            let block = if old.align() <= LINE { p } else { p.cast::<NonNull<u8>>().sub(1).read() };
            if had == wants || self.0.extend(block, had, wants) {
                return Some(p);
            }
            let to = self.take(new)?;
            to.as_ptr().copy_from_nonoverlapping(p.as_ptr(), old.size());
            self.put(p, old);
            Some(to)
        }
    }
}
