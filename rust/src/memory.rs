//! Memory by its layout, for collections and pools: the heap, arenas, recyclers and sources.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::abi;
use crate::arena::Arena;
use crate::construct::{CallSite, Construct};
use crate::heap;
use crate::recycler::{Recycler, UNIT};
use crate::source::Source;

/// Memory by its layout, that can be returned: [`Heap`], `&Arena`, a reference to a recycler or a shared arena, [`Blocks`] of
/// a [`Source`], or a type of the program. The pools and collections of the crate `toft-pools` take it as a parameter.
///
/// All calls are made by the thread that owns the value.
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
/// `take` and `grow` return memory of the layout they are asked for, valid for reads and writes and used by nobody else
/// until it is `put` back or grown, even if this value is moved. A clone, where there is one, takes and puts the same
/// memory. No function unwinds.
pub unsafe trait Memory {
    /// Memory of that size, which is not 0, and alignment; or `None`: there is none.
    fn take(&self, layout: Layout) -> Option<NonNull<u8>>;

    /// Takes memory back.
    ///
    /// # Safety
    /// `p` came from `take` or `grow` of this value (or a clone) with this layout, and is used no more.
    unsafe fn put(&self, p: NonNull<u8>, layout: Layout);

    /// Makes the memory larger; its bytes may move. `None`: it is as it was.
    ///
    /// # Safety
    /// `p` has the layout `old` and is this value's, as for `put`; `new` is not smaller and has the same alignment.
    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<u8>> {
        let to = self.take(new)?;
        // SAFETY: the caller's contract; what was just taken is apart from it, and at least as large.
        unsafe {
            to.as_ptr().copy_from_nonoverlapping(p.as_ptr(), old.size());
            self.put(p, old);
        }
        Some(to)
    }
}

/// The global allocator. As a [`Source`]: blocks of the heap through the thread's [`cache`](crate::cache), as an arena has
/// them without a source of its own.
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

/// Blocks of whole units of a recycler begin with one.
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
        // SAFETY: what it gives is nobody else's until it is given back; while it is borrowed it is not emptied.
        unsafe impl<S: Source> Memory for &$of {
            fn take(&self, layout: Layout) -> Option<NonNull<u8>> {
                self.raw_alloc(layout, CallSite::caller(false))
            }

            unsafe fn put(&self, p: NonNull<u8>, layout: Layout) {
                // SAFETY: the caller's contract.
                unsafe { self.raw_free(p, layout) }
            }

            /// In place when it is the newest allocation and there is room.
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

// SAFETY: what an arena gives lives until it is reset, rewound or ended, for which it must not be borrowed; a scope of it
// claims its room, so what a pool outside takes meanwhile survives the scope.
unsafe impl Memory for &Arena {
    fn take(&self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the arena is alive and this thread's; a layout's size and alignment are as they must be.
        unsafe { abi::alloc_aligned(self.head(), layout.size(), layout.align()) }
    }

    /// Only the newest allocation is really given back.
    unsafe fn put(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { abi::free(self.head(), p.as_ptr(), layout.size()) }
    }

    /// In place when it is the newest allocation and there is room.
    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the caller's contract.
        unsafe { abi::resize(self.head(), p.as_ptr(), old.size(), new.size(), new.align()) }
    }
}

/// Memory of a [`Source`]: each allocation is a block of its own, of a multiple of 4096 bytes.
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

/// What a block of a source is aligned to.
const LINE: usize = 64;

impl<S: Source> Blocks<S> {
    /// The size of the block for a layout. One that is aligned to more than a line has room to be so, and before it the
    /// address of its block.
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
        // SAFETY: a block is at a multiple of LINE, so the next multiple of the alignment that is not the block's own
        // address is LINE to `align` bytes above it: there is room for the address below it, and for the layout above.
        unsafe {
            let skip = layout.align() - block.as_ptr() as usize % layout.align();
            let p = block.add(skip);
            p.cast::<NonNull<u8>>().sub(1).write(block);
            Some(p)
        }
    }

    unsafe fn put(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract; above a line's alignment `take` wrote the block's address below `p`.
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
