//! Instrumented frames: a summary of each frame, and a snapshot of all threads.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::string::String;
use alloc::vec::Vec;

use crate::base::finding::Finding;
use crate::base::report::Report;
use crate::diagnostics::switches::SwitchError;
use crate::memory::arena::Arena;

/// The summary of a frame, over all threads: [`Frames::summary`](crate::Frames::summary).
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

/// The state of all threads' arenas at one moment: [`Frames::snapshot`](crate::Frames::snapshot). With the feature
/// `serde` it can be serialised.
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

/// A thread's arena in a snapshot: [`Snapshot::threads`].
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
