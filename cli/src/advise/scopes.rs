//! Functions whose calls could open an arena.
//!
//! A call captures an object that is allocated within it and freed before it returns. An instance of a scope is a call of
//! its function, outermost if recursive; it also ends where none of its objects is live, since calls that follow each other at one
//! place of the stack look like one call.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::lifetimes::{Lifetimes, NONE, NO_OWNER};
use super::recording::Recording;
use crate::advice::Spread;
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};

/// Counts of objects with equal site, site of the free, and owner.
pub struct Group {
    pub site: u32,
    pub freed: u32,
    pub owner: u16,
    pub count: u64,
    pub bytes: u64,
}

pub fn groups(lifetimes: &Lifetimes) -> Vec<Group> {
    let mut found: FxHashMap<(u32, u32, u16), (u64, u64)> = FxHashMap::default();
    for o in &lifetimes.objects {
        let sum = found.entry((o.site, o.freed, o.owner)).or_default();
        sum.0 += 1;
        sum.1 += u64::from(o.size);
    }
    let mut groups: Vec<_> = found
        .into_iter()
        .map(|((site, freed, owner), (count, bytes))| Group { site, freed, owner, count, bytes })
        .collect();
    groups.sort_unstable_by_key(|g| (std::cmp::Reverse(g.bytes), g.site, g.freed, g.owner));
    groups
}

/// Captured and escaped objects of a function.
#[derive(Clone, Default)]
pub struct Candidate {
    pub function: u64,
    pub captured: u64,
    pub escaped: u64,
    /// Of captured objects.
    bytes: u64,
    /// The sum of the hashes of the captured groups: equal for functions that capture the same objects.
    objects: u64,
    /// The smallest index of its frame in a stack.
    depth: usize,
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hash = rustc_hash::FxHasher::default();
    value.hash(&mut hash);
    hash.finish()
}

/// The index of the outermost call of a function in each site's stack, or `NO_OWNER`.
pub fn outermost(recording: &Recording, function: u64) -> Vec<u16> {
    let of = |stack: &Vec<u32>| stack.iter().rposition(|&n| recording.nodes[n as usize].function == function);
    recording.sites.iter().map(|site| of(&site.stack).map_or(NO_OWNER, |i| i as u16)).collect()
}

/// The functions that capture at least 2 % of the objects or bytes, by the larger share; of functions that capture the same
/// objects the innermost.
pub fn candidates(recording: &Recording, groups: &[Group]) -> Vec<Candidate> {
    let all = groups.iter().fold((0, 0), |(count, bytes), g| (count + g.count, bytes + g.bytes));
    let permille = |part: u64, all: u64| (u128::from(part) * 1000 / u128::from(all.max(1))) as u64;
    let share = |c: &Candidate| permille(c.captured, all.0).max(permille(c.bytes, all.1));
    let mut found: FxHashMap<u64, Candidate> = FxHashMap::default();
    let mut seen: FxHashMap<u64, usize> = FxHashMap::default();
    for g in groups {
        seen.clear();
        for (i, &n) in recording.sites[g.site as usize].stack.iter().enumerate() {
            let function = recording.nodes[n as usize].function;
            if function != 0 {
                seen.insert(function, i);
            }
        }
        for (&function, &i) in &seen {
            let c = found.entry(function).or_insert(Candidate { function, depth: usize::MAX, ..Candidate::default() });
            c.depth = c.depth.min(i);
            if g.owner != NO_OWNER && usize::from(g.owner) <= i {
                c.captured += g.count;
                c.bytes += g.bytes;
                c.objects = c.objects.wrapping_add(hash_of(&(g.site, g.freed, g.owner)));
            } else {
                c.escaped += g.count;
            }
        }
    }
    let mut candidates: Vec<_> = found.into_values().filter(|c| c.captured > 0 && share(c) >= 20).collect();
    candidates.sort_unstable_by_key(|c| {
        (std::cmp::Reverse((share(c), c.captured)), c.objects, c.escaped, c.depth, c.function)
    });
    candidates.dedup_by_key(|c| (c.captured, c.objects));
    candidates
}

