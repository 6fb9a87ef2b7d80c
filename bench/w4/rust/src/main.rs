//! Measures W4 and prints a row for each case and contender, as JSON.
//!
//!     w4 [--quick] [--part K/M] [--only PATTERN] [--contender PATTERN]
//!
//! In a PATTERN a star matches anything: `--only 'pool80 iterate*'`. --part: every M-th case from the K-th on, where K
//! is 0 to M - 1. Each round samples every contender once in each case, beginning with a different one.
//!
//! The adapters of contenders are always inlined, so that they cost nothing.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

mod contenders;
#[cfg(feature = "generational-arena")]
mod generational_arena;
#[cfg(feature = "hashbrown")]
mod hashbrown;
mod hashes;
mod heap;
#[cfg(feature = "indexset")]
mod indexset;
mod measure;
mod ordered;
mod payload;
mod pools;
mod random;
mod sequences;
mod sets;
#[cfg(feature = "slab")]
mod slab;
#[cfg(feature = "slotmap")]
mod slotmap;
mod standard;
#[cfg(feature = "thunderdome")]
mod thunderdome;
#[cfg(feature = "toft")]
mod toft;

use contenders::All;
use measure::Effort;
use std::process::ExitCode;
use std::time::Duration;

#[global_allocator]
static HEAP: heap::Heap = heap::Heap;

const FULL: Effort = Effort { rounds: 15, sample: Duration::from_millis(1), case: Duration::from_secs(15) };
const QUICK: Effort = Effort { rounds: 7, sample: Duration::from_micros(300), case: Duration::from_millis(250) };

/// Whether a name matches a pattern, whose stars match anything.
fn is_like(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((begin, rest)) => name
            .strip_prefix(begin)
            .is_some_and(|name| (0..=name.len()).any(|at| name.is_char_boundary(at) && is_like(&name[at..], rest))),
    }
}

fn part_of(said: &str) -> Option<(usize, usize)> {
    let (k, m) = said.split_once('/')?;
    let (k, m) = (k.parse().ok()?, m.parse().ok()?);
    (k < m).then_some((k, m))
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut quick, mut only, mut contender, mut part) = (false, None, None, Some((0, 1)));
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => quick = true,
            "--only" => only = arguments.next(),
            "--contender" => contender = arguments.next(),
            "--part" => part = arguments.next().and_then(|said| part_of(&said)),
            _ => part = None,
        }
    }
    let Some((k, m)) = part else {
        eprintln!("w4 [--quick] [--part K/M] [--only PATTERN] [--contender PATTERN]");
        return ExitCode::from(2);
    };
    let (effort, large) = if quick { (QUICK, 10_000) } else { (FULL, 100_000) };
    let mut cases = sequences::cases::<All>(large, 10);
    cases.extend(sets::cases::<All>(large, 10));
    cases.extend(pools::cases::<All>(large));
    cases.extend(ordered::cases::<All>([large, 10 * large]));
    cases.extend(hashes::cases::<All>(10 * large));
    let is_selected = |name: &str, pattern: &Option<String>| {
        name.is_empty() || pattern.as_ref().is_none_or(|pattern| is_like(name, pattern))
    };
    let mut right = true;
    for (order, case) in cases.iter().enumerate().filter(|(order, _)| order % m == k) {
        let selected = |row: &str, who: &str| is_selected(row, &only) && is_selected(who, &contender);
        right &= measure::measure(case, order, effort, selected);
    }
    ExitCode::from(u8::from(!right))
}
