//! Measures W2 and prints a row for each case and contender, as JSON.
//!
//!     w2 [--quick] [--only CASE] [--contender NAME]
//!
//! Each round samples every contender once in each case, beginning with a different one. New + fill + drop (`life`)
//! runs in its own process for each case and contender: this program starts itself with `--alone`. A CASE that ends in
//! a star selects all cases with that prefix.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use measure::{repetitions, turns, Samples};
use std::process::{Command, ExitCode};
use std::time::Duration;
use w2::cases::{Entry, Run};
use w2::loops::{Bytes, Outcome};

/// The amount of measurement.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    /// Minimum duration of a sample.
    sample: Duration,
    /// Processes for each row that needs its own, and samples in each.
    processes: usize,
    samples: usize,
}

const FULL: Effort = Effort { rounds: 31, sample: Duration::from_micros(1500), processes: 7, samples: 5 };
const QUICK: Effort = Effort { rounds: 11, sample: Duration::from_micros(600), processes: 2, samples: 3 };

/// The samples of one row.
struct Row<'a> {
    entry: &'a Entry,
    /// ns per operation, one for each sample.
    times: Samples,
    /// Page faults per batch.
    faults: Samples,
    /// ns per operation of the slowest of several threads, one for each sample.
    slowest: Samples,
    bytes: Option<Bytes>,
    verified: bool,
    repetitions: usize,
}

