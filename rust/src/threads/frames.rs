//! Frames: per-thread arenas that are emptied together.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt;
use core::mem;
use core::ptr;
use core::sync::atomic;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::error::{or_panic, AllocError};
use crate::memory::arena::Arena;
use crate::memory::common_impls::default_by_new;

#[cfg(feature = "diagnostics")]
mod reports;
#[cfg(not(feature = "diagnostics"))]
#[path = "frames/reports_omitted.rs"]
mod reports;
mod steps;
mod thread_flag;
use reports::{thread_id, Reports};
pub use steps::SteppedFrames;
use thread_flag::{AnyExited, ThreadFlag};

/// Per-thread arenas that are emptied at the end of each frame, all at once.
///
/// [`here`](Frames::here) is the calling thread's own arena: created by the thread's first call, and found without a
/// lock or an atomic operation after that. Allocations borrow the `Frames`. [`advance`](Frames::advance) borrows it
/// exclusively and empties the arenas of all threads, also of those that sleep: the borrow checker ensures that no
/// thread still uses an allocation. Share `&Frames` with scoped threads, an `RwLock<Frames>` with others (to allocate:
/// read; to advance: write), or make it a resource of an engine.
///
/// Each `Frames` has arenas of its own: two of them on one thread share nothing. A frame within a frame is a
/// [`scope`](Arena::scope) of `here()`. When a thread ends, its arena keeps its allocations until the frame ends, and
/// is then given to the next new thread.
///
/// ```
/// use toft::Frames;
///
/// let mut frames = Frames::new();
/// for frame in 0..3u32 {
///     let total = std::thread::scope(|threads| {
///         let parts = [0, 1].map(|part| {
///             let frames = &frames;
///             threads.spawn(move || frames.here().alloc_slice_fill_with(100, |i| frame + part + i as u32))
///         });
///         // What a thread has allocated lives until the frame ends, on whatever thread.
///         parts.map(|part| part.join().unwrap().iter().sum::<u32>())
///     });
///     assert_eq!(total[1] - total[0], 100);
///     frames.advance(); // to use the slices from here on does not compile
/// }
/// assert_eq!(frames.number(), 3);
/// ```
pub struct Frames {
    /// Unique in this process.
    id: u64,
    number: u64,
    make: Box<dyn Fn() -> Result<Arena, AllocError> + Send + Sync>,
    slots: Mutex<Vec<ThreadSlot>>,
    /// Set when a slot may become free.
    any_exited: AnyExited,
    reports: Reports,
}

/// A thread's arena, at a stable address.
struct ThreadSlot {
    arena: ptr::NonNull<Arena>,
    /// Shared with the thread, which clears it when it ends.
    flag: ThreadFlag,
    /// Of a thread whose thread-local values are destroyed: it cannot clear a flag.
    transient: bool,
    /// For the next thread. Slots become free between frames only: a thread that has cleared its flag may run further
    /// destructors, and use an arena that it still borrows.
    free: bool,
    /// The thread's name.
    name: Option<String>,
    /// As of [`thread_id`].
    thread: usize,
}

// SAFETY: `here` gives an arena to the one thread that has the slot; `&mut Frames` accesses all of them, and no thread
// borrows any then. An arena is `Send`.
unsafe impl Send for ThreadSlot {}

impl ThreadSlot {
    /// Precondition: the `Frames` is borrowed exclusively.
    #[inline(always)]
    fn arena(&self) -> &Arena {
        // SAFETY: it lives as long as its slot, and no other thread has it now.
        unsafe { self.arena.as_ref() }
    }

    /// Precondition: the `Frames` is borrowed exclusively.
    #[inline(always)]
    fn arena_mut(&mut self) -> &mut Arena {
        // SAFETY: as in `arena`; exclusive, as the slot.
        unsafe { self.arena.as_mut() }
    }
}

impl Drop for ThreadSlot {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and no borrow exists: `Frames` is borrowed exclusively.
        drop(unsafe { Box::from_raw(self.arena.as_ptr()) });
    }
}

/// A mutex, since not all processors have atomics of 64 bits.
static LAST_ID: Mutex<u64> = Mutex::new(0);

std::thread_local! {
    /// The `Frames` that this thread used last, as its id, and the thread's arena there.
    static LAST: Cell<(u64, *const Arena)> = const { Cell::new((0, ptr::null())) };
    static OWN_SLOTS: RefCell<OwnSlots> = const { RefCell::new(OwnSlots(Vec::new())) };
}

/// A thread's slots. The arenas are owned by their `Frames`; if that is dropped, the flag is no longer shared.
struct OwnSlots(Vec<(u64, *const Arena, ThreadFlag)>);

