//! Runs a stream of operations on an arena and on a model, a list of the live allocations, and compares contents,
//! overlaps, alignment, bytes, budgets and destructors. `shadow.rs` and the fuzz target provide the streams.
//!
//! Scopes and cursors are kept in a list with extended lifetimes; this module enforces the order in which they may end:
//! everything in a scope ends before the scope.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

use std::alloc::Layout;
use std::mem::forget;
use std::sync::{Arc, Mutex};

use toft::{abi, Arena, Cursor, Keep, Mark, Pack, RewindError, Scope};

use super::pattern;

#[path = "shadow_scopes.rs"]
mod scopes;

/// One operation: its kind, target and size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub what: u8,
    pub pick: u8,
    pub size: u16,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}, {}, {})", self.what, self.pick, self.size)
    }
}

impl Step {
    /// Decodes a stream of bytes as steps of four bytes.
    pub fn all(bytes: &[u8]) -> Vec<Step> {
        let step = |b: &[u8]| Step { what: b[0], pick: b[1], size: u16::from_le_bytes([b[2], b[3]]) };
        bytes.chunks_exact(4).map(step).collect()
    }
}

/// An arena with exclusive access.
pub trait TestArena {
    fn arena(&self) -> &Arena;
    fn reset_with(&mut self, keep: Keep);
    fn trim(&mut self, keep: usize);
    fn scope_mut(&mut self, f: &mut dyn FnMut(&Arena));
}

macro_rules! test_arena {
    ($of:ty) => {
        impl TestArena for $of {
            fn arena(&self) -> &Arena {
                self
            }
            fn reset_with(&mut self, keep: Keep) {
                self.reset_with(keep)
            }
            fn trim(&mut self, keep: usize) {
                self.trim(keep)
            }
            fn scope_mut(&mut self, f: &mut dyn FnMut(&Arena)) {
                self.scope_mut(|a| f(a))
            }
        }
    };
}

test_arena!(Arena);
test_arena!(Scope<'_>);

/// Properties of the arena under test.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Its memory is limited: a refusal may have another cause than the budget.
    pub may_refuse: bool,
    /// Made in another language: a scope takes its memory as allocations of the arena, and only one may be open.
    pub is_foreign: bool,
    /// With red zones, which count as live bytes.
    pub is_checked: bool,
}

struct Entry {
    node: usize,
    p: *mut u8,
    n: usize,
    align: usize,
    serial: u64,
    /// The allocation of a call that returns it whole: it may be resized and freed.
    whole: bool,
}

struct Marked {
    mark: Mark,
    serial: u64,
    /// `None` if something older was resized or freed since.
    live: Option<u64>,
}

/// An arena of the tree: the one under test, or a scope.
struct Node {
    scope: Option<Scope<'static>>,
    parent: usize,
    open: bool,
    /// Its guard was leaked: the scope exists until the arena around it is emptied.
    leaked: bool,
    cursors: Vec<(Cursor<'static>, bool)>,
    leaked_cursor: bool,
    pack: Option<Pack<'static>>,
    marks: Vec<Marked>,
    stale: Vec<Mark>,
    /// Without the scopes in it.
    live: u64,
    /// Whether `live` is exact.
    exact: bool,
    budget: Option<u64>,
    /// Values that it will drop, oldest first: number and serial.
    drops: Vec<(u32, u64)>,
}

impl Node {
    fn new(scope: Option<Scope<'static>>, parent: usize, exact: bool) -> Node {
        Node {
            scope,
            parent,
            open: true,
            leaked: false,
            cursors: vec![],
            leaked_cursor: false,
            pack: None,
            marks: vec![],
            stale: vec![],
            live: 0,
            exact,
            budget: None,
            drops: vec![],
        }
    }
}

type Log = Arc<Mutex<Vec<u32>>>;

/// Logs its drop.
struct Value {
    id: u32,
    check: std::boxed::Box<u32>,
    log: Log,
}

impl Drop for Value {
    fn drop(&mut self) {
        assert_eq!(*self.check, self.id);
        self.log.lock().unwrap().push(self.id);
    }
}

pub struct World<'g> {
    test_arena: &'g mut dyn TestArena,
    rules: Rules,
    nodes: Vec<Node>,
    entries: Vec<Entry>,
    serial: u64,
    values: u32,
    log: Log,
}

fn round8(n: usize) -> u64 {
    (n as u64 + 7) & !7
}

impl Drop for World<'_> {
    /// Also after a failed check: everything in a scope ends before the scope.
    fn drop(&mut self) {
        for node in self.nodes.iter_mut().rev() {
            node.cursors.clear();
            if node.leaked {
                forget(node.scope.take());
            }
            node.scope = None;
        }
    }
}

