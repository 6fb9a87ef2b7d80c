//! Combines the advice on several inputs of one program.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::verdict;
use crate::advice::{Advice, Figure, Recipe, Scope, Site, Spread, Trial, VERSION};
use anyhow::{bail, ensure, Context, Result};
use std::path::PathBuf;

pub fn files(paths: &[PathBuf]) -> Result<Advice> {
    let mut all = Vec::new();
    for path in paths {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        let advice: Advice = serde_json::from_str(&text)
            .with_context(|| format!("{shown} is not an advice; toft advise --out {shown} -- PROGRAM writes one"))?;
        ensure!(advice.toft_advice == VERSION, "{shown} is of another version of this command; make it again");
        all.push(advice);
    }
    merge(all)
}

/// The function of a scope, by what stays the same from run to run.
fn key(scope: &Scope) -> (&Option<String>, Option<u64>, &Option<String>, bool) {
    (&scope.function.module, scope.function.offset, &scope.function.function, scope.recipe == Recipe::Process)
}

fn larger(a: Spread, b: Spread) -> Spread {
    Spread { median: a.median.max(b.median), p99: a.p99.max(b.p99), max: a.max.max(b.max) }
}

/// The interval of the sum is between the sums of the ends: it is wider than it needs to be.
fn sum_of(a: Figure, b: Figure) -> Figure {
    Figure { median: a.median + b.median, low: a.low + b.low, high: a.high + b.high, runs: a.runs.min(b.runs) }
}

fn both(a: Trial, b: Trial) -> Trial {
    Trial {
        hooks: sum_of(a.hooks, b.hooks),
        without_traversal: sum_of(a.without_traversal, b.without_traversal),
        beyond_malloc: a.beyond_malloc.zip(b.beyond_malloc).map(|(a, b)| sum_of(a, b)),
        small_pages: a.small_pages.zip(b.small_pages).map(|(a, b)| sum_of(a, b)),
        system: a.system + b.system,
        faults: a.faults + b.faults,
        routed: a.routed + b.routed,
        instances: a.instances + b.instances,
        left: a.left + b.left,
    }
}

fn add_scope(s: &mut Scope, scope: Scope) {
    s.instances += scope.instances;
    s.captured += scope.captured;
    s.escaped += scope.escaped;
    s.trial = s.trial.zip(scope.trial).map(|(a, b)| both(a, b));
    if s.reason.is_empty() {
        s.reason = scope.reason;
    }
    s.objects = larger(s.objects, scope.objects);
    s.bytes = larger(s.bytes, scope.bytes);
    s.peak_malloc = s.peak_malloc.max(scope.peak_malloc);
    s.peak_arena = s.peak_arena.max(scope.peak_arena);
    s.block = s.block.max(scope.block);
    s.escapes.extend(scope.escapes);
}

fn add_sites(sum: &mut Vec<Site>, other: Vec<Site>) {
    for site in other {
        match sum.iter_mut().find(|s| s.stack == site.stack) {
            Some(s) => {
                s.count += site.count;
                s.bytes += site.bytes;
            }
            None => sum.push(site),
        }
    }
}

/// Times and counts are summed, spreads and peaks are the largest. A scope that is not among those of each input is
/// advised for those inputs only where it is.
pub fn merge(all: Vec<Advice>) -> Result<Advice> {
    let count = all.len();
    let mut all = all.into_iter();
    let Some(mut sum) = all.next() else { bail!("--merge needs the files of at least one advice") };
    for other in all {
        ensure!(
            other.process == sum.process,
            "the advice is on different programs: {} and {}; merge inputs of one program",
            sum.process,
            other.process
        );
        sum.cpu = sum_of(sum.cpu, other.cpu);
        sum.system += other.system;
        sum.faults += other.faults;
        sum.cpu_recorded += other.cpu_recorded;
        sum.events += other.events;
        sum.objects += other.objects;
        sum.bytes += other.bytes;
        sum.threads = sum.threads.max(other.threads);
        if other.peak > sum.peak {
            (sum.peak, sum.at_peak, sum.curve) = (other.peak, other.at_peak, other.curve);
            sum.growing = other.growing;
        }
        sum.temporary_objects += other.temporary_objects;
        sum.mallocs.retain_mut(|m| {
            let same = other.mallocs.iter().find(|o| o.name == m.name);
            if let Some(o) = same {
                m.saving = sum_of(m.saving, o.saving);
                m.system += o.system;
                m.faults += o.faults;
            }
            same.is_some()
        });
        for scope in other.scopes {
            match sum.scopes.iter_mut().find(|s| key(s) == key(&scope)) {
                Some(s) => add_scope(s, scope),
                None => sum.scopes.push(scope),
            }
        }
        add_sites(&mut sum.sites, other.sites);
        add_sites(&mut sum.temporary, other.temporary);
        sum.failures.extend(other.failures);
        sum.notes.extend(other.notes);
    }
    for texts in [&mut sum.failures, &mut sum.notes] {
        texts.sort_unstable();
        texts.dedup();
    }
    sum.notes.push(format!("Combined from {count} inputs: times and counts are sums."));
    sum.mallocs.sort_by(|a, b| b.saving.median.total_cmp(&a.saving.median));
    sum.scopes.sort_by(|a, b| verdict::saving(b).total_cmp(&verdict::saving(a)));
    sum.sites.sort_by_key(|s| std::cmp::Reverse(s.bytes));
    sum.temporary.sort_by_key(|s| std::cmp::Reverse(s.count));
    verdict::decide(&mut sum);
    Ok(sum)
}
