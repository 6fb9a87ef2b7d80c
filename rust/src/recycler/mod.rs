//! Recyclers: memory that is freed piece by piece, and comes back by itself.
//!
//! | file | |
//! |---|---|
//! | `block.rs` | blocks that count what is live in them, segments, holes |
//! | `range.rs`, `state.rs` | what is filled, and what waits; the fast paths, and what is done before the source is asked |
//! | `life.rs` | trim, release, and what it holds |
//! | `large.rs` | objects with a block of their own |
//! | `directory.rs`, `supply.rs` | whose an address is; the source |
//! | `sync.rs` | the same for many threads |
//! | `checked.rs` | where the process is checked: red zones, and a quarantine |
// SPDX-License-Identifier: MIT OR Apache-2.0

mod block;
#[cfg(feature = "std")]
mod checked;
mod directory;
mod large;
mod range;
mod state;
mod supply;
#[cfg(feature = "std")]
mod sync;
mod trim_release;

use core::alloc::Layout;
use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic;

use crate::construct::{CallSite, Construct};
use crate::error::{unwrap_infallible, AllocError};
use crate::memory::Heap;
use crate::source::Source;
use block::{ListName, Segment};
use state::State;
use supply::{Index, Supply};

pub use block::UNIT;
#[cfg(feature = "std")]
pub use sync::SyncRecycler;

/// Memory that is freed piece by piece: an allocator for containers that churn.
///
/// Allocation moves a cursor, as in an [`Arena`](crate::Arena). Each block counts its live bytes, and when none is left
/// it is filled anew; blocks that are pinned by a few long-lived objects have their holes filled. Objects have no header.
/// With the feature `allocator-api2` or `nightly`, `&Recycler` is an allocator; and it is [`Memory`](crate::Memory)
/// for pools.
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
/// What a collection holds borrows the recycler, which is then not moved, released or dropped. It belongs to one thread
/// at a time: it is `Send`, not `Sync`. [`SyncRecycler`](crate::SyncRecycler) is for all at once.
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
/// Blocks have 32 KiB and come from the source in segments that double from 32 KiB to 1 MiB. Requests above 28 KiB have a
/// block each. Nothing goes back before [`trim`](Recycler::trim), [`release`](Recycler::release) or the end, but for large
/// blocks beyond twice those that were ever in use at once. Any alignment is served; a size of 0 counts as 1.
///
/// The source is the heap, through the thread's [`cache`](crate::cache), or [one that you give](Recycler::from_source).
/// A budget is a [`Limited`](crate::Limited) source:
///
/// ```
/// use std::alloc::Layout;
/// use toft::{Heap, Limited, Recycler};
/// let recycler = Recycler::from_source(Limited::new(Heap, 1 << 20));
/// assert!(recycler.try_alloc_layout(Layout::new::<[u8; 2 << 20]>()).is_err());
/// assert!(recycler.try_alloc_layout(Layout::new::<[u8; 1 << 10]>()).is_ok());
/// ```
///
/// A [`Reserve`](crate::Reserve), which has one block, gives a recycler its first segment and no more.
///
/// # Checks
///
/// In a process that is checked (`TOFT_CHECKED`: [`Finding`](crate::Finding)) each object has red zones, is filled, and waits
/// until 1 MiB of others was freed before its memory is used again. Overruns, underruns, writes after the free, frees that do
/// not match and double frees are found; sizes are compared in multiples of 8. Statistics count the zones and what waits.
///
/// # Cost
///
/// Allocation and free take constant time; both are inlined. A block whose objects were freed one by one, but not all, is
/// swept before it is filled again, in time linear in its holes; an allocation looks at four such blocks at most. `trim`
/// and `stats` are linear in blocks.
pub struct Recycler<S: Source = Heap> {
    state: State,
    index: Index,
    source: S,
}

/// What a recycler holds: bytes, but for the counts.
///
/// ```
/// use std::alloc::Layout;
/// let recycler = toft::Recycler::new();
/// recycler.alloc_layout(Layout::new::<[u8; 100]>());
/// let s = recycler.stats();
/// assert_eq!((s.live, s.blocks, s.reserved), (104, 1, 32 << 10));
/// assert_eq!(s.reserved, s.live + s.pinned + s.kept + s.wasted);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RecyclerStats {
    /// Of live objects, each rounded up to 8.
    pub live: u64,
    /// Free, in blocks that live objects hold: what they keep from being recycled as a whole.
    pub pinned: u64,
    /// Free, in blocks without a live object: trim returns these, as far as whole segments are free.
    pub kept: u64,
    /// What is known of blocks and objects, and what alignment cuts off.
    pub wasted: u64,
    /// Held of the source: the sum of the four above.
    pub reserved: u64,
    /// The most that `reserved` ever was, but for what is known of addresses. Of a [`SyncRecycler`](crate::SyncRecycler)
    /// the sum of its shards', which is that or more.
    pub peak: u64,
    /// Blocks that hold live objects, large ones included.
    pub blocks: u64,
    /// Blocks that hold none, as far as they were used at all.
    pub idle_blocks: u64,
    /// Of `blocks`: those of one large object each.
    pub large_blocks: u64,
    /// How often the source was asked for blocks, ever.
    pub source_calls: u64,
}