impl<'g> World<'g> {
    pub fn new(test_arena: &'g mut dyn TestArena, rules: Rules) -> World<'g> {
        let mut root = Node::new(None, 0, true);
        root.live = test_arena.arena().stats().live;
        World { test_arena, rules, nodes: vec![root], entries: vec![], serial: 0, values: 0, log: Log::default() }
    }

    pub fn play(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(*step);
        }
        self.check_contents();
        self.look();
        self.empty(0);
        self.exclusive(0, Keep::Recent);
        self.test_arena.arena().set_budget(None).expect("nothing is open");
    }

    // ---- the tree ----

    fn arena(&self, i: usize) -> &Arena {
        self.nodes[i].scope.as_deref().unwrap_or_else(|| self.test_arena.arena())
    }

    /// Chooses an open arena of the tree.
    fn choose(&self, pick: u8) -> usize {
        let open: Vec<usize> =
            (0..self.nodes.len()).filter(|i| self.nodes[*i].open && !self.nodes[*i].leaked).collect();
        open[pick as usize % open.len()]
    }

    fn children(&self, i: usize) -> impl Iterator<Item = usize> + use<'_, 'g> {
        (1..self.nodes.len()).filter(move |c| self.nodes[*c].open && self.nodes[*c].parent == i)
    }

    fn has_range(&self, i: usize) -> bool {
        self.nodes[i].leaked_cursor || self.nodes[i].cursors.iter().any(|(_, claims)| *claims)
    }

    /// Whether a scope or a cursor keeps it closed.
    fn is_busy(&self, i: usize) -> bool {
        self.has_range(i) || self.children(i).next().is_some()
    }

    fn chain(&self, i: usize) -> Vec<usize> {
        let mut chain = vec![i];
        while *chain.last().unwrap() != 0 {
            chain.push(self.nodes[*chain.last().unwrap()].parent);
        }
        chain
    }

    /// With the scopes in it; `None`: unknown.
    fn total(&self, i: usize) -> Option<u64> {
        if self.rules.is_checked {
            return None;
        }
        let mut sum = self.nodes[i].exact.then_some(self.nodes[i].live)?;
        for child in self.children(i) {
            sum += self.total(child)?;
        }
        Some(sum)
    }

    /// Takes the live bytes from the arena, where padding and moves make them unpredictable.
    fn resync(&mut self, i: usize) {
        let children: Vec<usize> = self.children(i).collect();
        let mut inner = 0;
        for child in children {
            self.resync(child);
            inner += self.arena(child).stats().live;
        }
        let total = self.arena(i).stats().live;
        let foreign = i == 0 && self.rules.is_foreign;
        let exact = !foreign && !self.has_range(i);
        let node = &mut self.nodes[i];
        (node.live, node.exact) = (if foreign { total } else { total - inner }, exact);
    }

    // ---- entries ----

    fn enter(&mut self, node: usize, p: *mut u8, n: usize, align: usize, whole: bool) {
        assert!(p.addr() % align == 0, "{p:?} is not aligned to {align}");
        if n == 0 {
            return;
        }
        for e in &self.entries {
            let apart = p.addr() + n <= e.p.addr() || e.p.addr() + e.n <= p.addr();
            assert!(apart, "{p:?} of {n} bytes overlaps {:?} of {}", e.p, e.n);
        }
        self.serial += 1;
        // SAFETY: just allocated.
        unsafe { pattern::fill(p, n, self.serial) };
        self.entries.push(Entry { node, p, n, align, serial: self.serial, whole });
    }

    fn check_entry(&self, e: &Entry) {
        // SAFETY: live, according to the model.
        assert!(unsafe { pattern::is_whole(e.p, e.n, e.n, e.serial) }, "{:?} of {} bytes was overwritten", e.p, e.n);
    }

    fn check_contents(&self) {
        for e in &self.entries {
            self.check_entry(e);
            // `contains` is unspecified for the bytes of an open range.
            if !self.chain(e.node).into_iter().any(|i| self.has_range(i)) {
                let arena = self.arena(e.node);
                assert!(arena.contains(e.p) && arena.contains(e.p.wrapping_add(e.n - 1)), "{:?} is not contained", e.p);
            }
        }
        assert!(!self.test_arena.arena().contains(&raw const self.serial));
    }

    fn forget_since(&mut self, node: usize, serial: u64) {
        let verify_before_end = |e: &Entry| e.node == node && e.serial > serial;
        for e in self.entries.iter().filter(|e| verify_before_end(e)) {
            self.check_entry(e);
        }
        self.entries.retain(|e| !verify_before_end(e));
    }

