//! The result of `toft advise` as a file (JSON): `advise` writes it, `report` reads it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::frame::{Frame, Module};
use serde::{Deserialize, Serialize};

/// The version of the format that this program writes and reads.
pub const VERSION: u32 = 2;

/// Advice on one program. Times are CPU seconds of one run of the program unless a field has another unit.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Advice {
    /// [`VERSION`]; its name distinguishes an advice from a snapshot.
    pub toft_advice: u32,
    /// The command line.
    pub command: Vec<String>,
    /// The executable of the process that the advice is about.
    pub process: String,
    pub verdict: Verdict,
    /// One paragraph: the verdict in words.
    pub summary: String,
    /// The program's CPU time without the recorder.
    pub cpu: Figure,
    /// The part of it in the system, the median.
    #[serde(default)]
    pub system: f64,
    /// Its page faults, the median.
    pub faults: f64,
    /// The CPU time under the recorder.
    pub cpu_recorded: f64,
    /// Recorded calls of malloc, free and their relatives.
    pub events: u64,
    pub objects: u64,
    /// The sum of the objects' sizes.
    pub bytes: u64,
    pub threads: u64,
    /// The most bytes that were live at once.
    pub peak: u64,
    /// Other mallocs, by saving.
    pub mallocs: Vec<Malloc>,
    /// Scopes that an arena could serve, by saving.
    pub scopes: Vec<Scope>,
    /// Every call site with its whole stack, by bytes.
    pub sites: Vec<Site>,
    /// Call sites of the objects that were live when most bytes were, by bytes.
    #[serde(default)]
    pub at_peak: Vec<Site>,
    /// Live bytes in the recorded run.
    #[serde(default)]
    pub curve: Curve,
    /// Call sites that have more live bytes after each quarter of that run than after the one before, by those at its end.
    #[serde(default)]
    pub growing: Vec<Site>,
    /// The files that calls of `sites` are in.
    #[serde(default)]
    pub modules: Vec<Module>,
    /// Call sites of objects that ended before their thread allocated again, by count.
    #[serde(default)]
    pub temporary: Vec<Site>,
    /// The number of these objects.
    #[serde(default)]
    pub temporary_objects: u64,
    /// Mallocs on which the program ends otherwise, and how.
    #[serde(default)]
    pub failures: Vec<String>,
    /// What the recording does not cover, in full sentences.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Curve {
    /// The duration of the run.
    pub seconds: f64,
    /// The most live bytes in each of its parts, which have the same length.
    pub live: Vec<u64>,
}

/// The fewest runs whose extremes contain the median with 95 % confidence.
pub const LEAST_RUNS: usize = 6;

/// A measured time in CPU seconds: the median of several runs, and an interval that contains it with 95 % confidence if
/// there are at least `LEAST_RUNS`, else the least and the largest value. A saving is that of pairs of runs.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct Figure {
    pub median: f64,
    pub low: f64,
    pub high: f64,
    pub runs: u32,
}

impl Figure {
    pub fn has_interval(&self) -> bool {
        self.runs as usize >= LEAST_RUNS
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Neither an arena nor another malloc saves 3 % of the program's time.
    #[default]
    DoNothing,
    /// Another malloc saves nearly as much as arenas.
    SwitchMalloc,
    UseArenas,
    /// An interval contains the threshold, or a way was not measured.
    NotDecided,
}

/// The program under another malloc.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Malloc {
    pub name: String,
    pub saving: Figure,
    /// The part of it in the system, the median.
    #[serde(default)]
    pub system: f64,
    /// Page faults that it saves, the median; below 0: it has more.
    pub faults: f64,
}

/// The kind of arena that fits a scope.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Recipe {
    /// Many short calls: one arena, and a mark and a rewind in each call.
    #[default]
    Scratch,
    /// Few calls with much memory: an arena for each call.
    Document,
    /// One call as long as the program: memory that is never freed.
    Process,
    /// Generations of objects in one call: one arena, and a reset where each has ended.
    Generations,
}

/// A function whose calls could open an arena.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Scope {
    pub function: Frame,
    pub recipe: Recipe,
    /// The calls of Toft to use, one line each.
    pub calls: Vec<String>,
    /// Calls of the function that allocate, or generations.
    pub instances: u64,
    pub objects: Spread,
    /// Bytes of the scope's objects in one instance.
    pub bytes: Spread,
    /// Objects that are allocated and freed within one instance.
    pub captured: u64,
    /// Objects that are allocated within an instance and live longer.
    pub escaped: u64,
    /// `None`: not measured.
    pub trial: Option<Trial>,
    /// Its place among the trials of this run.
    #[serde(skip)]
    pub place: usize,
    /// Why it was not measured, or what limits the measurement; empty: nothing.
    pub reason: String,
    /// The most bytes of captured objects that malloc had live at once.
    pub peak_malloc: u64,
    /// The most bytes that one instance's arena takes.
    pub peak_arena: u64,
    /// The proposed size of the arena's blocks.
    pub block: u64,
    /// Call sites of captured objects, by bytes.
    pub sites: Vec<Site>,
    /// Call sites of escaped objects, by count.
    pub escapes: Vec<Escape>,
    /// Call sites of the last frees of generations, by count.
    #[serde(default)]
    pub resets: Vec<Site>,
}

/// What the program saved with the scope's objects in arenas.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct Trial {
    /// Its frees are called, and do nothing: allocator hooks.
    pub hooks: Figure,
    /// Runs of frees, with the traversals around them, are removed too.
    pub without_traversal: Figure,
    /// The part of `hooks` beyond what the best other malloc saves.
    pub beyond_malloc: Option<Figure>,
    /// `hooks` where neither the program as it is nor the arena has large pages. `None`: not measured.
    #[serde(default)]
    pub small_pages: Option<Figure>,
    /// The part of `hooks` in the system, the median.
    #[serde(default)]
    pub system: f64,
    /// Page faults that it saves, the median.
    pub faults: f64,
    /// Objects in the arenas, in one run.
    pub routed: u64,
    /// Calls of the function in one run, and those after which an object was alive.
    pub instances: u64,
    pub left: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct Spread {
    pub median: u64,
    pub p99: u64,
    pub max: u64,
}

/// Allocations from one stack; the members of a snapshot's site.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Site {
    pub count: u64,
    pub bytes: u64,
    /// Newest call first.
    pub stack: Vec<Frame>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Escape {
    pub count: u64,
    pub bytes: u64,
    pub allocated: Vec<Frame>,
    /// Empty: the object is never freed.
    pub freed: Vec<Frame>,
}