impl Drop for OwnSlots {
    fn drop(&mut self) {
        LAST.with(|last| last.set((0, ptr::null()))); // destructors that run later must not use the cached arena
        for (_, _, flag) in &self.0 {
            flag.set_exited();
        }
    }
}

impl Frames {
    /// Creates frames whose arenas are made by [`Arena::new`].
    pub fn new() -> Frames {
        Frames::with(Arena::try_new)
    }

    /// Creates frames whose arenas are made by `make`, on each thread at its first [`here`](Frames::here).
    ///
    /// ```
    /// use toft::{Frames, Options};
    /// let frames = Frames::with(|| Options::new().reserve(1 << 20).budget(16 << 20).create());
    /// assert_eq!(frames.here().stats().budget, 16 << 20);
    /// ```
    pub fn with(make: impl Fn() -> Result<Arena, AllocError> + Send + Sync + 'static) -> Frames {
        let mut last = LAST_ID.lock().unwrap_or_else(PoisonError::into_inner);
        *last += 1;
        Frames {
            id: *last,
            number: 0,
            make: Box::new(make),
            slots: Mutex::new(Vec::new()),
            any_exited: AnyExited::new(),
            reports: Reports::default(),
        }
    }

    /// Returns this thread's arena.
    ///
    /// ```
    /// let frames = toft::Frames::new();
    /// let arena = frames.here();
    /// let numbers = arena.alloc_slice_fill_with(10, |i| i as u64);
    /// let sum = arena.scope(|inner| {
    ///     let doubled = inner.alloc_slice_fill_with(10, |i| numbers[i] * 2); // a frame in the frame
    ///     doubled.iter().sum::<u64>()
    /// });
    /// assert_eq!((sum, arena.stats().live), (90, 80));
    /// ```
    ///
    /// # Panics
    /// If this thread has no arena yet, and there is no memory for one.
    #[inline]
    pub fn here(&self) -> &Arena {
        or_panic(self.try_here())
    }

    /// As [`here`](Frames::here), with an error instead of the panic.
    ///
    /// # Errors
    /// Those of `make`.
    #[inline]
    pub fn try_here(&self) -> Result<&Arena, AllocError> {
        let (id, arena) = LAST.with(Cell::get);
        if id == self.id {
            // SAFETY: this thread's slot in this `Frames`, whose arenas end with it.
            return Ok(unsafe { &*arena });
        }
        self.lookup()
    }

    #[cold]
    #[inline(never)]
    fn lookup(&self) -> Result<&Arena, AllocError> {
        let found =
            OWN_SLOTS.try_with(|slots| slots.borrow().0.iter().find(|slot| slot.0 == self.id).map(|slot| slot.1));
        let arena = match found {
            Ok(Some(arena)) => arena,
            Ok(None) => self.register_thread(false)?,
            Err(_) => {
                // The thread is ending, and cannot report its end: the slot is used until the frame ends.
                let arena = self.register_thread(true)?;
                // SAFETY: no other thread gets the slot before `advance`, which borrows `self` exclusively.
                return Ok(unsafe { &*arena });
            }
        };
        LAST.with(|last| last.set((self.id, arena)));
        // SAFETY: this thread's slot in this `Frames`, whose arenas end with it.
        Ok(unsafe { &*arena })
    }

