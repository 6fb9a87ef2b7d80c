//! Scopes with their savings, and the verdict.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{
    lifetimes::{Action, Burst, Lifetimes, Step, NO_OWNER},
    recording::Recording,
    replay::{self, Contender, Plan, Times},
    scopes::{self, Candidate, Group, Instances},
    symbols::{Language, Symbols},
};
use crate::advice::{Advice, Escape, Frame, Recipe, Scope, Site, Spread, Verdict};
use anyhow::Result;
use rustc_hash::FxHashMap;
use std::path::Path;

/// The part of a program's time below which advice is to change nothing.
pub const WORTH: f64 = 0.03;
/// The part of a program's time that a scope must save to be shown.
const LEAST_SHOWN: f64 = 0.01;
const SCOPES_REPLAYED: usize = 8;
const SCOPES_SHOWN: usize = 3;
const SITES_SHOWN: usize = 8;
const SITES_KEPT: usize = 2000;
/// A burst of 16 frees that takes longer does something else.
const BURST_MAX: f64 = 16.0 * 2e-6;

/// The code paths of an object's allocation and of its free.
type Ends = (Vec<u64>, Vec<u64>);

pub struct Study<'a> {
    pub recording: &'a Recording,
    pub lifetimes: &'a Lifetimes,
    /// The operations of the replay on the program's malloc. Those of others are in files beside it.
    pub operations: &'a Path,
    /// The most bytes of a file of operations.
    pub most: u64,
    /// The replay on the program's malloc.
    pub base: Times,
    /// The library of the program's malloc; `None`: the C library.
    pub malloc: Option<&'a Path>,
    /// The program and the replay on a recycler; `None`: not measured.
    pub recycler: Option<Recycler>,
    pub processes: usize,
    /// Whether scopes that save little are kept.
    pub all: bool,
}

pub struct Recycler {
    /// Saved CPU time of the program, measured.
    pub saving: f64,
    pub replay: Times,
}

