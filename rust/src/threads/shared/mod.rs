//! Shared arenas, which many threads fill at once.
//!
//! Soundness: each allocation is new memory, which one compare-and-exchange on the block's cursor reserves for its
//! thread. It is freed by `reset`, which borrows the arena exclusively, and when the arena is dropped; no references
//! into it exist then. The arena neither reads nor drops a value, so values may be of any type: a reference to a value
//! that is not `Send` stays on its thread.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod allocate;
mod blocks;
mod local;

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::{null_mut, NonNull};
use core::sync::atomic::{self, AtomicBool, AtomicPtr, AtomicUsize};

use crate::base::abi_types::Stats;
use crate::base::error::AllocError;
use crate::base::lock::{self, Lock};
use crate::base::policy::{is_request, merged_size, round, round8, stagger, BLOCK_MIN, CAP, HEADER, MERGE};
use crate::base::source::Source;
use crate::memory::arena::Keep;
use crate::memory::by_layout::{memory_by_call_site, resize_in_place_or_move, Allocated, CallSite, Heap, Memory};
use crate::memory::common_impls::{debug_by_stats, default_by_new};
use crate::system::hook::call_source;
use blocks::{Block, Current};
pub use local::Local;

/// Size of the first block.
const FIRST_BLOCK: usize = 16 << 10;
/// Larger requests may get a block of their own.
const LARGE_MIN: usize = 64 << 10;

/// An arena that many threads fill at once, through `&SharedArena`.
///
/// An allocation moves the block's cursor by one compare-and-exchange; when the block is full, one thread takes the
/// next, under a lock, and the others wait for it. A thread that allocates often takes a part of its own by
/// [`local`](SharedArena::local), with a cursor of its own and no atomic operations. Both kinds of allocations live as
/// long as the shared arena is borrowed.
///
/// ```
/// use toft::SharedArena;
///
/// let mut arena = SharedArena::new();
/// for round in 1..=3u64 {
///     let found = std::sync::Mutex::new(Vec::new());
///     std::thread::scope(|scope| {
///         for thread in 0..4u64 {
///             let (arena, found) = (&arena, &found);
///             scope.spawn(move || {
///                 let name = toft::format_in!(arena, "thread {thread}");
///                 let local = arena.local(); // no atomics from here on
///                 let squares = local.alloc_slice_fill_with(100, |i| i as u64 * i as u64 * round);
///                 found.lock().unwrap().push((&*name, &*squares));
///             });
///         }
///     });
///     let found = found.into_inner().unwrap(); // what they found outlives the threads, and their `local`s
///     assert!(found.iter().all(|(name, squares)| name.starts_with("thread") && squares[9] == 81 * round));
///     arena.reset();
/// }
/// ```
///
/// **Destructors do not run.** A value may be of any type: the reference to one that is not `Send` stays on its thread.
/// Only the newest allocation can be freed by itself; with the feature `allocator-api2` or `nightly`, `&SharedArena`
/// and `&Local` are allocators.
///
/// For one thread an [`Arena`](crate::Arena) is faster, and for threads that use only their own allocations
/// [`Frames`](crate::Frames) or [`Leases`](crate::Leases); the futures of a task, and values with destructors, need a
/// [`TaskArena`](crate::TaskArena).
pub struct SharedArena<S: Source = Heap> {
    current: Current,
    guarded: Guarded,
    source: S,
}

/// Protected by the lock, or by exclusive access to the arena.
struct Guarded {
    /// The blocks of this round, and the spares.
    used: Cell<*mut Block>,
    spare: Cell<*mut Block>,
    next_size: Cell<usize>,
    /// The source refused a block in this round.
    round_refused: Cell<bool>,
    /// It refused one, and has granted none in a later round: resets merge no blocks.
    keeps_blocks: Cell<bool>,
    count: Cell<u32>,
    reserved: Cell<usize>,
    source_calls: Cell<u64>,
    /// Bytes of the earlier rounds; those of the largest one; the recent need.
    allocated: Cell<u64>,
    peak: Cell<u64>,
    recent: Cell<u64>,
}

