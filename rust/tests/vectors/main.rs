//! Runs the ABI's vectors on arenas of this crate, and compares every result: abi/SPEC.md, section 13.
//!
//! Each is run three times: with the inline paths, with the table only, and with the inline paths without statistics in
//! between (these are slow calls, which could hide work that inline calls left undone).
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![allow(unsafe_op_in_unsafe_fn)]

#[path = "../common/pages.rs"]
mod pages;
#[path = "../common/pattern.rs"]
mod pattern;
#[path = "../common/strict.rs"]
mod strict;

mod calls;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use calls::*;
use pages::Pages;
use serde_json::Value;
use toft::abi::{self, Mark, Range};
use toft::Scope;

/// A change of the number of vectors must change this line, so that a missing vector is noticed.
const VECTORS: usize = 256 + 78;

// ---- contents of live allocations must not change ----

#[derive(Clone, Copy)]
struct Entry {
    p: *mut u8,
    n: usize,
    serial: u64,
    seed: u64,
}

impl Entry {
    fn fill(&self) {
        // SAFETY: a live allocation of n bytes.
        unsafe { pattern::fill(self.p, self.n, self.seed) }
    }

    /// Whether the bytes at `p` match what was written here, up to `kept`.
    fn is_whole_at(&self, p: *const u8, kept: usize) -> bool {
        // SAFETY: a live allocation of at least `kept` bytes.
        unsafe { pattern::is_whole(p, self.n, kept, self.seed) }
    }
}

// ---- one vector ----

struct Run<'a> {
    name: &'a str,
    /// Whether the vector determines placement; vectors of the rules do not.
    placed: bool,
    /// The op's number.
    op: usize,
    calls: Calls,
    pages: &'a Pages,
    /// The base of block i, once an address in it was returned.
    bases: HashMap<i64, usize>,
    entries: Vec<Entry>,
    serial: u64,
    seed: u64,
    slots: HashMap<String, Entry>,
    marks: HashMap<String, (Mark, u64)>,
    ranges: HashMap<String, Range>,
    cleaners: Vec<*mut Cleaner>,
    nodes: HashMap<String, *mut abi::Cleanup>,
    ran: &'a RefCell<Vec<String>>,
}

macro_rules! check {
    ($run:expr, $ok:expr, $($what:tt)*) => {
        if !$ok {
            panic!("{} [{:?}], op {}: {}", $run.name, $run.calls.how, $run.op, format!($($what)*));
        }
    };
}

macro_rules! same {
    ($run:expr, $what:expr, $got:expr, $want:expr) => {
        let (got, want) = ($got, $want);
        check!($run, got == want, "{} is {:?}, not {:?}", $what, got, want);
    };
}

/// "max-7" is `usize::MAX - 7` and "half+1" is `isize::MAX + 1`; absent is `or`.
fn number(value: &Value, or: usize) -> usize {
    let Some(text) = value.as_str() else { return value.as_u64().map_or(or, |n| n as usize) };
    let at = text.find(['+', '-']).unwrap_or(text.len());
    let word = match &text[..at] {
        "max" => usize::MAX,
        "half" => isize::MAX as usize,
        other => panic!("unknown number {other}"),
    };
    match text[at..].chars().next() {
        Some('-') => word - text[at + 1..].parse::<usize>().unwrap(),
        Some(_) => word + text[at + 1..].parse::<usize>().unwrap(),
        None => word,
    }
}

/// As `number`; "none" means no budget.
fn budget(value: &Value) -> u64 {
    if value == "none" {
        u64::MAX
    } else {
        number(value, 0) as u64
    }
}

fn sizes(value: &Value) -> Vec<usize> {
    value.as_array().map_or(vec![], |all| all.iter().map(|n| n.as_u64().unwrap() as usize).collect())
}

fn code(value: &Value) -> c_int {
    value.as_i64().expect("a code") as c_int
}

