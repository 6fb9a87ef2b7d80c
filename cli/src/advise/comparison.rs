//! The program as it is, with scopes in arenas, and on other mallocs: what is run, and what the runs show.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{
    figure::{self, side, Side, LEAST_RUNS},
    is_libc,
    measure::{self, Program, Run},
    recording::Recording,
    rounds::{self, Contender, Limit, Sample},
    study::{self, Proposal},
    trial::{Mode, Trial},
    verdict::{self, percent, WORTH},
    write_library, write_trial, Arguments, Progress, ENDS_DIFFER, RECYCLER,
};
use crate::advice::{self, Figure, Malloc, Scope};
use anyhow::Result;
use std::path::{Path, PathBuf};

const SCOPES_TRIED: usize = 3;
/// Of these, those are chosen that save most in two runs.
const SCOPES_CHOSEN_FROM: usize = 6;
/// An interval of a saving should be no wider, as a part of the program's time.
const WIDTH: f64 = 0.05;
/// With this many runs, or after these seconds, an interval that decides is narrow enough.
const RUNS: usize = 15;
const SECONDS: f64 = 15.0;

pub struct Comparison<'a> {
    pub arguments: &'a Arguments,
    pub program: &'a Program,
    pub first: &'a Run,
    /// The seconds of that run.
    pub wall: f64,
    pub folder: &'a Path,
    /// The library of the program's malloc; `None`: the C library.
    pub malloc: Option<&'a Path>,
    pub limit: Limit,
    pub recording: &'a Recording,
    pub progress: &'a Progress,
}

pub struct Measured {
    pub cpu: Figure,
    pub faults: f64,
    pub mallocs: Vec<Malloc>,
    pub scopes: Vec<Scope>,
}

/// The contenders by their place: the program as it is, the control, the first arena, mallocs, other arenas.
struct Order {
    mallocs: usize,
    arenas: usize,
}

impl Order {
    fn arena(&self, i: usize) -> usize {
        if i == 0 {
            2
        } else {
            2 + self.mallocs + i
        }
    }

    fn malloc(&self, i: usize) -> usize {
        2 + usize::from(self.arenas > 0) + i
    }
}

/// A value of each round in which both were run.
fn pairs(a: &[Sample], b: &[Sample], of: impl Fn(&Sample, &Sample) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| of(a, b)).collect()
}

fn saved(a: &[Sample], b: &[Sample]) -> Vec<f64> {
    pairs(a, b, |a, b| a.cpu - b.cpu)
}

fn faults_saved(a: &[Sample], b: &[Sample]) -> f64 {
    figure::median(pairs(a, b, |a, b| a.faults - b.faults))
}