fn each(first: &Cell<*mut Block>, mut look: impl FnMut(&Block)) {
    // SAFETY: blocks in a list are alive.
    let mut at = unsafe { first.get().as_ref() };
    while let Some(block) = at {
        look(block);
        // SAFETY: as above.
        at = unsafe { block.next.get().as_ref() };
    }
}

fn push(first: &Cell<*mut Block>, block: NonNull<Block>) {
    debug_assert!(first.get() != block.as_ptr());
    // SAFETY: blocks put into a list are alive.
    unsafe { block.as_ref() }.next.set(first.get());
    first.set(block.as_ptr());
}

fn pop(first: &Cell<*mut Block>) -> Option<NonNull<Block>> {
    let block = NonNull::new(first.get())?;
    // SAFETY: blocks in a list are alive.
    first.set(unsafe { block.as_ref() }.next.get());
    Some(block)
}

fn pop_each(first: &Cell<*mut Block>, mut take: impl FnMut(NonNull<Block>)) {
    while let Some(block) = pop(first) {
        take(block);
    }
}

/// The smallest block for `need` bytes.
fn least_block(need: usize) -> usize {
    round(need + 8 * HEADER, BLOCK_MIN)
}

impl SharedArena {
    /// Creates an empty arena on the heap. It takes no memory yet, and can be a `static`.
    pub const fn new() -> SharedArena {
        SharedArena::from_source(Heap)
    }
}

impl<S: Source> SharedArena<S> {
    /// Creates an arena whose blocks come from `source`: owned, or `&source`. One thread at a time calls the source. A
    /// [`Limited`](crate::Limited) source is a budget.
    ///
    /// ```
    /// use toft::{Heap, Limited, SharedArena};
    /// let tight = SharedArena::from_source(Limited::new(Heap, 20_000));
    /// assert!(tight.try_alloc([0u8; 1000]).is_ok());
    /// assert!(tight.try_alloc([0u8; 20_000]).is_err());
    /// ```
    pub const fn from_source(source: S) -> SharedArena<S> {
        let guarded = Guarded {
            used: Cell::new(null_mut()),
            spare: Cell::new(null_mut()),
            next_size: Cell::new(FIRST_BLOCK),
            round_refused: Cell::new(false),
            keeps_blocks: Cell::new(false),
            count: Cell::new(0),
            reserved: Cell::new(0),
            source_calls: Cell::new(0),
            allocated: Cell::new(0),
            peak: Cell::new(0),
            recent: Cell::new(0),
        };
        let current = Current::of(AtomicPtr::new(null_mut()), Lock::of(AtomicBool::new(false)));
        SharedArena { current, guarded, source }
    }

