//! The cases of W2 for criterion: `cargo bench`, or `cargo bench -- 'physics/'`. All in one process, including new +
//! fill + drop: for that row only the program `w2` is accurate.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use criterion::{BenchmarkId, Criterion, Throughput};
use std::time::Duration;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(15)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(300))
        .configure_from_args();
    let all = w2::all();
    let mut place = Vec::new();
    for entries in &all {
        let mut group = criterion.benchmark_group(entries[0].case);
        group.throughput(Throughput::Elements(entries[0].operations as u64));
        for entry in entries {
            let Ok(run) = entry.run else { continue };
            group.bench_function(BenchmarkId::from_parameter(entry.contender), |bencher| {
                bencher.iter_custom(|batches| {
                    let outcome = run(batches as usize, &mut place);
                    assert!(outcome.verified, "{}, {}: wrong results", entry.case, entry.contender);
                    outcome.time
                });
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