    /// Returns the arena of a free or new slot.
    fn register_thread(&self, transient: bool) -> Result<*const Arena, AllocError> {
        // A thread without a handle of itself has no name.
        let name = if transient { None } else { std::thread::current().name().map(String::from) };
        let mut free = None;
        for slot in self.lock().iter_mut() {
            if mem::take(&mut slot.free) {
                slot.flag.set_running();
                slot.transient = transient;
                slot.name = name.clone();
                slot.thread = thread_id();
                free = Some((slot.arena.as_ptr().cast_const(), slot.flag.clone()));
                break;
            }
        }
        let (arena, flag) = match free {
            Some(slot) => slot,
            None => {
                let arena = (self.make)()?; // no lock is held during the call
                self.reports.begin(&arena);
                let arena = ptr::NonNull::from(Box::leak(Box::new(arena)));
                let flag = ThreadFlag::new(self.any_exited.clone());
                let thread = thread_id();
                self.lock().push(ThreadSlot { arena, flag: flag.clone(), transient, free: false, name, thread });
                (arena.as_ptr().cast_const(), flag)
            }
        };
        // SAFETY: this thread's slot.
        self.reports.pin(unsafe { &*arena });
        if transient {
            self.any_exited.set(); // the slot is free when the frame ends
        } else {
            OWN_SLOTS.with(|slots| {
                let mut slots = slots.borrow_mut();
                slots.0.retain(|slot| slot.2.is_shared()); // drops entries of dropped `Frames`
                debug_assert!(slots.0.iter().all(|slot| slot.1 != arena));
                slots.0.push((self.id, arena, flag));
            });
        }
        Ok(arena)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<ThreadSlot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slots of all threads.
    #[inline(always)]
    fn slots_mut(&mut self) -> &mut Vec<ThreadSlot> {
        self.slots.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the frame: empties the arenas of all threads, as by [`Arena::reset`], and begins the next frame. Values of
    /// [`alloc_drop`](Arena::alloc_drop) are dropped on the calling thread, and blocks that are not kept go to its
    /// [cache](crate::cache).
    ///
    /// ```
    /// let mut frames = toft::Frames::new();
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| frames.here().alloc([0u8; 1000]).len());
    /// });
    /// frames.advance(); // that thread has ended, and its arena is emptied all the same
    /// assert_eq!(frames.arenas().map(|arena| arena.stats().live).sum::<u64>(), 0);
    /// ```
    ///
    /// # Panics
    /// If a destructor panicked, after all arenas are emptied.
    #[inline]
    pub fn advance(&mut self) {
        self.number += 1;
        if self.reports.are_on() {
            return self.advance_instrumented();
        }
        if !self.any_exited.is_clear() {
            return self.each(0, Arena::reset);
        }
        // The common case: no thread has ended, and no user code runs.
        let slots = self.slots_mut();
        for (reset_count, slot) in slots.iter().enumerate() {
            // SAFETY: `self` is borrowed exclusively, and the arenas with it.
            if !unsafe { slot.arena().reset_fast() } {
                return self.advance_from(reset_count);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn advance_from(&mut self, from: usize) {
        // SAFETY: as in `advance`.
        let reset = |slot: &&ThreadSlot| unsafe { slot.arena().reset_fast() || slot.arena().reset_steady() };
        let reset_count = from + self.slots_mut()[from..].iter().take_while(reset).count();
        if reset_count < self.slots_mut().len() {
            self.each(reset_count, Arena::reset);
        }
    }

    /// Runs at most `limit` destructors of the frame. Returns their number, and whether none is left.
    fn drop_some(&mut self, limit: usize) -> (usize, bool) {
        let mut dropped = 0;
        for slot in self.slots_mut() {
            let arena = slot.arena_mut();
            dropped += arena.drop_some(limit - dropped);
            if arena.has_drops() {
                return (dropped, false);
            }
        }
        (dropped, true)
    }

    /// Returns kept blocks without allocations to their source, until about `keep` bytes are left in each thread's
    /// arena; and releases the empty arenas of threads that have ended.
    ///
    /// ```
    /// let mut frames = toft::Frames::new();
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| frames.here().alloc([0u8; 100_000]).len());
    /// });
    /// frames.advance();
    /// frames.trim(0);
    /// assert!(frames.arenas().map(|arena| arena.stats().reserved).sum::<u64>() <= 4096);
    /// ```
    pub fn trim(&mut self, keep: usize) {
        self.each(0, |arena| arena.trim(keep));
        self.slots_mut().retain(|slot| slot.arena().stats().live != 0 || !slot.free);
    }

    /// Iterates over the arenas of all threads.
    pub fn arenas(&mut self) -> impl Iterator<Item = &Arena> {
        self.slots_mut().iter().map(ThreadSlot::arena)
    }

    /// Returns the number of advances.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Calls `f` for each arena from a slot on, also for the rest after a panic.
    #[cold]
    fn each(&mut self, from: usize, f: impl Fn(&mut Arena)) {
        struct Rest<'a, F: Fn(&mut Arena)>(core::slice::IterMut<'a, ThreadSlot>, F);
        impl<F: Fn(&mut Arena)> Rest<'_, F> {
            #[inline(always)]
            fn go(&mut self) {
                for slot in self.0.by_ref() {
                    // No thread borrows an arena now.
                    if mem::take(&mut slot.transient) || !slot.flag.is_running() {
                        slot.free = true;
                    }
                    self.1(slot.arena_mut());
                }
            }
        }
        impl<F: Fn(&mut Arena)> Drop for Rest<'_, F> {
            #[inline(always)]
            fn drop(&mut self) {
                self.go();
            }
        }
        if from == 0 {
            self.any_exited.clear(); // the flags of all threads are read below
        }
        let mut rest = Rest(self.slots_mut()[from..].iter_mut(), f);
        rest.go();
        mem::forget(rest); // it is complete
        debug_assert!(self.slots_mut().iter().all(|slot| !slot.transient), "the frame of a transient slot has ended");
    }
}

default_by_new!(Frames);

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames").field("number", &self.number).field("threads", &self.lock().len()).finish()
    }
}