impl Study<'_> {
    pub fn fill(&self, advice: &mut Advice, progress: &dyn Fn(String)) -> Result<()> {
        let groups = scopes::groups(self.lifetimes);
        let objects = self.lifetimes.objects.len() as u64;
        let mut symbols = Symbols::new(&self.recording.mappings);
        let overhead = ((advice.cpu_recorded - advice.cpu) / self.lifetimes.events as f64).clamp(5e-9, 25e-9);
        let candidates = scopes::candidates(self.recording, &groups, objects / 50);
        let mut scopes = Vec::new();
        let mut ended: Option<Scope> = None; // the one that replaces most time of frees
        for (i, candidate) in candidates.iter().take(SCOPES_REPLAYED).enumerate() {
            progress(format!("replaying scope {} of {}", i + 1, candidates.len().min(SCOPES_REPLAYED)));
            let Some((scope, teardown)) = self.scope(candidate, &groups, overhead, &mut symbols)? else { continue };
            if scope.captured * 100 >= objects * 95 && teardown > ended.as_ref().map_or(0.0, |s| s.traversal) {
                ended = Some(Scope { traversal: teardown, ..scope.clone() });
            }
            scopes.push(scope);
        }
        if let Some(recycler) = &self.recycler {
            let ended = ended.filter(|s| s.traversal >= LEAST_SHOWN * advice.cpu);
            scopes.push(on_recycler(recycler, ended, self.base.peak, advice));
        }
        scopes.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        if !self.all {
            scopes = without_dominated(scopes);
            // The best one is kept even if it saves nothing: the verdict is about it.
            let mut best = true;
            scopes.retain(|s| std::mem::take(&mut best) || saving(s) >= LEAST_SHOWN * advice.cpu);
            scopes.truncate(SCOPES_SHOWN);
        }
        advice.scopes = scopes;
        advice.sites = self.sites(&groups, &mut symbols);
        decide(advice);
        Ok(())
    }

    /// The scope, and the time that a recycler released at its end replaces. `None`: no object would be in the arena.
    fn scope(
        &self,
        c: &Candidate,
        groups: &[Group],
        overhead: f64,
        symbols: &mut Symbols,
    ) -> Result<Option<(Scope, f64)>> {
        let at = scopes::outermost(self.recording, c.function);
        let in_arena = scopes::arena_sites(self.recording, groups, &at);
        let found = scopes::instances(self.recording, self.lifetimes, &at, &in_arena);
        if found.captured == 0 {
            return Ok(None);
        }
        let operations = self.operations.with_extension("arena");
        replay::write(self.lifetimes, Plan::Arena(&found.of), &operations, self.most)?;
        let contender = |operations| Contender { operations, preload: self.malloc, empty: false };
        let times = replay::run(&[contender(self.operations), contender(&operations)], self.processes)?;
        // The replays beside each other have a ratio; the base, which was run most often, has the least time.
        let saved = |of: fn(&Times) -> f64| of(&self.base) * (1.0 - of(&times[1]) / of(&times[0]));
        let recipe = if found.count == 1 {
            Recipe::Process
        } else if found.bytes.median >= 256 << 10 {
            Recipe::Document
        } else {
            Recipe::Scratch
        };
        let language = symbols.language(c.function);
        let frame = self.scope_frame(c, groups, &at, &in_arena, symbols);
        let block = found.bytes_p95.max(4096).next_power_of_two().min(4 << 20);
        let traversal = self.traversal(&found.of, overhead);
        let scope = Scope {
            function: frame,
            recipe,
            calls: calls(recipe, language, block),
            instances: found.count,
            objects: found.objects,
            bytes: found.bytes,
            captured: found.captured,
            escaped: c.captured + c.escaped - found.captured,
            saving: saved(|t| t.repeated) + traversal,
            saving_first: saved(|t| t.first) + traversal,
            traversal,
            peak_malloc: found.peak_malloc,
            peak_arena: found.bytes.max,
            block,
            sites: self.scope_sites(groups, &at, &in_arena, symbols),
            escapes: self.escapes(groups, &at, symbols),
        };
        let teardown = self.recycler.as_ref().map_or(0.0, |r| self.teardown(&found, overhead, r));
        Ok(Some((scope, teardown)))
    }

    /// The time around frees, in runs of frees of captured objects: what the program does to reach the objects.
    fn traversal(&self, of: &[u32], overhead: f64) -> f64 {
        let captured = |burst: &Burst| self.frees(burst).filter(|(_, s)| of[s.object as usize] != 0).count() >= 15;
        let bursts = self.lifetimes.bursts.iter().filter(|b| b.seconds < BURST_MAX && captured(b));
        bursts.map(|b| (b.seconds - 16.0 * (self.base.burst_free + overhead)).max(0.0)).sum()
    }

    /// The time of frees that follow the last allocation of their instance, on a recycler.
    fn teardown(&self, found: &Instances, overhead: f64, recycler: &Recycler) -> f64 {
        let mut last = vec![0; found.count as usize + 1];
        for (i, step) in self.lifetimes.steps.iter().enumerate().filter(|(_, s)| s.action != Action::Free) {
            last[found.of[step.object as usize] as usize] = i;
        }
        let ends = |burst: &Burst| {
            self.frees(burst)
                .filter(|&(i, s)| matches!(found.of[s.object as usize], n if n != 0 && i > last[n as usize]))
                .count()
                >= 15
        };
        let difference = self.base.burst_free - recycler.replay.burst_free;
        let bursts = self.lifetimes.bursts.iter().filter(|b| b.seconds < BURST_MAX && ends(b));
        bursts.map(|b| (b.seconds - 16.0 * (difference + overhead)).max(0.0)).sum()
    }

    /// The frees of a burst, with the numbers of their steps.
    fn frees(&self, burst: &Burst) -> impl Iterator<Item = (usize, &Step)> {
        let last = burst.step as usize;
        let steps = &self.lifetimes.steps;
        let of_thread = (0..=last).rev().map(|i| (i, &steps[i])).filter(move |(_, s)| s.thread == steps[last].thread);
        of_thread.take(16).filter(|(_, s)| s.action == Action::Free)
    }

    /// The function of a scope, or the innermost function inlined into it that contains the allocations and frees of 99 % of its
    /// objects.
    fn scope_frame(
        &self,
        c: &Candidate,
        groups: &[Group],
        at: &[u16],
        in_arena: &[bool],
        symbols: &mut Symbols,
    ) -> Frame {
        let function = symbols.function(c.function);
        // The functions at the outermost call of the scope's function, from the outermost.
        let mut chain = |site: u32| -> Vec<Frame> {
            let stack = &self.recording.sites[site as usize].stack;
            let calls = stack.iter().map(|&n| self.recording.nodes[n as usize]);
            let ip = calls.rev().find(|n| n.function == c.function).map(|n| n.ip);
            ip.map_or(Vec::new(), |ip| symbols.calls(ip).iter().rev().cloned().collect())
        };
        let mut prefixes: Vec<(Vec<Frame>, u64)> = Vec::new();
        let mut all = 0;
        for g in
            groups.iter().filter(|g| in_arena[g.site as usize] && g.owner != NO_OWNER && g.owner <= at[g.site as usize])
        {
            let (mut born, freed) = (chain(g.site), chain(g.freed));
            if g.freed != 0 {
                let same = born.iter().zip(&freed).take_while(|(a, b)| a.function == b.function).count();
                born.truncate(same);
            }
            all += g.count;
            for length in 2..=born.len() {
                let is_same =
                    |p: &[Frame]| p.len() == length && p.iter().zip(&born).all(|(a, b)| a.function == b.function);
                match prefixes.iter_mut().find(|(p, _)| is_same(p)) {
                    Some((_, count)) => *count += g.count,
                    None => prefixes.push((born[..length].to_vec(), g.count)),
                }
            }
        }
        let most = prefixes.into_iter().filter(|&(_, count)| count * 100 >= all * 99);
        most.max_by_key(|(p, _)| p.len()).and_then(|(mut p, _)| p.pop()).unwrap_or(function)
    }

    /// The stack of a site as frames, up to and including the index `last`.
    fn stack(&self, site: u32, last: usize, symbols: &mut Symbols) -> Vec<Frame> {
        let stack = &self.recording.sites[site as usize].stack;
        let nodes = stack.iter().take(last.saturating_add(1));
        nodes.flat_map(|&n| symbols.calls(self.recording.nodes[n as usize].ip).to_vec()).collect()
    }

    /// A key of the code path of a site up to an index: return addresses without frame addresses.
    fn path(&self, site: u32, last: usize) -> Vec<u64> {
        let stack = &self.recording.sites[site as usize].stack;
        stack.iter().take(last.saturating_add(1)).map(|&n| self.recording.nodes[n as usize].ip).collect()
    }

    fn scope_sites(&self, groups: &[Group], at: &[u16], in_arena: &[bool], symbols: &mut Symbols) -> Vec<Site> {
        let inside = groups
            .iter()
            .filter(|g| in_arena[g.site as usize] && g.owner != NO_OWNER && g.owner <= at[g.site as usize]);
        let mut sums: FxHashMap<Vec<u64>, (u32, u64, u64)> = FxHashMap::default();
        for g in inside {
            let sum = sums.entry(self.path(g.site, usize::from(at[g.site as usize]))).or_insert((g.site, 0, 0));
            sum.1 += g.count;
            sum.2 += g.bytes;
        }
        let mut sums: Vec<_> = sums.into_values().collect();
        sums.sort_unstable_by_key(|&(site, _, bytes)| (std::cmp::Reverse(bytes), site));
        sums.truncate(SITES_SHOWN);
        let site = |(site, count, bytes)| Site {
            count,
            bytes,
            stack: self.stack(site, usize::from(at[site as usize]), symbols),
        };
        sums.into_iter().map(site).collect()
    }

    fn escapes(&self, groups: &[Group], at: &[u16], symbols: &mut Symbols) -> Vec<Escape> {
        let outside = groups
            .iter()
            .filter(|g| at[g.site as usize] != NO_OWNER && (g.owner == NO_OWNER || g.owner > at[g.site as usize]));
        let mut sums: FxHashMap<Ends, Group> = FxHashMap::default();
        for g in outside {
            let key = (self.path(g.site, usize::from(at[g.site as usize])), self.path(g.freed, 8));
            let sum =
                sums.entry(key).or_insert(Group { site: g.site, freed: g.freed, owner: g.owner, count: 0, bytes: 0 });
            sum.count += g.count;
            sum.bytes += g.bytes;
        }
        let mut sums: Vec<_> = sums.into_values().collect();
        sums.sort_unstable_by_key(|g| (std::cmp::Reverse(g.count), g.site, g.freed));
        sums.truncate(SITES_SHOWN);
        sums.into_iter()
            .map(|g| Escape {
                count: g.count,
                bytes: g.bytes,
                allocated: self.stack(g.site, usize::from(at[g.site as usize]), symbols),
                freed: self.stack(g.freed, usize::MAX, symbols),
            })
            .collect()
    }

    fn sites(&self, groups: &[Group], symbols: &mut Symbols) -> Vec<Site> {
        let mut sums: FxHashMap<Vec<u64>, (u32, u64, u64)> = FxHashMap::default();
        for g in groups {
            let sum = sums.entry(self.path(g.site, usize::MAX)).or_insert((g.site, 0, 0));
            sum.1 += g.count;
            sum.2 += g.bytes;
        }
        let mut sums: Vec<_> = sums.into_values().collect();
        sums.sort_unstable_by_key(|&(site, _, bytes)| (std::cmp::Reverse(bytes), site));
        sums.truncate(SITES_KEPT);
        let site = |(site, count, bytes)| Site { count, bytes, stack: self.stack(site, usize::MAX, symbols) };
        sums.into_iter().map(site).collect()
    }
}

