//! Leases: arenas from a cache that all threads share (an arena pool), for code that cannot keep an arena between its
//! calls: handlers of requests, tasks that move between threads.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::{null_mut, NonNull};
use core::sync::atomic::{self, AtomicPtr, AtomicUsize, Ordering};

use crate::arenas::options::Options;
use crate::base::abi_types::Head;
use crate::base::error::{or_panic, AllocError};
use crate::base::policy::BLOCK_MIN;
use crate::base::thread_hint::hint;
use crate::memory::arena::{Arena, Keep};
use crate::memory::common_impls::{debug_by_stats, default_by_new, exclusive_calls};
use crate::provider;

mod slots;
use slots::{Line, ReservedSlot, Slots};

const LINES: usize = 16;
const SLOTS_PER_LINE: usize = 8;
type IdleSlots = Slots<Head, LINES, SLOTS_PER_LINE>;
type Reserved<'l> = ReservedSlot<'l, Head>;

/// A thread-safe cache of arenas.
///
/// [`get`](Leases::get) takes an arena out of the cache, or creates one; when the [`Lease`] is dropped, on any thread,
/// the arena is reset and returned. The memory that it keeps has been touched already, so the next request allocates
/// without page faults. There is no lock: a get is one exchange, a return mostly one store, and no thread waits.
///
/// At most [`keep_idle`](Leases::keep_idle) arenas are idle in the cache, with about [`keep_bytes`](Leases::keep_bytes)
/// each. Threads search the slots from different starts, so that they rarely contend; if no slot has an arena, one is
/// created, and if no slot is free, the returned one is released. With a limit of 32 or more, up to 16 slots stay
/// reserved for the arenas taken from them. A thread that ends holds nothing of the cache; dropping the cache releases
/// the idle arenas.
///
/// ```
/// use toft::Leases;
///
/// static LEASES: Leases = Leases::new();
///
/// fn handle(request: &str) -> usize {
///     let arena = LEASES.get();
///     let words = arena.alloc_slice_from_iter(request.split(' '));
///     words.len()
/// } // the arena is reset and returns to the cache
///
/// let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| handle("get me a page"))).collect();
/// for thread in threads {
///     assert_eq!(thread.join().unwrap(), 4);
/// }
/// assert!(LEASES.idle() >= 1);
/// ```
pub struct Leases {
    idle_slots: IdleSlots,
    idle_max: usize,
    bytes_max: usize,
    budget: u64,
    counts: Counts,
}

/// Written when an arena is created or released, not when one is reused; on a cache line of its own.
#[repr(align(128))]
struct Counts {
    made: AtomicUsize,
    ended: AtomicUsize,
}

/// Statistics of a cache, in numbers of arenas: [`Leases::stats`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseStats {
    /// Created, since none was idle. Constant in a steady state.
    pub made: usize,
    /// Released: since the cache was full, by [`Leases::trim`], after instruments were on; or taken out by
    /// [`Lease::into_arena`].
    pub ended: usize,
    /// Idle in the cache. The others are leased, or were leaked.
    pub idle: usize,
}

/// # Safety
/// The head was taken from a slot: it is that of an arena of this crate, owned by the caller.
#[inline(always)]
unsafe fn arena_of(head: NonNull<Head>) -> Arena {
    // SAFETY: the caller's contract.
    Arena::made(unsafe { provider::RawArena::of(head.as_ptr()) })
}

impl Leases {
    /// Keeps up to 64 idle arenas, with up to 256 KiB each, and sets no budget.
    pub const fn new() -> Leases {
        Leases {
            idle_slots: Slots::of([const { Line::of([const { AtomicPtr::new(null_mut()) }; SLOTS_PER_LINE]) }; LINES]),
            idle_max: 64,
            bytes_max: 256 << 10,
            budget: u64::MAX,
            counts: Counts { made: AtomicUsize::new(0), ended: AtomicUsize::new(0) },
        }
    }

    /// Limits the number of idle arenas, at most 128. Below 16, threads share slots.
    ///
    /// ```
    /// static ONE: toft::Leases = toft::Leases::new().keep_idle(1);
    /// drop((ONE.get(), ONE.get()));
    /// assert_eq!(ONE.idle(), 1);
    /// ```
    #[must_use]
    pub const fn keep_idle(mut self, arenas: usize) -> Leases {
        self.idle_max = if arenas < IdleSlots::CAPACITY { arenas } else { IdleSlots::CAPACITY };
        self
    }

    /// Limits the bytes that an idle arena keeps beside its first 4096, in multiples of 4096. It keeps less if recent
    /// leases needed less: [`Keep::Recent`].
    ///
    /// ```
    /// static SMALL: toft::Leases = toft::Leases::new().keep_bytes(10_000);
    /// SMALL.get().alloc_slice_fill(1_000_000, 0u8);
    /// assert!(SMALL.held() <= 12_288 + 4096);
    /// ```
    #[must_use]
    pub const fn keep_bytes(mut self, bytes: usize) -> Leases {
        self.bytes_max = bytes;
        self
    }