    /// Creates a part for one thread, which takes memory of the arena in pieces of 2 to 32 KiB. It may be sent to
    /// another thread; its allocations outlive it. When it is dropped, the rest of its piece is freed if no other
    /// thread has allocated since.
    pub const fn local(&self) -> Local<'_, S> {
        Local::new(self)
    }

    /// Frees every allocation, and keeps what recent rounds needed, merged into one block up to 64 MiB.
    pub fn reset(&mut self) {
        self.reset_with(Keep::Recent);
    }

    /// As [`reset`](SharedArena::reset), with the blocks to keep chosen by `keep`.
    pub fn reset_with(&mut self, keep: Keep) {
        let (live, guarded) = (self.live(), &self.guarded);
        guarded.allocated.set(guarded.allocated.get() + live);
        guarded.peak.set(guarded.peak.get().max(live));
        let recent = guarded.recent.get();
        guarded.recent.set(live.max(recent - recent / 8));
        self.current.clear();
        pop_each(&guarded.used, |block| push(&guarded.spare, block));
        self.keep(keep);
        self.guarded.round_refused.set(false);
        if self.guarded.keeps_blocks.get() {
            self.guarded.next_size.set(FIRST_BLOCK); // the same requests find the same blocks again
        }
        debug_assert!(self.live() == 0 && self.current.block().is_none());
        debug_assert!(self.verify());
    }

    /// Returns kept blocks to the source, until about `keep` bytes of them are left.
    ///
    /// ```
    /// let mut arena = toft::SharedArena::new();
    /// arena.alloc([0u8; 1000]);
    /// arena.reset();
    /// arena.trim(0);
    /// assert_eq!(arena.stats().reserved, 0);
    /// ```
    pub fn trim(&mut self, keep: usize) {
        self.keep_bytes(keep);
        debug_assert!(self.verify());
    }

    /// Returns the statistics. The unused rest of a [`Local`]'s piece counts as allocated. `allocated` and `peak` are
    /// derived from the live bytes at resets and now, so they miss what was freed in between.
    pub fn stats(&self) -> Stats {
        let _guard = self.current.lock.take();
        let guarded = &self.guarded;
        let (live, mut blocks, mut ends) = (self.live(), 0, 0);
        let filled = self.current.block().map(core::ptr::from_ref);
        each(&guarded.used, |block| {
            blocks += 1;
            let end = if Some(core::ptr::from_ref(block)) == filled { 0 } else { block.capacity - block.used() };
            ends += block.size - block.capacity + end;
        });
        Stats {
            live,
            allocated: guarded.allocated.get() + live,
            peak: guarded.peak.get().max(live),
            budget: u64::MAX,
            reserved: guarded.reserved.get() as u64,
            wasted: ends as u64,
            blocks,
            source_calls: guarded.source_calls.get(),
        }
    }

    fn live(&self) -> u64 {
        let mut live = 0;
        each(&self.guarded.used, |block| live += block.used() as u64);
        live
    }
}

// ---- blocks: with the lock, or exclusive access ----

impl<S: Source> SharedArena<S> {
    /// Takes a block of `due` bytes, or more if `need` bytes do not fit: a spare, or one of the source.
    fn obtain_block(&self, need: usize, due: usize) -> Option<NonNull<Block>> {
        let least = least_block(need);
        let block = match self.take_spare(need, least.max(due)) {
            Some(block) => block,
            None => self.take_new(least, least.max(due))?,
        };
        push(&self.guarded.used, block);
        debug_assert!(self.verify());
        Some(block)
    }

    /// Verifies what the lock guards: see `assertions.rs`.
    fn verify(&self) -> bool {
        let guarded = &self.guarded;
        debug_assert!(guarded.keeps_blocks.get() || !guarded.round_refused.get());
        debug_assert!(guarded.next_size.get() >= BLOCK_MIN && guarded.next_size.get() % BLOCK_MIN == 0);
        if !crate::base::assertions::verifies(guarded.reserved.get() / FIRST_BLOCK) {
            return true;
        }
        let (mut reserved, mut blocks, mut found) = (0, 0, false);
        let current = self.current.block().map(core::ptr::from_ref);
        each(&guarded.used, |block| {
            debug_assert!(block.used() <= block.capacity && block.used() % 8 == 0);
            found |= current == Some(core::ptr::from_ref(block));
        });
        for list in [&guarded.used, &guarded.spare] {
            each(list, |block| {
                debug_assert!(block.size % BLOCK_MIN == 0 && block.capacity % 8 == 0);
                debug_assert!(block.capacity + HEADER <= block.size && block.size <= block.capacity + 8 * HEADER);
                (reserved, blocks) = (reserved + block.size, blocks + 1);
            });
        }
        debug_assert!(found || current.is_none());
        debug_assert!(reserved == guarded.reserved.get() && blocks <= guarded.source_calls.get());
        true
    }

    /// Unlinks the first spare that has `size` bytes, or else the first that is large enough for `need`.
    fn take_spare(&self, need: usize, size: usize) -> Option<NonNull<Block>> {
        let (mut count, mut found) = (0, None);
        each(&self.guarded.spare, |block| {
            if block.capacity >= need && found.is_none_or(|(_, is)| is != size && block.size == size) {
                found = Some((count, block.size));
            }
            count += 1;
        });
        let (spare, before) = (&self.guarded.spare, Cell::new(null_mut()));
        (0..found?.0).for_each(|_| pop(spare).into_iter().for_each(|block| push(&before, block)));
        let block = pop(spare)?;
        pop_each(&before, |block| push(spare, block));
        // SAFETY: the block was in a list; no other thread reads spares.
        unsafe { block.as_ref() }.empty();
        Some(block)
    }

