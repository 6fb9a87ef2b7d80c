//! Diagnostics of frames: the switches for all threads' arenas, summaries of frames and snapshots.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use super::Frames;
use crate::diagnostics::snapshot::{Snapshot, Summary, Switches, ThreadSnapshot};
use crate::diagnostics::switches::SwitchError;
use crate::memory::arena::Arena;
pub(super) use crate::provider::thread_id;

#[derive(Default)]
pub(super) struct Reports {
    switches: Switches,
    /// Whether any switch is on.
    instrumented: bool,
    last: Option<Box<Summary>>,
}

impl Reports {
    #[inline(always)]
    pub(super) fn are_on(&self) -> bool {
        self.instrumented
    }

    /// Switches a new arena. One of another provider may not support that.
    pub(super) fn begin(&self, arena: &Arena) {
        if self.instrumented {
            let _ = self.switches.apply(arena);
        }
    }

    /// A checked arena belongs to this thread from now on.
    pub(super) fn pin(&self, arena: &Arena) {
        if self.switches.checked {
            arena.pin_thread(thread_id());
        }
    }
}

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
        self.reports.last.as_deref()
    }

    /// Returns the state of the arenas of all threads.
    ///
    /// ```
    /// let mut frames = toft::Frames::new();
    /// frames.here().alloc([0u8; 100]);
    /// assert_eq!(frames.snapshot().threads[0].report.stats.live, 104);
    /// ```
    pub fn snapshot(&mut self) -> Snapshot {
        let (frame, last) = (self.number(), self.reports.last.as_deref().cloned());
        let mut threads = Vec::new();
        for slot in self.slots_mut() {
            threads.push(ThreadSnapshot { name: slot.name.clone(), report: slot.arena().report() });
        }
        Snapshot { frame, threads, last }
    }

    fn sum_up(&mut self) -> Summary {
        let mut summary = Summary { frame: self.number(), ..Summary::default() };
        for arena in self.arenas() {
            let report = arena.take_report();
            summary.threads += (report.stats.live != 0) as usize;
            summary.report.add(&report);
        }
        summary
    }

    #[cold]
    pub(super) fn advance_instrumented(&mut self) {
        /// Adds the findings of the reset to the summary, also if a destructor panics.
        struct Findings<'a>(&'a mut Frames, Box<Summary>);
        impl Drop for Findings<'_> {
            fn drop(&mut self) {
                let mut summary = mem::take(&mut self.1);
                for arena in self.0.arenas() {
                    summary.findings.append(&mut arena.findings());
                }
                self.0.reports.last = Some(summary);
            }
        }
        let summary = Box::new(self.sum_up());
        Findings(self, summary).0.each(0, Arena::reset);
    }

    /// Changes the switches, for existing and future arenas.
    fn switch(&mut self, change: impl FnOnce(&mut Switches)) -> Result<(), SwitchError> {
        change(&mut self.reports.switches);
        let switches = self.reports.switches;
        self.reports.instrumented = switches.any();
        if !self.reports.instrumented {
            self.reports.last = None;
        }
        let mut result = Ok(());
        for slot in self.slots_mut() {
            let thread = if switches.checked { slot.thread } else { 0 };
            let arena = slot.arena_mut();
            arena.end_leaked();
            result = result.and(switches.apply(arena));
            arena.pin_thread(thread);
        }
        result
    }
}
