//! Ends of frames in steps: the destructors of a frame run in parts, so that none of the next frames waits for all.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::mem;
use core::ops::Deref;

use super::Frames;
use crate::memory::common_impls::default_by_new;

impl Frames {
    /// As [`advance`](Frames::advance), with at most `limit` destructors of [`alloc_drop`](crate::Arena::alloc_drop)
    /// and similar calls. Returns whether the frame ended; if not, the next call continues, and no arena is empty
    /// yet. Each arena's values are dropped newest first.
    ///
    /// A program that computes the next frame in the meantime uses [`SteppedFrames`], or other `Frames`.
    ///
    /// ```
    /// let mut frames = toft::Frames::new();
    /// for n in 0..25 {
    ///     frames.here().alloc_drop(vec![n]);
    /// }
    /// let mut steps = 1;
    /// while !frames.advance_bounded(10) {
    ///     steps += 1;
    /// }
    /// assert_eq!((steps, frames.number(), frames.here().stats().live), (3, 1, 0));
    /// ```
    ///
    /// Values of a leaked scope are dropped by the first call, whatever their number. So are those of an arena of
    /// another language by the last one.
    ///
    /// # Panics
    /// If a destructor panics: after the others of this call in the same arena. The next call continues.
    pub fn advance_bounded(&mut self, limit: usize) -> bool {
        self.step(limit).1
    }

    /// Returns how many destructors ran, and whether the frame ended.
    fn step(&mut self, limit: usize) -> (usize, bool) {
        let (dropped, all) = self.drop_some(limit);
        if all {
            self.advance();
        }
        (dropped, all)
    }
}

/// [`Frames`] whose values are dropped in steps: [`advance`](SteppedFrames::advance) runs no destructor, and each
/// [`step`](SteppedFrames::step) runs a limited number of them, those of the oldest frame first. So a frame that had
/// many values to drop does not stall the next one.
///
/// A frame without such values ends at once, in the same arenas. The arenas of another one keep their memory until all
/// of its values are dropped, while the next frames use others; then they are used again. If each frame makes more
/// values than are dropped in steps, [`waiting`](SteppedFrames::waiting) grows.
///
/// ```
/// use std::sync::Arc;
/// use toft::SteppedFrames;
///
/// let alive = Arc::new(());
/// let mut frames = SteppedFrames::new();
/// for _ in 0..1000 {
///     frames.here().alloc_drop(alive.clone()); // `here` as of `Frames`
/// }
/// for frame in 1..=10 {
///     frames.advance(); // to use a value of the frame from here on does not compile
///     frames.here().alloc([frame; 100]);
///     frames.step(100);
///     assert_eq!(Arc::strong_count(&alive), 1001 - 100 * frame);
/// }
/// assert_eq!((frames.waiting(), frames.number()), (0, 10));
/// ```
///
/// Dropping it drops all values. These frames are several `Frames`, each with arenas and switches of its own, made by
/// the function given to [`with_frames`](SteppedFrames::with_frames).
pub struct SteppedFrames {
    current: Frames,
    /// Frames with values to drop, oldest first.
    past: VecDeque<Frames>,
    empty: Vec<Frames>,
    make: Box<dyn FnMut() -> Frames + Send + Sync>,
    number: u64,
}

impl SteppedFrames {
    /// Creates frames whose arenas are made by [`Arena::new`](crate::Arena::new).
    pub fn new() -> SteppedFrames {
        SteppedFrames::with_frames(Frames::new)
    }

    /// As [`new`](SteppedFrames::new), with frames that `make` creates: the first now, and another one whenever a frame
    /// ends while the values of all earlier ones wait.
    ///
    /// ```
    /// use toft::{Frames, Options, SteppedFrames};
    /// let frames = SteppedFrames::with_frames(|| Frames::with(|| Options::new().budget(16 << 20).create()));
    /// assert_eq!(frames.here().stats().budget, 16 << 20);
    /// ```
    pub fn with_frames(mut make: impl FnMut() -> Frames + Send + Sync + 'static) -> SteppedFrames {
        let (past, empty) = (VecDeque::new(), Vec::new());
        SteppedFrames { current: make(), past, empty, make: Box::new(make), number: 0 }
    }

    /// Ends the frame. If it has values to drop, they wait for [`step`](SteppedFrames::step); else its arenas are
    /// emptied.
    pub fn advance(&mut self) {
        if !self.current.step(0).1 {
            let next = self.empty.pop().unwrap_or_else(&mut self.make);
            self.past.push_back(mem::replace(&mut self.current, next));
        }
        self.number += 1;
    }

    /// Drops at most `limit` values of ended frames: those of the oldest frame first, and of each arena the newest
    /// first. Returns whether none is left.
    ///
    /// ```
    /// let mut frames = toft::SteppedFrames::new();
    /// for n in 0..30 {
    ///     frames.here().alloc_drop(vec![n]);
    /// }
    /// frames.advance();
    /// assert_eq!([frames.step(20), frames.step(20), frames.step(20)], [false, true, true]);
    /// ```
    ///
    /// # Panics
    /// As [`Frames::advance_bounded`].
    pub fn step(&mut self, limit: usize) -> bool {
        let mut left = limit;
        while let Some(oldest) = self.past.front_mut() {
            let (dropped, ended) = oldest.step(left);
            if !ended {
                return false;
            }
            left -= dropped.min(left);
            self.empty.extend(self.past.pop_front());
        }
        true
    }

    /// Returns the number of ended frames whose values are not all dropped.
    ///
    /// ```
    /// let mut frames = toft::SteppedFrames::new();
    /// frames.here().alloc_drop(vec![1]);
    /// frames.advance();
    /// frames.advance(); // a frame without values to drop
    /// assert_eq!(frames.waiting(), 1);
    /// ```
    pub fn waiting(&self) -> usize {
        self.past.len()
    }

    /// Returns the number of advances.
    ///
    /// ```
    /// let mut frames = toft::SteppedFrames::new();
    /// frames.advance();
    /// assert_eq!(frames.number(), 1);
    /// ```
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Releases arenas that wait for a frame, and returns the memory of the others as [`Frames::trim`] does.
    ///
    /// ```
    /// let mut frames = toft::SteppedFrames::new();
    /// frames.here().alloc_slice_fill(100_000, 1u8);
    /// frames.advance();
    /// frames.trim(0);
    /// assert!(frames.here().stats().reserved <= 4096);
    /// ```
    pub fn trim(&mut self, keep: usize) {
        self.empty.clear();
        self.current.trim(keep);
    }
}

default_by_new!(SteppedFrames);

impl Deref for SteppedFrames {
    type Target = Frames;

    #[inline(always)]
    fn deref(&self) -> &Frames {
        &self.current
    }
}

impl fmt::Debug for SteppedFrames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SteppedFrames").field("number", &self.number).field("waiting", &self.past.len()).finish()
    }
}
