//! Runs of the program under trials and on other mallocs, each beside a run of its base: the program as it is, or the control.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{
    measure::{Ending, Program},
    trial::{Counts, Trial},
};
use anyhow::Result;
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The time of the whole command.
#[derive(Clone, Copy)]
pub struct Limit(Instant);

impl Limit {
    pub fn new(seconds: f64) -> Limit {
        Limit(Instant::now() + Duration::from_secs_f64(seconds))
    }

    pub fn left(&self) -> f64 {
        self.0.saturating_duration_since(Instant::now()).as_secs_f64()
    }
}

/// One way to run the program.
pub struct Contender<'a> {
    preload: Option<PathBuf>,
    trial: Option<&'a Trial>,
    /// The place of the way that it is compared with; `None`: others are compared with it.
    base: Option<usize>,
    /// Its runs, each with the one of its base beside it.
    pub pairs: Vec<Pair>,
    /// All runs.
    pub usages: Vec<Usage>,
    /// The program ended otherwise than as it is.
    pub failed: Option<Ending>,
    /// Its times are not those of a scope in an arena.
    pub is_flawed: bool,
    /// More runs would show nothing.
    pub is_done: bool,
    /// Seconds of the last run, from its begin to its end.
    took: f64,
}

#[derive(Clone, Copy)]
pub struct Usage {
    pub cpu: f64,
    pub faults: f64,
}

pub struct Pair {
    pub base: Usage,
    pub own: Usage,
    pub counts: Counts,
}

impl<'a> Contender<'a> {
    fn new(preload: Option<&Path>, trial: Option<&'a Trial>, base: Option<usize>) -> Contender<'a> {
        Contender {
            preload: preload.map(Path::to_owned),
            trial,
            base,
            pairs: Vec::new(),
            usages: Vec::new(),
            failed: None,
            is_flawed: false,
            is_done: false,
            took: 0.0,
        }
    }

    /// The program as it is.
    pub fn plain() -> Contender<'a> {
        Contender::new(None, None, None)
    }

    /// A place that is not run: nothing is compared with it.
    pub fn none() -> Contender<'a> {
        Contender { is_done: true, ..Contender::plain() }
    }

    /// The base of the trials of arenas.
    pub fn control(library: &Path, trial: &'a Trial) -> Contender<'a> {
        Contender::new(Some(library), Some(trial), None)
    }

    pub fn arena(library: &Path, trial: &'a Trial, control: usize) -> Contender<'a> {
        Contender::new(Some(library), Some(trial), Some(control))
    }

    pub fn malloc(library: &Path, plain: usize) -> Contender<'a> {
        Contender::new(Some(library), None, Some(plain))
    }

    pub fn is_measured(&self) -> bool {
        self.failed.is_none() && !self.is_flawed && !self.pairs.is_empty()
    }

    /// `None`: it failed.
    fn run(&mut self, program: &Program, expected: &Ending) -> Result<Option<Usage>> {
        let mut environment: Vec<_> = self.preload.iter().map(|l| ("LD_PRELOAD", l.as_path())).collect();
        if let Some(trial) = self.trial {
            trial.write()?;
            environment.push(("TOFT_TRIAL", trial.path()));
        }
        let begin = Instant::now();
        let run = program.run(&environment, false)?;
        self.took = begin.elapsed().as_secs_f64();
        if run.ending != *expected {
            self.failed = Some(run.ending);
            return Ok(None);
        }
        let usage = Usage { cpu: run.cpu, faults: run.faults };
        self.usages.push(usage);
        Ok(Some(usage))
    }
}

/// Whether the way at a place is compared with another, and runs again.
fn is_active(contenders: &[Contender], i: usize) -> bool {
    let may_run = |c: &Contender| c.failed.is_none() && !c.is_done;
    may_run(&contenders[i]) && contenders[i].base.is_some_and(|base| may_run(&contenders[base]))
}

/// Runs a way and its base, one directly after the other.
fn run_pair(
    contenders: &mut [Contender],
    i: usize,
    is_first: bool,
    program: &Program,
    expected: &Ending,
) -> Result<()> {
    let base = contenders[i].base.expect("a way that is compared");
    let (first, second) = if is_first { (i, base) } else { (base, i) };
    let Some(before) = contenders[first].run(program, expected)? else { return Ok(()) };
    let Some(after) = contenders[second].run(program, expected)? else { return Ok(()) };
    let counts = contenders[i].trial.map_or(Ok(Counts::default()), Trial::counts)?;
    let (own, base) = if is_first { (before, after) } else { (after, before) };
    contenders[i].pairs.push(Pair { base, own, counts });
    Ok(())
}

/// Runs each way beside its base once in each round, in one order and in the other, until `is_enough` of the rounds that are
/// over, or no time is left for a round. The first contender, the program as it is, runs in each round. One round is run in any
/// case. A way that has failed, or is done, or has such a base, is not run again.
///
/// A way follows a run of its base, except for the first of every second round: so another way affects it by the memory that
/// it leaves to the system in few of its runs.
pub fn run(
    contenders: &mut [Contender],
    program: &Program,
    expected: &Ending,
    limit: Limit,
    mut is_enough: impl FnMut(&mut [Contender], usize) -> bool,
) -> Result<()> {
    for round in 0.. {
        let (count, runs) = (contenders.len(), contenders[0].usages.len());
        for i in 0..count {
            let i = (i + round / 2) % count; // each begins once
            if is_active(contenders, i) {
                run_pair(contenders, i, round % 2 == 1, program, expected)?;
            }
        }
        if contenders[0].usages.len() == runs && contenders[0].failed.is_none() {
            contenders[0].run(program, expected)?;
        }
        let is_over = is_enough(contenders, round + 1);
        let took = |i: usize| contenders[i].took + contenders[i].base.map_or(0.0, |base| contenders[base].took);
        let next: f64 = (0..count).filter(|&i| is_active(contenders, i)).map(took).sum();
        if is_over || limit.left() < next {
            break;
        }
    }
    Ok(())
}
