//! The program as it is, with scopes in arenas, and on other mallocs: what is run, and what the runs show.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{
    figure::{self, side, Side, LEAST_RUNS},
    is_libc,
    measure::{self, Program, Run},
    preload,
    processes::Used,
    recording::Recording,
    rounds::{self, Contender, Limit, Pair},
    study::{self, Proposal},
    trial::{Counts, Mode, Trial},
    verdict::{self, percent, WORTH},
    Arguments, Library, ENDS_DIFFER,
};
use crate::advice::{self, Figure, Malloc, Scope, Verdict};
use anyhow::Result;
use std::{
    ops::Range,
    path::{Path, PathBuf},
};

const RECYCLER_NAME: &str = "a recycler of Toft, for all allocations";
const SCOPES_TRIED: usize = 3;
/// Of these, those are chosen that save most in two runs.
const SCOPES_CHOSEN_FROM: usize = 6;
/// Pairs of each way before the first are left out.
const LEAST_PAIRS: usize = 3;
/// The mallocs that are left then, as a rule, beside the best arena: the best one, and the recycler.
const LAST_MALLOCS: usize = 2;
/// An interval of a saving should be no wider, as a part of the program's time.
const WIDTH: f64 = 0.05;
/// With this many runs, or after these seconds, an interval that decides is narrow enough.
const RUNS: usize = 15;
const SECONDS: f64 = 15.0;
/// The percentage by which two runs differ on a busy machine.
const BUSY: f64 = 10.0;
/// The part of the time for pairs with small pages, the most of these, and what an arena has at least that could have large ones.
const SMALL_PAGES: f64 = 0.15;
const SMALL_PAIRS: usize = 9;
const LARGE_PAGE: u64 = 2 << 20;

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
}

pub struct Measured {
    pub cpu: Figure,
    pub system: f64,
    pub faults: f64,
    pub mallocs: Vec<Malloc>,
    pub scopes: Vec<Scope>,
    /// Of mallocs.
    pub failures: Vec<String>,
}

/// The contenders by their place: the program as it is, the control of each arena, arenas, mallocs.
struct Ways {
    /// Between an arena and its control.
    controls: usize,
    arenas: Range<usize>,
    /// Arenas that are not a part of the verdict.
    too_large: Range<usize>,
    mallocs: Range<usize>,
    /// The objects of each arena.
    captured: Vec<u64>,
}

const PLAIN: usize = 0;
const CONTROLS: usize = 1;

/// Of one scope.
struct Trials {
    control: Trial,
    arena: Trial,
}

/// The controls, of which the first has that place, and then the arenas: each is compared with its own control, which keeps the
/// same records of the same objects.
fn beside_controls<'a>(library: &'a Path, trials: &'a [Trials], first: usize) -> impl Iterator<Item = Contender<'a>> {
    let controls = trials.iter().map(|t| Contender::new(Some(library), Some(&t.control), None));
    controls.chain(
        trials.iter().enumerate().map(move |(i, t)| Contender::new(Some(library), Some(&t.arena), Some(first + i))),
    )
}

/// The savings of the best contender of a kind. Those that are certainly worse are done: by an interval, or before there is
/// one by 5 % of the program's time, since so few pairs say little.
fn leave_best(contenders: &mut [Contender], usual: f64, kind: Range<usize>) -> Option<Vec<f64>> {
    let savings = |i: usize| saved(&contenders[i].pairs);
    let measured = kind.filter(|&i| contenders[i].is_measured());
    let figures: Vec<_> = measured.map(|i| (i, figure::of(savings(i)))).collect();
    let lowest = figures.iter().map(|(_, f)| f.low).fold(f64::NEG_INFINITY, f64::max);
    let best = figure::best(figures.clone(), WORTH * usual).map(|(i, _)| savings(i));
    let margin = |f: &Figure| if (f.runs as usize) < LEAST_RUNS { WIDTH * usual } else { 0.0 };
    for (i, _) in figures.iter().filter(|(_, f)| f.high < lowest - margin(f)) {
        contenders[*i].is_done = true;
    }
    best
}