impl Comparison<'_> {
    pub fn measure(&self, proposals: Vec<Proposal>, notes: &mut Vec<String>) -> Result<Measured> {
        let (tried, mut others) = study::chosen(proposals, SCOPES_CHOSEN_FROM);
        let library = self.folder.join("trial.so");
        write_trial(&library)?;
        let mut tried = self.best(tried, &library, &mut others)?;
        if !self.arguments.all {
            others.clear();
        }
        let mut mallocs = self.other_mallocs(notes)?;
        self.keep_to_time(&mut tried, &mut mallocs, notes);
        let (control, arenas) = self.trials(&tried);
        let order = Order { mallocs: mallocs.len(), arenas: arenas.len() };
        let arena = |trial| Contender::new(Some(&library), Some(trial));
        let mut contenders = vec![Contender::new(None, None)];
        contenders.extend(control.iter().chain(arenas.first()).map(arena));
        if arenas.is_empty() {
            contenders.push(Contender::new(None, None)); // a place for the control
        }
        contenders.extend(mallocs.iter().map(|(_, library)| Contender::new(Some(library), None)));
        contenders.extend(arenas.iter().skip(1).map(arena));
        let kinds = contenders.len();
        self.progress.step(format!(
            "running the program in {kinds} ways, by turns: {} with arenas, {} on other mallocs",
            arenas.len(),
            mallocs.len()
        ));
        let ending = &self.first.ending;
        rounds::run(&mut contenders, self.program, ending, self.limit, |c| self.is_enough(c, &order))?;
        self.results(&contenders, &order, tried, others, mallocs, notes)
    }

    /// The control, and the trial of each.
    fn trials(&self, tried: &[Proposal]) -> (Option<Trial>, Vec<Trial>) {
        let trial = |name: &str, mode, p: &Proposal| {
            Trial::new(self.folder.join(name), mode, self.recording, &p.at, &p.in_arena)
        };
        let control = tried.first().map(|p| trial("control", Mode::Control, p));
        let arenas = tried.iter().enumerate().map(|(i, p)| trial(&format!("arena-{i}"), Mode::Arena, p)).collect();
        (control, arenas)
    }

    /// The scopes that save most, by two runs of each, which are not used again. The first ones if these take a fifth of the time.
    fn best(&self, mut tried: Vec<Proposal>, library: &Path, others: &mut Vec<Proposal>) -> Result<Vec<Proposal>> {
        let (control, arenas) = self.trials(&tried);
        let runs = 2.0 * (1 + arenas.len()) as f64;
        if tried.len() > SCOPES_TRIED && runs * self.wall < self.limit.left() / 5.0 {
            self.progress.step(format!("choosing {SCOPES_TRIED} of {} scopes", tried.len()));
            let trials = control.iter().chain(&arenas);
            let mut contenders: Vec<_> = trials.map(|t| Contender::new(Some(library), Some(t))).collect();
            let ending = &self.first.ending;
            rounds::run(&mut contenders, self.program, ending, self.limit, |c| {
                c[0].samples.len() >= 2 || c[0].failed.is_some()
            })?;
            let saving = |c: &Contender| figure::median(saved(&contenders[0].samples, &c.samples));
            let savings: Vec<f64> = contenders[1..].iter().map(saving).collect();
            let mut found: Vec<_> = tried.into_iter().zip(savings).collect();
            found.sort_by(|(a, x), (b, y)| {
                let order = |p: &Proposal| study::affordable(&p.scope);
                order(b).cmp(&order(a)).then(y.total_cmp(x))
            });
            tried = found.into_iter().map(|(proposal, _)| proposal).collect();
        }
        for mut left_out in tried.drain(SCOPES_TRIED.min(tried.len())..) {
            left_out.scope.reason = "not tried: other scopes save more, or have more objects".to_owned();
            others.push(left_out);
        }
        Ok(tried)
    }

    /// Leaves out what cannot have the runs that an interval needs: mallocs and arenas after the first of each, from the last.
    fn keep_to_time(&self, tried: &mut Vec<Proposal>, mallocs: &mut Vec<(String, PathBuf)>, notes: &mut Vec<String>) {
        let possible = (self.limit.left() / (self.wall * LEAST_RUNS as f64).max(1e-3)) as usize;
        let all = (tried.len(), mallocs.len());
        while 2 + tried.len() + mallocs.len() > possible && (tried.len() > 1 || !mallocs.is_empty()) {
            if tried.len() > 1 && tried.len() >= mallocs.len() {
                tried.pop();
            } else if mallocs.pop().is_none() {
                break;
            }
        }
        let left_out = (all.0 - tried.len(), all.1 - mallocs.len());
        if left_out != (0, 0) {
            notes.push(format!(
                "The time is not enough for all: {} scopes and {} mallocs were left out. Raise --seconds, or give the program a \
                 smaller input.",
                left_out.0, left_out.1
            ));
        }
    }

    fn other_mallocs(&self, notes: &mut Vec<String>) -> Result<Vec<(String, PathBuf)>> {
        if self.arguments.quick {
            return Ok(Vec::new());
        }
        let mut installed = measure::mallocs();
        installed.retain(|(_, path)| self.malloc.is_none_or(|m| path.canonicalize().ok() != m.canonicalize().ok()));
        if installed.is_empty() {
            notes.push("No other malloc was tried: none of mimalloc, jemalloc and tcmalloc is installed.".to_owned());
        }
        // The recycler takes its memory from the C library's malloc, and a lock for a second thread.
        if self.recording.threads.len() == 1 && self.malloc.is_none_or(is_libc) {
            let library = self.folder.join("recycler.so");
            write_library(RECYCLER, &library)?;
            installed.push(("a recycler of Toft, for all allocations".to_owned(), library));
        }
        Ok(installed)
    }

    /// Whether the intervals of the savings are narrow enough, and decide. Arenas and mallocs that are not the best are done.
    fn is_enough(&self, contenders: &mut [Contender], order: &Order) -> bool {
        let plain = &contenders[0].samples;
        if contenders[0].failed.is_some() {
            return true;
        }
        if self.arguments.quick || plain.len() < LEAST_RUNS {
            return plain.len() >= LEAST_RUNS;
        }
        let cpu = figure::median(plain.iter().map(|s| s.cpu).collect());
        let arenas: Vec<usize> = (0..order.arenas).map(|i| order.arena(i)).collect();
        let mallocs: Vec<usize> = (0..order.mallocs).map(|i| order.malloc(i)).collect();
        let mut is_narrow = plain.len() >= RUNS || self.arguments.seconds - self.limit.left() >= SECONDS;
        for (base, kind) in [(1, arenas), (0, mallocs)] {
            let figures: Vec<_> = kind
                .iter()
                .map(|&i| (i, figure::of(saved(&contenders[base].samples, &contenders[i].samples))))
                .collect();
            let lowest = figures.iter().map(|(_, f)| f.low).fold(f64::NEG_INFINITY, f64::max);
            for (i, figure) in figures.iter().filter(|(_, f)| f.runs > 0) {
                let is_decided = figure.high - figure.low <= WIDTH * cpu && side(figure, WORTH * cpu) != Side::Unknown;
                // It is not the best one of its kind.
                contenders[*i].is_done |= figure.high < lowest;
                is_narrow &= is_decided || contenders[*i].is_done;
            }
        }
        is_narrow
    }

    fn results(
        &self,
        contenders: &[Contender],
        order: &Order,
        tried: Vec<Proposal>,
        others: Vec<Proposal>,
        mallocs: Vec<(String, PathBuf)>,
        notes: &mut Vec<String>,
    ) -> Result<Measured> {
        let plain = &contenders[0].samples;
        anyhow::ensure!(contenders[0].failed.is_none() && !plain.is_empty(), ENDS_DIFFER);
        let mut found = Vec::new();
        for (i, (name, _)) in mallocs.into_iter().enumerate() {
            let contender = &contenders[order.malloc(i)];
            match &contender.failed {
                Some(ending) => notes.push(format!("On {name} the program ends {ending}, and it is left out.")),
                None => {
                    let saving = figure::of(saved(plain, &contender.samples));
                    found.push((Malloc { name, saving, faults: faults_saved(plain, &contender.samples) }, contender));
                }
            }
        }
        found.sort_by(|(a, _), (b, _)| b.saving.median.total_cmp(&a.saving.median));
        let best = found.first().map(|(_, contender)| saved(plain, &contender.samples));
        let mut scopes = Vec::new();
        for (i, Proposal { mut scope, .. }) in tried.into_iter().enumerate() {
            let (control, arena) = (&contenders[1], &contenders[order.arena(i)]);
            scope.trial = trial_of(&mut scope.reason, scope.captured, control, arena, best.as_deref());
            if !study::affordable(&scope) && scope.reason.is_empty() {
                scope.reason =
                    "an arena takes more than three times the memory of malloc: not a part of the verdict".to_owned();
            }
            scopes.push(scope);
        }
        scopes.extend(others.into_iter().map(|p| p.scope));
        scopes.sort_by(|a, b| {
            let order = |s: &Scope| study::affordable(s);
            order(b).cmp(&order(a)).then(verdict::saving(b).total_cmp(&verdict::saving(a)))
        });
        Ok(Measured {
            cpu: figure::of(plain.iter().map(|s| s.cpu).collect()),
            faults: figure::median(plain.iter().map(|s| s.faults).collect()),
            mallocs: found.into_iter().map(|(malloc, _)| malloc).collect(),
            scopes,
        })
    }
}