/// The effects of a scope.
pub struct Instances {
    pub count: u64,
    pub objects: Spread,
    pub bytes: Spread,
    /// The 95th of 100 instances by bytes.
    pub bytes_p95: u64,
    /// The most bytes of captured objects that malloc has live at once.
    pub peak_malloc: u64,
    pub captured: u64,
}

fn spread(values: &mut [u64]) -> Spread {
    values.sort_unstable();
    match values.len() {
        0 => Spread::default(),
        n => Spread { median: values[n / 2], p99: values[n * 99 / 100], max: values[n - 1] },
    }
}

struct Current {
    /// Address of the frame; 0: no instance.
    cfa: u64,
    number: u32,
    live: u64,
}

/// The sites whose objects a scope puts into its arena: those of code paths, from the scope's function to the allocation, that
/// let at most 1 % of their objects escape. Code cannot treat objects of one path differently by how long they will live.
pub fn arena_sites(recording: &Recording, groups: &[Group], at: &[u16]) -> Vec<bool> {
    let path = |site: u32| {
        let stack = &recording.sites[site as usize].stack[..=usize::from(at[site as usize])];
        hash_of(&stack.iter().map(|&n| recording.nodes[n as usize].ip).collect::<Vec<_>>())
    };
    let mut counts: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
    for g in groups.iter().filter(|g| at[g.site as usize] != NO_OWNER) {
        let sum = counts.entry(path(g.site)).or_default();
        sum.0 += g.count;
        if g.owner == NO_OWNER || g.owner > at[g.site as usize] {
            sum.1 += g.count;
        }
    }
    (0..at.len() as u32)
        .map(|site| {
            at[site as usize] != NO_OWNER && counts.get(&path(site)).is_some_and(|&(all, escaped)| escaped * 100 <= all)
        })
        .collect()
}

pub fn instances(recording: &Recording, lifetimes: &Lifetimes, at: &[u16], in_arena: &[bool]) -> Instances {
    // Of each object the number of its instance, from 1; 0: not in the arena.
    let mut of = vec![0u32; lifetimes.objects.len()];
    let (mut bytes, mut objects): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    let (mut live_bytes, mut peak, mut captured) = (0u64, 0u64, 0u64);
    let mut current: Vec<Current> = Vec::new();
    current.resize_with(recording.threads.len(), || Current { cfa: 0, number: 0, live: 0 });
    let end = |c: &mut Current, of: &[u32], object: u32, live_bytes: &mut u64| {
        let number = of[object as usize];
        if number == 0 {
            return;
        }
        *live_bytes -= u64::from(lifetimes.objects[object as usize].size);
        if number == c.number {
            c.live -= 1;
            if c.live == 0 {
                c.cfa = 0;
            }
        }
    };
    for step in &lifetimes.steps {
        let c = &mut current[usize::from(step.thread)];
        let sp = recording.sites.get(step.site as usize).map_or(0, |s| s.sp);
        if c.cfa != 0 && sp >= c.cfa {
            c.cfa = 0;
        }
        if step.object == NONE {
            end(c, &of, step.old, &mut live_bytes);
            continue;
        }
        let o = &lifetimes.objects[step.object as usize];
        let index = at[o.site as usize];
        if in_arena[o.site as usize] && o.owner != NO_OWNER && o.owner <= index {
            let frame = recording.sites[o.site as usize].stack[usize::from(index)];
            if c.cfa == 0 {
                bytes.push(0);
                objects.push(0);
                let cfa = recording.nodes[frame as usize].cfa;
                *c = Current { cfa: if cfa == 0 { u64::MAX } else { cfa }, number: bytes.len() as u32, live: 0 };
            }
            of[step.object as usize] = c.number;
            c.live += 1;
            captured += 1;
            live_bytes += u64::from(o.size);
            peak = peak.max(live_bytes);
            let number = c.number as usize - 1;
            bytes[number] += u64::from(o.size.div_ceil(16)) * 16;
            objects[number] += 1;
        }
        if step.old != NONE {
            end(c, &of, step.old, &mut live_bytes);
        }
    }
    let count = bytes.len() as u64;
    let bytes_spread = spread(&mut bytes);
    Instances {
        count,
        objects: spread(&mut objects),
        bytes: bytes_spread,
        bytes_p95: bytes.get(bytes.len() * 95 / 100).copied().unwrap_or(0),
        peak_malloc: peak,
        captured,
    }
}
