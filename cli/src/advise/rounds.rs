//! Runs of the program as it is, under trials and on other mallocs, in turns: a slow phase of the machine affects all of them.
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
    pub samples: Vec<Sample>,
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
pub struct Sample {
    pub cpu: f64,
    pub faults: f64,
    pub counts: Counts,
}

impl<'a> Contender<'a> {
    pub fn new(preload: Option<&Path>, trial: Option<&'a Trial>) -> Contender<'a> {
        Contender {
            preload: preload.map(Path::to_owned),
            trial,
            samples: Vec::new(),
            failed: None,
            is_flawed: false,
            is_done: false,
            took: 0.0,
        }
    }

    /// A place without runs.
    pub fn none() -> Contender<'a> {
        Contender { is_done: true, ..Contender::new(None, None) }
    }

    pub fn is_active(&self) -> bool {
        self.failed.is_none() && !self.is_done
    }

    fn run(&mut self, program: &Program, expected: &Ending) -> Result<()> {
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
            return Ok(());
        }
        let counts = self.trial.map_or(Ok(Counts::default()), Trial::counts)?;
        self.samples.push(Sample { cpu: run.cpu, faults: run.faults, counts });
        Ok(())
    }
}

/// Runs each contender once in each round, in another order, until `is_enough`, or no time is left for a round. One
/// round is run in any case. A contender that has failed, or is done, is not run again.
pub fn run(
    contenders: &mut [Contender],
    program: &Program,
    expected: &Ending,
    limit: Limit,
    mut is_enough: impl FnMut(&mut [Contender]) -> bool,
) -> Result<()> {
    for round in 0.. {
        let count = contenders.len();
        for i in 0..count {
            // Each begins once, and has each neighbour before it in half of the rounds.
            let i = if round % 2 == 0 { i } else { count - 1 - i };
            let contender = &mut contenders[(i + round / 2) % count];
            if contender.is_active() {
                contender.run(program, expected)?;
            }
        }
        let is_over = is_enough(contenders);
        let next: f64 = contenders.iter().filter(|c| c.is_active()).map(|c| c.took).sum();
        if is_over || limit.left() < next {
            break;
        }
    }
    Ok(())
}
