//! Instrumented frames: a summary of each frame, and a snapshot of all threads.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::string::String;
use alloc::vec::Vec;

use crate::arena::Arena;
use crate::diagnostics::SwitchError;
use crate::frames::Frames;
use crate::report::{Finding, Report};

/// The summary of a frame, over all threads: [`Frames::summary`].
///
/// ```
/// let mut frames = toft::Frames::new();
/// frames.set_metered(true)?;
/// {
///     let arena = frames.here();
///     let _phase = arena.phase("update");
///     arena.alloc([0u8; 1000]);
/// }
/// frames.advance();
/// let summary = frames.summary().unwrap();
/// assert_eq!((summary.frame, summary.threads, summary.report.stats.live), (1, 1, 1000));
/// assert_eq!(summary.report.phases[0].allocated, 1000);
/// # Ok::<(), toft::SwitchError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Summary {
    /// The frame's number, from 1.
    pub frame: u64,
    /// The number of threads that allocated in it.
    pub threads: usize,
    /// The sum of all threads: live bytes at the end of the frame, and bytes allocated in it.
    pub report: Report,
    /// The findings when its memory was freed.
    pub findings: Vec<Finding>,
}

/// The state of all threads' arenas at one moment: [`Frames::snapshot`]. With the feature `serde` it can be serialised.
///
#[cfg_attr(feature = "serde", doc = "```")]
#[cfg_attr(not(feature = "serde"), doc = "```ignore")]
/// let mut frames = toft::Frames::new();
/// frames.here().alloc(1u64);
/// let json: serde_json::Value = serde_json::to_value(frames.snapshot()).unwrap();
/// assert_eq!(json["threads"][0]["report"]["stats"]["live"], 8);
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Snapshot {
    /// The number of frames so far.
    pub frame: u64,
    /// One for each thread's arena, also of threads that have ended.
    pub threads: Vec<ThreadSnapshot>,
    /// The summary of the frame before, if it was instrumented.
    pub last: Option<Summary>,
}

/// A thread's arena in a [`Snapshot`].
///
/// ```
/// let mut frames = toft::Frames::new();
/// frames.here().alloc(1u64);
/// let thread = &frames.snapshot().threads[0];
/// assert_eq!(thread.name.as_deref(), std::thread::current().name());
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ThreadSnapshot {
    /// The thread's name, if it has one.
    pub name: Option<String>,
    /// The report of its arena.
    pub report: Report,
}

/// The switches that are on, for the arenas of all threads.
#[derive(Clone, Copy, Default)]
pub(crate) struct Switches {
    pub metered: bool,
    pub checked: bool,
    pub sampling: u64,
}

impl Switches {
    pub(crate) fn any(self) -> bool {
        self.metered || self.checked || self.sampling != 0
    }

    /// Called on the arena's thread, or while the `Frames` is borrowed exclusively.
    pub(crate) fn apply(self, arena: &Arena) -> Result<(), SwitchError> {
        if !self.any() && arena.own().is_none_or(|a| !a.has_instruments()) {
            return Ok(());
        }
        arena.set_metered(self.metered)?;
        arena.set_sampling(self.sampling)?;
        arena.set_checked(self.checked)
    }
}

impl Frames {
    /// Counts bytes by [tag](Arena::tag) and [phase](Arena::phase) on all threads from now on; the
    /// [`summary`](Frames::summary) of each frame contains the counts.
    ///
    /// ```
    /// let mut frames = toft::Frames::new();
    /// frames.set_metered(true)?;
    /// {
    ///     let _tag = frames.here().tag("sound");
    ///     frames.here().alloc([0u64; 4]);
    /// }
    /// frames.advance();
    /// assert_eq!(frames.summary().unwrap().report.tags[1].live, 32);
    /// # Ok::<(), toft::SwitchError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Arena::set_metered`]; then some threads' arenas are switched and others are not.
    pub fn set_metered(&mut self, on: bool) -> Result<(), SwitchError> {
        self.switch(|switches| switches.metered = on)
    }

    /// Estimates the number of allocations of each call site: [`Arena::set_sampling`], on all threads.
    ///
    /// ```
    /// let mut frames = toft::Frames::new();
    /// frames.set_sampling(1024)?;
    /// for _ in 0..200_000 {
    ///     frames.here().alloc(1u64);
    /// }
    /// frames.advance();
    /// assert!((160_000..240_000).contains(&frames.summary().unwrap().report.count()));
    /// # Ok::<(), toft::SwitchError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`set_metered`](Frames::set_metered).
    pub fn set_sampling(&mut self, bytes: u64) -> Result<(), SwitchError> {
        self.switch(|switches| switches.sampling = bytes)
    }

    /// Checks every allocation on all threads: [`Arena::set_checked`]. Each arena then belongs to its thread: calls by
    /// other threads, which safe code can make only through [`arenas`](Frames::arenas), are refused and reported.
    ///
    /// ```
    /// use toft::Finding;
    /// let mut frames = toft::Frames::new();
    /// frames.set_checked(true)?;
    /// frames.here().alloc(vec![1, 2, 3]); // the vector's own memory is leaked
    /// frames.advance();
    /// assert!(matches!(frames.summary().unwrap().findings[..], [Finding::Leak { size: 24, .. }]));
    /// # Ok::<(), toft::SwitchError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`set_metered`](Frames::set_metered).
    pub fn set_checked(&mut self, on: bool) -> Result<(), SwitchError> {
        self.switch(|switches| switches.checked = on)
    }

    /// Returns the summary of the last frame, while something is switched on; else `None`.
    ///
    /// ```
    /// let mut frames = toft::Frames::new();
    /// frames.advance();
    /// assert!(frames.summary().is_none());
    /// ```
    pub fn summary(&self) -> Option<&Summary> {
        self.last.as_deref()
    }

    /// Returns the state of the arenas of all threads.
    ///
    /// ```
    /// let mut frames = toft::Frames::new();
    /// frames.here().alloc([0u8; 100]);
    /// assert_eq!(frames.snapshot().threads[0].report.stats.live, 104);
    /// ```
    pub fn snapshot(&mut self) -> Snapshot {
        let threads = self.named_arenas().map(|(name, arena)| ThreadSnapshot { name, report: arena.report() });
        let threads = threads.collect();
        Snapshot { frame: self.number(), threads, last: self.last.as_deref().cloned() }
    }

    pub(crate) fn sum_up(&mut self) -> Summary {
        let mut summary = Summary { frame: self.number(), ..Summary::default() };
        for arena in self.arenas() {
            let report = arena.take_report();
            summary.threads += (report.stats.live != 0) as usize;
            summary.report.add(&report);
        }
        summary
    }
}
