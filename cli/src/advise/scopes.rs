//! Functions whose calls could open an arena.
//!
//! A call captures an object that is allocated within it and freed before it returns. An instance of a scope is a call of
//! its function, outermost if recursive, or the part of a call between two resets of the arena.
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

/// The least part of the program's objects or bytes that a scope is proposed for, in thousandths.
const LEAST_SHARE: u64 = 20;

fn permille(part: u64, all: u64) -> u64 {
    (u128::from(part) * 1000 / u128::from(all.max(1))) as u64
}

pub fn is_worth(part: u64, all: u64) -> bool {
    part > 0 && permille(part, all) >= LEAST_SHARE
}

/// The functions that capture at least 2 % of the objects or bytes, by the larger share; of functions that capture the same
/// objects the innermost.
pub fn candidates(recording: &Recording, groups: &[Group]) -> Vec<Candidate> {
    let all = groups.iter().fold((0, 0), |(count, bytes), g| (count + g.count, bytes + g.bytes));
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
    let mut candidates: Vec<_> = found.into_values().filter(|c| c.captured > 0 && share(c) >= LEAST_SHARE).collect();
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

/// Where an arena is reset.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Resets {
    /// Nowhere: it lasts as long as the process.
    #[default]
    Never,
    /// Where the scope's call ends, and where at most `live` of its objects are left after at least `freed` frees.
    At { live: u64, freed: u64 },
}

impl Resets {
    /// Where the call ends, or nothing is live: calls that follow each other at one place of the stack look like one call.
    pub const CALLS: Resets = Resets::At { live: 0, freed: 0 };
}

/// The ends of generations.
#[derive(Default)]
pub struct Ends {
    /// The calls of the scope, as far as the stack distinguishes them.
    pub calls: u64,
    /// The site of the last free before each end.
    pub sites: Vec<u32>,
    /// The fewest frees of a generation.
    pub freed: u64,
    /// Of each end the objects that live on.
    pub live: Vec<u64>,
    /// Of each site the objects that were live at an end, and the number of the ends.
    pub survivors: FxHashMap<u32, (u64, u64)>,
}

impl Ends {
    pub fn resets(&self) -> Resets {
        let mut live = self.live.clone();
        live.sort_unstable();
        Resets::At { live: live.get(live.len() * 9 / 10).copied().unwrap_or(0), freed: self.freed / 2 }
    }
}

/// The objects of a scope.
#[derive(Clone, Default)]
pub struct ScopeObjects {
    /// Of each site of the recording the index of the scope's function in the stack, or `NO_OWNER`.
    pub at: Vec<u16>,
    /// Whether its objects are in the arena.
    pub in_arena: Vec<bool>,
    pub resets: Resets,
}

/// The objects of a code path, from the scope's function to the allocation.
#[derive(Clone, Copy, Default)]
struct Path {
    objects: u64,
    bytes: u64,
    /// Objects that the scope does not capture.
    escaped: u64,
    /// Bytes of objects that are never freed.
    kept: u64,
}

impl Path {
    /// At most one object in a hundred lives longer than the arena.
    fn is_captured(&self) -> bool {
        self.escaped * 100 <= self.objects
    }

    /// Most of its bytes last as long as the process.
    fn is_kept(&self) -> bool {
        self.kept * 2 >= self.bytes
    }
}

/// The scopes of a function. Code cannot treat objects of one path differently by how long they will live, so that all objects of
/// a path are in the arena or none.
#[derive(Clone)]
pub struct Paths {
    at: Vec<u16>,
    /// Of each site.
    path: Vec<u64>,
    sums: FxHashMap<u64, Path>,
}

impl Paths {
    pub fn new(recording: &Recording, groups: &[Group], function: u64) -> Paths {
        let at = outermost(recording, function);
        let path = |(site, &at): (usize, &u16)| {
            let stack = recording.sites[site].stack.iter().take(if at == NO_OWNER { 0 } else { usize::from(at) + 1 });
            hash_of(&stack.map(|&n| recording.nodes[n as usize].ip).collect::<Vec<_>>())
        };
        let path: Vec<u64> = at.iter().enumerate().map(path).collect();
        let mut sums: FxHashMap<u64, Path> = FxHashMap::default();
        for g in groups.iter().filter(|g| at[g.site as usize] != NO_OWNER) {
            let sum = sums.entry(path[g.site as usize]).or_default();
            sum.objects += g.count;
            sum.bytes += g.bytes;
            sum.escaped += if is_captured(&at, g.site, g.owner) { 0 } else { g.count };
            sum.kept += if g.freed == 0 { g.bytes } else { 0 };
        }
        Paths { at, path, sums }
    }