impl Row<'_> {
    fn of(entry: &Entry) -> Row<'_> {
        let none = Samples::default();
        Row {
            entry,
            times: none.clone(),
            faults: none.clone(),
            slowest: none,
            bytes: None,
            verified: true,
            repetitions: 0,
        }
    }

    fn add(&mut self, outcome: &Outcome, repetitions: usize) {
        let operations = (repetitions * self.entry.operations) as f64;
        self.times.push(outcome.time.as_nanos() as f64 / operations);
        self.faults.push(outcome.faults as f64 / repetitions as f64);
        self.slowest.extend(outcome.slowest.map(|time| time.as_nanos() as f64 / operations));
        self.bytes = outcome.bytes;
        self.verified &= outcome.verified;
    }

    fn print(&self) {
        let Entry { case, contender, operations, alone, weighs, run, .. } = self.entry;
        let names =
            format!(r#""workload":"W2","case":"{case}","contender":"{contender}","language":"Rust","unit":"ns""#);
        if let Err(why) = run {
            println!(r#"{{{names},"median":null,"verified":true,"lacks":"{why}"}}"#);
            return;
        }
        let mut more = String::new();
        if let (true, Some(Bytes { requested, occupied })) = (weighs, self.bytes) {
            let waste = occupied as f64 / requested as f64 - 1.0;
            more += &format!(r#","bytes":{occupied},"asked":{requested},"waste":{waste:.4}"#);
        }
        if *alone {
            more += &format!(r#","faults":{:.2}"#, self.faults.median());
        }
        if !self.slowest.is_empty() {
            more += &format!(r#","slowest":{:.4}"#, self.slowest.median());
        }
        let (low, high) = self.times.range();
        let (median, rounds, verified) = (self.times.median(), self.times.len(), self.verified);
        let numbers = format!(r#""median":{median:.4},"min":{low:.4},"max":{high:.4},"rounds":{rounds}"#);
        println!(r#"{{{names},{numbers},"n":{operations},"verified":{verified}{more}}}"#);
    }
}

/// The number of batches that take as long as a sample should; 0 if they fail. Threads do not begin at the same moment:
/// of their samples the shortest of three counts, by the slowest thread's own clock.
fn calibrate(run: Run, place: &mut Vec<*mut u8>, sample: Duration) -> usize {
    let time_of = |count| {
        let mut outcome = run(count, place);
        let mut time = outcome.time;
        for _ in 0..2 {
            let Some(slowest) = outcome.slowest else { break };
            time = time.min(slowest);
            outcome = run(count, place);
        }
        outcome.verified.then(|| time.min(outcome.slowest.unwrap_or(time)))
    };
    repetitions(sample, time_of).unwrap_or(0)
}

/// Rounds of one case, with all contenders in turn.
fn measure_together(rows: &mut [Row], effort: Effort, place: &mut Vec<*mut u8>) {
    for row in rows.iter_mut() {
        if let Ok(run) = row.entry.run {
            row.repetitions = calibrate(run, place, effort.sample * row.entry.long);
            row.verified = row.repetitions > 0;
        }
    }
    let count = rows.len();
    for round in 0..effort.rounds {
        for turn in turns(count, round) {
            let row = &mut rows[turn];
            if let (Ok(run), true) = (row.entry.run, row.repetitions > 0) {
                let outcome = run(row.repetitions, place);
                row.add(&outcome, row.repetitions);
            }
        }
    }
}

/// The samples of one row in this process, one a line.
fn measure_alone(entry: &Entry, effort: Effort) {
    let Ok(run) = entry.run else { return };
    let mut place = Vec::new();
    let repetitions = calibrate(run, &mut place, effort.sample);
    for _ in 0..effort.samples {
        let outcome = run(repetitions.max(1), &mut place);
        println!(
            "{} {} {} {}",
            repetitions,
            outcome.time.as_nanos(),
            outcome.faults,
            outcome.verified && repetitions > 0
        );
    }
}

/// Rounds of processes, with all contenders in turn.
fn measure_in_processes(rows: &mut [Row], effort: Effort, quick: bool) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let count = rows.len();
    for round in 0..effort.processes {
        for turn in turns(count, round) {
            let row = &mut rows[turn];
            if row.entry.run.is_err() {
                continue;
            }
            let mut command = Command::new(&program);
            command.args(["--alone", row.entry.case, row.entry.contender]).args(quick.then_some("--quick"));
            let done = command.output().map_err(|e| e.to_string())?;
            let said = String::from_utf8_lossy(&done.stdout);
            let mut samples = 0;
            for line in said.lines() {
                let mut fields = line.split(' ');
                let mut number = || fields.next().and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
                let (repetitions, nanos, faults) = (number(), number(), number());
                let verified = fields.next() == Some("true");
                let outcome = Outcome::new(Duration::from_nanos(nanos), verified, faults);
                row.add(&outcome, (repetitions as usize).max(1));
                samples += 1;
            }
            row.verified &= done.status.success() && samples == effort.samples;
        }
    }
    Ok(())
}

/// The command line. `alone`: a case and a contender whose row this process measures.
#[derive(Default)]
struct Arguments {
    quick: bool,
    only: Option<String>,
    contender: Option<String>,
    alone: Option<(String, String)>,
}

impl Arguments {
    /// `None`: there is an unknown one.
    fn read() -> Option<Arguments> {
        let (mut read, mut arguments) = (Arguments::default(), std::env::args().skip(1));
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => read.quick = true,
                "--only" => read.only = arguments.next(),
                "--contender" => read.contender = arguments.next(),
                "--alone" => read.alone = arguments.next().zip(arguments.next()),
                _ => return None,
            }
        }
        Some(read)
    }

    fn select(&self, case: &str, contender: &str) -> bool {
        let only = self.only.as_ref().is_none_or(|only| match only.strip_suffix('*') {
            Some(begin) => case.starts_with(begin),
            None => case == only,
        });
        only && self.contender.as_ref().is_none_or(|selected| selected == contender)
    }
}

fn main() -> ExitCode {
    let Some(arguments) = Arguments::read() else {
        eprintln!("w2 [--quick] [--only CASE] [--contender NAME]");
        return ExitCode::from(2);
    };
    let effort = if arguments.quick { QUICK } else { FULL };
    let all = w2::all();
    if let Some((case, contender)) = &arguments.alone {
        for entry in all.iter().flatten().filter(|e| e.case == case && e.contender == contender) {
            measure_alone(entry, effort);
        }
        return ExitCode::SUCCESS;
    }
    let mut place = Vec::new();
    let mut good = true;
    for entries in &all {
        let mut rows: Vec<Row> =
            entries.iter().filter(|e| arguments.select(e.case, e.contender)).map(Row::of).collect();
        if rows.is_empty() {
            continue;
        }
        if rows[0].entry.alone {
            if let Err(why) = measure_in_processes(&mut rows, effort, arguments.quick) {
                eprintln!("w2: {}: {why}", rows[0].entry.case);
                return ExitCode::FAILURE;
            }
        } else {
            measure_together(&mut rows, effort, &mut place);
        }
        for row in &rows {
            row.print();
            good &= row.verified;
        }
    }
    ExitCode::from(u8::from(!good))
}
