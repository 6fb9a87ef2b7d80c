//! Overlapping frames: what a frame published stays readable while the next ones run.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use core::fmt;
use core::ptr::NonNull;

use crate::frames::Frames;
use crate::owner::{Erased, Root};

/// The last N frames, each with the value that it published: double buffering, triple buffering, history.
///
/// [`frame`](Buffered::frame) empties the oldest of N [`Frames`], runs the new frame in it, and keeps its result, which
/// may borrow anything that was allocated in the frame, on any thread. N calls later the result is dropped and its
/// memory reused; the borrow checker refuses references that would live longer. A value that is needed for longer is
/// copied to the new frame.
///
/// `R` names the type that is published, as for an [`Owner`](crate::Owner): see [`root!`](crate::root).
///
/// ```
/// use toft::Buffered;
///
/// toft::root!(struct Positions => &'a [f32]);
///
/// let mut frames = Buffered::<Positions>::new(2);
/// for step in 0..4 {
///     frames.frame(|now, past| {
///         let next = now.here().alloc_slice_fill(3, 1.0);
///         past.with(1, |before: &&[f32]| {
///             for (next, before) in next.iter_mut().zip(before.iter()) {
///                 *next += before; // the previous frame is still whole
///             }
///         });
///         next
///     });
///     assert_eq!(frames.with(0, |now| now[2]), Some(1.0 + step as f32));
/// }
/// assert_eq!((frames.len(), frames.number()), (2, 4));
/// ```
pub struct Buffered<R: Root> {
    ring: Box<[Buffer<R>]>,
    newest: usize,
    number: u64,
}

struct Buffer<R: Root> {
    /// Dropped before the frames' memory is reused.
    root: Option<Erased<R>>,
    /// In a box, since the root may refer to it; as a raw pointer, since moving a box invalidates references.
    frames: NonNull<Frames>,
}

// SAFETY: frames are `Send`.
unsafe impl<R: Root> Send for Buffer<R> where for<'a> R::In<'a>: Send {}
// SAFETY: a shared buffer gives no access to its frames.
unsafe impl<R: Root> Sync for Buffer<R> where for<'a> R::In<'a>: Sync {}

impl<R: Root> Buffer<R> {
    fn with<T>(&self, look: impl for<'a, 'b> FnOnce(&'b R::In<'a>) -> T) -> Option<T> {
        self.root.as_ref().map(|root| root.with(look))
    }
}

impl<R: Root> Drop for Buffer<R> {
    fn drop(&mut self) {
        struct Last(NonNull<Frames>);
        impl Drop for Last {
            fn drop(&mut self) {
                // SAFETY: it came from a box, and is not used again.
                drop(unsafe { Box::from_raw(self.0.as_ptr()) });
            }
        }
        let _last = Last(self.frames); // also when dropping the root panics
        self.root = None;
    }
}

impl<R: Root> Buffered<R> {
    /// Creates `n` frames, the running one included. With 1 there is no past; 0 counts as 1.
    pub fn new(n: usize) -> Buffered<R> {
        Buffered::with_frames(n, Frames::new)
    }

    /// As [`new`](Buffered::new), with frames that `make` creates.
    pub fn with_frames(n: usize, mut make: impl FnMut() -> Frames) -> Buffered<R> {
        let buffer = |_| Buffer { root: None, frames: NonNull::from(Box::leak(Box::new(make()))) };
        Buffered { ring: (0..n.max(1)).map(buffer).collect(), newest: 0, number: 0 }
    }