    /// Whether each call is the outermost one of its thread.
    pub fn are_whole(&self, recording: &Recording) -> bool {
        let is_last =
            |(site, &at): (usize, &u16)| at == NO_OWNER || usize::from(at) + 1 == recording.sites[site].stack.len();
        self.at.iter().enumerate().all(is_last)
    }

    fn of(&self, resets: Resets, is_in_arena: impl Fn(&Path) -> bool) -> ScopeObjects {
        let unseen = Path::default(); // of sites that free only
        let site = |(&at, path): (&u16, &u64)| at != NO_OWNER && is_in_arena(self.sums.get(path).unwrap_or(&unseen));
        ScopeObjects { at: self.at.clone(), in_arena: self.at.iter().zip(&self.path).map(site).collect(), resets }
    }

    /// An arena for each call.
    pub fn calls(&self) -> ScopeObjects {
        self.of(Resets::CALLS, Path::is_captured)
    }

    /// Leaves out the paths with more than one object in a hundred, or with objects of more than one in `least` of the generations,
    /// that live on. Returns whether there are some.
    pub fn leave_out(&mut self, ends: &Ends, least: u64) -> bool {
        let mut sums: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
        for (&site, &(objects, ends)) in &ends.survivors {
            let sum = sums.entry(self.path[site as usize]).or_default();
            *sum = (sum.0 + objects, sum.1 + ends);
        }
        sums.retain(|path, &mut (objects, of)| {
            objects * 100 > self.sums[path].objects || of * least > ends.sites.len() as u64
        });
        for path in sums.keys() {
            self.sums.entry(*path).and_modify(|sum| sum.escaped = sum.objects);
        }
        !sums.is_empty()
    }

    /// An arena that lasts as long as the process: of all objects, or of those that are never freed.
    pub fn process(&self, only_kept: bool) -> ScopeObjects {
        self.of(Resets::Never, |path| !only_kept || path.is_kept())
    }
}

fn is_captured(at: &[u16], site: u32, owner: u16) -> bool {
    owner != NO_OWNER && owner <= at[site as usize]
}

impl ScopeObjects {
    /// Whether objects of that site and owner are in the arena, and end before it does.
    pub fn holds(&self, site: u32, owner: u16) -> bool {
        self.in_arena[site as usize] && (self.resets == Resets::Never || is_captured(&self.at, site, owner))
    }

    /// The address of the frame of the call that has the object in its arena.
    pub fn frame(&self, recording: &Recording, lifetimes: &Lifetimes, object: u32) -> Option<u64> {
        let o = &lifetimes.objects[object as usize];
        let stack = &recording.sites[o.site as usize].stack;
        let cfa = |&at: &u16| recording.nodes[stack[usize::from(at)] as usize].cfa;
        let cfa = self.holds(o.site, o.owner).then(|| cfa(&self.at[o.site as usize]))?;
        Some(if cfa == 0 || self.resets == Resets::Never { u64::MAX } else { cfa })
    }
}

#[derive(Clone, Copy, Default)]
struct Current {
    /// Address of the frame; 0: no instance.
    cfa: u64,
    number: u32,
    live: u64,
    freed: u64,
}

