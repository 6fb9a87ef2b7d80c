//! Diagnostics of frames: the switches for all threads' arenas, summaries of frames and snapshots.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::Frames;
use crate::diagnostics::SwitchError;
use crate::snapshot::{Snapshot, Summary, ThreadSnapshot};

impl Frames {
    /// Counts bytes by [tag](crate::Arena::tag) and [phase](crate::Arena::phase) on all threads from now on; the
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
    /// Those of [`Arena::set_metered`](crate::Arena::set_metered); then some threads' arenas are switched and others
    /// are not.
    pub fn set_metered(&mut self, on: bool) -> Result<(), SwitchError> {
        self.switch(|switches| switches.metered = on)
    }

    /// Estimates the number of allocations of each call site: [`Arena::set_sampling`](crate::Arena::set_sampling), on
    /// all threads.
    ///
    /// # Errors
    /// As for [`set_metered`](Frames::set_metered).
    pub fn set_sampling(&mut self, bytes: u64) -> Result<(), SwitchError> {
        self.switch(|switches| switches.sampling = bytes)
    }

    /// Checks every allocation on all threads: [`Arena::set_checked`](crate::Arena::set_checked). Each arena then
    /// belongs to its thread: calls by other threads, which safe code can make only through [`arenas`](Frames::arenas),
    /// are refused and reported.
    ///
    /// # Errors
    /// As for [`set_metered`](Frames::set_metered).
    pub fn set_checked(&mut self, on: bool) -> Result<(), SwitchError> {
        self.switch(|switches| switches.checked = on)
    }

    /// Returns the summary of the last frame, while something is switched on; else `None`.
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