    /// Runs a frame: ends the oldest one, reuses its memory, and keeps what `run` returns. The result may borrow from
    /// this frame, not from past ones.
    ///
    /// ```
    /// toft::root!(struct Names => std::vec::Vec<&'a str>);
    /// let mut frames = toft::Buffered::<Names>::new(2);
    /// frames.frame(|now, _| vec![&*now.here().alloc_str("first")]);
    /// frames.frame(|now, past| past.with(1, |names| vec![&*now.here().alloc_str(names[0])]).unwrap());
    /// assert_eq!(frames.with(0, |names| names.concat()), Some("first".to_string()));
    /// ```
    ///
    /// # Panics
    /// If `run` panics, or a destructor of the oldest frame: then this frame published nothing.
    pub fn frame(&mut self, run: impl for<'a> FnOnce(&'a Frames, Past<'_, R>) -> R::In<'a>) {
        self.newest = (self.newest + 1) % self.ring.len();
        self.number += 1;
        let oldest = &mut self.ring[self.newest];
        oldest.root = None;
        // SAFETY: only the root referred to the frames and their memory.
        unsafe { oldest.frames.as_mut() }.advance();
        let frames = oldest.frames;
        // SAFETY: the frames stay at their address until the root is dropped. No other reference can outlive `run`,
        // which is generic over 'a.
        let root = run(unsafe { frames.as_ref() }, Past { ring: &self.ring, newest: self.newest });
        self.ring[self.newest].root = Some(Erased::new(root));
    }

    /// Calls `look` with what a frame published; `age` 0 is the newest frame. `None`: too old, or nothing published.
    ///
    /// ```
    /// toft::root!(struct Number => &'a u32);
    /// let mut frames = toft::Buffered::<Number>::new(2);
    /// for i in 0..3 {
    ///     frames.frame(|now, _| now.here().alloc(i));
    /// }
    /// assert_eq!([0, 1, 2].map(|age| frames.with(age, |n| **n)), [Some(2), Some(1), None]);
    /// ```
    pub fn with<T>(&self, age: usize, look: impl for<'a, 'b> FnOnce(&'b R::In<'a>) -> T) -> Option<T> {
        Past { ring: &self.ring, newest: self.newest }.with(age, look)
    }

    /// Returns the number of frames kept.
    #[allow(clippy::len_without_is_empty)] // it is not a collection
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Returns the number of frames begun.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Calls [`Frames::trim`] for each frame that published nothing. Frames with a published value are not trimmed.
    ///
    /// ```
    /// toft::root!(struct Number => &'a u32);
    /// let mut frames = toft::Buffered::<Number>::new(2);
    /// frames.frame(|now, _| now.here().alloc(1));
    /// frames.trim(0);
    /// assert_eq!(frames.with(0, |n| **n), Some(1));
    /// ```
    pub fn trim(&mut self, keep: usize) {
        for buffer in &mut self.ring {
            if buffer.root.is_none() {
                // SAFETY: without a root there are no references.
                unsafe { buffer.frames.as_mut() }.trim(keep);
            }
        }
    }
}

/// The frames before the running one, with what they published.
///
/// ```
/// toft::root!(struct Number => &'a u32);
/// let mut frames = toft::Buffered::<Number>::new(3);
/// for i in 0..5 {
///     frames.frame(|now, past| {
///         assert_eq!(past.with(2, |n| **n), (i >= 2).then(|| i - 2)); // two frames ago
///         assert_eq!(past.with(3, |n| **n), None); // that is this frame's memory now
///         now.here().alloc(i)
///     });
/// }
/// ```
pub struct Past<'b, R: Root> {
    ring: &'b [Buffer<R>],
    newest: usize,
}

impl<R: Root> Past<'_, R> {
    /// Calls `look` with what a frame published; `age` 1 is the frame before the running one. `None`: too old, or
    /// nothing published.
    pub fn with<T>(&self, age: usize, look: impl for<'a, 'c> FnOnce(&'c R::In<'a>) -> T) -> Option<T> {
        if age >= self.ring.len() {
            return None;
        }
        self.ring[(self.newest + self.ring.len() - age) % self.ring.len()].with(look)
    }
}

impl<R: Root> fmt::Debug for Buffered<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffered").field("number", &self.number).field("buffers", &self.ring.len()).finish()
    }
}

impl<R: Root> fmt::Debug for Past<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Past").field("buffers", &self.ring.len()).finish()
    }
}
