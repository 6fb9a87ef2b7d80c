//! Scopes that an arena could serve: their functions, objects and sites, from the recording.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{
    generations::{self, Basis},
    holders::{self, Sum},
    lifetimes::{Lifetimes, NO_OWNER},
    recipes,
    recording::Recording,
    scopes::{self, Candidate, Ends, Group, Instances, Paths, ScopeObjects},
    symbols::Symbols,
};
use crate::advice::{Escape, Recipe, Scope, Site};
use crate::frame::Frame;
use rustc_hash::FxHashMap;

const SCOPES_STUDIED: usize = 8;
const SITES_SHOWN: usize = 8;
const SITES_KEPT: usize = 2000;
const HOLDERS_KEPT: usize = 50;

/// The code paths of an object's allocation and of its free.
type Lives = (Vec<u64>, Vec<u64>);

pub struct Study<'a> {
    pub recording: &'a Recording,
    pub lifetimes: &'a Lifetimes,
}

/// Call sites with their whole stacks.
pub struct Sites {
    pub all: Vec<Site>,
    pub at_peak: Vec<Site>,
    pub temporary: Vec<Site>,
    pub temporary_objects: u64,
}

pub struct Proposal {
    pub scope: Scope,
    pub objects: ScopeObjects,
}

impl Study<'_> {
    /// The scopes that capture most objects, and call sites.
    pub fn proposals(&self) -> (Vec<Proposal>, Sites) {
        let groups = scopes::groups(self.lifetimes);
        let mut symbols = Symbols::new(&self.recording.mappings);
        let candidates = scopes::candidates(self.recording, &groups);
        let studied = candidates.iter().take(SCOPES_STUDIED);
        let found = studied.flat_map(|c| self.of_function(c, &groups, &mut symbols)).collect();
        let temporary = holders::temporary(self.lifetimes);
        let at_peak = holders::at_peak(self.lifetimes);
        let every = groups.iter().map(|g| (g.site, g.count, g.bytes));
        let whole = |_| usize::MAX;
        let sites = Sites {
            all: self.by_path(every, whole, false, SITES_KEPT, &mut symbols),
            temporary_objects: temporary.iter().map(|(_, count, _)| count).sum(),
            at_peak: self.by_path(at_peak.into_iter(), whole, false, HOLDERS_KEPT, &mut symbols),
            temporary: self.by_path(temporary.into_iter(), whole, true, HOLDERS_KEPT, &mut symbols),
        };
        (found, sites)
    }

    /// An arena for each call of the function; or, where generations of its objects end within a call, one that is reset there;
    /// and for the outermost function one that lasts as long as the process.
    fn of_function(&self, c: &Candidate, groups: &[Group], symbols: &mut Symbols) -> Vec<Proposal> {
        let (recording, lifetimes) = (self.recording, self.lifetimes);
        let paths = Paths::new(recording, groups, c.function);
        let calls = paths.calls();
        let by_calls = scopes::instances(recording, lifetimes, &calls);
        let ends = generations::ends(recording, lifetimes, &calls, by_calls.peak_malloc, Basis::Made);
        let is_process = ends.calls == 1 && paths.are_whole(recording);
        let mut found = Vec::new();
        if is_process || ends.sites.len() as u64 > by_calls.count {
            let (young, ends) = self.generations(paths.clone(), ends);
            if !ends.sites.is_empty() {
                let instances = scopes::instances(recording, lifetimes, &young);
                found.extend(self.proposal(c, young, &instances, Recipe::Generations, groups, symbols).map(|mut p| {
                    let last = |site| usize::from(p.objects.at.get(site as usize).copied().unwrap_or(NO_OWNER));
                    let each = ends.sites.iter().map(|&site| (site, 1, 0));
                    p.scope.resets = self.by_path(each, last, true, SITES_SHOWN, symbols);
                    p
                }));
            }
        }
        if is_process {
            let whole = |only_kept| {
                let scope = paths.process(only_kept);
                let instances = scopes::instances(recording, lifetimes, &scope);
                (scope, instances)
            };
            let (mut scope, mut instances) = whole(false);
            if !is_affordable(instances.bytes.max, instances.peak_malloc) {
                (scope, instances) = whole(true);
            }
            found.extend(self.proposal(c, scope, &instances, Recipe::Process, groups, symbols));
        } else if found.is_empty() {
            let recipe = if by_calls.bytes.median >= 256 << 10 { Recipe::Document } else { Recipe::Scratch };
            found.extend(self.proposal(c, calls, &by_calls, recipe, groups, symbols));
        }
        found
    }

    /// Without the sites whose objects live on: first those that outlive most generations, then those of the ends that are found
    /// among the others.
    fn generations(&self, mut paths: Paths, mut ends: Ends) -> (ScopeObjects, Ends) {
        let (recording, lifetimes) = (self.recording, self.lifetimes);
        for least in [2, 20, 20, 20, 20] {
            if !paths.leave_out(&ends, least) && least != 2 {
                break;
            }
            let scope = paths.calls();
            let peak = scopes::instances(recording, lifetimes, &scope).peak_malloc;
            ends = generations::ends(recording, lifetimes, &scope, peak, Basis::Live);
        }
        (ScopeObjects { resets: ends.resets(), ..paths.calls() }, ends)
    }

    /// `None`: too few objects would be in the arena.
    fn proposal(
        &self,
        c: &Candidate,
        objects: ScopeObjects,
        found: &Instances,
        recipe: Recipe,
        groups: &[Group],
        symbols: &mut Symbols,
    ) -> Option<Proposal> {
        let inside = groups.iter().filter(|g| objects.holds(g.site, g.owner));
        let bytes: u64 = inside.map(|g| g.bytes).sum();
        if !scopes::is_worth(found.captured, self.lifetimes.objects.len() as u64)
            && !scopes::is_worth(bytes, self.lifetimes.bytes)
        {
            return None;
        }
        let block = found.bytes_p95.max(4096).next_power_of_two().min(4 << 20);
        let scope = Scope {
            function: self.scope_frame(c, groups, &objects, symbols),
            recipe,
            calls: recipes::calls(recipe, symbols.language(c.function), block),
            instances: found.count,
            objects: found.objects,
            bytes: found.bytes,
            captured: found.captured,
            escaped: c.captured + c.escaped - found.captured,
            peak_malloc: found.peak_malloc,
            peak_arena: found.bytes.max,
            block,
            sites: self.scope_sites(groups, &objects, symbols),
            escapes: self.escapes(groups, &objects, symbols),
            ..Scope::default()
        };
        Some(Proposal { scope, objects })
    }

    /// The function of a scope, or the innermost function inlined into it that contains the allocations and frees of 99 % of its
    /// objects.
    fn scope_frame(&self, c: &Candidate, groups: &[Group], objects: &ScopeObjects, symbols: &mut Symbols) -> Frame {
        let function = symbols.function(c.function);
        // The functions at the outermost call of the scope's function, from the outermost.
        let mut chain = |site: u32| -> Vec<Frame> {
            let stack = &self.recording.sites[site as usize].stack;
            let calls = stack.iter().map(|&n| self.recording.nodes[n as usize]);
            let ip = calls.rev().find(|n| n.function == c.function).map(|n| n.ip);
            ip.map_or(Vec::new(), |ip| symbols.calls(ip).iter().rev().cloned().collect())
        };
        let mut prefixes: Vec<(Vec<Frame>, u64)> = Vec::new();
        let mut all = 0;
        for g in groups.iter().filter(|g| objects.holds(g.site, g.owner)) {
            let (mut born, freed) = (chain(g.site), chain(g.freed));
            if g.freed != 0 {
                let same = born.iter().zip(&freed).take_while(|(a, b)| a.function == b.function).count();
                born.truncate(same);
            }
            all += g.count;
            for length in 2..=born.len() {
                let is_same =
                    |p: &[Frame]| p.len() == length && p.iter().zip(&born).all(|(a, b)| a.function == b.function);
                match prefixes.iter_mut().find(|(p, _)| is_same(p)) {
                    Some((_, count)) => *count += g.count,
                    None => prefixes.push((born[..length].to_vec(), g.count)),
                }
            }
        }
        let most = prefixes.into_iter().filter(|&(_, count)| count * 100 >= all * 99);
        most.max_by_key(|(p, _)| p.len()).and_then(|(mut p, _)| p.pop()).unwrap_or(function)
    }

    /// The stack of a site as frames, up to and including the index `last`.
    fn stack(&self, site: u32, last: usize, symbols: &mut Symbols) -> Vec<Frame> {
        let stack = &self.recording.sites[site as usize].stack;
        let nodes = stack.iter().take(last.saturating_add(1));
        nodes.flat_map(|&n| symbols.calls(self.recording.nodes[n as usize].ip).to_vec()).collect()
    }

    /// A key of the code path of a site up to an index: return addresses without frame addresses.
    fn path(&self, site: u32, last: usize) -> Vec<u64> {
        let stack = &self.recording.sites[site as usize].stack;
        stack.iter().take(last.saturating_add(1)).map(|&n| self.recording.nodes[n as usize].ip).collect()
    }

    fn scope_sites(&self, groups: &[Group], objects: &ScopeObjects, symbols: &mut Symbols) -> Vec<Site> {
        let inside = groups.iter().filter(|g| objects.holds(g.site, g.owner)).map(|g| (g.site, g.count, g.bytes));
        self.by_path(inside, |site| usize::from(objects.at[site as usize]), false, SITES_SHOWN, symbols)
    }

    fn escapes(&self, groups: &[Group], objects: &ScopeObjects, symbols: &mut Symbols) -> Vec<Escape> {
        let at = &objects.at;
        let outside = groups.iter().filter(|g| at[g.site as usize] != NO_OWNER && !objects.holds(g.site, g.owner));
        let mut sums: FxHashMap<Lives, Group> = FxHashMap::default();
        for g in outside {
            let key = (self.path(g.site, usize::from(at[g.site as usize])), self.path(g.freed, 8));
            let sum =
                sums.entry(key).or_insert(Group { site: g.site, freed: g.freed, owner: g.owner, count: 0, bytes: 0 });
            sum.count += g.count;
            sum.bytes += g.bytes;
        }
        let mut sums: Vec<_> = sums.into_values().collect();
        sums.sort_unstable_by_key(|g| (std::cmp::Reverse(g.count), g.site, g.freed));
        sums.truncate(SITES_SHOWN);
        sums.into_iter()
            .map(|g| Escape {
                count: g.count,
                bytes: g.bytes,
                allocated: self.stack(g.site, usize::from(at[g.site as usize]), symbols),
                freed: self.stack(g.freed, usize::MAX, symbols),
            })
            .collect()
    }

    /// Objects by their code path, up to the index `last` of a site's stack: those with the most bytes, or objects if `by_count`.
    fn by_path(
        &self,
        all: impl Iterator<Item = Sum>,
        last: impl Fn(u32) -> usize,
        by_count: bool,
        most: usize,
        symbols: &mut Symbols,
    ) -> Vec<Site> {
        let mut sums: FxHashMap<Vec<u64>, Sum> = FxHashMap::default();
        for (site, count, bytes) in all {
            let sum = sums.entry(self.path(site, last(site))).or_insert((site, 0, 0));
            sum.1 += count;
            sum.2 += bytes;
        }
        let mut sums: Vec<_> = sums.into_values().collect();
        sums.sort_unstable_by_key(|&(site, count, bytes)| {
            (std::cmp::Reverse(if by_count { count } else { bytes }), site)
        });
        sums.truncate(most);
        let site = |(site, count, bytes)| Site { count, bytes, stack: self.stack(site, last(site), symbols) };
        sums.into_iter().map(site).collect()
    }
}

