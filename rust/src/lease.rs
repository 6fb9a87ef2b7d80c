//! Leases: arenas from a cache that threads share, for code that has no place of its own to keep one in: a request's
//! handler, a task that moves between threads.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::{null_mut, NonNull};
use core::sync::atomic::{self, AtomicPtr, AtomicUsize, Ordering};

use crate::abi::Head;
use crate::arena::{Arena, Keep};
use crate::error::AllocError;
use crate::options::Options;
use crate::policy::BLOCK_MIN;
use crate::provider;

mod slots;
use slots::{Line, ReservedSlot, Slots};

const LINES: usize = 16;
const SLOTS_PER_LINE: usize = 8;
type IdleSlots = Slots<Head, LINES, SLOTS_PER_LINE>;
type Reserved<'l> = ReservedSlot<'l, Head>;

/// A cache of arenas that all threads take from and return to.
///
/// [`get`](Leases::get) takes an arena out of it, or makes one; when the [`Lease`] is dropped, on whatever thread, the
/// arena is emptied and waits for the next. What it keeps is memory that was touched already: the next request
/// allocates without asking anybody. No lock: to take is one exchange, to return mostly a store, and nobody waits.
///
/// At most [`keep_idle`](Leases::keep_idle) arenas wait, with about [`keep_bytes`](Leases::keep_bytes) each. Threads
/// begin to look at different places, so that they do not meet; if all is taken, an arena is made, and if all is full,
/// one is ended. Where 32 or more may wait, up to 16 places are kept for the arenas that were taken out of them. A
/// thread that ends leaves nothing behind, and the cache's own end ends what waits.
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
/// } // the arena is emptied, and waits
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

/// Written where an arena is made or ended, never where one is reused; away from what those read.
#[repr(align(128))]
struct Counts {
    made: AtomicUsize,
    ended: AtomicUsize,
}

/// What a cache of arenas did so far, in counts of arenas.
///
/// ```
/// let leases = toft::Leases::new();
/// drop((leases.get(), leases.get()));
/// drop(leases.get());
/// let stats = leases.stats();
/// assert_eq!((stats.made, stats.ended, stats.idle), (2, 0, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseStats {
    /// Made, since none waited. In a steady state this stands still.
    pub made: usize,
    /// Ended, since as many waited as may; by [`Leases::trim`]; after they were watched; or kept for good:
    /// [`Lease::into_arena`].
    pub ended: usize,
    /// Waiting. What is neither ended nor waiting is leased, or was leaked.
    pub idle: usize,
}

std::thread_local! {
    /// Where this thread begins to look; has no destructor, so it is there until the thread's very end.
    static HINT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Also where it begins to look for a shard of other things that threads share.
#[inline(always)]
pub(crate) fn hint() -> usize {
    let hint = HINT.get();
    if hint < LINES {
        hint
    } else {
        first_hint()
    }
}

/// Threads take turns.
#[cold]
fn first_hint() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let hint = NEXT.fetch_add(1, Ordering::Relaxed) % LINES;
    HINT.set(hint);
    hint
}

/// # Safety
/// The head came out of a slot: it is that of an arena of this crate, and nobody else has it.
#[inline(always)]
unsafe fn arena_of(head: NonNull<Head>) -> Arena {
    // SAFETY: the caller's contract.
    Arena::made(unsafe { provider::ArenaPtr::of(head.as_ptr()) })
}

impl Leases {
    /// Keeps up to 64 idle arenas, with up to 256 KiB each; what a lease allocates is not limited.
    ///
    /// ```
    /// static LEASES: toft::Leases = toft::Leases::new();
    /// let lease: toft::Lease<'static> = LEASES.get();
    /// assert_eq!(*lease.alloc(7), 7);
    /// ```
    pub const fn new() -> Leases {
        Leases {
            idle_slots: Slots::of([const { Line::of([const { AtomicPtr::new(null_mut()) }; SLOTS_PER_LINE]) }; LINES]),
            idle_max: 64,
            bytes_max: 256 << 10,
            budget: u64::MAX,
            counts: Counts { made: AtomicUsize::new(0), ended: AtomicUsize::new(0) },
        }
    }

    /// How many arenas may wait: at most 128, which is also what more means. Where it is below 16, threads share
    /// places.
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

    /// About how many bytes an idle arena keeps, beside the 4096 that it is made with: in pages of as many. What recent
    /// leases needed, if that is less, as [`Keep::Recent`] says.
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