impl Run<'_> {
    fn id(&self, op: &Value) -> String {
        op["id"].as_str().expect("an id").to_string()
    }

    // ---- live allocations ----

    fn enter(&mut self, p: *mut u8, n: usize) -> Entry {
        self.serial += 1;
        self.seed += 1;
        if !self.placed && n != 0 {
            let apart = |e: &Entry| p.addr() + n <= e.p.addr() || e.p.addr() + e.n <= p.addr();
            check!(self, self.entries.iter().all(|e| e.n == 0 || apart(e)), "two allocations overlap");
        }
        let entry = Entry { p, n, serial: self.serial, seed: self.seed };
        entry.fill();
        self.entries.push(entry);
        entry
    }

    fn forget(&mut self, serial: u64) {
        self.entries.retain(|e| e.serial != serial);
    }

    fn forget_since(&mut self, serial: u64) {
        self.entries.retain(|e| e.serial <= serial);
    }

    /// Live allocations are contained. While a range is claimed the result for its bytes is unspecified, and not
    /// checked.
    fn check_contents(&self) {
        for e in &self.entries {
            check!(self, e.is_whole_at(e.p, e.n), "an allocation of {} was overwritten", e.n);
        }
        if self.calls.how == How::Quiet || self.ranges.values().any(|r| r.claim != 0) {
            return;
        }
        for e in self.entries.iter().filter(|e| e.n != 0) {
            let holds = self.calls.contains(e.p) && self.calls.contains(e.p.wrapping_add(e.n - 1));
            check!(self, holds, "an allocation of {} that the arena does not contain", e.n);
        }
        check!(self, !self.calls.contains((&raw const self.op).cast()), "contains foreign memory");
    }

    // ---- addresses ----

    fn check_address(&mut self, p: *mut u8, want: &Value) {
        if want.is_null() {
            check!(self, p.is_null(), "not null");
            return;
        }
        check!(self, !p.is_null(), "null, not {want}");
        if want == true {
            let inside = |(base, size)| (base + 64..=base + size).contains(&p.addr());
            check!(self, self.pages.out().into_iter().any(inside), "{p:?} is in no block of the arena");
            return;
        }
        let (block, offset) = (want[0].as_i64().unwrap(), want[1].as_u64().unwrap() as usize);
        // The end of one block may be the base of another, so the expected block determines which one is searched.
        let at = self.pages.out().into_iter().find(|(base, size)| p.addr() == base + offset && offset <= *size);
        let Some((base, _)) = at else {
            let inside = self.pages.out().into_iter().find(|(base, size)| p.addr().wrapping_sub(*base) <= *size);
            let found = inside.map(|(base, size)| (p.addr() - base, size));
            panic!(
                "{} [{:?}], op {}: {found:?}, expected block {block} + {offset}",
                self.name, self.calls.how, self.op
            );
        };
        self.bases.entry(block).or_insert(base);
        for (i, known) in &self.bases {
            check!(self, (*i == block) == (*known == base), "blocks {i} and {block} are mixed up");
        }
    }

    fn blocks_may_move(&mut self) {
        self.bases.retain(|block, _| *block == 0);
    }

    fn check_fresh(&self, p: *mut u8, align: usize, zeroed: std::ops::Range<usize>, zero: bool) {
        check!(self, p.addr() & (align - 1) == 0, "not aligned to {align}");
        if zero {
            // SAFETY: these bytes were just allocated, and zeroed by the provider.
            let clean = zeroed.into_iter().all(|i| unsafe { p.add(i).read() } == 0);
            check!(self, clean, "not zeroed");
        }
    }

    // ---- the ops ----

    fn alloc(&mut self, op: &Value) {
        let (n, align, zero) = (number(&op["n"], 0), number(&op["align"], 8), op["zero"] == true);
        let p = self.calls.alloc(n, align, zero);
        self.check_address(p, &op["at"]);
        if p.is_null() {
            return;
        }
        self.check_fresh(p, align, 0..n, zero);
        let entry = self.enter(p, n);
        if let Some(id) = op["id"].as_str() {
            self.slots.insert(id.to_string(), entry);
        }
    }

    fn allocs(&mut self, op: &Value) {
        let (n, align, times) = (number(&op["n"], 0), number(&op["align"], 8), op["times"].as_u64().unwrap());
        for i in 0..times {
            let p = self.calls.alloc(n, align, false);
            if i == 0 {
                self.check_address(p, &op["at"]);
            }
            if i == times - 1 {
                self.check_address(p, &op["last"]);
            }
            check!(self, !p.is_null(), "null at allocation {i}");
            self.check_fresh(p, align, 0..0, false);
            self.enter(p, n);
        }
    }

    fn resize(&mut self, op: &Value) {
        let (id, n, align) = (self.id(op), number(&op["n"], 0), number(&op["align"], 8));
        let (zero, stay) = (op["zero"] == true, op["stay"] == true);
        let flags = if zero { abi::ZERO } else { 0 } | if stay { abi::STAY } else { 0 };
        let old = self.slots.get(&id).copied();
        let (p, size) = old.map_or((ptr::null_mut(), 0), |e| (e.p, e.n));
        same!(self, "the old size", size, number(&op["old"], 0));
        // After a rewind or reset it is not live any more.
        let live = old.and_then(|e| self.entries.iter().find(|l| l.serial == e.serial).copied());
        let q = self.calls.resize(p, size, n, align, flags);
        self.blocks_may_move();
        if op["at"] == "stays" {
            same!(self, "the address", q, p);
        } else {
            self.check_address(q, &op["at"]);
        }
        if q.is_null() {
            return;
        }
        self.check_fresh(q, align, size..n, zero);
        if let Some(live) = live {
            check!(self, live.is_whole_at(q, live.n.min(n)), "its bytes did not survive");
            self.forget(live.serial);
        }
        let entry = self.enter(q, n);
        self.slots.insert(id, entry);
    }

    fn rewind_raw(&mut self, op: &Value) {
        #[repr(align(8))]
        struct Foreign(#[allow(dead_code)] [u8; 64]);
        let mut foreign = Foreign([0; 64]);
        let (mut mark, serial) = self.marks[&self.id(op)];
        mark.cursor = mark.cursor.wrapping_offset(op["plus"].as_i64().unwrap_or(0) as isize);
        if op["foreign"] == true {
            mark.cursor = (&raw mut foreign).cast();
        }
        mark.epoch = mark.epoch.wrapping_add_signed(op["epoch_plus"].as_i64().unwrap_or(0) as isize);
        // SAFETY: a live arena; allocations after the mark are not used any more.
        let code = unsafe { (self.calls.table().rewind)(self.calls.at(), mark.cursor, mark.epoch) };
        self.rewound(op, code, serial);
    }

    fn rewound(&mut self, op: &Value, done: c_int, serial: u64) {
        same!(self, "the code", done, code(&op["code"]));
        if done == abi::OK {
            self.forget_since(serial);
            self.blocks_may_move();
        }
    }

    fn claim(&mut self, op: &Value) {
        let (id, n, align) = (self.id(op), number(&op["n"], 0), number(&op["align"], 8));
        let mut range = self.ranges.remove(&id).unwrap_or(Range::EMPTY);
        let was = (range.cursor, range.limit, range.claim);
        let p = self.calls.claim(&mut range, n, align);
        let is = (range.cursor, range.limit, range.claim);
        self.ranges.insert(id, range);
        self.check_address(p, &op["at"]);
        if p.is_null() {
            check!(self, was.2 == 0 || was == is, "a failed claim changed the range");
            return;
        }
        check!(self, is.2 != 0, "a claimed range without an owner");
        if self.placed {
            self.check_address(is.0, &op["from"]);
            self.check_address(is.1, &op["to"]);
        }
        // SAFETY: a live arena.
        let head = unsafe { self.calls.head.as_ref() };
        let closed = head.limit.get() == head.cursor.get() && head.epoch.get() & 1 == 1;
        check!(self, closed, "the head is open while claimed");
        if n != 0 {
            self.enter(p, n);
        }
    }

    /// A range with an invalid cursor is refused and unchanged.
    fn past(&mut self, op: &Value, give: bool) {
        let id = self.id(op);
        let mut range = self.ranges.remove(&id).unwrap();
        let was = (range.cursor, range.limit, range.claim);
        range.cursor = range.cursor.wrapping_offset(op["n"].as_i64().unwrap() as isize);
        let moved = range.cursor;
        if give {
            same!(self, "the code", self.calls.give(&mut range), code(&op["code"]));
        } else {
            check!(self, self.calls.claim(&mut range, 0, 8).is_null(), "a range with an invalid cursor was claimed");
        }
        check!(self, (range.cursor, range.limit, range.claim) == (moved, was.1, was.2), "the range changed");
        range.cursor = was.0;
        self.ranges.insert(id, range);
    }

    fn give(&mut self, op: &Value) {
        let id = self.id(op);
        let mut range = self.ranges.remove(&id).unwrap_or(Range::EMPTY);
        let done = self.calls.give(&mut range);
        same!(self, "the code", done, code(&op["code"]));
        let zeroed = range.cursor.is_null() && range.limit.is_null() && range.claim == 0;
        check!(self, done != abi::OK || zeroed, "a range that was returned is not zeroed");
        self.ranges.insert(id, range);
    }

    fn fill(&mut self, op: &Value) {
        let (id, n) = (self.id(op), op["n"].as_i64().unwrap() as isize);
        let range = self.ranges.get_mut(&id).unwrap();
        let p = range.cursor;
        range.cursor = p.wrapping_offset(n);
        let end = range.cursor;
        if n > 0 {
            self.enter(p, n as usize);
        }
        // The range's owner may have moved its cursor back.
        for e in &mut self.entries {
            if e.p <= end && end < e.p.wrapping_add(e.n) {
                e.n = end.addr() - e.p.addr();
                e.fill();
            }
        }
    }

    fn cleanup(&mut self, op: &Value) {
        let id = self.id(op);
        let cleaner = Box::into_raw(Box::new(Cleaner { id: id.clone(), calls: self.calls, ran: self.ran }));
        self.cleaners.push(cleaner);
        // SAFETY: a live arena; the cleaner outlives it.
        let node = unsafe { (self.calls.table().cleanup)(self.calls.at(), Some(on_cleanup), cleaner.cast()) };
        self.check_address(node.cast(), &op["at"]);
        if !node.is_null() {
            self.nodes.insert(id, node);
        }
    }

    fn play_one(&mut self, op: &Value) {
        let calls = self.calls;
        match op["op"].as_str().unwrap() {
            "alloc" => self.alloc(op),
            "allocs" => self.allocs(op),
            "resize" => self.resize(op),
            "free" => {
                self.check_contents();
                let entry = self.slots.remove(&self.id(op)).unwrap();
                self.forget(entry.serial);
                calls.free(entry.p, entry.n);
                self.blocks_may_move();
            }
            "mark" => {
                self.marks.insert(self.id(op), (calls.mark(), self.serial));
            }
            "rewind" => {
                self.check_contents();
                let (mark, serial) = self.marks[&self.id(op)];
                self.rewound(op, calls.rewind(mark), serial);
            }
            "rewind_raw" => self.rewind_raw(op),
            "reset" => {
                self.check_contents();
                let policy = match op["policy"].as_str().unwrap() {
                    "recent" => abi::KEEP_RECENT,
                    "all" => abi::KEEP_ALL,
                    "bytes" => abi::KEEP_BYTES,
                    _ => NO_POLICY,
                };
                self.rewound(op, calls.reset(policy, number(&op["keep"], 0)), 0);
            }
            // SAFETY: a live arena.
            "trim" => unsafe { (calls.table().trim)(calls.at(), number(&op["keep"], 0)) },
            "budget" => {
                same!(self, "the code", calls.set(abi::SET_BUDGET, budget(&op["n"])), code(&op["code"]));
            }
            "set_unknown" => {
                same!(self, "the code", calls.set(NO_SETTING, 0), code(&op["code"]));
            }
            "cleanup" => self.cleanup(op),
            // SAFETY: the node is on the arena's list.
            "cancel" => unsafe { (*self.nodes[&self.id(op)]).function = None },
            "claim" => self.claim(op),
            "claim_past" => self.past(op, false),
            "give_past" => self.past(op, true),
            "fill" => self.fill(op),
            "give" => self.give(op),
            "copy" => {
                let of = &self.ranges[op["of"].as_str().unwrap()];
                let copy = Range { cursor: of.cursor, limit: of.limit, claim: of.claim };
                self.ranges.insert(self.id(op), copy);
            }
            // SAFETY: ignored, since a range is claimed.
            "release_early" => unsafe { (calls.table().release)(calls.at()) },
            other => panic!("unknown op {other}"),
        }
    }

    // ---- checks after every op ----

    fn check_traffic(&self, of: &Value) {
        let mut gave = self.pages.gave.take();
        gave.sort_unstable();
        let took = self.pages.took.take();
        if self.placed {
            same!(self, "blocks taken from the source", took, sizes(&of["took"]));
            same!(self, "blocks returned to the source", gave, sizes(&of["gave"]));
        }
        let none = vec![];
        let ran: Vec<&str> = of["ran"].as_array().unwrap_or(&none).iter().map(|id| id.as_str().unwrap()).collect();
        same!(self, "the cleanups run", self.ran.take(), ran);
    }

    fn check_head(&self) {
        // SAFETY: a live arena.
        let head = unsafe { self.calls.head.as_ref() };
        let (cursor, limit) = (head.cursor.get(), head.limit.get());
        let good = !cursor.is_null() && cursor <= limit && cursor.addr() % 8 == 0 && limit.addr() % 8 == 0;
        check!(self, good, "cursor and limit are not multiples of 8, in order: {cursor:?} {limit:?}");
    }

    fn check_stats(&self, op: &Value) {
        let mut s = abi::Stats::default();
        // SAFETY: a live arena; `s` has its size.
        unsafe { (self.calls.table().stats)(self.calls.at(), &mut s, size_of::<abi::Stats>()) };
        same!(self, "live", s.live, op["live"].as_u64().unwrap_or(s.live));
        same!(self, "blocks", s.blocks, op["blocks"].as_u64().unwrap_or(s.blocks));
        same!(self, "reserved", s.reserved, self.pages.bytes.get());
        same!(self, "source_calls", s.source_calls, self.pages.calls.get());
    }

    fn play(&mut self, ops: &[Value], is_end: bool) {
        for (i, op) in ops.iter().enumerate() {
            let last = is_end && i == ops.len() - 1;
            if op["op"] == "repeat" {
                let (body, times) = (op["ops"].as_array().unwrap(), op["times"].as_u64().unwrap());
                for k in 1..=times {
                    self.play(body, last && k == times);
                }
                continue;
            }
            self.op += 1;
            self.play_one(op);
            self.check_traffic(op);
            self.check_head();
            if self.calls.how != How::Quiet || last {
                self.check_stats(op);
            }
        }
    }
}