    /// Sets the budget of each lease: [`Arena::set_budget`]. Each lease starts with it, whatever the previous holder
    /// set. With a budget, returning an arena takes some tens of nanoseconds more.
    #[must_use]
    pub const fn budget(mut self, bytes: u64) -> Leases {
        self.budget = bytes;
        self
    }

    /// Leases an empty arena, until the lease is dropped.
    ///
    /// # Panics
    /// If no arena is idle, and there is no memory for a new one.
    #[inline]
    pub fn get(&self) -> Lease<'_> {
        or_panic(self.try_get())
    }

    /// As [`get`](Leases::get), with an error instead of the panic.
    #[inline]
    pub fn try_get(&self) -> Result<Lease<'_>, AllocError> {
        let (arena, slot) = match self.idle_slots.take(hint(), self.idle_max) {
            // SAFETY: taken from a slot.
            Some((head, slot)) => (unsafe { arena_of(head) }, slot),
            None => (self.make()?, None),
        };
        Ok(Lease { arena: ManuallyDrop::new(arena), slot, leases: self })
    }

    #[cold]
    #[inline(never)]
    fn make(&self) -> Result<Arena, AllocError> {
        let arena =
            if self.budget == u64::MAX { Arena::try_new()? } else { Options::new().budget(self.budget).create()? };
        self.counts.made.fetch_add(1, Ordering::Relaxed);
        Ok(arena)
    }

    // ---- queries ----

    /// Returns the number of idle arenas; approximate while other threads use the cache.
    pub fn idle(&self) -> usize {
        self.idle_slots.full()
    }

    /// Returns the bytes that idle arenas hold. Each arena is taken out for a moment: a thread that needs one then
    /// takes another, or creates one.
    pub fn held(&self) -> usize {
        let mut held = 0;
        let look = |head| {
            // SAFETY: taken from a slot, and put back there.
            let arena = ManuallyDrop::new(unsafe { arena_of(head) });
            held += arena.stats().reserved as usize;
            Some(head)
        };
        self.idle_slots.each(look);
        held
    }

    /// Returns the statistics of the cache.
    pub fn stats(&self) -> LeaseStats {
        LeaseStats {
            made: self.counts.made.load(Ordering::Relaxed),
            ended: self.counts.ended.load(Ordering::Relaxed),
            idle: self.idle(),
        }
    }

    /// Releases the idle arenas. Their memory goes to this thread's [`cache`](crate::cache), up to its limit, and to
    /// the system.
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// drop(leases.get());
    /// leases.trim();
    /// assert_eq!((leases.idle(), leases.held()), (0, 0));
    /// ```
    pub fn trim(&self) {
        let end = |head| {
            // SAFETY: taken from a slot.
            self.release(unsafe { arena_of(head) });
            None
        };
        self.idle_slots.each(end);
    }

    // ---- returning ----

    /// Puts an empty arena into its reserved slot or a free one, or releases it.
    #[inline]
    fn put(&self, arena: Arena, slot: Option<Reserved<'_>>) {
        let arena = ManuallyDrop::new(arena);
        debug_assert!(arena.own().is_none_or(|a| !a.has_leaked() && !a.has_cleanups() && !a.has_instruments()));
        debug_assert!(arena.own().is_none_or(|a| a.budget.get() == self.budget && a.parent.get().is_none()));
        match slot {
            Some(slot) => slot.fill(arena.head()),
            None if self.idle_slots.put(hint(), self.idle_max, arena.head()) => {}
            None => self.release(ManuallyDrop::into_inner(arena)),
        }
    }

    #[cold]
    #[inline(never)]
    fn release(&self, arena: Arena) {
        self.counts.ended.fetch_add(1, Ordering::Relaxed);
        drop(arena);
    }

    #[cold]
    fn release_unfit(&self, arena: Arena, slot: Option<Reserved<'_>>) {
        if let Some(slot) = slot {
            slot.abandon();
        }
        self.release(arena);
    }

    /// The fast return: the arena is steady, so its blocks and budget are unchanged.
    #[inline]
    fn return_arena(&self, arena: Arena, slot: Option<Reserved<'_>>) {
        let max = self.bytes_max.max(BLOCK_MIN);
        // SAFETY: the arena is this function's.
        let done = arena.own().is_some_and(|a| unsafe { a.reset_fast() } && a.fits_idle_limit(max));
        if done {
            self.put(arena, slot);
        } else {
            self.return_slow(arena, slot);
        }
    }

    #[cold]
    #[inline(never)]
    fn return_slow(&self, arena: Arena, slot: Option<Reserved<'_>>) {
        /// Also runs if a destructor panics; the arena is empty then.
        struct Return<'a>(&'a Leases, ManuallyDrop<Arena>, Option<Reserved<'a>>);
        impl Drop for Return<'_> {
            fn drop(&mut self) {
                // SAFETY: taken once.
                let arena = unsafe { ManuallyDrop::take(&mut self.1) };
                self.0.return_empty(arena, self.2.take());
            }
        }
        let mut guard = Return(self, ManuallyDrop::new(arena), slot);
        guard.1.reset();
    }

    fn return_empty(&self, mut arena: Arena, slot: Option<Reserved<'_>>) {
        // An arena with a claim that unsafe code leaked, or with instruments, which are the last holder's, is released.
        let fit = arena.own().filter(|a| !a.has_leaked() && !a.has_instruments());
        let Some(a) = fit else { return self.release_unfit(arena, slot) };
        if a.budget.get() != self.budget && arena.set_budget(Some(self.budget)).is_err() {
            return self.release_unfit(arena, slot);
        }
        let slow = a.slow();
        let most = slow.first_size.get().max(slow.current.get().size.get()).max(slow.spare_bytes.get());
        if most > self.bytes_max.max(BLOCK_MIN) {
            arena.reset_with(Keep::Bytes(self.bytes_max)); // this includes the limit by recent rounds
        }
        self.put(arena, slot);
    }
}

