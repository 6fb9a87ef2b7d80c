//! Runs of the program under trials and on other mallocs, each beside a run of its base: the program as it is, or the control.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{
    measure::{Ending, Program},
    processes::Used,
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

/// Whether programs that are started have large pages. Those of a server's load have the same.
pub fn set_large_pages(are_on: bool) {
    // SAFETY: its arguments are numbers. Where the system does not know it, nothing changes.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, libc::c_ulong::from(!are_on), 0, 0, 0) };
}

/// One way to run the program.
#[derive(Default)]
pub struct Contender<'a> {
    preload: Option<PathBuf>,
    trial: Option<&'a Trial>,
    /// The place of the way that it is compared with; `None`: others are compared with it.
    base: Option<usize>,
    /// Its runs, each with the one of its base beside it.
    pub pairs: Vec<Pair>,
    /// All runs.
    pub usages: Vec<Used>,
    /// The program ended otherwise than as it is.
    pub failed: Option<Ending>,
    /// Its times are not those of a scope in an arena.
    pub is_flawed: bool,
    /// More runs would show nothing.
    pub is_done: bool,
    /// Seconds of the last run, from its begin to its end.
    took: f64,
}

pub struct Pair {
    pub base: Used,
    pub own: Used,
    pub counts: Counts,
}

impl<'a> Contender<'a> {
    pub fn new(preload: Option<&Path>, trial: Option<&'a Trial>, base: Option<usize>) -> Contender<'a> {
        Contender { preload: preload.map(Path::to_owned), trial, base, ..Contender::default() }
    }

    pub fn is_measured(&self) -> bool {
        self.failed.is_none() && !self.is_flawed && !self.pairs.is_empty()
    }

    /// `None`: it failed.
    fn run(&mut self, program: &Program, expected: &Ending) -> Result<Option<Used>> {
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
        self.usages.push(run.used);
        Ok(Some(run.used))
    }
}

/// Whether the way at a place is compared with another, and runs again.
fn is_active(contenders: &[Contender], i: usize) -> bool {
    let may_run = |c: &Contender| c.failed.is_none() && !c.is_done;
    may_run(&contenders[i]) && contenders[i].base.is_some_and(|base| may_run(&contenders[base]))
}

/// The base beside one way, or between two.
fn order(base: usize, ways: &[usize], is_turned: bool) -> Vec<usize> {
    let mut order = ways.to_vec();
    if is_turned {
        order.reverse();
    }
    order.insert(usize::from(is_turned || ways.len() > 1), base);
    order
}

/// Runs one way or two beside their base: it follows or precedes the one, and is between the two.
fn run_beside(
    contenders: &mut [Contender],
    base: usize,
    ways: &[usize],
    is_turned: bool,
    program: &Program,
    expected: &Ending,
) -> Result<()> {
    let mut runs = Vec::new();
    for i in order(base, ways, is_turned) {
        let usage = contenders[i].run(program, expected)?;
        runs.extend(usage.map(|usage| (i, usage)));
    }
    let Some(&(_, of_base)) = runs.iter().find(|(i, _)| *i == base) else { return Ok(()) };
    for (i, own) in runs.into_iter().filter(|(i, _)| *i != base) {
        let counts = contenders[i].trial.map_or(Ok(Counts::default()), Trial::counts)?;
        contenders[i].pairs.push(Pair { base: of_base, own, counts });
    }
    Ok(())
}

/// The ways that run in a round, by their base. Each begins once.
fn groups(contenders: &[Contender], round: usize) -> Vec<(usize, Vec<usize>)> {
    let ways =
        |base| (0..contenders.len()).filter(move |&i| contenders[i].base == Some(base) && is_active(contenders, i));
    let mut all: Vec<(usize, Vec<usize>)> = (0..contenders.len()).map(|base| (base, ways(base).collect())).collect();
    all.retain(|(_, ways)| !ways.is_empty());
    for (_, ways) in &mut all {
        let first = round / 2 % ways.len();
        ways.rotate_left(first);
    }
    all
}

/// Runs each way beside its base once in each round, in one order and in the other, until `is_enough` of the rounds that are
/// over, or no time is left for a round. The first contender, the program as it is, runs in each round. One round is run in any
/// case. A way that has failed, or is done, or has such a base, is not run again.
///
/// A way follows a run of its base in every second round, so that other ways affect few of its runs, by the memory that they
/// leave to the system.
pub fn run(
    contenders: &mut [Contender],
    program: &Program,
    expected: &Ending,
    limit: Limit,
    mut is_enough: impl FnMut(&mut [Contender], usize) -> bool,
) -> Result<()> {
    for round in 0.. {
        let runs = contenders[0].usages.len();
        for (base, ways) in groups(contenders, round) {
            for beside in ways.chunks(2) {
                run_beside(contenders, base, beside, round % 2 == 1, program, expected)?;
            }
        }
        if contenders[0].usages.len() == runs && contenders[0].failed.is_none() {
            contenders[0].run(program, expected)?;
        }
        let is_over = is_enough(contenders, round + 1);
        let took = |(base, ways): (usize, Vec<usize>)| {
            let own: f64 = ways.iter().map(|&i| contenders[i].took).sum();
            own + ways.len().div_ceil(2) as f64 * contenders[base].took
        };
        let next: f64 = groups(contenders, round).into_iter().map(took).sum();
        if is_over || limit.left() < next {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_is_beside_its_base_first_or_last_in_turns() {
        assert_eq!((order(0, &[5], false), order(0, &[5], true)), (vec![0, 5], vec![5, 0]));
        assert_eq!((order(0, &[5, 6], false), order(0, &[5, 6], true)), (vec![5, 0, 6], vec![6, 0, 5]));
    }

    #[test]
    fn ways_that_are_done_or_have_no_base_left_do_not_run() {
        let library = Path::new("malloc.so");
        let mut all = vec![Contender::default(), Contender::default()];
        all.extend((0..3).map(|_| Contender::new(Some(library), None, Some(0))));
        assert_eq!(groups(&all, 0), [(0, vec![2, 3, 4])]);
        assert_eq!(groups(&all, 2), [(0, vec![3, 4, 2])], "another one begins");
        all[3].is_done = true;
        assert_eq!(groups(&all, 0), [(0, vec![2, 4])]);
        all[0].is_done = true;
        assert_eq!(groups(&all, 0), []);
    }

    #[test]
    fn large_pages_are_switched_for_what_is_started() {
        let is_off = || {
            let status = std::process::Command::new("cat").arg("/proc/self/status").output().unwrap();
            String::from_utf8(status.stdout).unwrap().contains("THP_enabled:\t0")
        };
        let before = is_off();
        set_large_pages(false);
        let switched = is_off();
        set_large_pages(!before);
        assert!(switched || before, "the system does not state it");
        assert_eq!(is_off(), before);
    }
}