fn play(vector: &Value, how: How) {
    let pages = Pages::failing_at(sizes(&vector["fail_at"]).into_iter().map(|n| n as u64));
    let name = vector["name"].as_str().unwrap();
    let options = &vector["options"];
    let limit = Some(budget(&options["budget"])).filter(|n| *n != u64::MAX);
    let ran = RefCell::default(); // cleanups that ran, also after a failed check
    let made = Scope::from_source_with(&pages, number(&options["reserve"], 0), limit);
    assert_eq!(made.is_ok(), vector["created"] == true, "{name}: whether it was created");
    let Ok(arena) = made else { return };

    let mut run = Run {
        name,
        placed: vector["policy"] == 1,
        op: 0,
        calls: Calls { head: arena.as_raw(), how },
        pages: &pages,
        bases: HashMap::new(),
        entries: vec![],
        serial: 0,
        seed: 0,
        slots: HashMap::new(),
        marks: HashMap::new(),
        ranges: HashMap::new(),
        cleaners: vec![],
        nodes: HashMap::new(),
        ran: &ran,
    };
    run.check_traffic(&serde_json::json!({ "took": [4096] }));
    run.bases.insert(0, pages.out()[0].0);
    run.play(vector["ops"].as_array().unwrap(), true);
    run.check_contents();
    run.op += 1;
    drop(arena);
    run.check_traffic(&vector["end"]);
    for cleaner in run.cleaners {
        // SAFETY: made by `cleanup`, and the arena was released.
        drop(unsafe { Box::from_raw(cleaner) });
    }
}