impl provider::RawArena {
    /// Precondition: a fast reset left the arena with one block. Whether it may be idle, by size and instruments.
    #[inline(always)]
    fn fits_idle_limit(self, bytes: usize) -> bool {
        self.end.get().addr() - self.head.cursor.get().addr() <= bytes && self.slow().instruments.get().is_none()
    }
}

default_by_new!(Leases);

impl Drop for Leases {
    fn drop(&mut self) {
        self.trim();
    }
}

debug_by_stats!([] Leases, "Leases");

/// An arena from [`Leases`], returned to them when the lease is dropped. All of [`Arena`]'s calls work on it.
///
/// The drop runs the destructors of [`alloc_drop`](Arena::alloc_drop), on the thread that drops the lease; if one
/// panics, the others run, the arena is returned, and the panic is resumed. Leaking a lease leaks its arena, and
/// possibly its reserved slot, of which there are at most 16.
///
/// Settings of a lease end with it: the next holder has the budget of the cache, and an arena whose instruments were on
/// ([`set_metered`](Arena::set_metered) and similar calls) is released rather than returned.
///
/// A lease may be sent to another thread, but not used by two. This suits **async** code: a lease and values that
/// borrow it may live across an await in one task, which may continue on any thread.
///
/// ```
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// static LEASES: toft::Leases = toft::Leases::new();
///
/// async fn handle(request: &str) -> usize {
///     let lease = LEASES.get();
///     let words = lease.alloc_slice_from_iter(request.split(' '));
///     std::future::ready(()).await; // on another thread from here on, perhaps
///     let more = toft::format_in!(lease, "{} words", words.len());
///     words.len() + more.len()
/// }
///
/// fn may_move<T: Send>(task: T) -> T {
///     task
/// }
/// let task = pin!(may_move(handle("get me a page")));
/// assert_eq!(task.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(11));
/// ```
///
/// A `&Arena` or `&Lease` may not live across an await: an arena belongs to one thread at a time, so a reference to it
/// is not `Send`. For an arena that the futures inside a task share, see [`TaskArena`](crate::TaskArena).
pub struct Lease<'l> {
    /// Never exposed as `&mut`: swapping two arenas would return them to the wrong caches.
    arena: ManuallyDrop<Arena>,
    slot: Option<Reserved<'l>>,
    leases: &'l Leases,
}

impl<'l> Lease<'l> {
    /// Splits the lease, which gives up its reserved slot; `of` joins the parts.
    pub(crate) fn into_parts(self) -> (Arena, &'l Leases) {
        let mut this = ManuallyDrop::new(self);
        if let Some(slot) = this.slot.take() {
            slot.abandon();
        }
        // SAFETY: taken once.
        (unsafe { ManuallyDrop::take(&mut this.arena) }, this.leases)
    }

    /// Makes a lease of the parts of one.
    pub(crate) fn of(arena: Arena, leases: &'l Leases) -> Lease<'l> {
        Lease { arena: ManuallyDrop::new(arena), slot: None, leases }
    }

    exclusive_calls!();

    /// Takes the arena out of the cache for good.
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// let arena: toft::Arena = leases.get().into_arena();
    /// arena.alloc(1);
    /// drop(arena);
    /// assert_eq!((leases.idle(), leases.stats().ended), (0, 1));
    /// ```
    pub fn into_arena(self) -> Arena {
        let (arena, leases) = self.into_parts();
        leases.counts.ended.fetch_add(1, Ordering::Relaxed);
        arena
    }
}

impl Deref for Lease<'_> {
    type Target = Arena;
    #[inline(always)]
    fn deref(&self) -> &Arena {
        &self.arena
    }
}

impl Drop for Lease<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: taken once.
        self.leases.return_arena(unsafe { ManuallyDrop::take(&mut self.arena) }, self.slot.take());
    }
}

debug_by_stats!([] Lease<'_>, "Lease");
