//! Contenders and their measurement: a body in batches long enough for the clock, all contenders in turn.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::heap::{watch, Counts};
use measure::{repetitions, turns, Samples};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The amount of measurement.
#[derive(Clone, Copy)]
pub struct Effort {
    pub rounds: usize,
    /// Minimum duration of a sample.
    pub sample: Duration,
    /// No further round of a case begins after this time.
    pub case: Duration,
}

/// Maximum of rows of a case.
pub const ROWS: usize = 9;

/// Results of a body by row: times and allocations.
#[derive(Default)]
pub struct Phases {
    times: [Option<Duration>; ROWS],
    counts: [Counts; ROWS],
    wrong: bool,
}

impl Phases {
    /// Times `f` as a part of that row.
    pub fn time<R>(&mut self, row: usize, f: impl FnOnce() -> R) -> R {
        let before = Counts::now();
        let start = Instant::now();
        let result = black_box(f());
        let time = start.elapsed();
        let found = Counts::now().since(before);
        *self.times[row].get_or_insert_default() += time;
        self.counts[row].allocs += found.allocs;
        self.counts[row].bytes += found.bytes;
        result
    }

    /// Records whether its result was correct.
    pub fn check(&mut self, right: bool) {
        self.wrong |= !right;
    }
}

/// A contender of a case: its name, `run(n)`, which repeats the body n times, and the bytes that it holds for each
/// element.
pub struct Contender {
    name: String,
    held: Option<f64>,
    run: Box<dyn FnMut(usize) -> Phases>,
}

/// The bytes that a structure holds for each of `n` elements after `fill` inserted them.
pub fn weigh<C>(n: usize, fill: impl FnOnce() -> C) -> f64 {
    let (filled, counts) = watch(fill);
    drop(black_box(filled));
    counts.held() as f64 / n as f64
}

impl Contender {
    /// The body is timed as a whole; it returns whether its result was correct.
    pub fn whole(name: &str, mut body: impl FnMut() -> bool + 'static) -> Contender {
        Contender::of_phases(name, move |repetitions, phases| {
            let right = phases.time(0, || (0..repetitions).fold(true, |right, _| body() & right));
            phases.check(right);
        })
    }

    /// The body times its parts itself.
    pub fn life(name: &str, mut body: impl FnMut(&mut Phases) + 'static) -> Contender {
        Contender::of_phases(name, move |repetitions, phases| (0..repetitions).for_each(|_| body(phases)))
    }

    fn of_phases(name: &str, mut run: impl FnMut(usize, &mut Phases) + 'static) -> Contender {
        let run = move |repetitions| {
            let mut phases = Phases::default();
            run(repetitions, &mut phases);
            phases
        };
        Contender { name: name.to_string(), held: None, run: Box::new(run) }
    }

    pub fn holding(self, held: f64) -> Contender {
        Contender { held: Some(held), ..self }
    }
}

/// The work of all contenders with the same number of elements: a row for each of its parts.
pub struct Case {
    /// The name of each row, and its number of operations; times are for one.
    pub rows: Vec<(String, usize)>,
    pub contenders: Box<dyn Fn() -> Vec<Contender>>,
}

struct Row {
    times: Vec<Samples>,
    counts: [Counts; ROWS],
    repetitions: usize,
    wrong: bool,
}

/// Measures the requested cases, and prints a line for each row and contender. False: a result was wrong.
pub fn measure(case: &Case, order: usize, effort: Effort, selected: impl Fn(&str, &str) -> bool) -> bool {
    if !case.rows.iter().any(|(name, _)| selected(name, "")) {
        return true;
    }
    let mut contenders = (case.contenders)();
    contenders.retain(|contender| case.rows.iter().any(|(name, _)| selected(name, &contender.name)));
    let mut rows: Vec<Row> = contenders.iter_mut().map(|contender| begin(case, contender, effort)).collect();
    let began = Instant::now();
    for round in 0..effort.rounds {
        if round > 0 && began.elapsed() > effort.case {
            break;
        }
        for turn in turns(rows.len(), round) {
            let row = &mut rows[turn];
            if row.wrong {
                continue;
            }
            let phases = (contenders[turn].run)(row.repetitions);
            row.wrong |= phases.wrong;
            for (k, (_, operations)) in case.rows.iter().enumerate() {
                let of_one = |time: Duration| time.as_nanos() as f64 / (row.repetitions * operations) as f64;
                row.times[k].extend(phases.times[k].map(of_one));
            }
        }
    }
    for (k, (name, operations)) in case.rows.iter().enumerate() {
        for (contender, row) in contenders.iter().zip(&rows) {
            if selected(name, &contender.name) && (row.wrong || !row.times[k].is_empty()) {
                print(name, *operations, order, contender, row, k);
            }
        }
    }
    rows.iter().all(|row| !row.wrong)
}

/// The first calls, which touch new memory; one that counts; the number of calls for a sample.
fn begin(case: &Case, contender: &mut Contender, effort: Effort) -> Row {
    let mut wrong = (contender.run)(1).wrong;
    let (phases, _) = watch(|| (contender.run)(1));
    let mut run = |repetitions| {
        let phases = (contender.run)(repetitions);
        (!phases.wrong).then(|| phases.times.iter().flatten().sum())
    };
    let found = repetitions(effort.sample, &mut run);
    wrong |= found.is_none();
    Row {
        times: vec![Samples::default(); case.rows.len()],
        counts: phases.counts,
        repetitions: found.unwrap_or(1),
        wrong,
    }
}

fn print(name: &str, operations: usize, order: usize, contender: &Contender, row: &Row, k: usize) {
    let (samples, counts) = (&row.times[k], row.counts[k]);
    let (low, high) = samples.range();
    let name = format!(r#""case":"{name}","contender":"{}","language":"Rust","unit":"ns""#, contender.name);
    let times =
        format!(r#""median":{:.4},"min":{low:.4},"max":{high:.4},"rounds":{}"#, samples.median(), samples.len());
    let of_one = |count: u64| count as f64 / operations as f64;
    let allocated = format!(r#""allocs":{:.4},"bytes":{:.2}"#, of_one(counts.allocs), of_one(counts.bytes));
    let held = contender.held.map_or(String::new(), |held| format!(r#","held":{held:.2}"#));
    let (n, verified) = (row.repetitions, !row.wrong);
    println!(r#"{{"workload":"W4","order":{order},{name},{times},"n":{n},{allocated}{held},"verified":{verified}}}"#);
}