/// All vectors of the repository; `None`: the crate is tested without them.
fn vectors() -> Option<&'static [Value]> {
    static ALL: OnceLock<Option<Vec<Value>>> = OnceLock::new();
    ALL.get_or_init(read).as_deref()
}

fn read() -> Option<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../abi/vectors");
    let inside = |kind: &str| std::fs::read_dir(folder.join(kind));
    let (Ok(rules), Ok(policy1)) = (inside("rules"), inside("policy1")) else {
        assert!(std::env::var_os("TOFT_VECTORS").is_none(), "no vectors in {}", folder.display());
        eprintln!("NOT TESTED: there is no {}, so no vector was played", folder.display());
        return None;
    };
    let mut files: Vec<_> =
        rules.chain(policy1).map(|f| f.unwrap().path()).filter(|p| p.extension() == Some("json".as_ref())).collect();
    files.sort();
    let (mut all, mut count) = (vec![], 0);
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        // One by one: Miri's time for a parser grows with the square of the text. Under Miri a fourth of the short ones
        // is read.
        for piece in text.split("\n{\"name\"").skip(1) {
            let vector = format!("{{\"name\"{piece}");
            let mut values = serde_json::Deserializer::from_str(&vector).into_iter();
            count += 1;
            if !cfg!(miri) || (vector.len() < 1500 && count % 4 == 0) {
                all.push(values.next().unwrap().unwrap());
            }
        }
    }
    assert_eq!(count, VECTORS);
    Some(all)
}

