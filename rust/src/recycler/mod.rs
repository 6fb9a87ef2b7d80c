//! Recyclers: allocation with individual frees, in slabs of one size class.
//!
//! | file | |
//! |---|---|
//! | `class.rs` | size classes |
//! | `segment.rs` | segments, units, pages: the descriptors and their geometry |
//! | `state.rs` | the data types, whose methods are in the files below |
//! | `slab.rs` | slabs and their pages; the inline paths |
//! | `region.rs`, `large.rs` | regions and their runs of pages; larger objects |
//! | `account.rs` | what all recyclers of the process have in use and idle |
//! | `retention.rs`, `stats.rs` | what is kept, trim and release; statistics |
//! | `supply.rs` | the source |
//! | `sync.rs` | shards for many threads |
//! | `verify.rs` | the invariants |
//! | `checked.rs`, `checked_omitted.rs` | checked processes: red zones and a quarantine; without the feature `diagnostics` |
// SPDX-License-Identifier: MIT OR Apache-2.0

mod account;
#[cfg(all(feature = "std", feature = "diagnostics"))]
mod checked;
#[cfg(not(all(feature = "std", feature = "diagnostics")))]
#[path = "checked_omitted.rs"]
mod checked;
mod class;
mod large;
mod region;
mod retention;
mod segment;
mod slab;
mod state;
mod stats;
mod supply;
#[cfg(feature = "std")]
mod sync;
mod verify;

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;

use crate::base::error::{unwrap_infallible, AllocError};
use crate::base::policy::is_request;
use crate::base::source::Source;
use crate::memory::by_layout::{memory_by_call_site, move_to_new, Allocated, CallSite, Heap, Memory};
use crate::memory::common_impls::{debug_by_stats, default_by_new};
use crate::memory::construct::Construct;
use segment::Slab;
use state::State;
use supply::Supply;

pub use stats::RecyclerStats;
#[cfg(feature = "std")]
pub use sync::SyncRecycler;

/// An allocator with individual frees, for containers that churn.
///
/// Objects of one size class lie in slabs of 4 to 32 KiB, which take freed objects before new memory. A slab without
/// live objects serves any class again. Objects have no header. With the feature `allocator-api2` or `nightly`,
/// `&Recycler` is an allocator; it is [`Memory`](crate::Memory) for pools.
///
#[cfg_attr(feature = "allocator-api2", doc = "```")]
#[cfg_attr(not(feature = "allocator-api2"), doc = "```ignore")]
/// use allocator_api2::{boxed::Box, vec::Vec};
/// use toft::Recycler;
///
/// let recycler = Recycler::new();
/// let mut waiting = Vec::new_in(&recycler);
/// for round in 0..1000 {
///     waiting.push(Box::new_in([round; 10], &recycler));
///     if waiting.len() > 20 {
///         waiting.swap_remove(round % 20); // its memory is given out again
///     }
/// }
/// assert_eq!(recycler.stats().reserved, 32 << 10);
/// ```
///
/// A collection borrows the recycler, which prevents that it is moved, released or dropped. It belongs to one thread at
/// a time: it is `Send`, not `Sync`. [`SyncRecycler`](crate::SyncRecycler) serves many threads at once.
///
/// ```compile_fail
/// let leaked = {
///     let recycler = toft::Recycler::new();
///     let mut pool = toft_pools::Pool::new_in(&recycler);
///     pool.insert(1);
///     pool
/// }; // the recycler does not live so long
/// ```
///
/// # Memory
///
/// Sizes are rounded up to a multiple of the alignment and of 8, from 129 to 4096 bytes to a multiple of an eighth of
/// the power of two below, and from there to 4592, 5360, 6448, 8048, 10736 or 16112; a size of 0 counts as 1. Slabs come
/// from the source in segments of 32 KiB to 2 MiB, each at least half as large as those before it together. Larger
/// objects, those above 4096 bytes that are aligned to 32 or more, and those aligned to more than 4096 take whole pages of
/// 4 KiB in regions: of their own size at first; when more than 512 KiB of them is in use, those up to 1 MiB side by side
/// in regions of 2 and then 4 MiB, in which they grow in place if there is space.
///
/// The recyclers of a process together keep what they had in use at once in the current or the previous half second
/// (`cache::set_page_window`), and as much again, up to the larger of 4 MiB and an eighth of it: a call that frees a slab
/// or a large object returns the surplus to the source, in whole segments and regions, when there has been one for 16
/// milliseconds. Without the feature `std` there is no clock, and this is the most that was ever
/// in use. [`trim`](Recycler::trim), [`release`](Recycler::release) and drop return memory at once. When the source
/// refuses a block, memory without live objects is returned to it, the block is requested once more, then a smaller one
/// that suffices.
///
/// The source is the heap, through the thread's [`cache`](crate::cache), or the [caller's](Recycler::from_source). A
/// [`Limited`](crate::Limited) source is a budget:
///
/// ```
/// use std::alloc::Layout;
/// use toft::{Heap, Limited, Recycler};
/// let recycler = Recycler::from_source(Limited::new(Heap, 1 << 20));
/// assert!(recycler.try_alloc_layout(Layout::new::<[u8; 2 << 20]>()).is_err());
/// assert!(recycler.try_alloc_layout(Layout::new::<[u8; 1 << 10]>()).is_ok());
/// ```
///
/// A [`Reserve`](crate::Reserve), which has one block, provides the first segment only.
///
/// # Checks
///
/// In a checked process (`TOFT_CHECKED`: [`Finding`](crate::Finding)) each object has red zones, is filled, and is
/// quarantined until 1 MiB of other objects was freed. Overruns, underruns, writes after the free, mismatching frees
/// and double frees are detected; sizes are compared in multiples of 8. Statistics include red zones and the
/// quarantine.
///
/// # Cost
///
/// Allocation, free and `stats` take constant time, except that a slab is looked for in the segments that have space;
/// the first two are inlined. Those of a larger object are linear in the free runs of its region, which has up to 1024 pages.
/// `trim` is linear in segments and regions. A recycler itself has 1.1 KiB, a `SyncRecycler` 9.5 KiB.
pub struct Recycler<S: Source = Heap> {
    state: State,
    source: S,
}

