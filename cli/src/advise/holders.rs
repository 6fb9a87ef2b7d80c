//! What is live where the program's live bytes are most, and objects that end before their thread allocates again.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::lifetimes::{Lifetimes, Step, NONE};

/// Objects and bytes of a site of the recording.
pub type Sum = (u32, u64, u64);

/// By sites.
pub struct Holders {
    pub at_peak: Vec<Sum>,
    pub temporary: Vec<Sum>,
}

impl Holders {
    pub fn of(lifetimes: &Lifetimes) -> Holders {
        Holders { at_peak: at_peak(lifetimes), temporary: temporary(lifetimes) }
    }
}

fn size(lifetimes: &Lifetimes, object: u32) -> u64 {
    lifetimes.objects.get(object as usize).map_or(0, |o| u64::from(o.size))
}

/// Sums of objects by site, in the order of the sites.
fn sums(lifetimes: &Lifetimes, objects: impl Iterator<Item = u32>) -> Vec<Sum> {
    let sites = lifetimes.objects.iter().map(|o| o.site as usize + 1).max().unwrap_or(0);
    let mut sums = vec![(0, 0); sites];
    for object in objects {
        let o = &lifetimes.objects[object as usize];
        let sum: &mut (u64, u64) = &mut sums[o.site as usize];
        (sum.0, sum.1) = (sum.0 + 1, sum.1 + u64::from(o.size));
    }
    let all = sums.into_iter().enumerate();
    all.filter(|(_, (count, _))| *count != 0).map(|(site, (count, bytes))| (site as u32, count, bytes)).collect()
}

fn at_peak(lifetimes: &Lifetimes) -> Vec<Sum> {
    let (mut live, mut most, mut end) = (0, 0, 0);
    for (i, step) in lifetimes.steps.iter().enumerate() {
        live = live + size(lifetimes, step.object) - size(lifetimes, step.old);
        if live > most {
            (most, end) = (live, i + 1);
        }
    }
    let mut is_live = vec![false; lifetimes.objects.len()];
    for step in &lifetimes.steps[..end] {
        for (object, begins) in [(step.object, true), (step.old, false)] {
            if object != NONE {
                is_live[object as usize] = begins;
            }
        }
    }
    sums(lifetimes, (0..is_live.len() as u32).filter(|&object| is_live[object as usize]))
}

fn temporary(lifetimes: &Lifetimes) -> Vec<Sum> {
    let mut newest: Vec<u32> = Vec::new();
    let mut is_temporary = |step: &Step| {
        let thread = usize::from(step.thread);
        newest.resize(newest.len().max(thread + 1), NONE);
        let is_newest = step.object == NONE && step.old == newest[thread];
        if step.object != NONE || is_newest {
            newest[thread] = step.object;
        }
        is_newest
    };
    let ended = lifetimes.steps.iter().filter(|step| is_temporary(step)).map(|step| step.old);
    sums(lifetimes, ended)
}

#[cfg(test)]
mod tests {
    use super::super::lifetimes::{Object, NO_OWNER};
    use super::*;

    /// Steps of objects: positive numbers begin, negative ones end, from 1. The site of an object is its number.
    fn lifetimes(sizes: &[u32], steps: &[(u16, i32)]) -> Lifetimes {
        let object =
            |(i, &size): (usize, &u32)| Object { size, site: i as u32 + 1, freed: 0, owner: NO_OWNER, dead: false };
        let step = |&(thread, n): &(u16, i32)| match n {
            1.. => Step { thread, object: n as u32 - 1, old: NONE, site: 0 },
            _ => Step { thread, object: NONE, old: (-n) as u32 - 1, site: 0 },
        };
        Lifetimes {
            objects: sizes.iter().enumerate().map(object).collect(),
            steps: steps.iter().map(step).collect(),
            ..Lifetimes::default()
        }
    }

    #[test]
    fn the_first_moment_with_most_bytes_is_the_peak() {
        let steps = [(0, 1), (0, 2), (1, 3), (0, -1), (1, 4), (0, -3), (0, 5)];
        let found = Holders::of(&lifetimes(&[100, 20, 3, 60, 3], &steps));
        assert_eq!(found.at_peak, [(1, 1, 100), (2, 1, 20), (3, 1, 3)]);
    }

    #[test]
    fn a_realloc_ends_an_object_and_begins_another() {
        let mut of = lifetimes(&[100, 200], &[(0, 1), (0, 2)]);
        of.steps[1].old = 0;
        let found = Holders::of(&of);
        assert_eq!((found.at_peak, found.temporary), (vec![(2, 1, 200)], vec![]));
    }

    #[test]
    fn an_object_is_temporary_if_its_thread_allocates_nothing_before_its_end() {
        let steps = [(0, 1), (1, 2), (0, -1), (1, 3), (1, -2), (1, -3), (0, 4), (0, -4)];
        let found = Holders::of(&lifetimes(&[1, 2, 3, 4], &steps));
        assert_eq!(found.temporary, [(1, 1, 1), (3, 1, 3), (4, 1, 4)]);
    }
}