    // ---- results ----

    /// Verifies a successful allocation: no budget of the chain is exceeded.
    fn allocated(&mut self, i: usize, p: *mut u8, n: usize, align: usize, whole: bool) {
        self.nodes[i].live += round8(n);
        if align > 8 {
            self.nodes[i].exact = false;
            self.resync(i);
        }
        self.enter(i, p, n, align, whole);
        for a in self.chain(i) {
            if let (Some(budget), Some(total), true) = (self.nodes[a].budget, self.total(a), n != 0) {
                assert!(total <= budget, "{total} bytes live, and {budget} allowed");
            }
        }
    }

    /// Verifies that a request of `n` bytes was refused for a reason.
    fn refused(&self, i: usize, n: usize, align: usize) {
        let chain = self.chain(i);
        if self.rules.may_refuse || chain.iter().any(|a| self.has_range(*a)) {
            return;
        }
        let more = round8(n) + if align > 8 { align as u64 } else { 0 };
        let over = chain.iter().any(|a| match (self.nodes[*a].budget, self.total(*a)) {
            (Some(budget), Some(total)) => total + more > budget,
            (Some(_), None) => true,
            (None, _) => false,
        });
        assert!(over && (n != 0 || align > 8), "{n} bytes refused; the budgets allow them");
    }

    // ---- steps ----

    fn step(&mut self, step: Step) {
        let Step { what, pick, size } = step;
        let (i, size) = (self.choose(pick), size as usize);
        match what % 32 {
            0..=6 => self.alloc(i, size % 90, 8, pick),
            7 => self.alloc(i, size % 300, 1 << (size % 13), pick),
            8 => self.alloc(i, size % 9000, 1, pick),
            9 if pick % 4 == 0 => self.alloc(i, size * 6, 8, pick),
            9 | 10 => self.alloc_value(i, size, pick),
            11 | 12 => self.resize(size, pick),
            13 => self.free(size),
            14 => self.mark(i),
            15 | 16 => self.rewind(i, size),
            17 => self.rewind_stale(i, size),
            18 | 19 => self.open(i),
            20 | 21 => self.close(size, pick),
            22 if pick % 4 == 0 => {
                self.empty(i);
                let keep = match size % 4 {
                    0 => Keep::All,
                    1 => Keep::Bytes(size * 7),
                    _ => Keep::Recent,
                };
                self.exclusive(i, keep);
            }
            22 => self.trim(i, size),
            23 => self.scope_mut(i, size),
            24 => self.open_cursor(i),
            25 | 26 => self.use_cursor(i, size, pick),
            27 => self.close_cursor(i, pick),
            28 => self.pack(i, size),
            29 => self.set_budget(i, size, pick),
            30 if pick % 2 == 0 => self.alloc_absurd(i, size),
            30 => self.alloc_drop(i),
            _ if pick % 2 == 0 => self.look(),
            _ => self.check_contents(),
        }
    }

    fn alloc(&mut self, i: usize, n: usize, align: usize, pick: u8) {
        let before = (pick & 64 != 0).then(|| self.arena(i).stats());
        let result = self.arena(i).try_alloc_layout(Layout::from_size_align(n, align).unwrap());
        match result {
            Ok(p) => self.allocated(i, p.as_ptr(), n, align, true),
            Err(_) => {
                self.refused(i, n, align);
                let unchanged = before.is_none_or(|b| {
                    let now = self.arena(i).stats();
                    (b.live, b.blocks, b.budget) == (now.live, now.blocks, now.budget)
                });
                assert!(unchanged, "a refusal changed the arena");
            }
        }
    }