impl State {
    #[cold]
    #[inline(never)]
    fn alloc_slow(&self, supply: &Supply<'_>, size: usize, align: usize, site: CallSite) -> Option<NonNull<u8>> {
        if !is_request(size, align) {
            return None;
        }
        if let Some(checked) = self.decide_checked().ok()? {
            debug_assert!(self.verify());
            return checked.alloc(supply, size, align, site);
        }
        let _ = site;
        let p = match class::any_of(size, align) {
            Some((k, bytes)) => self.alloc_in_class(supply, k, bytes),
            None => self.alloc_large(supply, class::rounded_size(size), align),
        };
        debug_assert!(self.verify());
        p
    }

    /// Frees any object.
    ///
    /// # Safety
    /// The `size` bytes at `at` are an allocation of this state with this layout, and are not used any more.
    unsafe fn free_slow(&self, supply: &Supply<'_>, at: usize, size: usize, align: usize) {
        if let Some(checked) = self.checked() {
            return self.free_checked(checked, at, class::rounded_size(size));
        }
        // SAFETY: the caller's contract.
        unsafe {
            if !class::is_small(size, align) {
                self.free_large(supply, at);
            } else if let Some(d) = self.push(at) {
                self.slab_freed(supply, d);
            }
        }
    }

    /// Resizes in place; a small object stays in its slab if it needs half of its bytes or more, or if it suffices that
    /// it `fits`. `false`: impossible, nothing changed.
    ///
    /// # Safety
    /// As for [`deallocate`](Memory::deallocate), for the bytes behind `new`, in this state.
    unsafe fn resize_in_place(&self, p: NonNull<u8>, old: Layout, new: Layout, fits: bool) -> bool {
        if let Some(checked) = self.checked() {
            return checked.resize_in_place(p.addr().get(), old.size(), new.size());
        }
        let (at, size) = (p.addr().get(), class::rounded_size(new.size()));
        let is_small = class::is_small(new.size(), new.align());
        // SAFETY: the caller's contract.
        unsafe {
            if is_small != class::is_small(old.size(), old.align()) {
                return false;
            }
            if !is_small {
                return self.resize_large(at, size, fits);
            }
            let has = (*Slab::of(at)).bytes as usize;
            size <= has && (fits || size >= has / 2)
        }
    }
}