pub fn instances(recording: &Recording, lifetimes: &Lifetimes, scope: &ScopeObjects) -> Instances {
    // Of each object the number of its instance, from 1; 0: not in the arena.
    let mut of = vec![0u32; lifetimes.objects.len()];
    let (mut bytes, mut objects): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    let (mut live_bytes, mut peak, mut captured) = (0u64, 0u64, 0u64);
    let mut current = vec![Current::default(); recording.threads.len()];
    for step in &lifetimes.steps {
        let c = &mut current[usize::from(step.thread)];
        let sp = recording.sites.get(step.site as usize).map_or(0, |s| s.sp);
        if sp >= c.cfa {
            c.cfa = 0;
        }
        let number = if step.old != NONE { of[step.old as usize] } else { 0 };
        if number != 0 {
            live_bytes -= u64::from(lifetimes.objects[step.old as usize].size); // realloc: before the new object
        }
        if step.object != NONE
            && let Some(cfa) = scope.frame(recording, lifetimes, step.object)
        {
            if c.cfa == 0 {
                bytes.push(0);
                objects.push(0);
                *c = Current { cfa, number: bytes.len() as u32, ..Current::default() };
            }
            let size = u64::from(lifetimes.objects[step.object as usize].size);
            of[step.object as usize] = c.number;
            c.live += 1;
            captured += 1;
            live_bytes += size;
            peak = peak.max(live_bytes);
            let number = c.number as usize - 1;
            bytes[number] += size.div_ceil(16) * 16;
            objects[number] += 1;
        }
        if number != 0 && number == c.number {
            (c.live, c.freed) = (c.live - 1, c.freed + 1);
            if let Resets::At { live, freed } = scope.resets
                && c.live <= live
                && c.freed >= freed
            {
                c.cfa = 0;
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: u64 = 1;

    fn group(site: u32, count: u64, owner: u16) -> Group {
        Group { site, freed: 1, owner, count, bytes: count * 16 }
    }

    #[test]
    fn one_object_in_a_hundred_may_escape() {
        let recording = Recording::of(&[&[2, MAIN]]);
        for (escaped, is_in_arena) in [(1, true), (2, false)] {
            let groups = [group(1, 100 - escaped, 1), group(1, escaped, NO_OWNER)];
            let paths = Paths::new(&recording, &groups, MAIN);
            assert_eq!(paths.calls().holds(1, 1), is_in_arena, "{escaped}");
            assert!(paths.process(false).holds(1, NO_OWNER), "an arena of the process outlives all");
        }
    }

    #[test]
    fn few_objects_outlive_few_generations() {
        let recording = Recording::of(&[&[2, MAIN]]);
        // The number of 1,000 objects that live on, and of 40 generations.
        for (objects, after, stays) in [(10, 2, true), (11, 2, false), (10, 3, false)] {
            let mut paths = Paths::new(&recording, &[group(1, 1000, 1)], MAIN);
            let ends = Ends {
                sites: vec![1; 40],
                survivors: [(1, (objects, after))].into_iter().collect(),
                ..Ends::default()
            };
            assert_eq!(paths.leave_out(&ends, 20), !stays, "{objects} {after}");
            assert_eq!(paths.calls().holds(1, 1), stays, "{objects} {after}");
        }
    }

    #[test]
    fn the_object_before_a_realloc_is_no_part_of_the_peak() {
        let (recording, mut all) = (Recording::of(&[&[2, MAIN]]), Lifetimes::default());
        let old = all.begin(&recording, 1, 100);
        all.begin(&recording, 1, 150);
        all.steps.last_mut().unwrap().old = old;
        let scope = Paths::new(&recording, &groups(&all), MAIN).calls();
        assert_eq!(instances(&recording, &all, &scope).peak_malloc, 150);
    }

    #[test]
    fn most_bytes_of_a_kept_path_are_never_freed() {
        let recording = Recording::of(&[&[2, MAIN]]);
        for (kept, is_in_arena) in [(50, true), (49, false)] {
            let groups = [group(1, 100 - kept, 1), Group { freed: 0, ..group(1, kept, 1) }];
            assert_eq!(Paths::new(&recording, &groups, MAIN).process(true).holds(1, 1), is_in_arena, "{kept}");
        }
    }

    #[test]
    fn two_percent_are_worth_a_scope() {
        assert!(is_worth(20, 1000) && !is_worth(19, 1000) && !is_worth(0, 0));
    }

    #[test]
    fn the_outermost_call_is_that_of_each_stack() {
        let recording = Recording::of(&[&[2, MAIN], &[3, MAIN]]);
        let groups = [group(1, 1, 0), group(2, 1, 0)];
        assert!(Paths::new(&recording, &groups, MAIN).are_whole(&recording));
        assert!(!Paths::new(&recording, &groups, 2).are_whole(&recording));
    }
}
