//! Frames: an arena for each thread, all emptied together.
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

use crate::arena::Arena;
use crate::diagnostics::SwitchError;
use crate::error::AllocError;
use crate::provider;
use crate::snapshot::{Summary, Switches};

mod presence;
use presence::{Door, Presence};

/// Memory that is emptied at the end of each frame, on all threads at once.
///
/// [`here`](Frames::here) is the calling thread's own arena: made at the thread's first call, and reached without a lock
/// or an atomic after that. Everything in it is borrowed from the `Frames`. [`advance`](Frames::advance) wants the
/// `Frames` exclusively and empties the arenas of all threads, also of those that sleep: so the compiler knows that
/// nobody on any thread still has what it gives back. Share `&Frames` with scoped threads, an `RwLock<Frames>` with
/// others (to allocate: read; to advance: write), or make it a resource of your engine.
///
/// Each `Frames` has arenas of its own: two of them on one thread share nothing. A frame within a frame is a
/// [`scope`](Arena::scope) of `here()`. When a thread ends, its arena stays with what is in it until the frame ends, and
/// is then the next new thread's.
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
    /// No other `Frames` of this process has it or had it.
    id: u64,
    number: u64,
    make: Box<dyn Fn() -> Result<Arena, AllocError> + Send + Sync>,
    seats: Mutex<Vec<Seat>>,
    /// Knocked at when a seat may become free.
    door: Door,
    switches: Switches,
    /// Any of them is on.
    watched: bool,
    pub(crate) last: Option<Box<Summary>>,
}

/// A thread's arena, at an address of its own.
struct Seat {
    arena: ptr::NonNull<Arena>,
    /// Shared with the thread that sits here; it clears it when it ends.
    presence: Presence,
    /// Of a thread whose locals are gone already: it has no flag to clear.
    stray: bool,
    /// For the next thread. Seats become free between frames only: a thread that has said that it ends may run more
    /// destructors, and use an arena that it still borrows.
    free: bool,
    /// The thread's.
    name: Option<String>,
    /// Tells the thread from others, while it lives.
    thread: usize,
}

// SAFETY: `here` gives an arena to the one thread that has its seat; `&mut Frames` reaches all of them, and then no thread
// borrows any. An arena is `Send`.
unsafe impl Send for Seat {}

impl Seat {
    /// With the `Frames` held exclusively.
    #[inline(always)]
    fn arena(&self) -> &Arena {
        // SAFETY: it lives as long as its seat, and no other thread has it now.
        unsafe { self.arena.as_ref() }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and nobody borrows it: `Frames` is borrowed exclusively.
        drop(unsafe { Box::from_raw(self.arena.as_ptr()) });
    }
}

/// Not an atomic, of which some machines have none so wide.
static LAST_ID: Mutex<u64> = Mutex::new(0);

std::thread_local! {
    /// Where this thread was last: a `Frames`' id, and its arena there.
    static LAST: Cell<(u64, *const Arena)> = const { Cell::new((0, ptr::null())) };
    static SEATS: RefCell<Seats> = const { RefCell::new(Seats(Vec::new())) };
}

/// A thread's seats. The arenas are those of `Frames`; if it is gone, nobody else has the flag.
struct Seats(Vec<(u64, *const Arena, Presence)>);

impl Drop for Seats {
    fn drop(&mut self) {
        LAST.with(|last| last.set((0, ptr::null()))); // a destructor that runs later must not come here
        for (_, _, presence) in &self.0 {
            presence.leave();
        }
    }
}

impl Frames {
    /// Frames whose arenas are those of [`Arena::new`].
    ///
    /// ```
    /// let mut frames = toft::Frames::new();
    /// assert_eq!(*frames.here().alloc(1), 1);
    /// frames.advance();
    /// ```
    pub fn new() -> Frames {
        Frames::with(Arena::try_new)
    }