/// The number of operations, and the bytes that they take of the source.
fn weight(ops: &[Value]) -> (u64, usize) {
    ops.iter().fold((0, 0), |(count, bytes), op| {
        let (inner, taken) = op["ops"].as_array().map_or((1, 0), |body| weight(body));
        (count + inner * op["times"].as_u64().unwrap_or(1), bytes + taken + sizes(&op["took"]).iter().sum::<usize>())
    })
}

/// Under Miri only small ones are run.
fn is_played(vector: &Value) -> bool {
    let (count, bytes) = weight(vector["ops"].as_array().unwrap());
    (vector["word"] == "any" || usize::BITS == 64) && (!cfg!(miri) || (count <= 60 && bytes <= 1 << 20))
}

fn play_all(how: How) {
    let Some(all) = vectors() else { return };
    // Under Miri each is run in one way.
    let ways = all.iter().enumerate().filter(|(i, _)| !cfg!(miri) || (i + how as usize) % 3 == 0);
    let played: Vec<_> = ways.map(|(_, v)| v).filter(|v| is_played(v)).collect();
    assert!(cfg!(miri) || usize::BITS < 64 || played.len() == VECTORS);
    let failed: Vec<String> = played
        .into_iter()
        .filter_map(|v| {
            let panic = std::panic::catch_unwind(|| play(v, how)).err()?;
            let text = panic.downcast_ref::<String>().cloned();
            Some(text.unwrap_or_else(|| format!("{}: a panic", v["name"])))
        })
        .collect();
    assert!(failed.is_empty(), "{} of {VECTORS} vectors failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn the_inline_paths_give_every_result() {
    play_all(How::Inline);
}

#[test]
fn the_table_alone_gives_every_result() {
    play_all(How::Table);
}

#[test]
fn results_do_not_depend_on_reading_statistics() {
    play_all(How::Quiet);
}