/// A recycler for each call of the scope `ended`, released at its end; else one for the whole process.
fn on_recycler(recycler: &Recycler, ended: Option<Scope>, peak_malloc: u64, advice: &Advice) -> Scope {
    let released = ended.is_some();
    let all = Spread { median: advice.objects, p99: advice.objects, max: advice.objects };
    let mut scope = ended.unwrap_or_else(|| Scope {
        function: Frame {
            function: Some("(all allocations)".to_owned()),
            module: advice.process.clone(),
            ..Frame::default()
        },
        recipe: Recipe::Recycler,
        calls: Vec::new(),
        instances: 1,
        objects: all,
        bytes: Spread { median: advice.bytes, p99: advice.bytes, max: advice.bytes },
        captured: advice.objects,
        escaped: 0,
        saving: 0.0,
        saving_first: 0.0,
        traversal: 0.0,
        peak_malloc,
        peak_arena: 0,
        block: 0,
        sites: Vec::new(),
        escapes: Vec::new(),
    });
    let c = if released {
        "toft_malloc_init(&m, NULL) at the beginning, toft_malloc_release(&m) at the end instead of frees"
    } else {
        "toft_malloc, toft_free of <toft/malloc.h>, or a toft_recycler where sizes are known"
    };
    scope.calls = vec![
        c.to_owned(),
        "C++: recycling_resource of <toft/recycler.hpp>; Rust: toft::Recycler".to_owned(),
        "measured: the program ran with a recycler in place of malloc".to_owned(),
    ];
    scope.recipe = Recipe::Recycler;
    scope.saving = recycler.saving + scope.traversal;
    scope.saving_first = scope.saving;
    scope.peak_arena = recycler.replay.peak;
    scope.block = 32 << 10;
    scope
}