/// The result of a scope's trial. `None`: it was not measured, for that reason.
fn trial_of(
    reason: &mut String,
    captured: u64,
    control: &Contender,
    arena: &Contender,
    best: Option<&[f64]>,
) -> Option<advice::Trial> {
    if let Some(ending) = arena.failed.as_ref().or(control.failed.as_ref()) {
        *reason = format!("not measured: in the trial the program ends {ending}");
        return None;
    }
    let counts = arena.samples.last()?.counts;
    if counts.routed * 2 < captured {
        let shown = percent(counts.routed as f64, captured as f64);
        *reason = format!(
            "not measured: {shown:.0} % of its objects were in arenas. The program takes other paths in each run, limits its \
             memory, or hides the file of the trial from its processes"
        );
        return None;
    }
    if counts.left * 20 > counts.instances && counts.instances > 1 {
        let shown = percent(counts.left as f64, counts.instances as f64);
        *reason = format!(
            "not measured: an object was alive after {shown:.0} % of the calls, so that the arena could not be reset. Objects of \
             these sites that live longer need a way of their own"
        );
        return None;
    }
    if counts.refused * 100 > captured {
        *reason = format!("no arena had memory for {} objects", counts.refused);
    }
    let (control, arena) = (&control.samples, &arena.samples);
    let hooks = saved(control, arena);
    let beyond = best.map(|best| hooks.iter().zip(best).map(|(a, b)| a - b).collect());
    Some(advice::Trial {
        hooks: figure::of(hooks),
        without_traversal: figure::of(pairs(control, arena, |c, a| c.cpu - a.cpu + a.counts.traversal)),
        beyond_malloc: beyond.map(figure::of),
        faults: faults_saved(control, arena),
        routed: counts.routed,
        instances: counts.instances,
        left: counts.left,
    })
}