/// `__resize` of both recyclers: one that cannot move since there is no memory stays if it fits.
macro_rules! resize_or_move {
    ($inline:meta) => {
        #[$inline]
        unsafe fn __resize(&self, p: NonNull<u8>, old: Layout, new: Layout, site: CallSite) -> Allocated {
            let is_aligned = p.addr().get() & (new.align() - 1) == 0;
            // SAFETY: the caller's contract.
            unsafe {
                if is_aligned && self.resize_in_place(p, old, new, false) {
                    return Ok(p);
                }
                let moved = move_to_new(self, p, old, new, site);
                if moved.is_err() && is_aligned && self.resize_in_place(p, old, new, true) {
                    return Ok(p);
                }
                moved
            }
        }
    };
}
#[cfg(feature = "std")]
use resize_or_move;

/// The calls by layout of both recyclers. `$made` is the line of the examples that makes one.
macro_rules! calls_by_layout {
    ($made:literal) => {
        /// Allocates memory, until it is freed by [`deallocate`](Self::deallocate) or the recycler is released.
        ///
        /// # Panics
        /// If there is no memory.
        #[inline(always)]
        #[track_caller]
        pub fn alloc_layout(&self, layout: Layout) -> NonNull<u8> {
            unwrap_infallible(self.bytes(layout))
        }

        /// As [`alloc_layout`](Self::alloc_layout), with an error instead of the panic.
        #[inline(always)]
        #[track_caller]
        pub fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
            self.bytes(layout)
        }

        /// Frees memory.
        ///
        /// # Safety
        /// `p` came from this recycler with `layout`, or was resized to it, and is not used any more.
        #[inline(always)]
        pub unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
            // SAFETY: the caller's contract.
            unsafe { Memory::deallocate(self, p, layout) }
        }

        /// Resizes an allocation: in place if the bytes of its size class suffice and at least half of them are needed,
        /// or if a larger object shrinks or the pages behind it are free; else it moves. If there is no memory for that,
        /// one that shrinks stays, unless it shrinks from pages to a size class. Nothing changes on an error.
        ///
        /// ```
        #[doc = $made]
        /// use std::alloc::Layout;
        /// let (small, large) = (Layout::new::<[u8; 130]>(), Layout::new::<[u8; 144]>()); // of one size class
        /// let p = recycler.alloc_layout(small);
        /// // SAFETY: allocated here with that layout.
        /// assert_eq!(unsafe { recycler.reallocate(p, small, large) }, Ok(p));
        /// ```
        ///
        /// # Safety
        /// `p` came from this recycler with the layout `old`, and is not used any more except at the returned address.
        #[inline]
        #[track_caller]
        pub unsafe fn reallocate(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
            // SAFETY: the caller's contract.
            unsafe { self.__resize(p, old, new, CallSite::caller(false)) }
        }
    };
}
#[cfg(feature = "std")]
use calls_by_layout;

impl Recycler {
    /// Creates an empty recycler on the heap. It takes no memory yet.
    pub const fn new() -> Recycler {
        Recycler::from_source(Heap)
    }
}

impl<S: Source> Recycler<S> {
    /// Creates a recycler whose blocks come from `source`: owned, or `&source`.
    pub const fn from_source(source: S) -> Recycler<S> {
        Recycler { state: State::new(), source }
    }

    /// Returns the source.
    ///
    /// ```
    /// use toft::{Heap, Limited, Recycler};
    /// let recycler = Recycler::from_source(Limited::new(Heap, 1 << 20));
    /// assert_eq!(recycler.source().used(), 0);
    /// ```
    pub fn source(&self) -> &S {
        &self.source
    }