/// Leaves out each scope that saves no more than 1.05 times what an inner one saves, with no less memory.
fn without_dominated(scopes: Vec<Scope>) -> Vec<Scope> {
    let is_dominated = |a: &Scope, b: &Scope| {
        let inner = b.captured < a.captured || b.captured == a.captured && b.bytes.max < a.bytes.max;
        inner
            && b.peak_arena <= a.peak_arena
            && saving(a) <= 1.05 * saving(b)
            && b.recipe != Recipe::Recycler
            && a.recipe != Recipe::Recycler
    };
    let dominated: Vec<bool> = scopes.iter().map(|a| scopes.iter().any(|b| is_dominated(a, b))).collect();
    scopes.into_iter().zip(dominated).filter_map(|(s, is_dominated)| (!is_dominated).then_some(s)).collect()
}

/// The saving of one run; below 0 for a scope that takes much more memory than malloc.
fn rank(scope: &Scope) -> f64 {
    if affordable(scope) {
        saving(scope)
    } else {
        -1.0 + saving(scope).min(0.0)
    }
}

/// The saving of one run of the program.
pub fn saving(scope: &Scope) -> f64 {
    scope.saving_first
}

/// Whether the arena's memory is in proportion: at most three times what malloc has live, and 16 MiB.
pub fn affordable(scope: &Scope) -> bool {
    scope.peak_arena <= 3 * scope.peak_malloc + (16 << 20)
}