    /// How many bytes may be allocated in a lease at a time: [`Arena::set_budget`]. Each lease begins with it, whatever
    /// the one before set. With a budget, to return an arena takes some tens of nanoseconds more.
    ///
    /// ```
    /// static LEASES: toft::Leases = toft::Leases::new().budget(1000);
    /// let lease = LEASES.get();
    /// assert!(lease.try_alloc([0u8; 1001]).is_err());
    /// assert!(lease.try_alloc([0u8; 1000]).is_ok());
    /// ```
    #[must_use]
    pub const fn budget(mut self, bytes: u64) -> Leases {
        self.budget = bytes;
        self
    }

    /// An empty arena, until the lease is dropped.
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// let lease = leases.get();
    /// assert_eq!(lease.alloc_str("words"), "words");
    /// ```
    ///
    /// # Panics
    /// If none waits, and there is no memory to make one.
    #[inline]
    pub fn get(&self) -> Lease<'_> {
        match self.try_get() {
            Ok(lease) => lease,
            Err(e) => panic!("toft: {e}"),
        }
    }

    /// As [`get`](Leases::get), with an error instead of the panic.
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// assert_eq!(*leases.try_get()?.try_alloc(7)?, 7);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    pub fn try_get(&self) -> Result<Lease<'_>, AllocError> {
        let (arena, slot) = match self.idle_slots.take(hint(), self.idle_max) {
            // SAFETY: it was in a slot.
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

    /// How many arenas wait. While others take and return, a guess.
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// let lease = leases.get();
    /// assert_eq!(leases.idle(), 0);
    /// drop(lease);
    /// assert_eq!(leases.idle(), 1);
    /// ```
    pub fn idle(&self) -> usize {
        self.idle_slots.full()
    }

    /// How many bytes the arenas that wait hold. To look at each, it is taken for a moment: a thread that wants one
    /// just then takes another, or makes one.
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// leases.get().alloc_slice_fill(30_000, 0u8);
    /// assert!(leases.held() > 30_000);
    /// ```
    pub fn held(&self) -> usize {
        let mut held = 0;
        let look = |head| {
            // SAFETY: it was in a slot, and goes back there.
            let arena = ManuallyDrop::new(unsafe { arena_of(head) });
            held += arena.stats().reserved as usize;
            Some(head)
        };
        self.idle_slots.each(look);
        held
    }

    /// What the cache did so far.
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// for _ in 0..100 {
    ///     leases.get().alloc(1);
    /// }
    /// assert_eq!(leases.stats().made, 1);
    /// ```
    pub fn stats(&self) -> LeaseStats {
        LeaseStats {
            made: self.counts.made.load(Ordering::Relaxed),
            ended: self.counts.ended.load(Ordering::Relaxed),
            idle: self.idle(),
        }
    }

    /// Ends the arenas that wait. Their memory goes where that of any arena goes: first to this thread's
    /// [`cache`](crate::cache), as far as that takes it.
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// drop(leases.get());
    /// leases.trim();
    /// assert_eq!((leases.idle(), leases.held()), (0, 0));
    /// ```
    pub fn trim(&self) {
        let end = |head| {
            // SAFETY: it was in a slot.
            self.release(unsafe { arena_of(head) });
            None
        };
        self.idle_slots.each(end);
    }

    // ---- returning ----

    /// For an arena that is empty, and the place that was kept for it.
    #[inline]
    fn put(&self, arena: Arena, slot: Option<Reserved<'_>>) {
        let arena = ManuallyDrop::new(arena);
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

    /// The way back after a round that was as those before: what is kept is what was kept, and the budget too, since a
    /// change of it is an event that `reset_fast` does not overlook.
    #[inline]
    fn return_arena(&self, arena: Arena, slot: Option<Reserved<'_>>) {
        let done = arena.own().is_some_and(|a| a.reset_fast() && a.fits_idle_limit(self.bytes_max.max(BLOCK_MIN)));
        if done {
            self.put(arena, slot);
        } else {
            self.return_slow(arena, slot);
        }
    }

    #[cold]
    #[inline(never)]
    fn return_slow(&self, arena: Arena, slot: Option<Reserved<'_>>) {
        /// Also when a destructor panics: the arena is empty then.
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
        // A range that unsafe code claimed and did not give makes the arena unfit. And what a holder switched on, or
        // the function it gave for a passed budget, is not for the next: an arena that was watched ends.
        let fit = arena.own().filter(|a| !a.has_leaked() && !a.has_instruments());
        let Some(a) = fit else { return self.release_unfit(arena, slot) };
        if a.budget.get() != self.budget && arena.set_budget(Some(self.budget)).is_err() {
            return self.release_unfit(arena, slot);
        }
        let slow = a.slow();
        let most = slow.first_size.get().max(slow.current.get().size.get()).max(slow.spare_bytes.get());
        if most > self.bytes_max.max(BLOCK_MIN) {
            arena.reset_with(Keep::Bytes(self.bytes_max)); // of which the need of recent rounds is a part
        }
        self.put(arena, slot);
    }
}

impl provider::ArenaPtr {
    /// Of an arena that a reset left with one block and nothing else: may it wait? It is not large, and was never
    /// watched.
    #[inline(always)]
    fn fits_idle_limit(self, bytes: usize) -> bool {
        self.end.get().addr() - self.head.cursor.get().addr() <= bytes && self.slow().instruments.get().is_none()
    }
}

impl Default for Leases {
    fn default() -> Leases {
        Leases::new()
    }
}

impl Drop for Leases {
    fn drop(&mut self) {
        self.trim();
    }
}

impl fmt::Debug for Leases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leases").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// An arena from [`Leases`], which has it back when the lease is dropped. All of [`Arena`]'s calls work on it.
///
/// Destructors of [`alloc_drop`](Arena::alloc_drop) run then, on the thread that drops the lease; if one panics, the
/// others run, the arena is returned, and the panic goes on. A lease that is leaked leaks its arena, and perhaps the place
/// where that waited, of which at most 16 are lost so.
///
/// What is set on a lease ends with it: the next holder has the budget of the cache again, and an arena that was
/// watched ([`set_metered`](Arena::set_metered) and the like) is ended rather than returned.
///
/// A lease may be sent to another thread, and is not shared by two. This suits **async** code: a lease and values that
/// borrow it may live across an await in one task, which may go on on any thread.
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
/// What may not live across an await is a `&Arena` or `&Lease`: an arena belongs to one thread at a time, so a
/// reference to it does not move to another. To give one to the futures inside a task, see
/// [`TaskArena`](crate::TaskArena).
///
/// ```compile_fail
/// static LEASES: toft::Leases = toft::Leases::new();
///
/// async fn handle() {
///     let lease = LEASES.get();
///     let arena: &toft::Arena = &lease;
///     std::future::ready(()).await;
///     arena.alloc(1);
/// }
///
/// fn may_move<T: Send>(task: T) {}
/// may_move(handle());
/// ```
pub struct Lease<'l> {
    /// No `&mut` to it gets out: whoever had two could swap them, and return one to the other's cache.
    arena: ManuallyDrop<Arena>,
    slot: Option<Reserved<'l>>,
    leases: &'l Leases,
}