    /// Allocates through the calls that also write.
    fn alloc_value(&mut self, i: usize, size: usize, pick: u8) {
        let n = size % 700;
        let words: Vec<u64> = (0..n as u64 / 8).collect();
        let text = &"a line of text that is long enough for all of this, or nearly so"[..n % 60];
        let arena = self.arena(i);
        let got: Result<(*mut u8, usize), toft::AllocError> = match pick % 9 {
            0 => arena.try_alloc([7u64; 4]).map(|v| (v.as_mut_ptr().cast(), 32)),
            1 => arena.try_alloc_slice_copy(&words).map(|v| {
                assert_eq!(*v, *words);
                (v.as_mut_ptr().cast(), size_of_val(v))
            }),
            2 => arena.try_alloc_str(text).map(|v| {
                assert_eq!(v, text);
                (v.as_mut_ptr(), v.len())
            }),
            3 => arena.try_alloc_zeroed_slice::<u32>(n / 4).map(|v| {
                // SAFETY: zero is a valid number.
                assert!(v.iter().all(|x| unsafe { x.assume_init() } == 0));
                (v.as_mut_ptr().cast(), size_of_val(v))
            }),
            4 => arena.try_alloc_slice_from_iter(words.iter().copied().filter(|x| x % 3 != 0)).map(|v| {
                assert!(v.iter().copied().eq(words.iter().copied().filter(|x| x % 3 != 0)));
                (v.as_mut_ptr().cast(), size_of_val(v))
            }),
            5 => arena.try_alloc_fmt(format_args!("{text}, {n} and {n}")).map(|v| {
                assert_eq!(*v, *format!("{text}, {n} and {n}"));
                (v.as_mut_ptr(), v.len())
            }),
            6 => arena.try_alloc_slice_fill_with(n / 8, |k| k as u64).map(|v| {
                assert_eq!(*v, *words);
                (v.as_mut_ptr().cast(), size_of_val(v))
            }),
            7 => arena.try_alloc_uninit::<[u8; 333]>().map(|v| (v.as_mut_ptr().cast(), 333)),
            _ => arena.try_boxed([3u8; 21]).map(|b| (toft::Box::into_raw(b).cast(), 21)),
        };
        match got {
            Ok((p, n)) => {
                let moved = matches!(pick % 9, 4 | 5); // growing slices may have left earlier copies
                self.enter(i, p, n, 1, false);
                self.nodes[i].live += round8(n);
                if moved {
                    self.nodes[i].exact = false;
                    self.resync(i);
                }
            }
            Err(_) => {
                self.refused(i, 400 + 9 * n, 8);
                self.resync(i);
            }
        }
    }

    fn alloc_absurd(&mut self, i: usize, size: usize) {
        let before = self.arena(i).stats();
        let arena = self.arena(i);
        assert!(arena.try_alloc_uninit_slice::<u64>(usize::MAX / 8 - size).is_err());
        assert!(arena.try_alloc_uninit_slice::<u8>(isize::MAX as usize - size).is_err());
        assert!(arena.try_alloc_uninit_slice::<[u8; 4096]>(usize::MAX / 4097).is_err());
        let now = arena.stats();
        assert_eq!((before.live, before.blocks), (now.live, now.blocks));
    }

    /// Selects an allocation by number, in an arena without a claimed range.
    fn entry(&self, number: usize) -> Option<usize> {
        let free = |e: &Entry| e.whole && !self.nodes[e.node].leaked;
        let all: Vec<usize> = (0..self.entries.len()).filter(|k| free(&self.entries[*k])).collect();
        (!all.is_empty()).then(|| all[all.len() - 1 - number % all.len().min(4)])
        // prefers new ones
    }

    fn changed_old(&mut self, i: usize) {
        self.nodes[i].marks.iter_mut().for_each(|m| m.live = None);
        self.nodes[i].exact = false;
        self.resync(i);
    }

    fn resize(&mut self, size: usize, pick: u8) {
        let Some(k) = self.entry(pick as usize) else { return };
        let e = self.entries.swap_remove(k);
        let n = if size % 3 == 0 { size % 9000 } else { size % 200 };
        let align = e.align.max(1 << (pick % 5));
        let head = self.arena(e.node).as_raw();
        // SAFETY: a live allocation of that arena; a valid layout.
        let Some(q) = (unsafe { abi::resize(head, e.p, e.n, n, align) }) else {
            self.check_entry(&e);
            if n > e.n || align > e.align {
                self.refused(e.node, n, align); // also of size 0: the alignment may need padding
            } else {
                assert!(self.rules.may_refuse, "refused to shrink");
            }
            self.entries.push(e);
            return;
        };
        // SAFETY: the first bytes of the allocation.
        assert!(unsafe { pattern::is_whole(q.as_ptr(), e.n, e.n.min(n), e.serial) }, "lost by a resize");
        self.enter(e.node, q.as_ptr(), n, align, true);
        self.changed_old(e.node);
    }

    fn free(&mut self, size: usize) {
        let Some(k) = self.entry(size) else { return };
        let e = self.entries.swap_remove(k);
        self.check_entry(&e);
        // SAFETY: a live allocation of that arena, not used any more.
        unsafe { abi::free(self.arena(e.node).as_raw(), e.p, e.n) };
        self.changed_old(e.node);
    }

    // ---- marks ----

