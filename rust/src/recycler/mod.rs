//! Recyclers: allocation with individual frees, in blocks that are reused when they have no live object.
//!
//! | file | |
//! |---|---|
//! | `block.rs` | blocks with live counts, segments, holes |
//! | `range.rs` | ranges and lists |
//! | `state.rs` | the data types, whose methods are in the files below |
//! | `alloc_slow.rs` | blocks with frees; the slow path |
//! | `trim_release.rs`, `stats.rs` | trim and release; statistics |
//! | `class.rs` | size classes: the inline paths |
//! | `medium.rs` | requests above the size classes that share blocks |
//! | `large.rs` | objects with a block of their own |
//! | `directory.rs`, `supply.rs` | from addresses to blocks; the source |
//! | `sync.rs` | shards for many threads |
//! | `checked.rs` | checked processes: red zones and a quarantine |
// SPDX-License-Identifier: MIT OR Apache-2.0

mod alloc_slow;
mod block;
#[cfg(feature = "std")]
mod checked;
mod class;
mod directory;
mod large;
mod medium;
mod range;
mod state;
mod stats;
mod supply;
#[cfg(feature = "std")]
mod sync;
mod trim_release;

use core::alloc::Layout;
use core::ptr::NonNull;
use core::sync::atomic;

use crate::arena::{debug_by_stats, default_by_new};
use crate::construct::Construct;
use crate::error::{unwrap_infallible, AllocError};
use crate::memory::{memory_by_call_site, resize_in_place_or_move, Allocated, CallSite, Heap, Memory};
use crate::source::Source;
use class::Kind;
use state::{Index, State};
use supply::Supply;

pub use stats::RecyclerStats;
#[cfg(feature = "std")]
pub use sync::SyncRecycler;

/// An allocator with individual frees, for containers that churn.
///
/// Allocation moves a cursor, as in an [`Arena`](crate::Arena): one for each of 56 size classes, which also reuse what
/// was freed last. Blocks without live objects serve any class. Objects have no header. With the feature
/// `allocator-api2` or `nightly`, `&Recycler` is an allocator; it is [`Memory`](crate::Memory) for pools.
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
///     let mut pool: toft_pools::Pool<u8, toft_pools::Rows, toft_pools::Handle<u8>, _> = toft_pools::Pool::new_in(&recycler);
///     pool.insert(1);
///     pool
/// }; // the recycler does not live so long
/// ```
///
/// # Memory
///
/// Sizes are rounded up: to 8, from 129 to 4096 bytes by at most an eighth. Blocks have 32 KiB and come from the source
/// in segments that double from 32 KiB to 1 MiB. Requests above 28 KiB have a block each. Memory is returned to the
/// source by [`trim`](Recycler::trim), [`release`](Recycler::release) and drop only, except for large blocks beyond
/// twice the maximum in use, and when the source refuses a block: then the block is requested once more, or a smaller
/// one that suffices. Any alignment is served; a size of 0 counts as 1.
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
/// Allocation and free take constant time; both are inlined. Holes are searched in at most nine blocks, each in time
/// linear in its size. `trim` and `stats` are linear in blocks, and pass what size classes keep to its blocks.
/// A recycler itself has 6 KiB, a `SyncRecycler` 45 KiB.
pub struct Recycler<S: Source = Heap> {
    state: State,
    index: Index,
    source: S,
}

impl State {
    /// Resizes in place. `false`: impossible, nothing changed.
    ///
    /// # Safety
    /// As for [`deallocate`](Memory::deallocate), for the bytes behind `new`, in this state.
    #[inline(always)]
    unsafe fn resize_in_place(&self, supply: &Supply<'_>, p: NonNull<u8>, old: Layout, new: Layout) -> bool {
        #[cfg(feature = "std")]
        if let Some(checked) = self.checked() {
            return checked.resize_in_place(p.addr().get(), old.size(), new.size());
        }
        let (at, units) = (p.addr().get(), &supply.index.units);
        // SAFETY: the caller's contract.
        unsafe {
            match (class::kind(old.size(), old.align()), class::kind(new.size(), new.align())) {
                (Kind::Class(_, was), Kind::Class(_, now)) => self.resize(units, at, was, now),
                (Kind::Medium(was), Kind::Medium(now)) => self.resize_medium(units, at, was, now),
                (Kind::Large(_), Kind::Large(now)) => self.larges.resize(supply, at, now),
                _ => false,
            }
        }
    }
}

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

        /// Resizes an allocation: in place if it shrinks, or is the newest and fits; else it moves, also if one above 28
        /// KiB shrinks to less, or to a quarter of its block. Nothing changes on an error.
        ///
        /// ```
        #[doc = $made]
        /// use std::alloc::Layout;
        /// let (small, large) = (Layout::new::<[u8; 8]>(), Layout::new::<[u8; 64]>());
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
        Recycler { state: State::new(), index: Index::new(), source }
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
            index: &self.index,
            owner: 0,
            #[cfg(feature = "std")]
            lock: None,
        }
    }

    /// # Safety
    /// As for `State::resize_in_place`.
    #[inline(always)]
    unsafe fn resize_in_place(&self, p: NonNull<u8>, old: Layout, new: Layout) -> bool {
        // SAFETY: the caller's contract.
        unsafe { self.state.resize_in_place(&self.supply(), p, old, new) }
    }

    #[cold]
    #[inline(never)]
    fn alloc_slow(&self, layout: Layout, site: CallSite) -> Option<NonNull<u8>> {
        let (size, align) = (layout.size(), layout.align());
        self.state.reuse(size, align).or_else(|| self.state.alloc_slow(&self.supply(), size, align, site))
    }

    /// # Safety
    /// As for [`deallocate`](Recycler::deallocate).
    #[inline(never)]
    unsafe fn free_slow(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { self.state.free_slow(&self.supply(), p.addr().get(), layout.size(), layout.align()) }
    }

    calls_by_layout!("let recycler = toft::Recycler::new();");

    /// Returns memory without live objects to the source, in whole segments and large blocks, until about `keep` bytes
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
            supply.clear();
        }
    }

    /// Returns the statistics.
    pub fn stats(&self) -> RecyclerStats {
        let mut stats = RecyclerStats::default();
        stats.add(&self.state, &self.index.units);
        stats.finish(&self.index)
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
        // SAFETY: the caller's contract.
        unsafe {
            if !self.state.free(p.addr().get(), layout.size(), layout.align()) {
                self.free_slow(p, layout);
            }
        }
    }

    resize_in_place_or_move!(inline(always));
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
