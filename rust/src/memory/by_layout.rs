//! Memory by layout: what allocates, frees and resizes bytes. Every arena, recycler and the heap implement it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::panic::Location;
use core::ptr::{self, NonNull};

use crate::base::error::AllocError;
use crate::base::source::Source;
use crate::system::heap::{self, UNIT};

/// What checked arenas record of an allocation.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct CallSite {
    pub(crate) location: &'static Location<'static>,
    /// The value has a destructor that will not run.
    pub(crate) drops: bool,
}

impl CallSite {
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn caller(drops: bool) -> CallSite {
        CallSite { location: Location::caller(), drops }
    }

    /// For memory whose values never end with their destructor: its users know that.
    #[doc(hidden)]
    #[inline(always)]
    pub fn without_drops(self) -> CallSite {
        CallSite { drops: false, ..self }
    }
}

/// Memory that is allocated, freed and resized by layout: arenas, recyclers, [`Heap`], [`Blocks`] of a [`Source`], and
/// references to them. [`Allocate`](crate::Allocate) places values in it; the collections of this crate and of
/// `toft-pools` grow in it.
///
/// The trait is open: a type of another crate that implements it has every call of [`Allocate`](crate::Allocate).
/// The names are those of [`core::alloc`]. The thread that owns the value makes all calls.
///
/// ```
/// use core::alloc::Layout;
/// use toft::{AllocError, Arena, Memory};
///
/// fn works<M: Memory>(memory: M) -> Result<(), AllocError> {
///     let layout = Layout::new::<[u64; 10]>();
///     let p = memory.allocate(layout)?;
///     // SAFETY: `allocate` returned `p` for this layout, and it is not used afterwards.
///     unsafe { memory.deallocate(p, layout) };
///     Ok(())
/// }
///
/// works(toft::Heap)?;
/// works(&Arena::new())?;
/// # Ok::<(), AllocError>(())
/// ```
///
/// # Safety
/// `allocate`, `grow` and `shrink` return memory of the requested layout, valid for reads and writes and used by no
/// other code until it is returned by `deallocate`, resized, or this value is borrowed exclusively or dropped. Moving
/// the value does not move the memory. A clone allocates and frees the same memory. No function unwinds.
///
/// The hidden functions are not part of the interface, and may change in any release. An implementation of another crate
/// leaves their defaults, which call those above; one that replaces them has the same contract for each: `__allocate` and
/// `__allocate_typed` that of `allocate`, `__resize` that of `grow` or `shrink`, `__discard` that of `deallocate`, and
/// `__truncate` leaves the first `new.size()` bytes at their place.
pub unsafe trait Memory {
    /// Allocates memory. For a size of 0: an aligned address that must not be read.
    ///
    /// # Errors
    /// If there is no memory.
    #[track_caller]
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError>;

    /// Frees memory. An arena frees its newest allocation, and ignores the call for any other.
    ///
    /// # Safety
    /// `p` came from this value (or a clone) with this layout, and is not used any more.
    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout);

    /// Grows an allocation, which may move.
    ///
    /// # Errors
    /// If there is no memory; nothing changed.
    ///
    /// # Safety
    /// `p` has the layout `old` and is this value's, as for `deallocate`; the size of `new` is not smaller. Afterwards
    /// only the returned address is used.
    #[track_caller]
    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: the caller's contract.
        unsafe { move_to_new(self, p, old, new, CallSite::caller(false)) }
    }

    /// Shrinks an allocation, which may move.
    ///
    /// # Errors
    /// If it must move and there is no memory; nothing changed.
    ///
    /// # Safety
    /// As for `grow`, but that the size of `new` is not larger.
    #[track_caller]
    unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: the caller's contract.
        unsafe { move_to_new(self, p, old, new, CallSite::caller(false)) }
    }

    // What arenas do in addition. These are no part of the public interface.

    /// As `allocate`, with what a checked arena records.
    #[doc(hidden)]
    #[inline(always)]
    fn __allocate(&self, layout: Layout, site: CallSite) -> Allocated {
        let _ = site;
        self.allocate(layout)
    }

    /// As `__allocate`, where the compiler knows the alignment.
    #[doc(hidden)]
    #[inline(always)]
    fn __allocate_typed(&self, layout: Layout, site: CallSite) -> Allocated {
        self.__allocate(layout, site)
    }

    /// As `grow` or `shrink`, with what a checked arena records.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn __resize(&self, p: NonNull<u8>, old: Layout, new: Layout, site: CallSite) -> Allocated {
        let _ = site;
        // SAFETY: the caller's contract.
        unsafe {
            if new.size() >= old.size() {
                self.grow(p, old, new)
            } else {
                self.shrink(p, old, new)
            }
        }
    }

    /// By inline code without a call, an allocation if `old` is 0, else growth in place. `None`: it is not possible, and
    /// nothing has changed. Contract: as for `grow`; the size of `new` is not 0.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn __grow_inline(&self, p: NonNull<u8>, old: usize, new: Layout) -> Option<NonNull<u8>> {
        let _ = (p, old, new);
        None
    }

    /// As `deallocate`; arenas omit calls that would free nothing.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn __discard(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { self.deallocate(p, layout) }
    }

    /// Frees the end of an allocation if that does not move it. Contract: as for `shrink`.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn __truncate(&self, p: NonNull<u8>, old: Layout, new: Layout) {
        let _ = (p, old, new);
    }

    /// The least alignment of addresses, those of values without a size included.
    #[doc(hidden)]
    #[inline(always)]
    fn __min_align(&self) -> usize {
        1
    }
}

