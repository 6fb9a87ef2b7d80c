//! Recyclers for many threads: shards with a lock each.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::AtomicBool;

use super::segment::Slab;
use super::state::{Large, State};
use super::supply::Supply;
use super::{calls_by_layout, checked, class, resize_or_move, RecyclerStats};
use crate::base::error::{unwrap_infallible, AllocError};
use crate::base::lock::{Guard, Lock};
use crate::base::policy::is_request;
use crate::base::source::Source;
use crate::base::thread_hint::hint;
use crate::memory::by_layout::{memory_by_call_site, move_to_new, Allocated, CallSite, Heap, Memory};
use crate::memory::common_impls::{debug_by_stats, default_by_new};
use crate::memory::construct::Construct;
use crate::system::hook::DeferReports;

const SHARDS: usize = 8;

/// Aligned to two cache lines, since some processors fetch lines in pairs.
#[repr(align(128))]
struct Shard {
    lock: Lock,
    state: State,
}

/// A [`Recycler`](crate::Recycler) that all threads may use at once: any thread may free any allocation.
///
/// Threads are distributed over eight shards, each a recycler with a lock. An allocation takes the lock of the thread's
/// shard, or of another if that is held; a free takes the lock of the shard that the memory came from, which it finds
/// without a lock. Locks are held for nanoseconds, or while the source is called, which one thread at a time does.
///
/// With the feature `allocator-api2` or `nightly`, `&SyncRecycler` is an allocator; a collection in it is `Send` and
/// `Sync` if its elements are. It is created by a `const fn`, so it can be a `static`.
///
#[cfg_attr(feature = "allocator-api2", doc = "```")]
#[cfg_attr(not(feature = "allocator-api2"), doc = "```ignore")]
/// use allocator_api2::{boxed::Box, vec::Vec};
/// use toft::SyncRecycler;
///
/// static RECYCLER: SyncRecycler = SyncRecycler::new();
///
/// let boxes: Vec<_> = (0..100).map(|i| Box::new_in(i, &RECYCLER)).collect();
/// let sum = std::thread::spawn(move || boxes.iter().map(|b| **b).sum::<i32>()); // they are freed there
/// assert_eq!(sum.join().unwrap(), 4950);
/// assert_eq!(RECYCLER.stats().live, 0);
/// ```
pub struct SyncRecycler<S: Source = Heap> {
    shards: [Shard; SHARDS],
    source_lock: Lock,
    source: S,
}

impl SyncRecycler {
    /// Creates an empty recycler on the heap. It takes no memory yet.
    pub const fn new() -> SyncRecycler {
        SyncRecycler::from_source(Heap)
    }
}

impl<S: Source> SyncRecycler<S> {
    /// Creates a recycler whose blocks come from `source`, which one thread at a time calls.
    ///
    /// ```
    /// use toft::{Pages, SyncRecycler};
    /// let recycler = SyncRecycler::from_source(Pages::new());
    /// recycler.alloc_layout(std::alloc::Layout::new::<u64>());
    /// assert_eq!(recycler.stats().live, 8);
    /// ```
    pub const fn from_source(source: S) -> SyncRecycler<S> {
        SyncRecycler {
            shards: [const { Shard { lock: Lock::of(AtomicBool::new(false)), state: State::new() } }; SHARDS],
            source_lock: Lock::of(AtomicBool::new(false)),
            source,
        }
    }

