//! Shared parts of the benchmarks in Rust: duration of samples, order of contenders, statistics.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use std::time::Duration;

/// The measurements of one row, one number for each sample.
#[derive(Clone, Default, Debug)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub fn extend(&mut self, values: impl IntoIterator<Item = f64>) {
        self.0.extend(values);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// 0 without samples.
    pub fn median(&self) -> f64 {
        let mut values = self.0.clone();
        values.sort_by(f64::total_cmp);
        let half = values.len() / 2;
        match values.len() {
            0 => 0.0,
            n if n % 2 == 1 => values[half],
            _ => (values[half - 1] + values[half]) / 2.0,
        }
    }

    /// The minimum and the maximum.
    pub fn range(&self) -> (f64, f64) {
        self.0.iter().fold((f64::MAX, 0f64), |(low, high), &value| (low.min(value), high.max(value)))
    }
}

/// The number of repetitions of `run` that take as long as a sample. `run(n)` returns the time of n repetitions;
/// `None`: it failed.
pub fn repetitions(sample: Duration, mut run: impl FnMut(usize) -> Option<Duration>) -> Option<usize> {
    let mut repetitions = 1;
    loop {
        let time = run(repetitions)?.max(Duration::from_nanos(20));
        if time * 4 >= sample {
            let wanted = repetitions as f64 * sample.as_secs_f64() / time.as_secs_f64();
            return Some((wanted.ceil() as usize).max(1));
        }
        repetitions *= 4;
    }
}

/// The contenders' order in a round: each round begins with a different one.
pub fn turns(count: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |turn| (turn + 5 * round) % count)
}