    fn mark(&mut self, i: usize) {
        if self.has_range(i) || (i == 0 && self.rules.is_foreign && self.is_busy(i)) {
            return; // the mark would count as made before the range was claimed
        }
        let mark = self.arena(i).mark();
        // Allocations made beside an open scope, in a block older than the mark, survive the rewind.
        let live = (self.nodes[i].exact && !self.is_busy(i)).then_some(self.nodes[i].live);
        let serial = self.serial;
        self.nodes[i].marks.push(Marked { mark, serial, live });
    }

    fn rewind(&mut self, i: usize, size: usize) {
        let marks = self.nodes[i].marks.len();
        if marks == 0 {
            return;
        }
        let k = size % marks;
        let Marked { mark, serial, live } = self.nodes[i].marks[k];
        let busy = self.is_busy(i);
        if busy && i == 0 && self.rules.is_foreign {
            return; // scopes that did not claim exclude no one
        }
        if !busy {
            self.nodes[i].pack = None; // invalid from here on
            self.forget_since(i, serial);
        }
        // SAFETY: allocations of this arena after the mark are not used any more.
        let result = unsafe { self.arena(i).rewind(mark) };
        if busy {
            assert_eq!(result, Err(RewindError::Busy));
            return;
        }
        assert_eq!(result, Ok(()));
        self.nodes[i].marks.truncate(k + 1);
        self.dropped(i, serial);
        match live {
            Some(live) => (self.nodes[i].live, self.nodes[i].exact) = (live, true),
            None => self.resync(i),
        }
    }

    /// A mark from before a reset is stale.
    fn rewind_stale(&mut self, i: usize, size: usize) {
        let stale = &self.nodes[i].stale;
        if stale.is_empty() || self.is_busy(i) {
            return;
        }
        let mark = stale[size % stale.len()];
        // SAFETY: it is refused.
        assert_eq!(unsafe { self.arena(i).rewind(mark) }, Err(RewindError::Stale));
    }

    // ---- destructors ----

    fn alloc_drop(&mut self, i: usize) {
        self.values += 1;
        let id = self.values;
        let value = Value { id, check: std::boxed::Box::new(id), log: self.log.clone() };
        let result = self.arena(i).try_alloc_drop(value).map(|v| v.id);
        match result {
            Ok(got) => {
                assert_eq!(got, id);
                self.serial += 1;
                let serial = self.serial;
                self.nodes[i].drops.push((id, serial));
            }
            Err(_) => {
                assert_eq!(std::mem::take(&mut *self.log.lock().unwrap()), [id]);
                if !self.is_busy(i) {
                    self.refused(i, 32 + size_of::<Value>(), 8);
                }
            }
        }
        self.nodes[i].exact = false;
        self.resync(i);
    }

    /// Verifies that the values since `serial` were dropped, newest first, and no others.
    fn dropped(&mut self, i: usize, serial: u64) {
        let drops = &mut self.nodes[i].drops;
        let kept = drops.iter().filter(|(_, s)| *s <= serial).count();
        let verify_before_end: Vec<u32> = drops.split_off(kept).into_iter().rev().map(|(id, _)| id).collect();
        assert_eq!(std::mem::take(&mut *self.log.lock().unwrap()), verify_before_end);
    }

    // ---- budgets ----

    fn set_budget(&mut self, i: usize, size: usize, pick: u8) {
        let live = self.arena(i).stats().live;
        let budget = match pick % 4 {
            0 => None,
            1 => Some(live.saturating_sub(size as u64 % 100)), // possibly below the live bytes
            _ => Some(live + size as u64),
        };
        if self.is_busy(i) && i == 0 && self.rules.is_foreign {
            return;
        }
        let result = self.arena(i).set_budget(budget);
        if self.is_busy(i) {
            assert_eq!(result, Err(RewindError::Busy));
        } else {
            assert_eq!(result, Ok(()));
            self.nodes[i].budget = budget;
        }
    }

    // ---- reading ----

    fn look(&mut self) {
        for i in 0..self.nodes.len() {
            let node = &self.nodes[i];
            if !node.open || node.leaked {
                continue;
            }
            let s = self.arena(i).stats();
            if let Some(total) = self.total(i) {
                assert_eq!(s.live, total, "bytes live");
            }
            assert_eq!(s.budget, node.budget.unwrap_or(u64::MAX));
            assert!(s.peak >= s.live && s.allocated >= s.live || i == 0 && self.rules.is_foreign, "{s:?}");
            if self.children(i).next().is_none() {
                let (mut size, mut blocks) = (0, 0);
                for b in self.arena(i).blocks() {
                    size += b.size as u64;
                    blocks += !b.spare as u64;
                }
                assert!(self.rules.is_foreign && i == 0 || (size, blocks) == (s.reserved, s.blocks), "{s:?}");
            }
        }
    }
}
