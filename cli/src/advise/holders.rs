//! What is live at the peak, what only grows, and objects that end before their thread allocates again.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{
    lifetimes::{Lifetimes, Step, NONE, PARTS},
    recording::{self, Recording},
    symbols::Symbols,
};
use crate::advice::Site;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::hash::{BuildHasher, RandomState};

const GROWING_KEPT: usize = 10;

/// Objects and bytes of a site of the recording.
pub type Sum = (u32, u64, u64);

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

/// By sites.
pub fn at_peak(lifetimes: &Lifetimes) -> Vec<Sum> {
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

/// Code paths that have more live bytes at the end of each quarter of the run than at that of the quarter before, by those at
/// the end of the run.
pub fn growing(recording: &Recording, lifetimes: &Lifetimes, symbols: &mut Symbols) -> Vec<Site> {
    let state = RandomState::new();
    let ip = |&node: &u32| recording.nodes[node as usize].ip;
    // By hashes: the paths themselves may take more memory than the recording.
    let hash = |site: &recording::Site| state.hash_one(site.stack.iter().map(ip).collect::<Vec<_>>());
    let mut firsts: FxHashMap<u64, usize> = FxHashMap::default();
    let sites = recording.sites.iter().map(hash).enumerate();
    let paths: Vec<usize> = sites.map(|(site, path)| *firsts.entry(path).or_insert(site)).collect();
    // Of each path the objects, the bytes, those at the end of the quarter before, and whether they grow.
    let mut live = vec![(0i64, 0i64, 0, true); paths.len()];
    let (steps, mut begin) = (&lifetimes.steps, 0);
    let before = |part: usize| lifetimes.curve.get(part).map_or(steps.len(), |(_, before)| *before);
    for end in [before(PARTS / 4), before(PARTS / 2), before(PARTS / 4 * 3), steps.len()] {
        for (object, sign) in steps[begin..end].iter().flat_map(|step| [(step.object, 1), (step.old, -1)]) {
            if let Some(of) = lifetimes.objects.get(object as usize) {
                let at = &mut live[paths[of.site as usize]];
                (at.0, at.1) = (at.0 + sign, at.1 + sign * i64::from(of.size));
            }
        }
        live.iter_mut().for_each(|at| (at.2, at.3) = (at.1, at.3 && at.1 > at.2));
        begin = end;
    }
    let mut found: Vec<_> = live.iter().zip(&recording.sites).filter(|(at, _)| at.3).collect();
    found.sort_by_key(|(at, _)| Reverse(at.1));
    let site = |(at, site): (&(i64, i64, i64, bool), &recording::Site)| {
        let stack = site.stack.iter().flat_map(|node| symbols.calls(ip(node)).to_vec()).collect();
        Site { count: at.0 as u64, bytes: at.1 as u64, stack }
    };
    found.into_iter().take(GROWING_KEPT).map(site).collect()
}

pub fn temporary(lifetimes: &Lifetimes) -> Vec<Sum> {
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
        assert_eq!(at_peak(&lifetimes(&[100, 20, 3, 60, 3], &steps)), [(1, 1, 100), (2, 1, 20), (3, 1, 3)]);
    }

    #[test]
    fn what_grows_in_each_quarter_is_found() {
        let recording = Recording::of(&[&[1], &[2], &[1], &[4], &[5]]);
        // The first and the third site have the same path, which grows; the others end, or have a pause.
        let steps = [(0, 1), (0, 2), (0, 4), (0, 5), (0, 3), (0, -2), (0, 6), (0, 7), (0, -1), (0, 8), (0, 9)];
        let mut of = lifetimes(&[10, 20, 15, 5, 1, 30, 9, 40, 2], &steps);
        for (object, site) in [1, 2, 3, 4, 5, 1, 5, 3, 5].into_iter().enumerate() {
            of.objects[object].site = site;
        }
        let quarters = [0, 4, 6, 8].into_iter();
        of.curve = quarters.flat_map(|before| [(0, before); PARTS / 4]).collect();
        let found = growing(&recording, &of, &mut Symbols::new(&[]));
        assert_eq!(found.iter().map(|site| (site.count, site.bytes)).collect::<Vec<_>>(), [(3, 85)]);
        assert_eq!(found[0].stack[0].offset, Some(16));
    }

    #[test]
    fn a_realloc_ends_an_object_and_begins_another() {
        let mut of = lifetimes(&[100, 200], &[(0, 1), (0, 2)]);
        of.steps[1].old = 0;
        assert_eq!((at_peak(&of), temporary(&of)), (vec![(2, 1, 200)], vec![]));
    }

    #[test]
    fn an_object_is_temporary_if_its_thread_allocates_nothing_before_its_end() {
        let steps = [(0, 1), (1, 2), (0, -1), (1, 3), (1, -2), (1, -3), (0, 4), (0, -4)];
        assert_eq!(temporary(&lifetimes(&[1, 2, 3, 4], &steps)), [(1, 1, 1), (3, 1, 3), (4, 1, 4)]);
    }
}
