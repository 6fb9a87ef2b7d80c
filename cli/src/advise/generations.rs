//! Generations of a scope's objects: where within one call nearly all of them end before the next ones begin, as after each
//! document of a loop. An arena can be reset there, if the objects that live on come from call sites of their own.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::lifetimes::{Lifetimes, NONE};
use super::recording::Recording;
use super::scopes::{Ends, ScopeObjects};
use rustc_hash::FxHashMap;

/// A generation has ended when at most this part of its objects is live, one in twenty.
const LIVE: u64 = 20;
/// It has at least this part of the scope's peak of live bytes, one in four: shorter ones are a part of the next.
const PEAK: u64 = 4;

/// The generation of a thread that has not ended.
#[derive(Default)]
struct Young {
    number: u32,
    /// From which address on the call of the scope has ended; 0: there is none.
    cfa: u64,
    objects: Vec<u32>,
    bytes: u64,
    live: u64,
    /// The most at once.
    most: u64,
    /// Where fewest were live: the number of the objects until there, that of those that live on, and the site of the free.
    low: Option<(usize, u64, u32)>,
}

/// What a generation's live objects are compared with: all of its objects, also where older ones are live, or the most that were
/// live at once, since temporary objects end within a generation too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    Made,
    Live,
}

/// The ends of generations of the scope's objects, whose live bytes have that peak.
pub fn ends(recording: &Recording, lifetimes: &Lifetimes, scope: &ScopeObjects, peak: u64, basis: Basis) -> Ends {
    let mut found = Ends { freed: u64::MAX, ..Ends::default() };
    // Of each object the number of its generation, from 1; 0: it is not in the arena, or has ended.
    let mut of = vec![0u32; lifetimes.objects.len()];
    let mut numbers = 0;
    let mut all: Vec<Young> = Vec::new();
    all.resize_with(recording.threads.len(), Young::default);
    for step in &lifetimes.steps {
        let young = &mut all[usize::from(step.thread)];
        let sp = recording.sites.get(step.site as usize).map_or(0, |s| s.sp);
        if step.object != NONE
            && let Some(cfa) = scope.frame(recording, lifetimes, step.object)
        {
            if young.cfa == 0 || sp >= young.cfa {
                numbers += 1;
                found.calls += 1;
                *young = Young { number: numbers, cfa, ..Young::default() };
            }
            young.objects.push(step.object);
            young.bytes += u64::from(lifetimes.objects[step.object as usize].size);
            young.live += 1;
            young.most = young.most.max(young.live);
            of[step.object as usize] = young.number;
            if let Some((until, low, site)) = young.low
                && young.live > 2 * low + young.basis(basis) / LIVE
            {
                found.add(lifetimes, young, &of, (until, low, site));
                numbers += 1;
                young.begin(lifetimes, &mut of, until, numbers);
            }
        }
        if step.old != NONE && std::mem::take(&mut of[step.old as usize]) == young.number && young.number != 0 {
            young.live -= 1;
            let is_least = young.low.is_none_or(|(_, low, _)| young.live <= low);
            if young.bytes * PEAK >= peak && young.live * LIVE <= young.basis(basis) && is_least {
                young.low = Some((young.objects.len(), young.live, step.site));
            }
        }
    }
    found
}

impl Ends {
    fn add(&mut self, lifetimes: &Lifetimes, young: &Young, of: &[u32], (until, low, site): (usize, u64, u32)) {
        self.sites.push(site);
        self.freed = self.freed.min(until as u64 - low);
        let mut survivors: FxHashMap<u32, u64> = FxHashMap::default();
        for &object in young.objects[..until].iter().filter(|&&o| of[o as usize] == young.number) {
            *survivors.entry(lifetimes.objects[object as usize].site).or_default() += 1;
        }
        self.live.push(low);
        for (site, count) in survivors {
            let sum = self.survivors.entry(site).or_default();
            *sum = (sum.0 + count, sum.1 + 1);
        }
    }
}

impl Young {
    fn basis(&self, basis: Basis) -> u64 {
        match basis {
            Basis::Made => self.objects.len() as u64,
            Basis::Live => self.most,
        }
    }