fn calls(recipe: Recipe, language: Language, block: u64) -> Vec<String> {
    let lines: &[&str] = match (recipe, language) {
        (Recipe::Scratch, Language::C) => &[
            "toft_arena *a = toft_create();         once, kept by the caller",
            "TOFT_SCOPE(a);                         first in the function",
            "toft_new(a, T), toft_alloc(a, size)    for malloc; free goes away",
        ],
        (Recipe::Scratch, Language::Cpp) => &[
            "toft::arena a;                         once, kept by the caller",
            "toft::scope s(a);                      first in the function",
            "toft::arena_resource r(a);             for std::pmr containers",
        ],
        (Recipe::Scratch, Language::Rust) => &[
            "let mut arena = toft::Arena::new();    once, kept by the caller",
            "arena.scope(|scope| ...);              around the function's body",
            "scope.alloc(x), scope.vec()            for Box::new, Vec::new",
        ],
        (Recipe::Document, Language::C) => &[
            "toft_arena *a = toft_create();         at the beginning",
            "toft_new(a, T), toft_alloc(a, size)    for malloc; free goes away",
            "toft_release(a);                       at the end, or toft_reset(a)",
        ],
        (Recipe::Document, Language::Cpp) => &[
            "toft::arena a;                         first in the function",
            "a.make<T>(...)                         for new; delete goes away",
            "toft::arena_resource r(a);             for std::pmr containers",
        ],
        (Recipe::Document, Language::Rust) => &[
            "let arena = toft::Arena::new();        first in the function",
            "arena.alloc(x), arena.vec()            for Box::new, Vec::new",
        ],
        (Recipe::Process | Recipe::Recycler, Language::C) => &[
            "static toft_arena *a;                  toft_create() at the beginning of main",
            "toft_new(a, T), toft_alloc(a, size)    for malloc; no free, no release",
        ],
        (Recipe::Process | Recipe::Recycler, Language::Cpp) => &[
            "static toft::arena &a = *new toft::arena;   never released",
            "a.make<T>(...), arena_resource         for new and containers; no delete",
        ],
        (Recipe::Process | Recipe::Recycler, Language::Rust) => &[
            "let arena: &'static Arena = Box::leak(Box::new(Arena::new()));",
            "arena.alloc(x), arena.vec()            for Box::new, Vec::new",
        ],
    };
    let mut calls: Vec<String> = lines.iter().map(|&s| s.to_owned()).collect();
    if recipe != Recipe::Process {
        calls.push(format!("first block: {} KiB holds 95 of 100 calls", block >> 10));
    }
    calls
}

pub fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        100.0 * part / whole
    } else {
        0.0
    }
}

fn name(frame: &Frame) -> String {
    match &frame.function {
        Some(name) => name.clone(),
        None => format!("{}+{:#x}", frame.module.rsplit('/').next().unwrap_or_default(), frame.offset),
    }
}