impl RecyclerStats {
    fn add(&mut self, state: &State, units: &supply::Units) {
        #[cfg(feature = "std")]
        if let Some(checked) = state.checked() {
            checked.count(self);
        }
        let large = state.larges.count();
        state.each_segment(|s| {
            // SAFETY: segments and the blocks that were cut are alive.
            unsafe {
                for i in 0..(*s).count {
                    let capacity = Segment::extent(s, i).1 as u64;
                    if i >= (*s).cut {
                        self.kept += capacity;
                        continue;
                    }
                    let b = Segment::block(s, i);
                    let is_empty = (*b).list == ListName::Empty;
                    let live = if is_empty { 0 } else { (*b).live as u64 - state.unallocated(units, b) as u64 };
                    self.live += live;
                    *(if live != 0 { &mut self.pinned } else { &mut self.kept }) += capacity - live;
                    *(if live != 0 { &mut self.blocks } else { &mut self.idle_blocks }) += 1;
                }
            }
        });
        self.live += large.used as u64;
        self.pinned += large.pinned as u64;
        self.kept += large.kept as u64;
        self.blocks += large.objects;
        self.large_blocks += large.objects;
        self.reserved += state.reserved.get() as u64;
        self.peak += state.peak.get() as u64;
        self.source_calls += state.source_calls.get();
    }

    fn finish(mut self, index: &Index) -> RecyclerStats {
        self.reserved += index.bytes() as u64;
        self.wasted = self.reserved - self.live - self.pinned - self.kept;
        self
    }
}

/// Is this what stands for no memory? allocator-api2's `Box` gives that back, of a slice that was an empty `Vec`.
#[inline(always)]
fn is_dangling(p: NonNull<u8>, layout: Layout) -> bool {
    layout.size() == 0 && p.addr().get() == layout.align()
}

impl State {
    /// Makes it larger or smaller where it is. `false`: it is as it was.
    ///
    /// # Safety
    /// As for [`raw_free`](Construct::raw_free), of the bytes behind `new`, in this state.
    #[inline(always)]
    unsafe fn resize_in_place(&self, supply: &Supply<'_>, p: NonNull<u8>, old: Layout, new: Layout) -> bool {
        #[cfg(feature = "std")]
        if let Some(checked) = self.checked() {
            return checked.resize_in_place(p.addr().get(), old.size(), new.size());
        }
        let (at, was, now) = (p.addr().get(), block::rounded_size(old.size()), block::rounded_size(new.size()));
        let direct = |layout: Layout| block::is_direct(layout.size(), layout.align());
        // SAFETY: the caller's contract.
        unsafe {
            match (direct(old), direct(new)) {
                (true, true) => self.resize(&supply.index.units, at, was, now),
                (false, false) => self.larges.resize(supply, at, now),
                _ => false,
            }
        }
    }
}

impl Recycler {
    /// An empty one, of the heap. It takes no memory yet.
    ///
    /// ```
    /// assert_eq!(toft::Recycler::new().stats().reserved, 0);
    /// ```
    pub const fn new() -> Recycler {
        Recycler::from_source(Heap)
    }
}

impl<S: Source> Recycler<S> {
    /// One whose blocks come from `source`: of its own, or `&source`.
    ///
    /// ```
    /// use toft::{Heap, Limited, Recycler};
    /// let source = Limited::new(Heap, 1 << 20);
    /// let recycler = Recycler::from_source(&source);
    /// recycler.alloc_layout(std::alloc::Layout::new::<u64>());
    /// assert_eq!(source.used(), 32 << 10);
    /// drop(recycler);
    /// assert_eq!(source.used(), 0);
    /// ```
    pub const fn from_source(source: S) -> Recycler<S> {
        Recycler { state: State::new(), index: Index::new(), source }
    }

    /// Where its blocks come from.
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

    #[cold]
    #[inline(never)]
    fn raw_alloc_slow(&self, layout: Layout, site: CallSite) -> Option<NonNull<u8>> {
        self.state.alloc_slow(&self.supply(), layout.size(), layout.align(), site)
    }

    /// An object with a block of its own.
    ///
    /// # Safety
    /// As for [`free`](Recycler::free).
    #[cold]
    #[inline(never)]
    unsafe fn free_large(&self, at: usize, size: usize) {
        #[cfg(feature = "std")]
        if let Some(checked) = self.state.checked() {
            return self.state.free_checked(checked, at, block::rounded_size(size));
        }
        let _ = size;
        // SAFETY: the caller's contract.
        unsafe { self.state.larges.free(&self.state, &self.supply(), at) }
    }