/// Whether the arena's memory is in proportion: at most three times what malloc has live, and 16 MiB.
pub fn affordable(scope: &Scope) -> bool {
    is_affordable(scope.peak_arena, scope.peak_malloc)
}

fn is_affordable(arena: u64, malloc: u64) -> bool {
    arena <= 3 * malloc + (16 << 20)
}

/// Those that are tried, at most `most`, and the others: of scopes with nearly the same objects the one with the least memory;
/// affordable ones first.
pub fn chosen(mut proposals: Vec<Proposal>, most: usize) -> (Vec<Proposal>, Vec<Proposal>) {
    let is_inner = |a: &Scope, b: &Scope| {
        let inner = b.captured < a.captured || b.captured == a.captured && b.bytes.max < a.bytes.max;
        inner && b.peak_arena <= a.peak_arena && b.captured * 20 >= a.captured * 19
    };
    let is_outer: Vec<bool> =
        proposals.iter().map(|p| proposals.iter().any(|q| is_inner(&p.scope, &q.scope))).collect();
    let mut others = Vec::new();
    for i in (0..proposals.len()).rev().filter(|&i| is_outer[i]) {
        let mut proposal = proposals.remove(i);
        proposal.scope.reason =
            "not tried: another scope has nearly the same objects, and takes less memory".to_owned();
        others.push(proposal);
    }
    proposals.sort_by_key(|p| !affordable(&p.scope));
    for mut proposal in proposals.drain(most.min(proposals.len())..) {
        proposal.scope.reason = "not tried: other scopes have more objects".to_owned();
        others.push(proposal);
    }
    (proposals, others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::Spread;

    fn proposal(name: &str, captured: u64, bytes: u64) -> Proposal {
        let scope = Scope {
            function: Frame { function: Some(name.to_owned()), ..Frame::default() },
            bytes: Spread { median: bytes, p99: bytes, max: bytes },
            captured,
            peak_malloc: 1 << 20,
            peak_arena: bytes,
            ..Scope::default()
        };
        Proposal { scope, objects: ScopeObjects::default() }
    }

    fn names(proposals: &[Proposal]) -> Vec<&str> {
        proposals.iter().map(|p| p.scope.function.function.as_deref().unwrap()).collect()
    }

    #[test]
    fn an_inner_scope_with_the_same_objects_replaces_an_outer_one() {
        let all =
            || vec![proposal("main", 110, 8 << 20), proposal("parse", 108, 2 << 20), proposal("print", 40, 1 << 20)];
        let (tried, others) = chosen(all(), 3);
        assert_eq!((names(&tried), names(&others)), (vec!["parse", "print"], vec!["main"]));
        let (tried, others) = chosen(all(), 1);
        assert_eq!((names(&tried), names(&others)), (vec!["parse"], vec!["main", "print"]));
        assert!(others.iter().all(|p| p.scope.reason.starts_with("not tried")));
    }

    #[test]
    fn ninety_five_of_a_hundred_objects_are_nearly_the_same() {
        for (inner, is_outer) in [(95, true), (94, false)] {
            let (_, others) = chosen(vec![proposal("main", 100, 8 << 20), proposal("parse", inner, 1 << 20)], 3);
            assert_eq!(others.len(), usize::from(is_outer), "{inner}");
        }
    }

    #[test]
    fn an_arena_may_have_three_times_the_memory_and_16_mib() {
        assert!(is_affordable((3 << 20) + (16 << 20), 1 << 20));
        assert!(!is_affordable((3 << 20) + (16 << 20) + 1, 1 << 20));
    }

    #[test]
    fn an_arena_of_many_times_the_memory_is_tried_last() {
        let all = vec![proposal("main", 100, 1 << 30), proposal("print", 30, 1 << 20)];
        assert_eq!(names(&chosen(all, 2).0), ["print", "main"]);
    }
}