/// What the hidden calls return.
pub(crate) type Allocated = Result<NonNull<u8>, AllocError>;

/// The calls of a type that implements `__allocate` and `__resize`.
macro_rules! memory_by_call_site {
    ($inline:meta) => {
        #[$inline]
        #[track_caller]
        fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
            self.__allocate(layout, CallSite::caller(false))
        }

        #[$inline]
        #[track_caller]
        unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
            // SAFETY: the caller's contract.
            unsafe { self.__resize(p, old, new, CallSite::caller(false)) }
        }

        #[$inline]
        #[track_caller]
        unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
            // SAFETY: the caller's contract.
            unsafe { self.__resize(p, old, new, CallSite::caller(false)) }
        }
    };
}
pub(crate) use memory_by_call_site;

/// `__resize` of a type with a method `resize_in_place`, which returns whether it was possible.
#[cfg(feature = "shared")]
macro_rules! resize_in_place_or_move {
    ($inline:meta) => {
        #[$inline]
        unsafe fn __resize(&self, p: NonNull<u8>, old: Layout, new: Layout, site: CallSite) -> Allocated {
            // SAFETY: the caller's contract.
            unsafe {
                if p.addr().get() & (new.align() - 1) == 0 && self.resize_in_place(p, old, new) {
                    return Ok(p);
                }
                $crate::memory::by_layout::move_to_new(self, p, old, new, site)
            }
        }
    };
}
#[cfg(feature = "shared")]
pub(crate) use resize_in_place_or_move;

/// Moves an allocation to new memory. Out of line, so that `Heap::grow` is small enough to be inlined.
///
/// # Safety
/// As for [`Memory::grow`], with any sizes.
#[inline(never)]
pub(crate) unsafe fn move_to_new<M: Memory + ?Sized>(
    memory: &M,
    p: NonNull<u8>,
    old: Layout,
    new: Layout,
    site: CallSite,
) -> Allocated {
    let to = memory.__allocate(new, site)?;
    // SAFETY: the caller's contract; new memory does not overlap the old.
    unsafe {
        to.copy_from_nonoverlapping(p, old.size().min(new.size()));
        memory.deallocate(p, old);
    }
    Ok(to)
}