    /// Memory of a layout, until it is [freed](Recycler::free) or the recycler is released.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let recycler = toft::Recycler::new();
    /// let layout = Layout::from_size_align(100, 64).unwrap();
    /// let p = recycler.alloc_layout(layout);
    /// assert_eq!(p.as_ptr() as usize % 64, 0);
    /// ```
    ///
    /// # Panics
    /// If there is no memory.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_layout(&self, layout: Layout) -> NonNull<u8> {
        unwrap_infallible(self.bytes(layout))
    }

    /// As [`alloc_layout`](Recycler::alloc_layout), with an error instead of the panic.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let recycler = toft::Recycler::from_source(toft::Limited::new(toft::Heap, 0));
    /// assert!(recycler.try_alloc_layout(Layout::new::<u8>()).is_err());
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        self.bytes(layout)
    }

    /// Gives memory back.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let recycler = toft::Recycler::new();
    /// let layout = Layout::new::<u64>();
    /// let first = recycler.alloc_layout(layout);
    /// // SAFETY: allocated here with that layout, and not used any more.
    /// unsafe { recycler.free(first, layout) };
    /// assert_eq!(recycler.alloc_layout(layout), first);
    /// ```
    ///
    /// # Safety
    /// `p` came from this recycler with `layout`, or was resized to it, and is used no more.
    #[inline(always)]
    pub unsafe fn free(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { self.raw_free(p, layout) }
    }

    /// Makes an allocation larger or smaller: in place if it shrinks, or is the newest and there is room; else it moves,
    /// and so if one above 28 KiB shrinks to less, or to a quarter of its block. On an error it is as it was.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let recycler = toft::Recycler::new();
    /// let (small, large) = (Layout::new::<[u8; 8]>(), Layout::new::<[u8; 64]>());
    /// let p = recycler.alloc_layout(small);
    /// // SAFETY: allocated here with that layout.
    /// assert_eq!(unsafe { recycler.resize(p, small, large) }, Ok(p));
    /// ```
    ///
    /// # Safety
    /// `p` came from this recycler with the layout `old`, and is used no more but at the address that is returned.
    #[inline]
    #[track_caller]
    pub unsafe fn resize(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: the caller's contract.
        unsafe { self.raw_realloc(p, old, new, CallSite::caller(false)) }.ok_or(AllocError)
    }

    /// Returns memory that holds no live object to the source, in whole segments and large blocks, until about `keep`
    /// bytes of it are left.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let recycler = toft::Recycler::new();
    /// let layout = Layout::new::<[u8; 100_000]>();
    /// let p = recycler.alloc_layout(layout);
    /// // SAFETY: allocated here with that layout, and not used any more.
    /// unsafe { recycler.free(p, layout) };
    /// assert!(recycler.stats().kept > 100_000);
    /// recycler.trim(0);
    /// assert_eq!(recycler.stats().kept, 0);
    /// ```
    pub fn trim(&self, keep: usize) {
        self.state.trim(&self.supply(), keep);
    }

    /// Returns all memory to the source, whether it was freed or not. Nothing that was allocated here is borrowed any
    /// more, or was leaked and is lost.
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
        // SAFETY: it is borrowed exclusively: nothing of it is used.
        unsafe {
            self.state.release(&supply);
            supply.clear();
        }
    }

    /// What it holds.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let recycler = toft::Recycler::new();
    /// recycler.alloc_layout(Layout::new::<[u64; 4]>());
    /// assert_eq!(recycler.stats().live, 32);
    /// ```
    pub fn stats(&self) -> RecyclerStats {
        let mut stats = RecyclerStats::default();
        stats.add(&self.state, &self.index.units);
        stats.finish(&self.index)
    }
}

impl<S: Source> Construct for Recycler<S> {
    const FREES: bool = true;

    #[inline(always)]
    fn raw_alloc(&self, layout: Layout, site: CallSite) -> Option<NonNull<u8>> {
        match self.state.bump(layout.size(), layout.align()) {
            Some(p) => Some(p),
            None => self.raw_alloc_slow(layout, site),
        }
    }

    #[inline(always)]
    unsafe fn raw_free(&self, p: NonNull<u8>, layout: Layout) {
        if is_dangling(p, layout) {
            return;
        }
        let at = p.addr().get();
        // SAFETY: the caller's contract.
        unsafe {
            if block::is_direct(layout.size(), layout.align()) {
                self.state.free(&self.index.units, at, block::rounded_size(layout.size()));
            } else {
                self.free_large(at, layout.size());
            }
        }
    }

    #[inline(always)]
    unsafe fn raw_realloc(&self, p: NonNull<u8>, old: Layout, new: Layout, site: CallSite) -> Option<NonNull<u8>> {
        // SAFETY: the caller's contract.
        unsafe {
            if p.addr().get() & (new.align() - 1) == 0 && self.state.resize_in_place(&self.supply(), p, old, new) {
                return Some(p);
            }
            self.realloc_by_copy(p, old, new, site)
        }
    }
}

// SAFETY: it owns its blocks, and its source is `Send`. What was allocated borrows it, so it is not sent meanwhile.
unsafe impl<S: Source + Send> Send for Recycler<S> {}

impl<S: Source> Drop for Recycler<S> {
    fn drop(&mut self) {
        self.release();
    }
}

impl Default for Recycler {
    fn default() -> Recycler {
        Recycler::new()
    }
}

impl<S: Source> fmt::Debug for Recycler<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recycler").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