    /// Frames whose arenas `make` makes: one for each thread, on it, at its first [`here`](Frames::here).
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
            seats: Mutex::new(Vec::new()),
            door: Door::new(),
            switches: Switches::default(),
            watched: false,
            last: None,
        }
    }

    /// This thread's arena.
    ///
    /// ```
    /// let frames = toft::Frames::new();
    /// let arena = frames.here();
    /// let numbers = arena.alloc_slice_fill_with(10, |i| i);
    /// let sum = arena.scope(|inner| {
    ///     let doubled = inner.alloc_slice_fill_with(10, |i| numbers[i] * 2); // a frame in the frame
    ///     doubled.iter().sum::<usize>()
    /// });
    /// assert_eq!((sum, arena.stats().live), (90, 80));
    /// ```
    ///
    /// # Panics
    /// If this thread has no arena yet, and there is no memory for one.
    #[inline]
    pub fn here(&self) -> &Arena {
        match self.try_here() {
            Ok(arena) => arena,
            Err(e) => panic!("toft: {e}"),
        }
    }

    /// As [`here`](Frames::here), with an error instead of the panic.
    ///
    /// ```
    /// use toft::{AllocError, Frames};
    /// let none = Frames::with(|| Err(AllocError));
    /// assert!(none.try_here().is_err());
    /// ```
    ///
    /// # Errors
    /// Those of `make`.
    #[inline]
    pub fn try_here(&self) -> Result<&Arena, AllocError> {
        let (id, arena) = LAST.with(Cell::get);
        if id == self.id {
            // SAFETY: this thread's seat in this `Frames`, whose arenas end with it.
            return Ok(unsafe { &*arena });
        }
        self.find()
    }

    #[cold]
    #[inline(never)]
    fn find(&self) -> Result<&Arena, AllocError> {
        let found = SEATS.try_with(|seats| seats.borrow().0.iter().find(|seat| seat.0 == self.id).map(|seat| seat.1));
        let arena = match found {
            Ok(Some(arena)) => arena,
            Ok(None) => self.sit(false)?,
            Err(_) => {
                // The thread is ending. Nobody will say when it has ended: it sits until the frame ends.
                let arena = self.sit(true)?;
                // SAFETY: a seat that is nobody else's before `advance`, which wants `self` exclusively.
                return Ok(unsafe { &*arena });
            }
        };
        LAST.with(|last| last.set((self.id, arena)));
        // SAFETY: this thread's seat in this `Frames`, whose arenas end with it.
        Ok(unsafe { &*arena })
    }

    /// A seat whose thread has ended, or a new one.
    fn sit(&self, stray: bool) -> Result<*const Arena, AllocError> {
        // Of a thread that has no handle of itself any more, there is no name.
        let name = if stray { None } else { std::thread::current().name().map(String::from) };
        let mut free = None;
        for seat in self.lock().iter_mut() {
            if mem::take(&mut seat.free) {
                seat.presence.come();
                seat.stray = stray;
                seat.name = name.clone();
                seat.thread = provider::this_thread();
                free = Some((seat.arena.as_ptr().cast_const(), seat.presence.clone()));
                break;
            }
        }
        let (arena, presence) = match free {
            Some(seat) => seat,
            None => {
                let arena = (self.make)()?; // nothing is locked meanwhile
                let _ = self.switches.throw(&arena); // one of another provider may not know them
                let arena = ptr::NonNull::from(Box::leak(Box::new(arena)));
                let presence = Presence::new(self.door.clone());
                let thread = provider::this_thread();
                self.lock().push(Seat { arena, presence: presence.clone(), stray, free: false, name, thread });
                (arena.as_ptr().cast_const(), presence)
            }
        };
        if self.switches.checked {
            // SAFETY: this thread's seat.
            unsafe { &*arena }.pin_thread(provider::this_thread());
        }
        if stray {
            self.door.knock(); // it is free when the frame ends
        } else {
            SEATS.with(|seats| {
                let mut seats = seats.borrow_mut();
                seats.0.retain(|seat| seat.2.is_shared()); // those of `Frames` that are gone
                seats.0.push((self.id, arena, presence));
            });
        }
        Ok(arena)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The arenas of all threads.
    #[inline(always)]
    fn seats(&mut self) -> &mut Vec<Seat> {
        self.seats.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the frame: the arenas of all threads are emptied, as by [`Arena::reset`], and the next frame begins.
    /// What [`alloc_drop`](Arena::alloc_drop) was given is dropped here, on this thread, and blocks that are not kept go to
    /// this thread's [cache](crate::cache).
    ///
    /// ```
    /// let mut frames = toft::Frames::new();
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| frames.here().alloc([0u8; 1000]).len());
    /// });
    /// frames.advance(); // that thread has ended, and its arena is emptied all the same
    /// assert_eq!(frames.arenas().map(|arena| arena.stats().live).sum::<u64>(), 0);
    /// ```
    /// ```compile_fail
    /// let mut frames = toft::Frames::new();
    /// let number = frames.here().alloc(1);
    /// frames.advance();
    /// assert_eq!(*number, 1);
    /// ```
    ///
    /// # Panics
    /// If a destructor panicked, when all arenas are empty.
    #[inline]
    pub fn advance(&mut self) {
        self.number += 1;
        if self.watched {
            return self.advance_watched();
        }
        if !self.door.is_quiet() {
            return self.each(0, Arena::reset);
        }
        // Most frames are like those before: nobody went, and nothing that is called runs code of others.
        let seats = self.seats();
        for (done, seat) in seats.iter().enumerate() {
            if !seat.arena().reset_short() {
                return self.advance_from(done);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn advance_from(&mut self, from: usize) {
        let short = |seat: &&Seat| seat.arena().reset_short() || seat.arena().reset_again();
        let done = from + self.seats()[from..].iter().take_while(short).count();
        if done < self.seats().len() {
            self.each(done, Arena::reset);
        }
    }

    #[cold]
    fn advance_watched(&mut self) {
        /// What is found when memory is given back belongs to the summary, also when a destructor panics.
        struct Findings<'a>(&'a mut Frames, Box<Summary>);
        impl Drop for Findings<'_> {
            fn drop(&mut self) {
                let mut summary = mem::take(&mut self.1);
                summary.findings.extend(self.0.arenas().flat_map(Arena::findings));
                self.0.last = Some(summary);
            }
        }
        let summary = Box::new(self.sum_up());
        Findings(self, summary).0.each(0, Arena::reset);
    }

    /// Returns memory that no allocation of this frame is in to where it came from, until about `keep` bytes of it are
    /// left in each thread's arena; and ends the arenas of threads that have ended, if they are empty.
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
        self.seats().retain(|seat| {
            // SAFETY: nobody else has it while `self` is borrowed exclusively.
            let live = unsafe { seat.arena.as_ref() }.stats().live;
            live != 0 || !seat.free
        });
    }

    /// The arenas of all threads, to look at and to set.
    ///
    /// ```
    /// let mut frames = toft::Frames::new();
    /// frames.here().alloc(1u64);
    /// let live: Vec<u64> = frames.arenas().map(|arena| arena.stats().live).collect();
    /// assert_eq!(live, [8]);
    /// ```
    pub fn arenas(&mut self) -> impl Iterator<Item = &Arena> {
        // SAFETY: no other thread has any of them while `self` is borrowed exclusively.
        self.seats().iter().map(|seat| unsafe { seat.arena.as_ref() })
    }

    /// How often the frames have advanced.
    ///
    /// ```
    /// let mut frames = toft::Frames::new();
    /// frames.advance();
    /// assert_eq!(frames.number(), 1);
    /// ```
    pub fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn named_arenas(&mut self) -> impl Iterator<Item = (Option<String>, &Arena)> {
        // SAFETY: as in `arenas`.
        self.seats().iter().map(|seat| (seat.name.clone(), unsafe { seat.arena.as_ref() }))
    }

    /// Changes what is switched on, for the arenas that there are and those to come.
    pub(crate) fn switch(&mut self, change: impl FnOnce(&mut Switches)) -> Result<(), SwitchError> {
        change(&mut self.switches);
        let switches = self.switches;
        self.watched = switches.any();
        if !self.watched {
            self.last = None;
        }
        let mut result = Ok(());
        for seat in self.seats() {
            // SAFETY: nobody else has it while `self` is borrowed exclusively.
            let arena = unsafe { seat.arena.as_mut() };
            arena.end_leaked();
            result = result.and(switches.throw(arena));
            arena.pin_thread(if switches.checked { seat.thread } else { 0 });
        }
        result
    }

    /// Does `f` to each arena from a seat on, to all of them even when it panics.
    #[cold]
    fn each(&mut self, from: usize, f: impl Fn(&mut Arena)) {
        struct Rest<'a, F: Fn(&mut Arena)>(core::slice::IterMut<'a, Seat>, F);
        impl<F: Fn(&mut Arena)> Rest<'_, F> {
            #[inline(always)]
            fn go(&mut self) {
                for seat in self.0.by_ref() {
                    // Nobody borrows an arena now.
                    if mem::take(&mut seat.stray) || !seat.presence.is_here() {
                        seat.free = true;
                    }
                    // SAFETY: nobody else has it while `Frames` is borrowed exclusively.
                    self.1(unsafe { seat.arena.as_mut() });
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
            self.door.hush(); // all seats are looked at
        }
        let mut rest = Rest(self.seats()[from..].iter_mut(), f);
        rest.go();
        mem::forget(rest); // nothing is left
    }
}

impl Default for Frames {
    fn default() -> Frames {
        Frames::new()
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames").field("number", &self.number).field("threads", &self.lock().len()).finish()
    }
}