    #[inline(always)]
    fn supply(&self, shard: usize) -> Supply<'_> {
        Supply { source: &self.source, owner: shard as u8, refused: Cell::new(0), lock: Some(&self.source_lock) }
    }

    /// Locks a shard for an allocation: the thread's own, or a free one.
    #[inline(always)]
    fn some_shard(&self) -> (Guard<'_>, usize) {
        let own = hint() % SHARDS;
        match self.shards[own].lock.try_take() {
            Some(guard) => (guard, own),
            None => self.another_shard(own),
        }
    }

    #[cold]
    fn another_shard(&self, own: usize) -> (Guard<'_>, usize) {
        let others = (1..SHARDS).map(|i| (own + i) % SHARDS);
        let free = others.map(|i| (self.shards[i].lock.try_take(), i)).find_map(|(guard, i)| Some((guard?, i)));
        free.unwrap_or_else(|| (self.shards[own].lock.take(), own))
    }

    /// Returns the shard that an object came from, which is constant while it is live. `None`: it is checked, and any
    /// shard may have it.
    ///
    /// # Safety
    /// The object is live, of this recycler, and has this layout.
    #[inline(always)]
    unsafe fn shard_of(&self, p: NonNull<u8>, layout: Layout) -> Option<usize> {
        if checked::is_on() {
            return None;
        }
        let at = p.addr().get();
        // SAFETY: the caller's contract.
        let owner = unsafe {
            if class::is_small(layout.size(), layout.align()) {
                (*Slab::unit_of(at)).owner
            } else {
                (*Large::of(at)).owner
            }
        };
        Some(owner as usize % SHARDS)
    }

    /// The slow path. Findings are delivered after the lock is released.
    #[cold]
    #[inline(never)]
    fn alloc_slow(&self, guard: Guard<'_>, i: usize, layout: Layout, site: CallSite) -> Option<NonNull<u8>> {
        let (state, size, align) = (&self.shards[i].state, layout.size(), layout.align());
        let deferred = DeferReports::new();
        let p = state.alloc_slow(&self.supply(i), size, align, site);
        drop(guard);
        deferred.end();
        p.or_else(|| self.alloc_after_refusal(i, layout, site))
    }

    /// The source refused shard `i`: all are tried, and once more if the source has freed memory.
    #[cold]
    fn alloc_after_refusal(&self, i: usize, layout: Layout, site: CallSite) -> Option<NonNull<u8>> {
        if !is_request(layout.size(), layout.align()) {
            return None;
        }
        let supply = self.supply(0);
        let p = self.alloc_anywhere(i, layout, site, &supply.refused);
        p.or_else(|| supply.source_frees().then(|| self.alloc_anywhere(i, layout, site, &supply.refused)).flatten())
    }

    /// All shards return what they do not use, and each is tried, from `i` on. Stores the size of the block that the
    /// source refused last.
    fn alloc_anywhere(&self, i: usize, layout: Layout, site: CallSite, refused: &Cell<usize>) -> Option<NonNull<u8>> {
        let deferred = DeferReports::new();
        self.trim(0);
        let p = (i..i + SHARDS).map(|k| k % SHARDS).find_map(|k| {
            let _guard = self.shards[k].lock.take();
            let supply = self.supply(k);
            let p = self.shards[k].state.alloc_slow(&supply, layout.size(), layout.align(), site);
            refused.set(supply.refused.get());
            p
        });
        deferred.end();
        p
    }

    /// Frees a checked object of a shard, or reports a bad free.
    #[cold]
    #[inline(never)]
    fn free_checked(&self, p: NonNull<u8>, layout: Layout) {
        let deferred = DeferReports::new();
        let bytes = class::rounded_size(layout.size());
        let freed = self.shards.iter().any(|shard| {
            let _guard = shard.lock.take();
            shard.state.checked().is_some_and(|checked| checked.free(p.addr().get(), bytes))
        });
        if !freed {
            checked::bad_free(bytes);
        }
        deferred.end();
    }

    /// # Safety
    /// As for `State::resize_in_place`.
    #[inline]
    unsafe fn resize_in_place(&self, p: NonNull<u8>, old: Layout, new: Layout, fits: bool) -> bool {
        // SAFETY: the caller's contract; the shard is this thread's while it has the lock.
        unsafe {
            let Some(i) = self.shard_of(p, old) else {
                return self.shards.iter().any(|shard| {
                    let _guard = shard.lock.take();
                    shard.state.checked().is_some_and(|it| it.resize_in_place(p.addr().get(), old.size(), new.size()))
                });
            };
            let _guard = self.shards[i].lock.take();
            self.shards[i].state.resize_in_place(p, old, new, fits)
        }
    }

    calls_by_layout!("let recycler = toft::SyncRecycler::new();");

    /// Returns memory without live objects to the source: [`Recycler::trim`](crate::Recycler::trim). Other threads may
    /// use the recycler at the same time.
    pub fn trim(&self, keep: usize) {
        let deferred = DeferReports::new();
        let mut keep = keep;
        for (i, shard) in self.shards.iter().enumerate() {
            let _guard = shard.lock.take();
            keep -= shard.state.trim(&self.supply(i), keep).min(keep);
        }
        deferred.end();
    }

    /// Returns all memory to the source, whether it was freed or not.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let mut recycler = toft::SyncRecycler::new();
    /// recycler.alloc_layout(Layout::new::<[u8; 100_000]>());
    /// recycler.release();
    /// assert_eq!(recycler.stats().reserved, 0);
    /// ```
    pub fn release(&mut self) {
        // SAFETY: borrowed exclusively, so no allocation is used, and no other call is running.
        unsafe {
            for (i, shard) in self.shards.iter().enumerate() {
                shard.state.release(&self.supply(i));
            }
        }
    }

    /// Returns the statistics: the sum over the shards, each read at a different moment.
    pub fn stats(&self) -> RecyclerStats {
        let mut stats = RecyclerStats::default();
        for shard in &self.shards {
            let _guard = shard.lock.take();
            stats.add(&shard.state);
        }
        stats.finish()
    }
}

// SAFETY: allocations are used by no other code until they are freed; a release of all needs an exclusive borrow.
unsafe impl<S: Source> Memory for SyncRecycler<S> {
    memory_by_call_site!(inline(always));

    #[inline]
    fn __allocate(&self, layout: Layout, site: CallSite) -> Allocated {
        let (guard, i) = self.some_shard();
        match self.shards[i].state.bump(layout.size(), layout.align()) {
            Some(p) => Ok(p),
            None => self.alloc_slow(guard, i, layout, site).ok_or(AllocError),
        }
    }

    #[inline]
    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        let at = p.addr().get();
        // SAFETY: the caller's contract; the shard is this thread's while it has the lock.
        unsafe {
            let Some(i) = self.shard_of(p, layout) else { return self.free_checked(p, layout) };
            let _guard = self.shards[i].lock.take();
            let state = &self.shards[i].state;
            if !class::is_small(layout.size(), layout.align()) {
                state.free_large(&self.supply(i), at);
            } else if let Some(d) = state.push(at) {
                state.slab_freed(&self.supply(i), d);
            }
        }
    }

    resize_or_move!(inline);
}

// SAFETY: it owns its blocks, and its source is `Send`.
unsafe impl<S: Source + Send> Send for SyncRecycler<S> {}
// SAFETY: a shard is accessed with its lock held, except the owner of a unit or a large object, which does not change while
// an object is live; the source is called under a lock, by one thread at a time.
unsafe impl<S: Source + Send> Sync for SyncRecycler<S> {}

impl<S: Source> Drop for SyncRecycler<S> {
    fn drop(&mut self) {
        self.release();
    }
}

default_by_new!(SyncRecycler);

debug_by_stats!([S: Source] SyncRecycler<S>, "SyncRecycler");