    #[inline(always)]
    fn supply(&self) -> Supply<'_> {
        Supply {
            source: &self.source,
            owner: 0,
            refused: Cell::new(0),
            #[cfg(feature = "std")]
            lock: None,
        }
    }

    /// # Safety
    /// As for `State::resize_in_place`.
    #[inline(always)]
    unsafe fn resize_in_place(&self, p: NonNull<u8>, old: Layout, new: Layout, fits: bool) -> bool {
        // SAFETY: the caller's contract.
        unsafe { self.state.resize_in_place(p, old, new, fits) }
    }

    #[cold]
    #[inline(never)]
    fn alloc_slow(&self, layout: Layout, site: CallSite) -> Option<NonNull<u8>> {
        let (supply, size, align) = (self.supply(), layout.size(), layout.align());
        let p = self.state.alloc_slow(&supply, size, align, site);
        p.or_else(|| supply.source_frees().then(|| self.state.alloc_slow(&supply, size, align, site)).flatten())
    }

    /// # Safety
    /// As for [`deallocate`](Recycler::deallocate).
    #[inline(never)]
    unsafe fn free_slow(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { self.state.free_slow(&self.supply(), p.addr().get(), layout.size(), layout.align()) }
    }

    /// # Safety
    /// As for `State::slab_freed`.
    #[cold]
    #[inline(never)]
    unsafe fn slab_freed(&self, d: *mut Slab) {
        // SAFETY: the caller's contract.
        unsafe { self.state.slab_freed(&self.supply(), d) }
    }

    calls_by_layout!("let recycler = toft::Recycler::new();");

    /// Returns memory without live objects to the source, in whole segments and regions, until about `keep` bytes
    /// of it are left.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let recycler = toft::Recycler::new();
    /// let layout = Layout::new::<[u8; 100_000]>();
    /// let p = recycler.alloc_layout(layout);
    /// // SAFETY: allocated here with that layout, and not used any more.
    /// unsafe { recycler.deallocate(p, layout) };
    /// assert!(recycler.stats().kept > 100_000);
    /// recycler.trim(0);
    /// assert_eq!(recycler.stats().kept, 0);
    /// ```
    pub fn trim(&self, keep: usize) {
        self.state.trim(&self.supply(), keep);
    }

    /// Returns all memory to the source, whether it was freed or not. The exclusive borrow ensures that no collection
    /// uses it; leaked allocations are lost.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let mut recycler = toft::Recycler::new();
    /// recycler.alloc_layout(Layout::new::<[u8; 100_000]>());
    /// recycler.release();
    /// assert_eq!(recycler.stats().reserved, 0);
    /// ```
    pub fn release(&mut self) {
        let supply = self.supply();
        // SAFETY: borrowed exclusively, so no allocation is used.
        unsafe {
            self.state.release(&supply);
        }
    }

    /// Returns the statistics.
    pub fn stats(&self) -> RecyclerStats {
        let mut stats = RecyclerStats::default();
        stats.add(&self.state);
        stats.finish()
    }
}

// SAFETY: allocations are used by no other code until they are freed; a release of all needs an exclusive borrow.
unsafe impl<S: Source> Memory for Recycler<S> {
    memory_by_call_site!(inline(always));

    #[inline(always)]
    fn __allocate(&self, layout: Layout, site: CallSite) -> Allocated {
        match self.state.bump(layout.size(), layout.align()) {
            Some(p) => Ok(p),
            None => self.alloc_slow(layout, site).ok_or(AllocError),
        }
    }

    #[inline(always)]
    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        let at = p.addr().get();
        // SAFETY: the caller's contract.
        unsafe {
            if !class::is_inline(layout.size(), layout.align(), self.state.inline_max.get()) {
                return self.free_slow(p, layout);
            }
            if let Some(d) = self.state.push(at) {
                self.slab_freed(d);
            }
        }
    }

    resize_or_move!(inline(always));
}

// SAFETY: it owns its blocks, and its source is `Send`. Allocations borrow it, so it is not sent while they exist.
unsafe impl<S: Source + Send> Send for Recycler<S> {}

impl<S: Source> Drop for Recycler<S> {
    fn drop(&mut self) {
        self.release();
    }
}

default_by_new!(Recycler);

debug_by_stats!([S: Source] Recycler<S>, "Recycler");
