//! Frames of threads that live as long as the loop: each arrives at the end of the frame, and one of them ends it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::UnsafeCell;
use core::fmt;
use core::ops::Deref;
use core::time::Duration;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Instant;

use crate::memory::common_impls::default_by_new;
use crate::threads::frames::Frames;

/// [`Frames`] for threads that live as long as the loop, as a barrier. Each thread has a [`FrameParty`], allocates by
/// it, and calls [`arrive_and_wait`](FrameParty::arrive_and_wait) at the end of its frame. When all parties have
/// arrived, one of them calls [`Frames::advance`] while the others wait; then all continue with the next frame.
///
/// Parties join and leave at any time. A party leaves when it is dropped, also while its thread unwinds, so a panic of
/// one thread does not stop the others. Waiting threads sleep.
///
/// Clones are the same frames; each party owns one. The memory is released with the last clone or party.
///
/// ```
/// use toft::SharedFrames;
///
/// let frames = SharedFrames::new();
/// // All parties join before the first thread runs, so that no frame ends without one of them.
/// let workers: Vec<_> = (0..3).map(|_| frames.join()).collect();
/// let threads: Vec<_> = (workers.into_iter().zip(0u64..))
///     .map(|(mut worker, id)| {
///         std::thread::spawn(move || {
///             let mut sum = 0;
///             for frame in 0..10 {
///                 let numbers = worker.here().alloc_slice_fill_with(100, |i| i as u64 + id + frame);
///                 sum += numbers.iter().sum::<u64>();
///                 worker.arrive_and_wait(); // to use `numbers` from here on does not compile
///             }
///             sum
///         })
///     })
///     .collect();
/// assert!(threads.into_iter().all(|thread| thread.join().unwrap() > 0));
/// assert_eq!(frames.into_frames().unwrap().number(), 10);
/// ```
#[derive(Clone)]
pub struct SharedFrames(Arc<Shared>);

struct Shared {
    frames: UnsafeCell<Frames>,
    state: Mutex<State>,
    /// A frame has ended, or all parties that remain have arrived.
    changed: Condvar,
}

/// At least one party has not arrived, or `ender` is set, or an arrived party is about to wake and set it.
struct State {
    parties: usize,
    arrived: usize,
    /// The number of frames ended here.
    ended: u64,
    /// The thread that has exclusive access to the frames, to end one.
    ender: Option<ThreadId>,
}

// SAFETY: the frames are `Send` and `Sync`. References to them are given out by parties, as long as they have not
// arrived; `&mut Frames` is made by one thread, chosen under the mutex, while all parties have arrived and none joins.
unsafe impl Sync for Shared {}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedFrames {
    /// Creates frames whose arenas are made by [`Arena::new`](crate::Arena::new).
    pub fn new() -> SharedFrames {
        SharedFrames::from(Frames::new())
    }

    /// Adds a party: the current frame does not end before it has arrived. Waits while a frame is being ended.
    ///
    /// # Panics
    /// If called by code that runs while this thread ends a frame of these: a destructor, or the closure of
    /// [`arrive_and_wait_with`](FrameParty::arrive_and_wait_with).
    pub fn join(&self) -> FrameParty {
        let mut state = self.0.lock();
        while let Some(ender) = state.ender {
            assert!(ender != std::thread::current().id(), "toft: a party joins frames that its thread is ending");
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.parties += 1;
        FrameParty { shared: self.0.clone() }
    }

    /// Returns the number of parties, and how many of them have arrived.
    ///
    /// ```
    /// let frames = toft::SharedFrames::new();
    /// let party = frames.join();
    /// assert_eq!(frames.parties(), (1, 0));
    /// drop(party);
    /// assert_eq!(frames.parties(), (0, 0));
    /// ```
    pub fn parties(&self) -> (usize, usize) {
        let state = self.0.lock();
        (state.parties, state.arrived)
    }

    /// Returns the frames.
    ///
    /// # Errors
    /// `self`, if there are parties or other clones.
    pub fn into_frames(self) -> Result<Frames, SharedFrames> {
        Arc::try_unwrap(self.0).map(|shared| shared.frames.into_inner()).map_err(SharedFrames)
    }
}

default_by_new!(SharedFrames);

impl From<Frames> for SharedFrames {
    fn from(frames: Frames) -> SharedFrames {
        let state = State { parties: 0, arrived: 0, ended: 0, ender: None };
        SharedFrames(Arc::new(Shared {
            frames: UnsafeCell::new(frames),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }))
    }
}

/// A thread's part in [`SharedFrames`]. It dereferences to their [`Frames`] until it arrives.
///
/// A party that neither arrives nor is dropped, for example a leaked one, keeps the frame from ending. So does a second
/// party of a thread that waits.
///
/// ```
/// use toft::{Frames, SharedFrames};
///
/// let frames = SharedFrames::from(Frames::new());
/// let mut party = frames.join();
/// party.here().alloc(1);
/// party.arrive_and_wait(); // the only party: does not wait
/// assert_eq!((party.number(), party.here().stats().live), (1, 0));
/// ```
#[must_use = "the party leaves where this is dropped"]
pub struct FrameParty {
    shared: Arc<Shared>,
}

impl Deref for FrameParty {
    type Target = Frames;