/// Seconds, from the ratio of the times of each pair: a slow phase of the machine makes both longer.
fn saved(pairs: &[Pair]) -> Vec<f64> {
    let usual = figure::median(pairs.iter().map(|p| p.base.cpu).collect());
    pairs.iter().map(|p| usual * (1.0 - p.own.cpu / p.base.cpu.max(1e-6))).collect()
}

fn faults_saved(pairs: &[Pair]) -> f64 {
    figure::median(pairs.iter().map(|p| p.base.faults - p.own.faults).collect())
}

fn system_saved(pairs: &[Pair]) -> f64 {
    figure::median(pairs.iter().map(|p| p.base.system - p.own.system).collect())
}

fn cpu_of(usages: &[Used]) -> Figure {
    figure::of(usages.iter().map(|u| u.cpu).collect())
}

/// Before the time is spent: an interval is not narrower than what the machine does to the program.
fn busy(first: f64, again: f64) -> Option<String> {
    let spread = 100.0 * (again / first.max(1e-6) - 1.0).abs();
    (spread >= BUSY).then(|| format!("two runs of the program as it is differ by {spread:.0} %: the machine is busy"))
}

impl Comparison<'_> {
    pub fn measure(&self, proposals: Vec<Proposal>, notes: &mut Vec<String>) -> Result<Measured> {
        let (tried, mut others) = study::chosen(proposals, SCOPES_CHOSEN_FROM);
        let library = preload::place(Library::Trial, "trial.so", self.folder)?;
        let mut tried = self.best(tried, &library, &mut others)?;
        if !self.arguments.all {
            others.clear();
        }
        let mut mallocs = self.other_mallocs(notes)?;
        self.keep_to_time(&mut tried, &mut mallocs, notes);
        let trials = self.trials(&tried);
        let affordable = tried.iter().filter(|p| study::affordable(&p.scope)).count();
        let first_arena = CONTROLS + trials.len();
        let first_malloc = first_arena + trials.len();
        let ways = Ways {
            controls: trials.len(),
            arenas: first_arena..first_arena + affordable,
            too_large: first_arena + affordable..first_malloc,
            mallocs: first_malloc..first_malloc + mallocs.len(),
            captured: tried.iter().map(|p| p.scope.captured).collect(),
        };
        let mut contenders = vec![Contender::default()];
        contenders.extend(beside_controls(&library, &trials, CONTROLS));
        contenders.extend(mallocs.iter().map(|(_, library)| Contender::new(Some(library), None, Some(PLAIN))));
        let kinds = contenders.len();
        super::step(&format!(
            "running the program in {kinds} ways, by turns: {} with arenas, {} on other mallocs; up to {:.0} s",
            trials.len(),
            mallocs.len(),
            self.limit.left()
        ));
        let ending = &self.first.ending;
        let limit = Limit::new((1.0 - SMALL_PAGES) * self.limit.left());
        let all = LEAST_RUNS as f64 * 1.5 * self.wall * kinds as f64;
        let limit = if all < limit.left() { limit } else { self.limit };
        rounds::run(&mut contenders, self.program, ending, limit, |c, rounds| self.is_enough(c, rounds, &ways))?;
        let mut measured = self.results(&contenders, &ways, tried, others, mallocs)?;
        self.try_small_pages(&mut measured, &library, &trials)?;
        Ok(measured)
    }

    /// The saving of the first scope without large pages, in the time that is left: how much they save depends on the machine, and on
    /// the moment.
    fn try_small_pages(&self, of: &mut Measured, library: &Path, trials: &[Trials]) -> Result<()> {
        let Some(scope) = of.scopes.first_mut().filter(|s| s.peak_arena >= LARGE_PAGE) else { return Ok(()) };
        let Some((saves, trials)) = scope.trial.as_mut().zip(trials.get(scope.place)) else { return Ok(()) };
        if saves.hooks.high < WORTH * of.cpu.median || self.limit.left() < 2.0 * self.wall {
            return Ok(());
        }
        super::step("running the program with small pages, as it is and with the first arena");
        let mut both: Vec<_> = beside_controls(library, std::slice::from_ref(trials), 0).collect();
        rounds::set_large_pages(false);
        let ran =
            rounds::run(&mut both, self.program, &self.first.ending, self.limit, |_, rounds| rounds >= SMALL_PAIRS);
        rounds::set_large_pages(true);
        ran?;
        saves.small_pages = Some(figure::of(saved(&both[1].pairs))).filter(|_| both[1].is_measured());
        Ok(())
    }

    fn trials(&self, tried: &[Proposal]) -> Vec<Trials> {
        let trial = |name: &str, i: usize, mode| {
            Trial::new(self.folder.join(format!("{name}-{i}")), mode, self.recording, &tried[i].objects)
        };
        let of = |i| Trials { control: trial("control", i, Mode::Control), arena: trial("arena", i, Mode::Arena) };
        (0..tried.len()).map(of).collect()
    }

    /// The scopes that save most, by two runs of each, which are not used again, and the one with the most objects. The first
    /// ones if these take a fifth of the time.
    fn best(&self, mut tried: Vec<Proposal>, library: &Path, others: &mut Vec<Proposal>) -> Result<Vec<Proposal>> {
        let trials = self.trials(&tried);
        let runs = 4.0 * trials.len() as f64;
        if tried.len() > SCOPES_TRIED && runs * self.wall < self.limit.left() / 5.0 {
            super::step(&format!("choosing {SCOPES_TRIED} of {} scopes", tried.len()));
            let mut contenders: Vec<_> = beside_controls(library, &trials, 0).collect();
            let ending = &self.first.ending;
            rounds::run(&mut contenders, self.program, ending, self.limit, |c, rounds| {
                rounds >= 2 || c[0].failed.is_some()
            })?;
            let saving = |c: &Contender| figure::median(saved(&c.pairs));
            let savings: Vec<f64> = contenders[trials.len()..].iter().map(saving).collect();
            let mut found: Vec<_> = tried.into_iter().zip(savings).collect();
            let first = found.remove(0); // two runs do not refute it
            found.sort_by(|(a, x), (b, y)| {
                let order = |p: &Proposal| study::affordable(&p.scope);
                order(b).cmp(&order(a)).then(y.total_cmp(x))
            });
            tried = std::iter::once(first).chain(found).map(|(proposal, _)| proposal).collect();
            tried.sort_by_key(|p| !study::affordable(&p.scope)); // as the trials of the verdict are
        }
        for mut left_out in tried.drain(SCOPES_TRIED.min(tried.len())..) {
            left_out.scope.reason = "not tried: other scopes save more, or have more objects".to_owned();
            others.push(left_out);
        }
        Ok(tried)
    }

    /// Leaves out what the time is not enough for: mallocs and arenas after the first of each, from the last.
    fn keep_to_time(&self, tried: &mut Vec<Proposal>, mallocs: &mut Vec<(String, PathBuf)>, notes: &mut Vec<String>) {
        let all = (tried.len(), mallocs.len());
        loop {
            let runs_of = |arenas: usize, mallocs: usize| 2 * arenas + mallocs + mallocs.div_ceil(2);
            let last = runs_of(tried.len().min(1), mallocs.len().min(LAST_MALLOCS));
            let runs = LEAST_PAIRS * runs_of(tried.len(), mallocs.len()) + (LEAST_RUNS - LEAST_PAIRS) * last;
            if runs as f64 * self.wall <= self.limit.left() {
                break;
            }
            if tried.len() > 1 && tried.len() >= mallocs.len() {
                tried.pop();
            } else if mallocs.len() > 1 {
                mallocs.pop();
            } else {
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
        installed.iter_mut().for_each(|(_, path)| *path = preload::list_with_malloc(path));
        // The recycler takes its memory from the C library's malloc, and a lock for a second thread.
        if self.recording.threads.len() == 1 && self.malloc.is_none_or(|m| is_libc(m) || preload::is_own(m)) {
            let library = preload::place(Library::Recycler, "recycler.so", self.folder)?;
            installed.insert(0, (RECYCLER_NAME.to_owned(), library));
        }
        Ok(installed)
    }

    /// Whether the verdict is decided, and the intervals that it states are narrow. The pairs that are left go to the ways that
    /// can still decide it: others of their kind are worse, or it is an arena that saves less than 3 %, or too large.
    fn is_enough(&self, contenders: &mut [Contender], rounds: usize, ways: &Ways) -> bool {
        if contenders[PLAIN].failed.is_some() {
            return true;
        }
        if rounds == 1 {
            busy(self.first.used.cpu, contenders[PLAIN].usages[0].cpu).iter().for_each(|text| super::step(text));
        }
        for (contender, &captured) in contenders[ways.arenas.start..].iter_mut().zip(&ways.captured) {
            contender.is_flawed = contender.pairs.last().is_some_and(|p| flaw(captured, &p.counts).is_some());
            contender.is_done |= contender.is_flawed;
        }
        if self.arguments.quick || rounds < LEAST_PAIRS {
            return rounds >= LEAST_RUNS;
        }
        contenders[ways.too_large.clone()].iter_mut().for_each(|c| c.is_done = true);
        let cpu = cpu_of(&contenders[PLAIN].usages).median;
        let elapsed = self.arguments.seconds - self.limit.left();
        let is_long = rounds >= LEAST_RUNS && (rounds >= RUNS || elapsed >= SECONDS);
        let arena = leave_best(contenders, cpu, ways.arenas.clone());
        let malloc = leave_best(contenders, cpu, ways.mallocs.clone());
        // The recycler, which is the first malloc, and the arena of most objects have the runs of an interval in any case.
        if rounds < LEAST_RUNS {
            for kind in [&ways.mallocs, &ways.arenas] {
                contenders[kind.clone()].iter_mut().take(1).for_each(|c| c.is_done = c.is_flawed);
            }
        }
        let figures = [&arena, &malloc].map(|saved| saved.clone().map(figure::of));
        let beyond = arena.as_ref().zip(malloc.as_ref()).map(|(a, m)| verdict::beyond(a, m));
        if is_long && figures[0].is_some_and(|f| side(&f, WORTH * cpu) == Side::Below) {
            contenders[ways.arenas.clone()].iter_mut().for_each(|c| c.is_done = true);
        }
        is_long
            && figures.iter().flatten().all(|f| f.high - f.low <= WIDTH * cpu || side(f, WORTH * cpu) == Side::Below)
            && verdict::of(cpu, figures[0].as_ref(), figures[1].as_ref(), beyond.as_ref()) != Verdict::NotDecided
    }

    fn results(
        &self,
        contenders: &[Contender],
        ways: &Ways,
        tried: Vec<Proposal>,
        others: Vec<Proposal>,
        mallocs: Vec<(String, PathBuf)>,
    ) -> Result<Measured> {
        let plain = &contenders[PLAIN].usages;
        anyhow::ensure!(contenders[PLAIN].failed.is_none() && !plain.is_empty(), ENDS_DIFFER);
        let (mut found, mut failures) = (Vec::new(), Vec::new());
        for (i, (name, _)) in mallocs.into_iter().enumerate() {
            let contender = &contenders[ways.mallocs.start + i];
            match &contender.failed {
                Some(ending) => failures.push(format!("{name}: the program ends {ending}")),
                None => {
                    let saving = figure::of(saved(&contender.pairs));
                    found.push((
                        Malloc {
                            name,
                            saving,
                            system: system_saved(&contender.pairs),
                            faults: faults_saved(&contender.pairs),
                        },
                        contender,
                    ));
                }
            }
        }
        found.sort_by(|(a, _), (b, _)| b.saving.median.total_cmp(&a.saving.median));
        let savings = found.iter().map(|(malloc, contender)| (contender, malloc.saving)).collect();
        let best = figure::best(savings, WORTH * cpu_of(plain).median).map(|(contender, _)| saved(&contender.pairs));
        let mut scopes = Vec::new();
        for (i, Proposal { mut scope, .. }) in tried.into_iter().enumerate() {
            scope.place = i;
            let arena = ways.arenas.start + i;
            let (control, arena) = (&contenders[arena - ways.controls], &contenders[arena]);
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
            cpu: cpu_of(plain),
            system: figure::median(plain.iter().map(|u| u.system).collect()),
            faults: figure::median(plain.iter().map(|u| u.faults).collect()),
            mallocs: found.into_iter().map(|(malloc, _)| malloc).collect(),
            scopes,
            failures,
        })
    }
}

