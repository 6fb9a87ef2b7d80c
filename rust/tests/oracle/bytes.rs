//! Streams whose bytes by tag and phase are counted.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

struct Place<'a> {
    /// `None`: the arena itself.
    scope: Option<Scope<'a>>,
    granules: Granules,
    tag: usize,
    marks: Vec<(Mark, usize)>,
    newest: Option<(*mut u8, usize)>,
}

#[derive(Default, Clone, PartialEq, Debug)]
struct Spent {
    allocated: u64,
    by_tag: [u64; 4],
}

/// Bytes by tag and phase are exact; budgets of tags hold to the byte; a soft budget gives one finding, at the right
/// call.
///
/// Dedicated blocks are not freed early here: by section 6 of the ABI's specification their bytes are then subtracted
/// from the newest ones, whatever their tag.
fn check_bytes(rounds: &[Vec<Op>], budgets: [Option<u64>; 4], soft: Option<u64>) {
    let mut arena = Arena::new();
    arena.set_metered(true).unwrap();
    for (tag, budget) in TAGS.iter().zip(budgets).skip(1) {
        arena.set_tag_budget(tag, budget).unwrap();
    }
    arena.set_soft_budget(soft).unwrap();
    for ops in rounds {
        let mut round = Round::new(&arena, budgets, soft);
        for (step, op) in ops.iter().enumerate() {
            let i = if step % 3 == 0 { 0 } else { round.places.len() - 1 };
            round.step(i, op);
        }
        round.finish();
        arena.reset();
        assert!(arena.report().tags.iter().all(|tag| tag.live == 0 && tag.allocated == 0));
    }
}

/// A phase that is open, its number, and the bytes allocated in all and live when it began.
type OpenPhase<'a> = (toft::Phase<'a>, usize, u64, u64);

/// What an arena and its scopes did since a reset.
struct Round<'a> {
    ground: &'a Arena,
    budgets: [Option<u64>; 4],
    soft: Option<u64>,
    spent: Spent,
    phases: Vec<OpenPhase<'a>>,
    /// Of each phase: entries, allocated bytes, kept bytes.
    expected: [(u64, u64, i64); 2],
    tags: Vec<toft::Tag<'a>>,
    before: Vec<usize>,
    places: Vec<Place<'a>>,
    /// The line of the call that exceeded the soft budget, and the live bytes then.
    passed: Option<(u32, u64)>,
}

