//! Snapshots as docs/snapshot.md describes them, and the values that are computed from a series of them.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::frame::{Frame, Module};
use serde::{de::Error, Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::{collections::HashMap, hash::Hash};

/// The version of the format that this program reads.
pub const VERSION: u64 = 1;

/// The name of the view of the frame that ended before a snapshot of `Frames`.
pub const FRAME_BEFORE: &str = "the frame before";

/// The contents of one arena, or the sum of several.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Report {
    #[serde(deserialize_with = "version")]
    version: u64,
    pub stats: Stats,
    pub tags: Vec<Tag>,
    pub phases: Vec<Phase>,
    pub sites: Vec<Site>,
    /// Of the process, or of one tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<Budget>,
    /// Those of the process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<Module>,
}

fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        VERSION => Ok(VERSION),
        other => Err(D::Error::custom(format_args!(
            "it contains a report of version {other}, and this program reads version {VERSION}"
        ))),
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct Stats {
    pub live: u64,
    pub allocated: u64,
    pub peak: u64,
    pub budget: Option<u64>,
    pub reserved: u64,
    pub wasted: u64,
    pub blocks: u64,
    pub source_calls: u64,
}

impl Stats {
    /// All but the budget, by name: bytes, then blocks and calls.
    pub fn numbers(&mut self) -> impl Iterator<Item = (&'static str, &mut u64)> {
        let Stats { live, allocated, peak, reserved, wasted, blocks, source_calls, .. } = self;
        let names = ["live", "allocated", "peak", "reserved", "wasted", "blocks", "source calls"];
        names.into_iter().zip([live, allocated, peak, reserved, wasted, blocks, source_calls])
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Tag {
    pub name: String,
    pub number: Option<u64>,
    pub live: u64,
    pub allocated: u64,
    pub budget: Option<u64>,
}

/// A limit on the memory of many objects.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Budget {
    id: u64,
    parent: Option<u64>,
    pub name: String,
    #[serde(flatten)]
    pub reserved: Reserved,
    /// `None`: live bytes are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Reserved {
    pub limit: Option<u64>,
    pub reserved: u64,
    pub peak: u64,
    pub refusals: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Live {
    pub limit: Option<u64>,
    pub live: u64,
    pub peak: u64,
    #[serde(default)]
    parked: u64,
    pub refusals: u64,
}

/// Levels of the tree of budgets that are shown. Those below are at the last one.
const DEEPEST: usize = 64;

/// The budgets in the order of their tree, with their levels. One whose parent does not come before it is a root.
pub fn tree(budgets: &[Budget]) -> Vec<(usize, &Budget)> {
    let mut by_id: HashMap<u64, usize> = HashMap::new();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); budgets.len()];
    let mut next = Vec::new();
    for (at, budget) in budgets.iter().enumerate() {
        match budget.parent.and_then(|parent| by_id.get(&parent)) {
            Some(&parent) => children[parent].push(at),
            None => next.push((0, at)),
        }
        by_id.entry(budget.id).or_insert(at);
    }
    next.reverse();
    let mut lines = Vec::new();
    while let Some((depth, at)) = next.pop() {
        lines.push((depth, &budgets[at]));
        next.extend(children[at].iter().rev().map(|child| ((depth + 1).min(DEEPEST - 1), *child)));
    }
    lines
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Phase {
    pub name: String,
    pub entries: u64,
    pub allocated: u64,
    pub kept: i64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Site {
    pub site: Place,
    pub tag: String,
    pub count: u64,
    pub bytes: u64,
    /// Newest call first.
    #[serde(default)]
    pub stack: Vec<Frame>,
}

#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, Hash)]
pub struct Place {
    pub file: String,
    pub line: u64,
    pub column: u64,
    pub number: u64,
}

/// A `Snapshot` of Rust's `Frames`.
#[derive(Debug, Deserialize)]
pub struct Frames {
    frame: u64,
    threads: Vec<Thread>,
    last: Option<Summary>,
}

#[derive(Debug, Deserialize)]
struct Thread {
    name: Option<String>,
    report: Report,
}

#[derive(Debug, Deserialize)]
struct Summary {
    frame: u64,
    report: Report,
    findings: Vec<Value>,
}

/// One snapshot of a series.
#[derive(Debug)]
pub struct Moment {
    /// What distinguishes it within the series: the number of its frame, or its place in the files.
    pub label: String,
    /// The reports that it contains. The first is that of the whole snapshot.
    pub views: Vec<View>,
    pub findings: Vec<Value>,
    /// The frame that the findings are of.
    pub findings_of: Option<u64>,
}

#[derive(Debug)]
pub struct View {
    /// Empty if the snapshot has one report only.
    pub name: String,
    pub report: Report,
}

impl Moment {
    pub fn of_report(label: String, report: Report) -> Moment {
        let views = vec![View { name: String::new(), report }];
        Moment { label, views, findings: Vec::new(), findings_of: None }
    }

    pub fn of_frames(frames: Frames) -> Moment {
        let label = format!("frame {}", frames.frame);
        let mut views = vec![View { name: "all threads".into(), report: Report::default() }];
        let mut names = HashMap::new();
        for (index, thread) in frames.threads.into_iter().enumerate() {
            let mut name = thread.name.map_or_else(|| format!("thread {}", index + 1), |name| format!("thread {name}"));
            let same: &mut u32 = names.entry(name.clone()).or_default();
            *same += 1;
            if *same > 1 {
                name = format!("{name} ({same})");
            }
            views.push(View { name, report: thread.report });
        }
        let mut whole = views[1..].iter().fold(None, |sum: Option<Report>, view| match sum {
            None => Some(view.report.clone()),
            Some(sum) => Some(sum.plus(&view.report)),
        });
        views[0].report = whole.take().unwrap_or_default();
        let (mut findings, mut findings_of) = (Vec::new(), None);
        if let Some(last) = frames.last {
            views.push(View { name: FRAME_BEFORE.into(), report: last.report });
            (findings, findings_of) = (last.findings, Some(last.frame));
        }
        Moment { label, views, findings, findings_of }
    }

    /// The view to show first: that of the frame before if the arenas are empty, as after `advance`.
    pub fn main_view(&self) -> usize {
        let busy = |View { report: of, .. }: &View| of.stats.live != 0 || !of.sites.is_empty() || !of.phases.is_empty();
        let last = self.views.len() - 1;
        last * usize::from(!busy(&self.views[0]) && busy(&self.views[last]))
    }
}

impl Report {
    /// The sum of two arenas' reports, with the budgets of the first. Sites are appended: a [`Graph`](super::graph::Graph) merges them.
    pub fn plus(mut self, other: &Report) -> Report {
        let (sum, more) = (&mut self.stats, &other.stats);
        for ((_, sum), (_, more)) in sum.numbers().zip(more.clone().numbers()) {
            *sum = sum.saturating_add(*more);
        }
        sum.budget = both(sum.budget, more.budget);
        add(&mut self.tags, &other.tags, Tag::key, |sum, more| {
            sum.live = sum.live.saturating_add(more.live);
            sum.allocated = sum.allocated.saturating_add(more.allocated);
            sum.budget = both(sum.budget, more.budget);
        });
        add(
            &mut self.phases,
            &other.phases,
            |phase| phase.name.clone(),
            |sum, more| {
                sum.entries = sum.entries.saturating_add(more.entries);
                sum.allocated = sum.allocated.saturating_add(more.allocated);
                sum.kept = sum.kept.saturating_add(more.kept);
            },
        );
        add(&mut self.modules, &other.modules, |module| module.address.clone(), |_, _| {});
        self.sites.extend(other.sites.iter().cloned());
        self
    }
}

/// Adds each entry to the one with the same key, or to the end.
fn add<T: Clone, K: Eq + Hash>(all: &mut Vec<T>, more: &[T], key: impl Fn(&T) -> K, sum: impl Fn(&mut T, &T)) {
    let mut known: HashMap<K, usize> = all.iter().enumerate().map(|(at, entry)| (key(entry), at)).collect();
    for entry in more {
        let at = *known.entry(key(entry)).or_insert(all.len());
        match all.get_mut(at) {
            Some(found) => sum(found, entry),
            None => all.push(entry.clone()),
        }
    }
}

impl Tag {
    /// What makes two entries the same tag: its path, or the number of a tag that has no path.
    pub fn key(&self) -> (String, Option<u64>) {
        (self.name.clone(), if self.name.is_empty() { self.number.filter(|n| *n != 0) } else { None })
    }
}

/// The sum of two budgets: there is no limit if one of them is none.
fn both(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.saturating_add(b?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(live: u64, budget: Value) -> Value {
        json!({"version": 1, "stats": {"live": live, "allocated": live, "peak": live, "budget": budget, "reserved": 64,
            "wasted": 0, "blocks": 1, "source_calls": 1}, "tags": [{"name": "", "number": 0, "live": live,
            "allocated": live, "budget": budget}], "phases": [{"name": "p", "entries": 1, "allocated": live, "kept": -1}],
            "sites": []})
    }

    fn frames(threads: &[(Option<&str>, u64, Value)], last: Value) -> Moment {
        let threads: Vec<_> = threads
            .iter()
            .map(|(name, live, budget)| json!({"name": name, "report": report(*live, budget.clone())}))
            .collect();
        Moment::of_frames(serde_json::from_value(json!({"frame": 7, "threads": threads, "last": last})).unwrap())
    }

    #[test]
    fn the_first_view_is_the_sum_of_the_threads() {
        let moment =
            frames(&[(Some("main"), 10, json!(100)), (None, 5, json!(50)), (Some("main"), 1, json!(1))], json!(null));
        let names: Vec<_> = moment.views.iter().map(|view| view.name.as_str()).collect();
        assert_eq!(names, ["all threads", "thread main", "thread 2", "thread main (2)"]);
        let sum = &moment.views[0].report;
        assert_eq!((sum.stats.live, sum.stats.budget, sum.stats.blocks), (16, Some(151), 3));
        assert_eq!((sum.tags.len(), sum.tags[0].live, sum.phases[0].kept, sum.phases[0].entries), (1, 16, -3, 3));
        assert_eq!(moment.main_view(), 0);
    }

    #[test]
    fn a_sum_has_no_budget_if_one_thread_has_none() {
        let sum =
            |live, budget| frames(&[(None, live, budget), (None, 1, json!(null))], json!(null)).views[0].report.stats;
        assert_eq!((sum(1, json!(1)).budget, sum(u64::MAX, json!(null)).live), (None, u64::MAX));
    }

    #[test]
    fn budgets_are_a_tree_whatever_their_parents_are() {
        let all =
            [(1, None), (2, Some(1)), (3, None), (4, Some(1)), (5, Some(2)), (6, Some(7)), (7, Some(7)), (1, Some(5))];
        let reserved = Reserved { limit: None, reserved: 0, peak: 0, refusals: 0 };
        let budget = |(id, parent)| Budget { id, parent, name: String::new(), reserved, live: None };
        let budgets = all.map(budget);
        let lines: Vec<_> = tree(&budgets).iter().map(|(depth, budget)| (*depth, budget.id)).collect();
        assert_eq!(lines, [(0, 1), (1, 2), (2, 5), (3, 1), (1, 4), (0, 3), (0, 6), (0, 7)]);
    }

    #[test]
    fn empty_arenas_show_the_frame_before() {
        let last =
            json!({"frame": 6, "threads": 1, "report": report(3, json!(null)), "findings": [{"Lost": {"count": 1}}]});
        let mut moment = frames(&[(None, 0, json!(null))], last);
        assert_eq!(moment.main_view(), 0, "phases are recorded in the frame that has begun");
        moment.views[0].report.phases.clear();
        assert_eq!(moment.views[moment.main_view()].report.stats.live, 3);
        assert_eq!((moment.findings.len(), moment.findings_of), (1, Some(6)));
    }
}