/// Why a run's time is not that of the scope's objects in an arena.
fn flaw(captured: u64, counts: &Counts) -> Option<String> {
    if counts.left * 20 > counts.instances && counts.instances > 1 {
        let shown = percent(counts.left as f64, counts.instances as f64);
        return Some(format!(
            "an object was alive after {shown:.0} % of the calls, so that the arena could not be reset. Objects of these sites \
             that live longer need a way of their own"
        ));
    }
    if counts.routed * 2 >= captured {
        return None;
    }
    let shown = percent(counts.routed as f64, captured as f64);
    let why = if counts.refused > 0 {
        "The others had no memory: the program limits or locks its memory, restricts its system calls, or needs arenas of more \
         than a quarter of the machine's memory"
    } else {
        "The program takes other paths in each run, or hides the file of the trial from its processes"
    };
    Some(format!("{shown:.0} % of its objects were in arenas. {why}"))
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
    let counts = arena.pairs.last()?.counts;
    if let Some(flaw) = flaw(captured, &counts) {
        *reason = format!("not measured: {flaw}");
        return None;
    }
    if counts.refused * 100 > captured {
        *reason = format!("no arena had memory for {} objects", counts.refused);
    }
    let hooks = saved(&arena.pairs);
    let beyond = best.map(|best| verdict::beyond(&hooks, best));
    let without_traversal = hooks.iter().zip(&arena.pairs).map(|(saved, p)| saved + p.counts.traversal);
    Some(advice::Trial {
        without_traversal: figure::of(without_traversal.collect()),
        hooks: figure::of(hooks),
        beyond_malloc: beyond,
        small_pages: None,
        system: system_saved(&arena.pairs),
        faults: faults_saved(&arena.pairs),
        routed: counts.routed,
        instances: counts.instances,
        left: counts.left,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_may_be_alive_after_one_call_in_twenty() {
        let flawed =
            |left, instances| flaw(100, &Counts { routed: 100, left, instances, ..Counts::default() }).is_some();
        assert!(!flawed(1, 20) && flawed(1, 19) && !flawed(1, 1));
    }

    #[test]
    fn two_runs_that_differ_by_a_tenth_are_of_a_busy_machine() {
        assert!(busy(1.0, 1.099).is_none() && busy(1.0, 0.901).is_none());
        assert!(busy(1.0, 1.101).unwrap().contains("differ by 10 %") && busy(1.0, 0.89).is_some());
    }

    #[test]
    fn half_of_the_objects_must_be_in_arenas() {
        let flawed = |routed| flaw(100, &Counts { routed, instances: 1, ..Counts::default() }).is_some();
        assert!(!flawed(50) && flawed(49));
    }
}