impl<'l> Lease<'l> {
    /// Its parts; `of` puts them together again. Its place is anybody's.
    pub(crate) fn into_parts(self) -> (Arena, &'l Leases) {
        let mut this = ManuallyDrop::new(self);
        if let Some(slot) = this.slot.take() {
            slot.abandon();
        }
        // SAFETY: taken once.
        (unsafe { ManuallyDrop::take(&mut this.arena) }, this.leases)
    }

    /// A lease of an arena that came out of one.
    pub(crate) fn of(arena: Arena, leases: &'l Leases) -> Lease<'l> {
        Lease { arena: ManuallyDrop::new(arena), slot: None, leases }
    }

    /// As [`Arena::reset`].
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// let mut lease = leases.get();
    /// lease.alloc(1);
    /// lease.reset();
    /// assert_eq!(lease.stats().live, 0);
    /// ```
    #[inline]
    pub fn reset(&mut self) {
        self.arena.reset();
    }

    /// As [`Arena::reset_with`].
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// let mut lease = leases.get();
    /// lease.alloc([0u8; 10_000]);
    /// lease.reset_with(toft::Keep::Bytes(0));
    /// assert_eq!(lease.stats().reserved, 4096);
    /// ```
    pub fn reset_with(&mut self, keep: Keep) {
        self.arena.reset_with(keep);
    }

    /// As [`Arena::trim`].
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// let mut lease = leases.get();
    /// lease.scope_mut(|inner| inner.alloc([0u8; 10_000]).len());
    /// lease.trim(0);
    /// assert_eq!(lease.stats().reserved, 4096);
    /// ```
    pub fn trim(&mut self, keep: usize) {
        self.arena.trim(keep);
    }

    /// As [`Arena::scope_mut`].
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// let mut lease = leases.get();
    /// assert_eq!(lease.scope_mut(|inner| *inner.alloc(7)), 7);
    /// ```
    #[inline]
    pub fn scope_mut<R>(&mut self, f: impl FnOnce(&Arena) -> R) -> R {
        self.arena.scope_mut(f)
    }

    /// Keeps the arena: it does not go back.
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

impl fmt::Debug for Lease<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("stats", &self.arena.stats()).finish()
    }
}