/// Sets the verdict and its summary.
pub fn decide(advice: &mut Advice) {
    let cpu = advice.cpu;
    let best = advice.scopes.iter().filter(|s| affordable(s)).max_by(|a, b| saving(a).total_cmp(&saving(b)));
    let arena = best.map_or(0.0, saving).max(0.0);
    let other = advice.mallocs.first();
    let switch = other.map_or(0.0, |m| cpu - m.measured).max(0.0);
    let worth = WORTH * cpu;
    advice.verdict = if arena.max(switch) < worth {
        Verdict::DoNothing
    } else if arena < switch + worth {
        Verdict::SwitchMalloc
    } else {
        Verdict::UseArenas
    };
    let share = percent(advice.allocation, cpu);
    advice.summary = match (advice.verdict, best, other) {
        (Verdict::UseArenas, Some(scope), other) => {
            let what = match scope.recipe {
                Recipe::Recycler if scope.instances == 1 => "A recycler for all allocations".to_owned(),
                Recipe::Recycler => format!("A recycler for each call of {}", name(&scope.function)),
                Recipe::Process => format!("An arena for the objects of {}, which lasts as long as the process,", name(&scope.function)),
                _ => format!("An arena for each call of {}", name(&scope.function)),
            };
            let rest = match other {
                Some(m) if switch > 0.005 * cpu => format!(" {} alone saves {:.1} %.", m.name, percent(switch, cpu)),
                Some(_) => " Other mallocs save nothing.".to_owned(),
                None => String::new(),
            };
            format!("{what} saves {:.1} % of the program's time ({:.3} of {cpu:.3} s).{rest}", percent(arena, cpu), arena)
        }
        (Verdict::SwitchMalloc, _, Some(m)) => format!(
            "{} saves {:.1} % of the program's time, measured. The best arena is predicted to save {:.1} %, which is not enough \
             more to change the program.",
            m.name,
            percent(switch, cpu),
            percent(arena, cpu)
        ),
        _ => format!(
            "Allocation takes {share:.1} % of the program's time. Neither an arena nor another malloc that was tried saves 3 %."
        ),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::{Malloc, VERSION};

    fn scope(recipe: Recipe, saving_first: f64) -> Scope {
        Scope {
            function: Frame { function: Some("parse".to_owned()), ..Frame::default() },
            recipe,
            calls: Vec::new(),
            instances: 10,
            objects: Spread::default(),
            bytes: Spread::default(),
            captured: 100,
            escaped: 0,
            saving: saving_first / 2.0,
            saving_first,
            traversal: 0.0,
            peak_malloc: 1 << 20,
            peak_arena: 2 << 20,
            block: 4096,
            sites: Vec::new(),
            escapes: Vec::new(),
        }
    }

    fn verdict(scopes: Vec<Scope>, malloc: f64) -> (Verdict, String) {
        let mut advice = Advice {
            toft_advice: VERSION,
            command: Vec::new(),
            process: String::new(),
            verdict: Verdict::DoNothing,
            summary: String::new(),
            cpu: 1.0,
            cpu_recorded: 1.1,
            events: 200,
            objects: 100,
            bytes: 1000,
            threads: 1,
            peak: 1000,
            allocation: 0.3,
            mallocs: vec![Malloc { name: "other".to_owned(), measured: malloc, predicted: malloc }],
            scopes,
            sites: Vec::new(),
            notes: Vec::new(),
        };
        decide(&mut advice);
        (advice.verdict, advice.summary)
    }

    #[test]
    fn less_than_three_percent_is_not_worth_a_change() {
        assert_eq!(verdict(vec![scope(Recipe::Scratch, 0.02)], 0.98).0, Verdict::DoNothing);
        assert_eq!(verdict(Vec::new(), 1.05).0, Verdict::DoNothing);
        assert_eq!(verdict(vec![scope(Recipe::Scratch, 0.04)], 1.0).0, Verdict::UseArenas);
    }

    #[test]
    fn an_arena_must_save_more_than_another_malloc() {
        assert_eq!(verdict(vec![scope(Recipe::Document, 0.20)], 0.82).0, Verdict::SwitchMalloc);
        let (verdict, summary) = verdict(vec![scope(Recipe::Document, 0.25)], 0.82);
        assert_eq!(verdict, Verdict::UseArenas);
        assert!(summary.contains("parse saves 25.0 %") && summary.contains("other alone saves 18.0 %"), "{summary}");
    }

    #[test]
    fn an_arena_of_many_times_the_memory_is_not_recommended() {
        let mut large = scope(Recipe::Process, 0.5);
        large.peak_arena = 1 << 30;
        assert_eq!(verdict(vec![large], 1.0).0, Verdict::DoNothing);
    }

    #[test]
    fn an_inner_scope_with_the_same_saving_replaces_an_outer_one() {
        let (mut outer, inner) = (scope(Recipe::Process, 0.203), scope(Recipe::Document, 0.2));
        (outer.captured, outer.peak_arena) = (110, 8 << 20);
        let left = without_dominated(vec![outer, inner]);
        assert_eq!(left.iter().map(|s| s.recipe).collect::<Vec<_>>(), [Recipe::Document]);
    }
}