    #[inline(always)]
    fn deref(&self) -> &Frames {
        // SAFETY: this party has not arrived as long as it is borrowed, so that no `&mut Frames` exists.
        unsafe { &*self.shared.frames.get() }
    }
}

impl FrameParty {
    /// Ends this party's frame: waits until all parties have arrived and the frame has ended.
    ///
    /// # Panics
    /// On the thread that ends the frame, if a destructor panics; the other parties continue with the next frame.
    pub fn arrive_and_wait(&mut self) {
        self.arrive_and_wait_with(Frames::advance);
    }

    /// As [`arrive_and_wait`](FrameParty::arrive_and_wait), with a closure that is called instead of
    /// [`Frames::advance`] if this thread is the one that ends the frame: then its result is returned, else `None`.
    ///
    /// ```
    /// let mut party = toft::SharedFrames::new().join();
    /// party.here().alloc([0u8; 100_000]);
    /// let held = party.arrive_and_wait_with(|frames| {
    ///     frames.advance();
    ///     frames.trim(0);
    ///     frames.arenas().map(|arena| arena.stats().reserved).sum::<u64>()
    /// });
    /// assert!(held.is_some_and(|bytes| bytes < 100_000));
    /// ```
    pub fn arrive_and_wait_with<R>(&mut self, end: impl FnOnce(&mut Frames) -> R) -> Option<R> {
        self.arrive(None, end).unwrap_or(None)
    }

    /// As [`arrive_and_wait`](FrameParty::arrive_and_wait), for at most about `timeout`, and as long as it takes to end
    /// the frame. Returns whether the frame ended. If not, this party has not arrived, and may go on to use the frame.
    ///
    /// ```
    /// use std::time::Duration;
    /// let frames = toft::SharedFrames::new();
    /// let (mut first, second) = (frames.join(), frames.join());
    /// assert!(!first.arrive_and_wait_timeout(Duration::from_millis(1)));
    /// drop(second);
    /// assert!(first.arrive_and_wait_timeout(Duration::from_millis(1)));
    /// ```
    pub fn arrive_and_wait_timeout(&mut self, timeout: Duration) -> bool {
        // A time that cannot be represented is never reached.
        self.arrive(Instant::now().checked_add(timeout), Frames::advance).is_ok()
    }

    fn arrive<R>(
        &mut self,
        deadline: Option<Instant>,
        end: impl FnOnce(&mut Frames) -> R,
    ) -> Result<Option<R>, TimedOut> {
        /// The frame has ended, also by a panic.
        struct Ended<'a>(&'a Shared);
        impl Drop for Ended<'_> {
            fn drop(&mut self) {
                let mut state = self.0.lock();
                debug_assert!(state.ender.is_some() && state.arrived == state.parties);
                state.ender = None;
                state.arrived = 0;
                state.ended += 1;
                self.0.changed.notify_all();
            }
        }
        let shared = &*self.shared;
        let mut state = shared.lock();
        let ended = state.ended;
        state.arrived += 1;
        debug_assert!(state.arrived <= state.parties);
        while state.ender.is_some() || state.arrived < state.parties {
            state = match deadline {
                Some(deadline) if state.ender.is_none() => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        state.arrived -= 1;
                        return Err(TimedOut);
                    }
                    shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                _ => shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            if state.ended != ended {
                return Ok(None);
            }
        }
        debug_assert!(state.arrived == state.parties && state.ended == ended);
        state.ender = Some(std::thread::current().id());
        drop(state);
        let _ended = Ended(shared);
        // SAFETY: all parties have arrived, and are borrowed exclusively by their calls; none joins, and no other
        // thread ends the frame, before `Ended`.
        Ok(Some(end(unsafe { &mut *shared.frames.get() })))
    }
}

/// The party has not arrived.
struct TimedOut;

impl Drop for FrameParty {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.parties -= 1;
        debug_assert!(state.arrived <= state.parties && state.ender.is_none());
        if state.arrived == state.parties {
            self.shared.changed.notify_all(); // one of the parties that wait ends the frame
        }
    }
}

impl fmt::Debug for SharedFrames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parties, arrived) = self.parties();
        f.debug_struct("SharedFrames").field("parties", &parties).field("arrived", &arrived).finish()
    }
}

impl fmt::Debug for FrameParty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameParty").field("frames", &**self).finish()
    }
}