/// The calls of a type that dereferences to a memory, whose calls they are.
macro_rules! memory_by_deref {
    () => {
        #[inline(always)]
        #[track_caller]
        fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
            (**self).allocate(layout)
        }

        #[inline(always)]
        unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
            // SAFETY: the caller's contract, as in all of these.
            unsafe { (**self).deallocate(p, layout) }
        }

        #[inline(always)]
        #[track_caller]
        unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
            // SAFETY: as above.
            unsafe { (**self).grow(p, old, new) }
        }

        #[inline(always)]
        #[track_caller]
        unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
            // SAFETY: as above.
            unsafe { (**self).shrink(p, old, new) }
        }

        #[inline(always)]
        fn __allocate(&self, layout: Layout, site: CallSite) -> Allocated {
            (**self).__allocate(layout, site)
        }

        #[inline(always)]
        fn __allocate_typed(&self, layout: Layout, site: CallSite) -> Allocated {
            (**self).__allocate_typed(layout, site)
        }

        #[inline(always)]
        unsafe fn __resize(&self, p: NonNull<u8>, old: Layout, new: Layout, site: CallSite) -> Allocated {
            // SAFETY: as above.
            unsafe { (**self).__resize(p, old, new, site) }
        }

        #[inline(always)]
        unsafe fn __grow_inline(&self, p: NonNull<u8>, old: usize, new: Layout) -> Option<NonNull<u8>> {
            // SAFETY: as above.
            unsafe { (**self).__grow_inline(p, old, new) }
        }

        #[inline(always)]
        unsafe fn __discard(&self, p: NonNull<u8>, layout: Layout) {
            // SAFETY: as above.
            unsafe { (**self).__discard(p, layout) }
        }

        #[inline(always)]
        unsafe fn __truncate(&self, p: NonNull<u8>, old: Layout, new: Layout) {
            // SAFETY: as above.
            unsafe { (**self).__truncate(p, old, new) }
        }

        #[inline(always)]
        fn __min_align(&self) -> usize {
            (**self).__min_align()
        }
    };
}
pub(crate) use memory_by_deref;

// SAFETY: the same memory.
unsafe impl<M: Memory + ?Sized> Memory for &M {
    memory_by_deref!();
}

/// The address of an allocation without bytes.
#[doc(hidden)]
#[inline(always)]
pub fn dangling(layout: Layout) -> NonNull<u8> {
    // SAFETY: an alignment is not 0.
    unsafe { NonNull::new_unchecked(ptr::without_provenance_mut(layout.align())) }
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
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        if layout.size() == 0 {
            return Ok(dangling(layout));
        }
        // SAFETY: the size is not 0.
        NonNull::new(unsafe { alloc::alloc::alloc(layout) }).ok_or(AllocError)
    }

    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            // SAFETY: the caller's contract.
            unsafe { alloc::alloc::dealloc(p.as_ptr(), layout) }
        }
    }

    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: the caller's contract; no size is 0, and the new one is not more than a layout's.
        unsafe {
            if old.size() == 0 || new.size() == 0 || old.align() != new.align() {
                return move_to_new(self, p, old, new, CallSite::caller(false));
            }
            NonNull::new(alloc::alloc::realloc(p.as_ptr(), old, new.size())).ok_or(AllocError)
        }
    }

    unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: the caller's contract; `grow` does not mind which size is larger.
        unsafe { self.grow(p, old, new) }
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

/// Memory from a [`Source`]: each allocation is a block of its own, a multiple of 4096 bytes.
///
/// ```
/// use core::alloc::Layout;
/// use toft::{Blocks, Memory, Pages};
///
/// let pages = Blocks(Pages::new());
/// let layout = Layout::new::<[u8; 100]>();
/// let p = pages.allocate(layout).unwrap();
/// // SAFETY: `allocate` returned `p` for this layout, and it is not used afterwards.
/// unsafe { pages.deallocate(p, layout) };
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
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        if layout.size() == 0 {
            return Ok(dangling(layout));
        }
        let block = Self::size(layout).and_then(|size| self.0.take(size)).ok_or(AllocError)?;
        if layout.align() <= LINE {
            return Ok(block);
        }
        // SAFETY: a block is at a multiple of LINE, so the next multiple of the alignment above the block's address is
        // LINE to `align` bytes above it: the address below it and the layout above it fit.
        unsafe {
            let skip = layout.align() - block.as_ptr() as usize % layout.align();
            let p = block.add(skip);
            p.cast::<NonNull<u8>>().sub(1).write(block);
            Ok(p)
        }
    }

    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        if layout.size() == 0 {
            return;
        }
        // SAFETY: the caller's contract; for alignments above LINE `allocate` wrote the block's address below `p`.
        unsafe {
            let block = if layout.align() <= LINE { p } else { p.cast::<NonNull<u8>>().sub(1).read() };
            self.0.put(block, Self::size(layout).unwrap_unchecked());
        }
    }

    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: the caller's contract.
        unsafe {
            if old.size() != 0 && old.align() == new.align() {
                let (had, wants) = (Self::size(old).ok_or(AllocError)?, Self::size(new).ok_or(AllocError)?);
                let block = if old.align() <= LINE { p } else { p.cast::<NonNull<u8>>().sub(1).read() };
                if had == wants || self.0.extend(block, had, wants) {
                    return Ok(p);
                }
            }
            move_to_new(self, p, old, new, CallSite::caller(false))
        }
    }
}