    /// The objects from `from` on are the next generation.
    fn begin(&mut self, lifetimes: &Lifetimes, of: &mut [u32], from: usize, number: u32) {
        let objects = self.objects.split_off(from);
        let size = |&o: &u32| u64::from(lifetimes.objects[o as usize].size);
        let mut live = 0;
        for &object in &objects {
            if of[object as usize] == self.number {
                of[object as usize] = number;
                live += 1;
            }
        }
        *self = Young {
            number,
            cfa: self.cfa,
            bytes: objects.iter().map(size).sum(),
            live,
            most: live,
            objects,
            low: None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::scopes::{groups, instances, Paths, Resets};
    use super::*;

    const MAIN: u64 = 1;
    /// Of an object of a document, of one that lives on, and of frees.
    const OBJECT: u32 = 1;
    const KEPT: u32 = 2;
    const FREE: u32 = 3;

    fn recording() -> Recording {
        Recording::of(&[&[2, MAIN], &[3, MAIN], &[4, MAIN]])
    }

    fn find(recording: &Recording, lifetimes: &Lifetimes, basis: Basis) -> Ends {
        let scope = Paths::new(recording, &groups(lifetimes), MAIN).calls();
        let peak = instances(recording, lifetimes, &scope).peak_malloc;
        ends(recording, lifetimes, &scope, peak, basis)
    }

    /// Documents of 100 objects: all but `left` of these end before the next document.
    fn documents(count: usize, left: usize) -> (Recording, Lifetimes) {
        let (recording, mut all) = (recording(), Lifetimes::default());
        for _ in 0..count {
            let objects: Vec<u32> = (0..100).map(|_| all.begin(&recording, OBJECT, 16)).collect();
            objects[left..].iter().for_each(|&object| all.finish(object, FREE));
        }
        (recording, all)
    }

    #[test]
    fn a_generation_ends_where_one_object_in_twenty_is_left() {
        let (recording, all) = documents(10, 5);
        let found = find(&recording, &all, Basis::Live);
        assert_eq!((found.sites.len(), found.calls), (9, 1), "the last one ends with the call");
        assert!(found.sites.iter().all(|&site| site == FREE));
        assert_eq!(found.survivors[&OBJECT], (45, 9));
        assert_eq!(found.resets(), Resets::At { live: 5, freed: 47 });
        let (recording, all) = documents(10, 6);
        assert_eq!(find(&recording, &all, Basis::Live).sites.len(), 0);
    }

    #[test]
    fn an_object_that_lives_on_is_a_survivor_once() {
        let (recording, mut all) = (recording(), Lifetimes::default());
        let kept = all.begin(&recording, KEPT, 16);
        for _ in 0..10 {
            let objects: Vec<u32> = (0..100).map(|_| all.begin(&recording, OBJECT, 16)).collect();
            objects.iter().for_each(|&object| all.finish(object, FREE));
        }
        all.finish(kept, FREE);
        let found = find(&recording, &all, Basis::Live);
        assert_eq!((found.sites.len(), found.survivors.len(), found.survivors[&KEPT]), (9, 1, (1, 1)));
    }

    /// One object before the work, as a program's own start has, is no generation; and one that is as large as a fourth is.
    #[test]
    fn a_small_generation_is_a_part_of_the_next() {
        for (size, ends) in [(399, 0), (400, 1)] {
            let (recording, mut all) = (recording(), Lifetimes::default());
            let first = all.begin(&recording, OBJECT, size);
            all.finish(first, FREE);
            for _ in 0..100 {
                all.begin(&recording, OBJECT, 16);
            }
            assert_eq!(find(&recording, &all, Basis::Live).sites.len(), ends, "{size}");
        }
    }

    /// All that is live at a moment is few of the objects that were made until then, if most are temporary.
    #[test]
    fn temporary_objects_end_no_generation() {
        let (recording, mut all) = (recording(), Lifetimes::default());
        for part in [30, 100] {
            for _ in 0..part {
                all.begin(&recording, OBJECT, 16);
            }
            for _ in 0..700 {
                let temporary = all.begin(&recording, KEPT, 16);
                all.finish(temporary, FREE);
            }
        }
        assert_eq!(find(&recording, &all, Basis::Live).sites.len(), 0);
        assert_eq!(find(&recording, &all, Basis::Made).sites.len(), 1);
    }

    #[test]
    fn nothing_has_no_generation() {
        assert_eq!(find(&recording(), &Lifetimes::default(), Basis::Made).sites.len(), 0);
    }
}