    /// Takes a block of `size` bytes from the source. If that refuses it: once more when the spares are returned, then
    /// smaller ones, down to `least`.
    fn take_new(&self, least: usize, mut size: usize) -> Option<NonNull<Block>> {
        let guarded = &self.guarded;
        let memory = loop {
            guarded.source_calls.set(guarded.source_calls.get() + 1);
            if let Some(memory) = call_source(|| self.source.take(size)) {
                break memory;
            }
            guarded.round_refused.set(true);
            guarded.keeps_blocks.set(true);
            if !self.put_spares() {
                if size == least {
                    return None;
                }
                size = round(size / 2, BLOCK_MIN).max(least);
            }
        };
        if !guarded.round_refused.get() {
            guarded.keeps_blocks.set(false);
        }
        let front = stagger(size, guarded.count.get());
        guarded.count.set(guarded.count.get().wrapping_add(1));
        guarded.reserved.set(guarded.reserved.get() + size);
        // SAFETY: the memory has that size, and is this arena's; the header fits in front of the first byte.
        unsafe {
            let block = memory.cast::<Block>();
            block.write(Block::of(memory.add(front), size - front, size, AtomicUsize::new(0)));
            Some(block)
        }
    }

    fn put(&self, block: NonNull<Block>) {
        // SAFETY: it is unlinked, and was taken with that size.
        unsafe {
            let size = block.as_ref().size;
            self.guarded.reserved.set(self.guarded.reserved.get() - size);
            call_source(|| self.source.put(block.cast(), size));
        }
    }

    /// Returns all spares to the source; `false`: there are none.
    fn put_spares(&self) -> bool {
        let any = !self.guarded.spare.get().is_null();
        pop_each(&self.guarded.spare, |block| self.put(block));
        any
    }

    fn keep(&mut self, keep: Keep) {
        let recent = self.guarded.recent.get();
        match keep {
            Keep::All => {}
            Keep::Bytes(bytes) => self.keep_bytes(bytes),
            Keep::Recent if self.source.shares_limit() => {
                if self.put_spares() {
                    self.guarded.next_size.set(merged_size(recent + 8 * HEADER as u64).max(FIRST_BLOCK));
                }
            }
            Keep::Recent if recent > MERGE as u64 || self.guarded.keeps_blocks.get() => {
                self.keep_bytes(usize::try_from(recent + recent / 2).unwrap_or(usize::MAX).saturating_add(CAP))
            }
            Keep::Recent => {
                // Keeps one block that suffices for a round; without one, the next round begins with that size.
                let wanted = merged_size(recent + 8 * HEADER as u64);
                let (mut one, mut many) = (None, false);
                while let Some(block) = pop(&self.guarded.spare) {
                    // SAFETY: the block was in a list.
                    let size = unsafe { block.as_ref() }.size;
                    if one.is_none() && (wanted..=4 * wanted).contains(&size) {
                        one = Some(block);
                    } else {
                        many = true;
                        self.put(block);
                    }
                }
                if let Some(block) = one {
                    push(&self.guarded.spare, block);
                } else if many {
                    self.guarded.next_size.set(wanted.max(FIRST_BLOCK));
                }
            }
        }
    }

    fn keep_bytes(&mut self, bytes: usize) {
        let (mut kept, list) = (0usize, Cell::new(null_mut()));
        while let Some(block) = pop(&self.guarded.spare) {
            // SAFETY: the block was in a list.
            let size = unsafe { block.as_ref() }.size;
            if size <= bytes - kept {
                kept += size;
                push(&list, block);
            } else {
                self.put(block);
            }
        }
        self.guarded.spare.set(list.get());
        if list.get().is_null() && self.guarded.used.get().is_null() {
            self.guarded.next_size.set(FIRST_BLOCK);
        }
    }

