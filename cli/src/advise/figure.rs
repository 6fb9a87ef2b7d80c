//! Intervals of what is measured in several runs.
// SPDX-License-Identifier: MIT OR Apache-2.0

pub use crate::advice::{Figure, LEAST_RUNS};
use std::cmp::Ordering;

const CONFIDENCE: f64 = 0.95;

/// How many of the sorted values are below an interval that contains the median with 95 % confidence, and as many above. The
/// number of values below the median has a binomial distribution, whatever that of the values is.
fn outside(runs: usize) -> usize {
    let mut probability = 0.5f64.powi(runs.min(1000) as i32);
    let (mut sum, mut count) = (probability, 0);
    while count + 1 < runs / 2 {
        probability *= (runs - count) as f64 / (count + 1) as f64;
        sum += probability;
        if 1.0 - 2.0 * sum < CONFIDENCE {
            break;
        }
        count += 1;
    }
    count
}

/// The median of the values and its interval: from one of them to another, by their order. Fewer than `LEAST_RUNS` values: from the
/// least to the largest.
pub fn of(mut values: Vec<f64>) -> Figure {
    values.sort_unstable_by(f64::total_cmp);
    let (n, k) = (values.len(), outside(values.len()));
    if n == 0 {
        return Figure::default();
    }
    let median = (values[(n - 1) / 2] + values[n / 2]) / 2.0;
    Figure { median, low: values[k], high: values[n - 1 - k], runs: n as u32 }
}

/// The order of the ways of one kind, up to the best: those that were left out after fewer runs are worse.
fn rank(a: &Figure, b: &Figure) -> Ordering {
    a.runs.cmp(&b.runs).then(a.median.total_cmp(&b.median))
}

/// The best way of one kind: by `rank`, but if that certainly saves less than the threshold, the one that may save most.
pub fn best<T>(ways: Vec<(T, Figure)>, threshold: f64) -> Option<(T, Figure)> {
    let first = ways.iter().map(|(_, f)| f).max_by(|a, b| rank(a, b))?;
    let may_save = |f: &Figure| f.high >= threshold;
    let by_rank = may_save(first) || !ways.iter().any(|(_, f)| may_save(f));
    ways.into_iter().max_by(|(_, a), (_, b)| if by_rank { rank(a, b) } else { a.high.total_cmp(&b.high) })
}

pub fn median(values: Vec<f64>) -> f64 {
    of(values).median
}

/// Where an interval is from a threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Below,
    Above,
    /// The interval contains it, or there are too few runs.
    Unknown,
}

pub fn side(figure: &Figure, threshold: f64) -> Side {
    if !figure.has_interval() {
        Side::Unknown
    } else if figure.high < threshold {
        Side::Below
    } else if figure.low > threshold {
        Side::Above
    } else {
        Side::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_has_the_ranks_of_the_binomial_distribution() {
        // The tables of the sign test: for 95 %, ranks from 1 with 6 to 8 values, from 2 with 9 to 11, from 3 with 12 to 14.
        for (runs, below) in [(1, 0), (6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (14, 2), (20, 5), (100, 39)] {
            assert_eq!(outside(runs), below, "{runs}");
        }
        let figure = of((1..=12).rev().map(f64::from).collect());
        assert_eq!((figure.low, figure.median, figure.high, figure.runs), (3.0, 6.5, 10.0, 12));
        assert_eq!(of(Vec::new()).runs, 0);
    }

    #[test]
    fn a_way_that_may_save_enough_is_not_hidden_by_a_better_median() {
        let narrow = of(vec![0.01; 9]);
        let wide = of((0..9).map(|i| f64::from(i - 4) / 50.0).collect());
        let name = |ways: &[(&'static str, Figure)]| best(ways.to_vec(), 0.03).unwrap().0;
        assert_eq!(name(&[("narrow", narrow), ("wide", wide)]), "wide");
        assert_eq!(name(&[("wide", wide), ("enough", of(vec![0.04; 9]))]), "enough");
    }

    #[test]
    fn an_interval_that_contains_the_threshold_decides_nothing() {
        let around = of(vec![0.01, 0.02, 0.05, 0.06, 0.04, 0.03]);
        assert_eq!(side(&around, 0.03), Side::Unknown);
        assert_eq!(side(&of(vec![0.04; 6]), 0.03), Side::Above);
        assert_eq!(side(&of(vec![0.02; 6]), 0.03), Side::Below);
        assert_eq!(side(&of(vec![0.04; 5]), 0.03), Side::Unknown);
    }
}