impl<'a> Round<'a> {
    fn new(ground: &'a Arena, budgets: [Option<u64>; 4], soft: Option<u64>) -> Round<'a> {
        let place = Place { scope: None, granules: Granules::default(), tag: 0, marks: vec![], newest: None };
        Round {
            ground,
            budgets,
            soft,
            spent: Spent::default(),
            phases: vec![],
            expected: Default::default(),
            tags: vec![],
            before: vec![],
            places: vec![place],
            passed: None,
        }
    }

    fn arena(&self, i: usize) -> *const Arena {
        self.places[i].scope.as_ref().map_or(self.ground, |scope| &**scope)
    }

    /// Whether scopes are open within this place, the outermost.
    fn open(&self, i: usize) -> bool {
        self.places.len() > 1 && i == 0
    }

    fn live(&self) -> u64 {
        self.places.iter().map(|p| p.granules.live()).sum()
    }

    fn allows(&self, i: usize, more: usize) -> bool {
        let tag = self.places[i].tag;
        let used: u64 = self.places.iter().map(|p| p.granules.live_of(tag)).sum();
        self.budgets[tag].is_none_or(|budget| tag == 0 || used + more.next_multiple_of(8) as u64 <= budget)
    }

    /// Counts the bytes that a call in this line allocated.
    fn took(&mut self, i: usize, bytes: usize, line: u32) {
        let open = self.open(i);
        let place = &mut self.places[i];
        place.granules.push(bytes, place.tag);
        self.spent.allocated += bytes.next_multiple_of(8) as u64;
        self.spent.by_tag[place.tag] += bytes.next_multiple_of(8) as u64;
        if open {
            place.marks.clear(); // allocations outside of the range may survive a rewind to such a mark
        }
        let live = self.live();
        if self.passed.is_none() && self.soft.is_some_and(|soft| live > soft) {
            self.passed = Some((line, live));
        }
    }

    fn step(&mut self, i: usize, op: &Op) {
        let open = self.open(i);
        match op {
            Op::Call(_, n) | Op::Alloc(n) => self.alloc(i, *n),
            Op::Drops if self.allows(i, DROPPED) => self.alloc_drop(i),
            Op::Resize(n) => self.resize(i, *n),
            Op::Free if !open => self.free(i),
            Op::Cursor(n) if !open => self.cursor(i, *n),
            Op::Tag(k) if *k != 0 => {
                self.tags.push(self.ground.tag(&format!("/{}", TAGS[*k])));
                self.before.push(std::mem::replace(&mut self.places[0].tag, *k));
            }
            Op::Untag => {
                if let Some(tag) = self.tags.pop() {
                    drop(tag);
                    self.places[0].tag = self.before.pop().unwrap();
                }
            }
            Op::Phase(k) if self.phases.len() < 4 => {
                let phase = self.ground.phase(["load", "draw"][*k]);
                self.phases.push((phase, *k, self.spent.allocated, self.live()));
            }
            Op::Unphase => self.end_phase(),
            Op::Open if self.places.len() < 5 => self.open_scope(),
            Op::Close(k) if self.places.len() > 1 => {
                let k = 1 + k % (self.places.len() - 1);
                drop(self.places.swap_remove(k));
            }
            Op::Mark if !open => {
                let mark = unsafe { &*self.arena(i) }.mark();
                let place = &mut self.places[i];
                place.marks.push((mark, place.granules.tags.len()));
                place.newest = None;
            }
            Op::Rewind(k) if !open && !self.places[i].marks.is_empty() => self.rewind(i, *k),
            Op::Take => check_tags(&self.ground.report(), &self.places, &self.spent),
            _ => {}
        }
    }

    fn alloc(&mut self, i: usize, n: usize) {
        let a = unsafe { &*self.arena(i) };
        let line = line!() + 1;
        let got = a.try_alloc_uninit_slice::<u8>(n).map(|s| s.as_mut_ptr().cast::<u8>());
        assert_eq!(got.is_ok(), self.allows(i, n), "{n} bytes");
        if let Ok(p) = got {
            self.took(i, n, line);
            self.places[i].newest = Some((p, n)).filter(|_| n < 300 && !self.open(i));
        }
    }

    fn alloc_drop(&mut self, i: usize) {
        let a = unsafe { &*self.arena(i) };
        let line = line!() + 1;
        a.alloc_drop(vec![1u8]);
        self.took(i, DROPPED, line);
        self.places[i].newest = None;
    }

    fn resize(&mut self, i: usize, n: usize) {
        let Some((p, old)) = self.places[i].newest else { return };
        let (a, open) = (unsafe { &*self.arena(i) }, self.open(i));
        let line = line!() + 1;
        let got = unsafe { abi::resize(a.as_raw(), p, old, n, 8) };
        let more = n.next_multiple_of(8) as i64 - old.next_multiple_of(8) as i64;
        match got {
            None => assert!(!self.allows(i, n) && more > 0),
            Some(q) if q.as_ptr() == p => {
                if more > 0 {
                    assert!(self.allows(i, more as usize));
                    self.took(i, more as usize, line);
                } else if !open {
                    self.places[i].granules.pop(-more as usize);
                } else {
                    return;
                }
            }
            Some(_) => {
                assert!(more > 0 && self.allows(i, n));
                self.took(i, n, line);
            }
        }
        if let Some(q) = got {
            self.places[i].newest = Some((q.as_ptr(), n)).filter(|_| !open);
        }
    }

    fn free(&mut self, i: usize) {
        let Some((p, n)) = self.places[i].newest.take() else { return };
        unsafe { abi::free((*self.arena(i)).as_raw(), p, n) };
        self.places[i].granules.pop(n);
    }

    fn cursor(&mut self, i: usize, n: usize) {
        let mut cursor = unsafe { &*self.arena(i) }.cursor();
        let mut made = 0;
        while made < n && cursor.try_alloc(7u64).is_ok() {
            made += 1;
        }
        drop(cursor);
        for k in 0..made {
            assert!(self.allows(i, 8), "{k} of {made}");
            self.took(i, 8, 0);
        }
        assert!(made == n || !self.allows(i, 8), "{made} of {n}");
        if made != 0 {
            self.places[i].newest = None;
        }
    }

    fn open_scope(&mut self) {
        let (scope, tag) = (Some(self.ground.scope_guard()), self.places[0].tag);
        self.places[0].newest = None;
        self.places.push(Place { scope, granules: Granules::default(), tag, marks: vec![], newest: None });
    }

    fn rewind(&mut self, i: usize, k: usize) {
        let k = k % self.places[i].marks.len();
        let (mark, n) = self.places[i].marks[k];
        unsafe { (*self.arena(i)).rewind(mark) }.unwrap();
        let place = &mut self.places[i];
        place.granules.tags.truncate(n);
        place.marks.truncate(k + 1);
        place.newest = None;
    }

    fn end_phase(&mut self) {
        if let Some((phase, k, allocated, was)) = self.phases.pop() {
            drop(phase);
            let live = self.live();
            let e = &mut self.expected[k];
            *e = (e.0 + 1, e.1 + self.spent.allocated - allocated, e.2 + live as i64 - was as i64);
        }
    }

    fn finish(mut self) {
        while !self.phases.is_empty() {
            self.end_phase();
        }
        let report = self.ground.take_report();
        check_tags(&report, &self.places, &self.spent);
        for (name, (entries, allocated, kept)) in ["load", "draw"].iter().zip(self.expected) {
            let reported = report.phases.iter().find(|phase| phase.name == *name);
            let reported = reported.map_or((0, 0, 0), |phase| (phase.entries, phase.allocated, phase.kept));
            assert_eq!(reported, (entries, allocated, kept), "phase {name}");
        }
        let over_budget = |finding: &Finding| match finding {
            Finding::OverBudget { site, live, .. } => (site.line, *live),
            other => panic!("{other}"),
        };
        let found: Vec<(u32, u64)> = self.ground.findings().iter().map(over_budget).collect();
        match self.passed {
            // A claimed range counts when it is given, or another is claimed: which call exceeded the budget is not
            // exact to the byte.
            Some((0, _)) => assert!(found.len() <= 1, "{found:?}"),
            // A cursor may report it at a later call.
            Some(passed) => assert_eq!(found, [passed]),
            None => assert_eq!(found, []),
        }
        while self.tags.pop().is_some() {}
    }
}

fn check_tags(report: &Report, places: &[Place<'_>], spent: &Spent) {
    for (k, name) in TAGS.iter().enumerate() {
        let reported = report.tags.iter().find(|tag| tag.name == *name);
        let live: u64 = places.iter().map(|place| place.granules.live_of(k)).sum();
        let reported = reported.map_or((0, 0), |tag| (tag.live, tag.allocated));
        assert_eq!(reported, (live, spent.by_tag[k]), "tag {name:?}: live and allocated");
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn bytes_by_tag_and_phase_are_exact(rounds in rounds()) {
        check_bytes(&rounds, [None; 4], None);
    }

    #[test]
    fn budgets_of_tags_hold_to_the_byte(rounds in rounds(), a in 0..4000u64, b in 0..20_000u64) {
        check_bytes(&rounds, [None, Some(a), Some(b), None], None);
    }

    #[test]
    fn a_soft_budget_is_reported_once_a_round(rounds in rounds(), soft in 0..20_000u64) {
        check_bytes(&rounds, [None; 4], Some(soft));
    }

    #[test]
    fn budgets_of_tags_and_soft_budgets_together(rounds in rounds(), a in 0..8000u64, soft in 0..20_000u64) {
        check_bytes(&rounds, [None, Some(a), None, Some(a / 2)], Some(soft));
    }
}