    /// Takes the next current block.
    fn next_block(&self, need: usize) -> Option<NonNull<Block>> {
        let size = self.guarded.next_size.get();
        let block = self.obtain_block(need, size)?;
        // SAFETY: it was just taken; its size is constant.
        let got = unsafe { block.as_ref() }.size;
        self.guarded.next_size.set((2 * size.min(got)).min(CAP.max(size)));
        Some(block)
    }

    /// Allocates from `least` to `most` bytes.
    #[inline]
    fn range(&self, least: usize, most: usize, align: usize) -> Option<(NonNull<u8>, usize)> {
        let need = least + align.saturating_sub(HEADER);
        if need <= LARGE_MIN {
            return self.current.take(least, most, align, || self.next_block(need), || self.source_frees(need));
        }
        self.large(need, least, align)
    }

    /// Allocates in the current block if it fits, as in a merged block; else in a block of its own.
    #[cold]
    fn large(&self, need: usize, size: usize, align: usize) -> Option<(NonNull<u8>, usize)> {
        let Some(filled) = self.current.block() else {
            return self.current.take(size, size, align, || self.next_block(need), || self.source_frees(need));
        };
        let in_own_block = || {
            let _guard = self.current.lock.take();
            let block = self.obtain_block(need, 0)?;
            // SAFETY: it was just taken, and no other thread uses it.
            unsafe { block.as_ref() }.take(size, size, align)
        };
        let taken = filled.take(size, size, align).or_else(in_own_block);
        taken.or_else(|| self.source_frees(need).then(in_own_block).flatten())
    }

    /// After a refusal, without the lock: whether the source may have a block for `need` bytes now.
    #[cold]
    fn source_frees(&self, need: usize) -> bool {
        call_source(|| self.source.refused(least_block(need)))
    }
}

/// A layout's size, rounded up. Callers count a size of 0 as 8, since its address must be unique.
fn rounded_size(layout: Layout) -> usize {
    round8(layout.size())
}

// SAFETY: allocations live until the arena is reset or dropped, which need an exclusive borrow.
unsafe impl<S: Source> Memory for SharedArena<S> {
    memory_by_call_site!(inline(always));

    #[inline]
    fn __allocate(&self, layout: Layout, _: CallSite) -> Allocated {
        self.alloc_bytes(layout).ok_or(AllocError)
    }

    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        let at = p.addr().get();
        if let Some(block) = self.current.block() {
            block.free_newest(at, at + rounded_size(layout).max(8));
        }
    }

    resize_in_place_or_move!(inline);
}

impl<S: Source> SharedArena<S> {
    #[inline]
    fn alloc_bytes(&self, layout: Layout) -> Option<NonNull<u8>> {
        if !is_request(layout.size(), layout.align()) {
            return None;
        }
        let size = rounded_size(layout).max(8);
        Some(self.range(size, size, layout.align().max(8))?.0)
    }

    /// Grows or shrinks in place. `false`: impossible, nothing changed.
    ///
    /// # Safety
    /// As for [`deallocate`](Memory::deallocate), for the bytes behind `new`.
    unsafe fn resize_in_place(&self, p: NonNull<u8>, old: Layout, new: Layout) -> bool {
        let (at, was, now) = (p.addr().get(), rounded_size(old).max(8), rounded_size(new).max(8));
        match self.current.block() {
            Some(block) if now > was => block.extend(at + was, at + now),
            Some(block) if now < was => {
                block.free_newest(at + now, at + was);
                true
            }
            _ => now <= was,
        }
    }
}

// SAFETY: allocations are disjoint; the arena owns its blocks, its source is `Send`, and it does not access values.
unsafe impl<S: Source + Send> Send for SharedArena<S> {}
// SAFETY: the current block is changed by atomic operations, everything else under the lock.
unsafe impl<S: Source + Send> Sync for SharedArena<S> {}

impl<S: Source> Drop for SharedArena<S> {
    fn drop(&mut self) {
        while let Some(block) = pop(&self.guarded.used).or_else(|| pop(&self.guarded.spare)) {
            self.put(block);
        }
    }
}

default_by_new!(SharedArena);

debug_by_stats!([S: Source] SharedArena<S>, "SharedArena");
