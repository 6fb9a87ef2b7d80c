//! What an arena knows of its allocations once somebody asks: records with red zones, samples, bytes by tag and phase.
//! Nothing of this exists before. It hooks in by the one compare of the inline path: `aim` lowers the limit to the next
//! byte that must be seen, and sets the watched bit, so that whatever goes backwards asks the table.
//!
//! What the rest of the provider calls is `extern "C"`: not for other languages, but since it must not unwind into them, and
//! nobody else should have to think of it.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(improper_ctypes_definitions)]

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::cell::{Cell, RefCell};
use core::mem::size_of;
use core::panic::Location;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::damage::Damage;
use super::freed::Shadow;
use super::state::*;
use crate::abi::{self, round8};
use crate::policy::{pad, MAX_REQUEST};

/// Around each allocation of a checked arena. The one in front ends with the number of its record and a word of pattern.
pub const ZONE: usize = 16;
const NUMBER: usize = size_of::<usize>();
/// Over the number, so that it looks like the rest.
const MASK: usize = usize::from_ne_bytes([ZONE_BYTE; NUMBER]);
pub const ZONE_BYTE: u8 = 0xFD;
pub const NEW_BYTE: u8 = 0xCD;
pub const GONE_BYTE: u8 = 0xDD;
/// So many stretches of marks that followed what is gone are told apart: of those from before no more is known.
const GONE_MARKS: usize = 4096;
/// More findings than this are counted, not kept.
const FINDINGS: usize = 1000;

/// Who asked for memory: a place in Rust code, or what code in another language gave as `site`.
#[derive(Clone, Copy)]
pub struct Caller {
    pub location: Option<&'static Location<'static>>,
    pub site: usize,
    /// The value that is put there has a destructor that nobody will run.
    pub drops: bool,
}

impl Caller {
    pub const NOBODY: Caller = Caller { location: None, site: 0, drops: false };

    fn key(&self) -> (usize, usize) {
        (self.location.map_or(0, |at| core::ptr::from_ref(at).addr()), self.site)
    }
}

/// An allocation of a checked arena, live or given back.
#[derive(Clone, Copy)]
pub struct Record {
    /// Zone, `size` bytes at `p`, zone up to `end`.
    pub start: *mut u8,
    pub p: *mut u8,
    pub size: usize,
    pub end: *mut u8,
    born: usize,
    /// The arena's, just after: what a mark taken then holds.
    cursor: usize,
    freed: bool,
    /// The arena's own.
    hidden: bool,
    pub caller: Caller,
}

#[derive(Clone, Copy)]
pub enum Fault {
    Corrupt { caller: Caller, size: usize, damage: Damage },
    LateWrite { caller: Caller, size: usize, damage: Damage },
    BadFree { caller: Caller, size: usize },
    Leak { caller: Caller, size: usize },
    OverBudget { caller: Caller, live: u64, budget: u64 },
}

/// Allocations by who asked, and under which tag.
pub struct Count {
    pub caller: Caller,
    pub tag: usize,
    pub count: f64,
    pub bytes: f64,
}

pub struct Tag {
    pub number: Option<u64>,
    pub name: String,
    pub budget: u64,
    pub allocated: u64,
}

pub struct Phase {
    pub name: &'static str,
    pub entries: u64,
    pub allocated: u64,
    pub kept: i64,
}

/// Of an arena and the scopes in it.
pub struct Shared {
    pub tags: Vec<Tag>,
    pub counts: Vec<Count>,
    pub phases: Vec<Phase>,
    pub faults: Vec<Fault>,
    pub faults_lost: u64,
    pub soft_budget: u64,
    soft_passed: bool,
    tag_budgets: bool,
    random: u64,
    ask: Option<Ask>,
}

/// Told live bytes, the budget and the size that is asked for, it may answer with another budget.
pub type Ask = Box<dyn FnMut(u64, u64, usize) -> Option<u64> + Send>;

/// What an arena that is watched has. Made when it is first switched on; ends with the arena.
pub struct Watch {
    /// A box of the outermost arena's that is watched: see `root`.
    shared: NonNull<RefCell<Shared>>,
    own: RefCell<Own>,
    pub gone: RefCell<Vec<Shadow>>,
    metered: Cell<bool>,
    period: Cell<u64>,
    /// The thread that the arena is pinned to, by the address of one of its locals; 0: none.
    thread: Cell<usize>,
    /// Calls by other threads, and where the last one was.
    strangers: AtomicUsize,
}

struct Own {
    records: Vec<Record>,
    /// The epoch when the checks began, or the arena was last reset, and the cursor then: what is older has no record.
    since: usize,
    from: usize,
    /// `from`, until a trim took the empty arena's block.
    before: usize,
    /// Epochs, from the first up to the second, of marks that are stale though their place may be good: what they followed
    /// lay in a block of its own, moved no cursor, and was given back. Ascending, and apart.
    gone_marks: Vec<(usize, usize)>,
    /// The next sample is due when so much was allocated.
    next_sample: u64,
    /// Where on the way from 0 to the bytes in line which tag begins: in line are those in regular blocks, which go from
    /// their end alone.
    tag_stack: Vec<(u64, usize)>,
    /// The others, in the order in which they came: their block, tag and bytes.
    apart: Vec<(usize, usize, u64)>,
    apart_bytes: u64,
    tag: usize,
    /// The present tag when the range that is out was claimed.
    claim_tag: usize,
    /// `allocated` as far as it is counted for a tag.
    counted: u64,
}

impl Shared {
    fn fault(&mut self, fault: Fault) {
        #[cfg(feature = "std")]
        crate::hook::found(|| crate::report::Finding::of(fault));
        if self.faults.len() < FINDINGS && self.faults.try_reserve(1).is_ok() {
            self.faults.push(fault);
        } else {
            self.faults_lost += 1;
        }
    }

    fn count(&mut self, caller: Caller, tag: usize, count: f64, bytes: f64) {
        let found = self.counts.binary_search_by_key(&(caller.key(), tag), |c| (c.caller.key(), c.tag));
        match found {
            Ok(at) => {
                self.counts[at].count += count;
                self.counts[at].bytes += bytes;
            }
            Err(at) => {
                if self.counts.try_reserve(1).is_ok() {
                    self.counts.insert(at, Count { caller, tag, count, bytes });
                }
            }
        }
    }

    fn tag_named(&mut self, number: Option<u64>, name: &str) -> Option<usize> {
        let number = if name.is_empty() { number.or(Some(0)) } else { number }; // 0: no tag
        let same = |t: &Tag| if name.is_empty() { t.number == number } else { t.name == name };
        if let Some(at) = self.tags.iter().position(same) {
            if number.is_some() {
                self.tags[at].number = number;
            }
            return Some(at);
        }
        self.tags.try_reserve(1).ok()?;
        let mut owned = String::new();
        owned.try_reserve(name.len()).ok()?;
        owned.push_str(name);
        self.tags.push(Tag { number, name: owned, budget: u64::MAX, allocated: 0 });
        Some(self.tags.len() - 1)
    }
}

impl Shared {
    fn tag_within(&mut self, outer: usize, name: &str) -> Option<usize> {
        if let Some(path) = name.strip_prefix('/') {
            return self.tag_named(None, path);
        }
        let before = &self.tags[outer].name;
        if name.is_empty() {
            return Some(outer);
        }
        if before.is_empty() {
            return self.tag_named(None, name);
        }
        let same = |t: &Tag| t.name.strip_prefix(before.as_str()).and_then(|rest| rest.strip_prefix('/')) == Some(name);
        if let Some(at) = self.tags.iter().position(same) {
            return Some(at);
        }
        let mut path = String::new();
        path.try_reserve(before.len() + 1 + name.len()).ok()?;
        path.extend([before.as_str(), "/", name]);
        self.tag_named(None, &path)
    }
}

impl Own {
    /// What there is has no record, and what comes now has.
    fn begin(&mut self, a: ArenaPtr) {
        self.since = a.epoch();
        self.from = a.head.cursor.get().addr();
        self.gone_marks.clear();
    }

    /// A rewind to the present epoch forgot what was allocated from `born` on.
    fn note_gone_marks(&mut self, born: usize, now: usize) {
        while self.gone_marks.last().is_some_and(|range| range.0 > born) {
            self.gone_marks.pop();
        }
        if self.gone_marks.len() == GONE_MARKS {
            self.gone_marks.drain(..GONE_MARKS / 2);
        }
        if self.gone_marks.try_reserve(1).is_ok() {
            self.gone_marks.push((born, now));
        }
    }

    fn mark_is_gone(&self, epoch: usize) -> bool {
        let older = self.gone_marks.partition_point(|range| range.0 <= epoch);
        older.checked_sub(1).is_some_and(|last| epoch < self.gone_marks[last].1)
    }

    /// SPEC 6: what lies above is forgotten, and what comes now is the present tag's.
    fn fall(&mut self, live: u64) {
        let in_line = live.saturating_sub(self.apart_bytes);
        while self.tag_stack.last().is_some_and(|top| top.0 >= in_line) {
            self.tag_stack.pop();
        }
        if self.tag_stack.last().is_none_or(|top| top.1 != self.tag) && self.tag_stack.try_reserve(1).is_ok() {
            self.tag_stack.push((in_line, self.tag));
        }
    }

    fn live_of(&self, tag: usize, live: u64) -> u64 {
        let in_line = live.saturating_sub(self.apart_bytes);
        let ends = self.tag_stack.iter().skip(1).map(|entry| entry.0).chain([in_line]);
        let stretches = self.tag_stack.iter().zip(ends).filter(|(entry, _)| entry.1 == tag);
        let apart: u64 = self.apart.iter().filter(|entry| entry.1 == tag).map(|entry| entry.2).sum();
        apart + stretches.map(|(entry, end)| end.saturating_sub(entry.0)).sum::<u64>()
    }

    /// There is room: see `apart_room`.
    fn add_apart(&mut self, block: Block, tag: usize, bytes: u64) {
        let block = block.base().addr();
        match self.apart.last_mut().filter(|last| last.0 == block && last.1 == tag) {
            Some(last) => last.2 += bytes,
            None => self.apart.push((block, tag, bytes)),
        }
        self.apart_bytes += bytes;
    }

    fn forget_apart(&mut self) {
        self.apart.clear();
        self.apart_bytes = 0;
    }
}

impl Shared {
    /// Bytes to the next sample: `period` on average, and without memory. So a scope may begin anew, and end in any order,
    /// and no pattern of a program is missed.
    fn distance(&mut self, period: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let u = (self.random >> 32) | 1; // of 2^32
        let whole = u.ilog2() as u64;
        // The logarithm's bits behind the point, by squaring: there is no ln without std.
        let (mut log, mut y) = (whole << 16, u << (31 - whole));
        for bit in (0..16).rev() {
            y = (y * y) >> 31;
            if y >> 32 != 0 {
                log |= 1 << bit;
                y >>= 1;
            }
        }
        let nats = ((32 << 16) - log) as f64 / 65536.0 * core::f64::consts::LN_2;
        // Whole numbers have no memory if each byte has the same chance: nats / ln(1 + 1 / period), by its first terms.
        let middle = period as f64 + 0.5;
        let y = 0.25 / (middle * middle);
        (nats * middle / (1.0 + y / 3.0 + y * y / 5.0)) as u64
    }
}

/// A box, if there is memory for it.
pub fn boxed<T>(value: T) -> Option<Box<T>> {
    let layout = Layout::new::<T>();
    if layout.size() == 0 {
        return Some(Box::new(value)); // takes none
    }
    // SAFETY: the size is not 0; then memory for a T, as a box has it.
    unsafe {
        let at = NonNull::new(alloc::alloc::alloc(layout).cast::<T>())?;
        at.write(value);
        Some(Box::from_raw(at.as_ptr()))
    }
}

/// An allocation's bytes with its zones, of which the one in front is as large as the alignment. `None`: too many.
fn zoned(size: usize, align: usize) -> Option<usize> {
    align.max(ZONE).checked_add(round8(size))?.checked_add(ZONE).filter(|whole| *whole <= MAX_REQUEST)
}

impl Watch {
    pub fn fault(&self, fault: Fault) {
        self.shared().borrow_mut().fault(fault);
    }

    fn shared(&self) -> &RefCell<Shared> {
        // SAFETY: it ends with the outermost arena, after all scopes.
        unsafe { self.shared.as_ref() }
    }
}

/// An address that no other thread has while this one lives.
pub fn this_thread() -> usize {
    #[cfg(feature = "std")]
    {
        std::thread_local!(static HERE: u8 = const { 0 });
        HERE.with(|here| core::ptr::from_ref(here).addr())
    }
    #[cfg(not(feature = "std"))]
    1
}

impl ArenaPtr {
    /// The watch, if there ever was one. It stays until the arena's end.
    pub fn watch(&self) -> Option<&Watch> {
        // SAFETY: made by `watched` of a box, and freed only by `end_watch`, with the arena.
        self.slow().watch.get().map(|watch| unsafe { watch.as_ref() })
    }

    fn watched(&self) -> Option<&Watch> {
        if self.slow().watch.get().is_none() {
            let mut tags: Vec<Tag> = Vec::new();
            tags.try_reserve(1).ok()?;
            tags.push(Tag { number: Some(0), name: String::new(), budget: u64::MAX, allocated: 0 });
            let shared = Shared {
                tags,
                counts: Vec::new(),
                phases: Vec::new(),
                faults: Vec::new(),
                faults_lost: 0,
                soft_budget: u64::MAX,
                soft_passed: false,
                tag_budgets: false,
                random: 0x9E37_79B9_7F4A_7C15 ^ self.base().addr() as u64,
                ask: None,
            };
            let shared = NonNull::from(Box::leak(boxed(RefCell::new(shared))?));
            if !self.add_watch(shared, 0) {
                // SAFETY: just made of a box.
                drop(unsafe { Box::from_raw(shared.as_ptr()) });
            }
        }
        self.watch()
    }

    fn add_watch(&self, shared: NonNull<RefCell<Shared>>, tag: usize) -> bool {
        let slow = self.slow();
        let own = Own {
            records: Vec::new(),
            since: self.epoch(),
            from: self.head.cursor.get().addr(),
            before: 0,
            gone_marks: Vec::new(),
            next_sample: 0,
            tag_stack: Vec::new(),
            apart: Vec::new(),
            apart_bytes: 0,
            tag,
            claim_tag: tag,
            counted: slow.allocated.get(),
        };
        let watch = Watch {
            shared,
            own: RefCell::new(own),
            gone: RefCell::new(Vec::new()),
            metered: Cell::new(false),
            period: Cell::new(0),
            thread: Cell::new(0),
            strangers: AtomicUsize::new(0),
        };
        let Some(watch) = boxed(watch) else { return false };
        slow.watch.set(Some(NonNull::from(Box::leak(watch))));
        true
    }

    /// A scope is watched as the arena around it is, and tells it what it finds. `false`: there is no memory for that.
    #[cold]
    #[inline(never)]
    pub extern "C" fn watch_like(self, parent: ArenaPtr) -> bool {
        let Some(theirs) = parent.watch().filter(|_| parent.is(WATCHED)) else { return true };
        self.enter();
        let tag = theirs.own.borrow().tag;
        if !self.add_watch(theirs.shared, tag) {
            return false;
        }
        let Some(watch) = self.watch() else { return false };
        watch.metered.set(theirs.metered.get());
        watch.period.set(theirs.period.get());
        watch.thread.set(theirs.thread.get());
        watch.own.borrow_mut().next_sample = watch.shared().borrow_mut().distance(theirs.period.get());
        self.raise(parent.flags.get() & (WATCHED | CHECKED));
        true
    }

    /// The arena ends.
    #[cold]
    #[inline(never)]
    pub extern "C" fn end_watch(self) {
        let owns_shared = self.root() == self;
        if let (Some(watch), Some(parent)) = (self.watch(), self.parent.get()) {
            self.count_tag(watch);
            parent.inherit(self.slow().allocated.get());
        }
        if let Some(watch) = self.slow().watch.take() {
            // SAFETY: made of boxes; nobody refers to them between operations, and the scopes have ended.
            let watch = unsafe { Box::from_raw(watch.as_ptr()) };
            if owns_shared {
                // SAFETY: as above.
                let shared = unsafe { Box::from_raw(watch.shared.as_ptr()) };
                crate::drops::stop_panic(|| drop(shared)); // what a decision about refusals captured may panic
            }
        }
    }

    /// A scope ends that allocated so much, which was counted for its tags, and sampled.
    fn inherit(self, allocated: u64) {
        if let Some(watch) = self.watch() {
            self.slow().allocated.set(self.slow().allocated.get() + allocated);
            let mut own = watch.own.borrow_mut();
            own.counted += allocated;
            own.next_sample = own.next_sample.saturating_add(allocated);
        }
    }

    /// What is shared changed: nobody goes on inline as before.
    fn aim_all(self) {
        self.enter();
        self.aim();
        self.each_scope(ArenaPtr::aim_all);
    }

    /// Something was switched: is anything on?
    fn switched(&self, watch: &Watch) {
        let shared = watch.shared().borrow();
        let on =
            watch.metered.get() || watch.period.get() != 0 || shared.soft_budget != u64::MAX || shared.ask.is_some();
        if on || self.is(CHECKED) || watch.thread.get() != 0 {
            self.raise(WATCHED);
        } else {
            self.lower(WATCHED);
        }
    }

    // ---- switching: the arena is entered and not closed ----

    pub fn set_checked(self, on: bool) -> i32 {
        let Some(watch) = self.watched() else { return abi::ENOMEM };
        if on == self.is(CHECKED) {
            return abi::OK;
        }
        self.bump_epoch();
        self.look_at_all_gone();
        self.lower(CHECKED);
        let code = self.check_records(0);
        self.forget_gone(); // none is filled, and what is allocated now has no records, or begins to
        let mut own = watch.own.borrow_mut();
        own.begin(self);
        drop(own);
        if on {
            self.raise(CHECKED);
        }
        self.switched(watch);
        code
    }

    pub fn sample(self) -> u64 {
        self.watch().map_or(0, |watch| watch.period.get())
    }

    pub fn set_sample(self, period: u64) -> i32 {
        let Some(watch) = self.watched() else { return abi::ENOMEM };
        watch.period.set(period);
        let distance = watch.shared().borrow_mut().distance(period);
        watch.own.borrow_mut().next_sample = self.slow().allocated.get().saturating_add(distance);
        self.bump_epoch();
        self.switched(watch);
        abi::OK
    }

    pub fn set_metered(self, on: bool) -> i32 {
        let Some(watch) = self.watched() else { return abi::ENOMEM };
        if on != watch.metered.get() {
            let mut own = watch.own.borrow_mut();
            own.forget_apart();
            if on && !self.apart_all(&mut own) {
                own.forget_apart();
                return abi::ENOMEM;
            }
            watch.metered.set(on);
            own.tag = 0;
            own.tag_stack.clear();
            let apart = own.apart_bytes;
            own.fall(apart); // at 0 in line
            own.counted = self.slow().allocated.get();
        }
        self.bump_epoch();
        self.switched(watch);
        abi::OK
    }

    /// All that lies apart already is nobody's. `false`: there is no memory to note it.
    fn apart_all(self, own: &mut Own) -> bool {
        let mut at = Some(self.slow().newest.get());
        while let Some(b) = at {
            if matches!(b.kind.get(), Kind::OneOff | Kind::Aside) {
                if own.apart.try_reserve(1).is_err() {
                    return false;
                }
                own.add_apart(b, 0, b.charge.get() as u64);
            }
            at = b.next.get();
        }
        true
    }

    /// Allocations from now on count for the tag of this number and path; the one before, by its number here.
    pub fn set_tag(self, number: u64, path: &str) -> Option<usize> {
        let watch = self.watched()?;
        let tag = watch.shared().borrow_mut().tag_named(Some(number), path.strip_prefix('/').unwrap_or(path))?;
        Some(self.change_tag(tag))
    }

    /// The same for a name within the present tag, or a path that begins with `/`.
    pub fn enter_tag(self, name: &str) -> Option<usize> {
        let watch = self.watched()?;
        let outer = watch.own.borrow().tag;
        let tag = watch.shared().borrow_mut().tag_within(outer, name)?;
        Some(self.change_tag(tag))
    }

    pub fn change_tag(self, tag: usize) -> usize {
        let Some(watch) = self.watch() else { return 0 };
        self.count_tag(watch);
        let mut own = watch.own.borrow_mut();
        let before = core::mem::replace(&mut own.tag, tag);
        own.fall(self.slow().live.get());
        before
    }

    /// A range is claimed under the present tag.
    #[cold]
    #[inline(never)]
    pub extern "C" fn note_claim(self) {
        if let Some(watch) = self.watch() {
            let mut own = watch.own.borrow_mut();
            own.claim_tag = own.tag;
        }
    }

    /// What the range that is out took is counted next: for the tag that it was claimed under. The present one comes back.
    #[cold]
    #[inline(never)]
    pub extern "C" fn enter_claim_tag(self) -> Option<usize> {
        let tag = self.watch()?.own.borrow().claim_tag;
        Some(self.change_tag(tag))
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn leave_claim_tag(self, present: usize) {
        self.change_tag(present);
    }

    pub fn set_tag_budget(self, name: &str, bytes: u64) -> i32 {
        let Some(watch) = self.watched() else { return abi::ENOMEM };
        let mut shared = watch.shared().borrow_mut();
        let Some(tag) = shared.tag_named(None, name.strip_prefix('/').unwrap_or(name)) else { return abi::ENOMEM };
        shared.tags[tag].budget = bytes;
        shared.tag_budgets = shared.tags.iter().any(|tag| tag.budget != u64::MAX);
        drop(shared);
        self.root().aim_all();
        abi::OK
    }

    pub fn set_soft_budget(self, bytes: u64) -> i32 {
        let Some(watch) = self.watched() else { return abi::ENOMEM };
        let mut shared = watch.shared().borrow_mut();
        shared.soft_budget = bytes;
        shared.soft_passed = false;
        drop(shared);
        self.bump_epoch();
        self.switched(watch);
        self.root().aim_all();
        abi::OK
    }

    /// The one before comes back: its captures may have destructors, which run when the arena is in order again.
    pub fn set_ask(self, ask: &mut Option<Ask>) -> i32 {
        let Some(watch) = self.watched() else { return abi::ENOMEM };
        core::mem::swap(&mut watch.shared().borrow_mut().ask, ask);
        self.switched(watch);
        abi::OK
    }

    /// From now on only this thread may allocate; 0: every one that has the arena.
    #[cfg(feature = "std")]
    pub fn pin_thread(self, thread: usize) -> i32 {
        let Some(watch) = self.watched() else { return abi::ENOMEM };
        watch.thread.set(thread);
        self.switched(watch);
        abi::OK
    }

    /// Delivers the findings of the operation that ends here. Until that is done nothing allocates here and in the arenas
    /// around: a caller that is to rewind must not rewind what a hook has allocated.
    #[cfg(feature = "std")]
    #[cold]
    #[inline(never)]
    pub extern "C" fn deliver(self) {
        if self.is(BUSY) {
            return; // the operation that it runs in is not over
        }
        for a in self.and_around().filter(|a| !a.is(BUSY)) {
            a.raise(BUSY | IN_HOOK);
        }
        self.aim();
        crate::hook::deliver();
        for a in self.and_around().filter(|a| a.is(IN_HOOK)) {
            a.lower(BUSY | IN_HOOK);
        }
    }

    // ---- the hooks ----

    /// Is it a thread that the arena is not pinned to? Asked before anything is touched.
    #[cold]
    #[inline(never)]
    pub extern "C" fn is_called_by_stranger(self) -> bool {
        let Some(watch) = self.watch() else { return false };
        let pinned = watch.thread.get();
        if pinned == 0 || pinned == this_thread() {
            return false;
        }
        watch.strangers.fetch_add(1, Ordering::Relaxed);
        #[cfg(feature = "std")]
        {
            crate::hook::found(|| crate::report::Finding::WrongThread { calls: 1 });
            crate::hook::deliver(); // nothing of the arena is touched
        }
        true
    }

    /// Is there memory to note one more block that lies apart?
    #[cold]
    #[inline(never)]
    pub extern "C" fn apart_room(self) -> bool {
        self.watch().is_none_or(|watch| !watch.metered.get() || watch.own.borrow_mut().apart.try_reserve(1).is_ok())
    }

    /// Its bytes were added to live, and are not in line.
    #[cold]
    #[inline(never)]
    pub extern "C" fn add_apart(self, block: Block, bytes: usize) {
        if let Some(watch) = self.watch().filter(|watch| watch.metered.get()) {
            let mut own = watch.own.borrow_mut();
            let tag = own.tag;
            own.add_apart(block, tag, bytes as u64);
        }
    }

    /// They were taken from live. It is among the last.
    #[cold]
    #[inline(never)]
    pub extern "C" fn end_apart(self, block: Block) {
        if let Some(watch) = self.watch().filter(|watch| watch.metered.get()) {
            let mut own = watch.own.borrow_mut();
            let block = block.base().addr();
            let end = own.apart.iter().rposition(|entry| entry.0 == block).map_or(0, |last| last + 1);
            let start = own.apart[..end].iter().rposition(|entry| entry.0 != block).map_or(0, |other| other + 1);
            let gone: u64 = own.apart.drain(start..end).map(|entry| entry.2).sum();
            own.apart_bytes -= gone;
        }
    }

    /// Part of `aim`: how far the inline path may go.
    #[cold]
    #[inline(never)]
    pub extern "C" fn aim_watch(self, mut room: u64) -> u64 {
        let Some(watch) = self.watch() else { return room };
        let slow = self.slow();
        let live = slow.live.get();
        self.count_tag(watch);
        let mut own = watch.own.borrow_mut();
        own.fall(live);
        let shared = watch.shared().borrow();
        if self.is(CHECKED) || watch.thread.get() != 0 {
            return 0;
        }
        if watch.period.get() != 0 {
            // The allocation that passes the next sample is seen.
            room = room.min(own.next_sample.saturating_sub(slow.allocated.get()) & !7);
        }
        let alone = self.parent.get().is_none() && slow.scopes.get().is_none();
        if shared.soft_budget != u64::MAX && !shared.soft_passed {
            room = room.min(if alone { shared.soft_budget.saturating_sub(live) & !7 } else { 0 });
        }
        let budget = shared.tags[own.tag].budget;
        if budget != u64::MAX && watch.metered.get() {
            room = room.min(if alone { budget.saturating_sub(own.live_of(own.tag, live)) & !7 } else { 0 });
        }
        room
    }

    fn count_tag(self, watch: &Watch) {
        let mut own = watch.own.borrow_mut();
        let allocated = self.slow().allocated.get();
        let more = allocated.wrapping_sub(own.counted); // less than nothing if a range did not go on
        let counted = &mut watch.shared().borrow_mut().tags[own.tag].allocated;
        *counted = counted.wrapping_add(more);
        own.counted = allocated;
    }

    /// Does the present tag's budget allow it?
    #[cold]
    #[inline(never)]
    pub extern "C" fn tag_affords(self, charge: usize) -> bool {
        let Some(watch) = self.watch() else { return true };
        let (tag, budget) = {
            let (own, shared) = (watch.own.borrow(), watch.shared().borrow());
            if !shared.tag_budgets || !watch.metered.get() {
                return true;
            }
            (own.tag, shared.tags[own.tag].budget)
        };
        let used = || self.root().live_of_tag(tag).saturating_add(self.root().held_of_tag(tag));
        budget == u64::MAX || used().saturating_add(charge as u64) <= budget
    }

    /// The innermost first.
    fn and_around(self) -> impl Iterator<Item = ArenaPtr> {
        core::iter::successors(Some(self), |a| a.parent.get())
    }

    /// The outermost that shares what is known: not one that is not watched, or was by itself, around a scope that is.
    fn root(self) -> ArenaPtr {
        let shared = |a: &ArenaPtr| a.watch().map(|watch| watch.shared);
        let mine = shared(&self);
        self.and_around().take_while(|a| shared(a) == mine).last().unwrap_or(self)
    }

    /// Here and in the scopes that are open.
    pub fn live_of_tag(self, tag: usize) -> u64 {
        let Some(watch) = self.watch() else { return 0 };
        self.sync();
        let mut live = watch.own.borrow().live_of(tag, self.slow().live.get());
        self.each_scope(|scope| live += scope.live_of_tag(tag));
        live
    }

    /// What the ranges that are out may come to, here and in the scopes that are open.
    fn held_of_tag(self, tag: usize) -> u64 {
        let Some(watch) = self.watch() else { return 0 };
        let mut held = if watch.own.borrow().claim_tag == tag { self.held() as u64 } else { 0 };
        self.each_scope(|scope| held += scope.held_of_tag(tag));
        held
    }

    /// As `place`, seen.
    #[cold]
    #[inline(never)]
    pub extern "C" fn place_watched(self, size: usize, align: usize, caller: Caller) -> Option<NonNull<u8>> {
        let Some(watch) = self.watch() else { return self.place(size, align) };
        let before = self.slow().allocated.get();
        let p = self.place_or_ask(watch, size, align, caller, false);
        if p.is_some() {
            self.note(watch, size, caller, before);
        }
        p
    }

    fn place_or_ask(
        self,
        watch: &Watch,
        size: usize,
        align: usize,
        caller: Caller,
        hidden: bool,
    ) -> Option<NonNull<u8>> {
        let place = || {
            if self.is(CHECKED) {
                self.place_checked(watch, size, align, caller, hidden)
            } else {
                self.place(size, align)
            }
        };
        place().or_else(|| if self.ask(watch, size, align) { place() } else { None })
    }

    /// It was refused: for budgets, here or around, and are all of them raised?
    fn ask(self, watch: &Watch, size: usize, align: usize) -> bool {
        let (charge, align) = match self.is(CHECKED) {
            true => (zoned(size, align), align.max(ZONE)),
            false => (Some(round8(size)), align),
        };
        let Some(charge) = charge.filter(|charge| self.tag_affords(*charge)) else { return false };
        let need = charge as u64 + if align > 8 { align as u64 } else { 0 };
        let mut raised = false;
        for a in self.and_around() {
            let budget = a.budget.get();
            if budget != u64::MAX && a.live_and_held().saturating_add(need) > budget {
                raised = self.ask_about(watch, a, size);
                if !raised {
                    return false;
                }
            }
        }
        raised
    }

    /// May the budget of `over` be raised, this arena's or one around?
    fn ask_about(self, watch: &Watch, over: ArenaPtr, size: usize) -> bool {
        if self.and_around().any(|a| a.is(BUSY)) {
            return false; // of another decision, and open until that is made
        }
        let Some(mut ask) = watch.shared().borrow_mut().ask.take() else { return false };
        let (live, budget) = (over.live_with_scopes(), over.budget.get());
        self.and_around().for_each(|a| a.raise(BUSY)); // it may look at them, not allocate there
        self.aim();
        let mut answer = None;
        crate::drops::stop_panic(|| answer = ask(live, budget, size));
        self.and_around().for_each(|a| a.lower(BUSY));
        let replaced = watch.shared().borrow().ask.is_some();
        if replaced {
            crate::drops::stop_panic(|| drop(ask)); // by itself
        } else {
            watch.shared().borrow_mut().ask = Some(ask);
        }
        match answer {
            Some(more) if more > budget => {
                over.budget.set(more);
                true
            }
            _ => false,
        }
    }

    /// Counts what was just placed: `before` is what was allocated until then.
    fn note(self, watch: &Watch, size: usize, caller: Caller, before: u64) {
        let mut own = watch.own.borrow_mut();
        let allocated = self.slow().allocated.get();
        if self.is(CHECKED) {
            watch.shared().borrow_mut().count(caller, own.tag, 1.0, size as f64);
        } else if watch.period.get() != 0 {
            let period = watch.period.get();
            let mut hits = 0;
            let many = allocated.saturating_sub(own.next_sample.max(before)) / period;
            if many > 256 {
                hits = many; // as good as one by one, and not so slow
                own.next_sample = allocated.saturating_add(watch.shared().borrow_mut().distance(period));
            }
            while own.next_sample < allocated {
                hits += (own.next_sample >= before) as u64; // else it was in a range, or the arena's own
                let distance = watch.shared().borrow_mut().distance(period);
                own.next_sample = own.next_sample.saturating_add(distance);
            }
            // One of `charge` bytes is met once in period / charge times.
            let charge = allocated.saturating_sub(before).max(1);
            if hits != 0 {
                let count = hits as f64 * period as f64 / charge as f64;
                watch.shared().borrow_mut().count(caller, own.tag, count, count * size as f64);
            }
        }
        drop(own);
        let (soft, passed) = (watch.shared().borrow().soft_budget, watch.shared().borrow().soft_passed);
        if soft != u64::MAX && !passed {
            let live = self.root().live_with_scopes();
            if live > soft {
                let mut shared = watch.shared().borrow_mut();
                shared.soft_passed = true;
                shared.fault(Fault::OverBudget { caller, live, budget: soft });
            }
        }
    }

    /// What a growth in place added.
    #[cold]
    #[inline(never)]
    pub extern "C" fn note_growth(self, more: usize, caller: Caller, before: u64) {
        if let Some(watch) = self.watch().filter(|_| self.slow().allocated.get() > before) {
            self.note(watch, more, caller, before);
        }
    }

    // ---- checked ----

    fn place_checked(
        self,
        watch: &Watch,
        size: usize,
        align: usize,
        caller: Caller,
        hidden: bool,
    ) -> Option<NonNull<u8>> {
        let front = align.max(ZONE);
        let whole = zoned(size, align)?;
        watch.own.borrow_mut().records.try_reserve(1).ok()?;
        let start = self.place(whole, front)?.as_ptr();
        let p = start.wrapping_add(front);
        if let Some(block) = self.block_of(start.addr()) {
            self.look_back(watch, block, start.wrapping_add(whole));
        }
        let number = watch.own.borrow().records.len();
        // SAFETY: just allocated.
        unsafe {
            start.write_bytes(ZONE_BYTE, whole);
            p.sub(ZONE).cast::<usize>().write_unaligned(number ^ MASK);
            p.write_bytes(NEW_BYTE, size);
        }
        self.bump_epoch(); // a mark between any two allocations tells them apart
        watch.own.borrow_mut().records.push(Record {
            start,
            p,
            size,
            end: start.wrapping_add(whole),
            born: self.epoch(),
            cursor: self.head.cursor.get().addr(),
            freed: false,
            hidden,
            caller,
        });
        NonNull::new(p)
    }

    /// For the arena's own: nobody counts it.
    #[cold]
    #[inline(never)]
    pub extern "C" fn place_hidden(self, size: usize, align: usize) -> Option<NonNull<u8>> {
        match self.watch().filter(|_| self.is(WATCHED)) {
            Some(watch) => self.place_or_ask(watch, size, align, Caller::NOBODY, true),
            None => self.place(size, align),
        }
    }

    /// Forgets the records that were born after `epoch`, and says what they show. Their memory is given back, unless the
    /// arena is checked no more.
    #[cold]
    #[inline(never)]
    pub extern "C" fn check_records(self, epoch: usize) -> i32 {
        let Some(watch) = self.watch() else { return abi::OK };
        let (mut own, mut shared) = (watch.own.borrow_mut(), watch.shared().borrow_mut());
        let (mut code, mut last) = (abi::OK, None);
        while own.records.last().is_some_and(|record| record.born > epoch) {
            let Some(record) = own.records.pop() else { break };
            last = Some((record.cursor, record.born));
            if let Some(damage) = record.broken(own.records.len()) {
                code = abi::ECORRUPT;
                shared.fault(Fault::Corrupt { caller: record.caller, size: record.size, damage });
            }
            let end = record.p.wrapping_add(record.size);
            if let Some(fault) = if record.freed { record.late_write(record.p, end) } else { None } {
                code = abi::ECORRUPT;
                shared.fault(fault);
            }
            if !self.is(CHECKED) {
                continue; // the checks end, and the value lives on
            }
            self.poison(record.start, record.end); // what was served aside is not below the cursor
            Watch::remember_gone(&mut watch.gone.borrow_mut(), self.block_of(record.start.addr()), record);
            if record.caller.drops && !record.freed {
                shared.fault(Fault::Leak { caller: record.caller, size: record.size });
            }
        }
        let cursor = own.records.last().map_or(own.from, |below| below.cursor);
        if let Some((_, born)) = last.filter(|last| last.0 == cursor) {
            self.bump_epoch(); // marks that are taken now are good
            own.note_gone_marks(born, self.epoch());
        }
        code
    }

    /// A round is over.
    #[cold]
    #[inline(never)]
    pub extern "C" fn rearm(self) {
        if let Some(watch) = self.watch() {
            if self.root() == self {
                watch.shared().borrow_mut().soft_passed = false; // a scope's reset ends no round of the arena's
            }
            let mut own = watch.own.borrow_mut();
            own.forget_apart();
            own.begin(self);
        }
    }

    /// A rewind to this mark, which may be older than the checks.
    #[cold]
    #[inline(never)]
    pub extern "C" fn rewound(self, epoch: usize) {
        if let Some(watch) = self.watch() {
            let mut own = watch.own.borrow_mut();
            if epoch < own.since {
                own.begin(self);
            }
        }
    }

    /// Nothing is live, and the cursor is elsewhere.
    #[cold]
    #[inline(never)]
    pub extern "C" fn check_from_here(self) {
        if let Some(watch) = self.watch() {
            let mut own = watch.own.borrow_mut();
            own.before = own.from;
            own.from = self.head.cursor.get().addr();
        }
    }

    /// Each allocation has an epoch of its own, so a mark that is not stale names the cursor that followed it.
    #[cold]
    #[inline(never)]
    pub extern "C" fn mark_is_stale(self, cursor: usize, epoch: usize) -> bool {
        let Some(watch) = self.watch().filter(|_| self.is(CHECKED)) else { return false };
        let own = watch.own.borrow();
        if epoch < own.since {
            return false;
        }
        let younger = own.records.partition_point(|record| record.born <= epoch);
        let start = if epoch < self.slow().emptied.get() { own.before } else { own.from };
        own.mark_is_gone(epoch) || cursor != younger.checked_sub(1).map_or(start, |newest| own.records[newest].cursor)
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn poison(self, from: *mut u8, to: *mut u8) {
        if self.is(CHECKED) && from.addr() < to.addr() {
            // SAFETY: part of a block of this arena that nothing uses any more.
            unsafe { from.write_bytes(GONE_BYTE, to.addr() - from.addr()) };
        }
    }

    /// The bytes of a block that are in use.
    #[cold]
    #[inline(never)]
    pub extern "C" fn poison_block(self, b: Block) {
        if self.is(CHECKED) && !(b == self.home() && self.is(IDLE)) {
            let start = self.start_of(b);
            self.poison(start, start.with_addr(self.top_of(b).addr()));
        }
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn poison_all(self) {
        let mut at = Some(self.slow().newest.get()).filter(|_| self.is(CHECKED));
        while let Some(b) = at {
            self.poison_block(b);
            at = b.next.get();
        }
    }

    /// `None`: refused.
    #[cold]
    #[inline(never)]
    pub extern "C" fn resize_checked(
        self,
        p: *mut u8,
        old: usize,
        new: usize,
        align: usize,
        flags: u32,
        caller: Caller,
    ) -> Option<NonNull<u8>> {
        let watch = self.watch()?;
        if old == 0 {
            // An address without bytes has no record.
            return if new == 0 && pad(p.addr(), align) == 0 {
                NonNull::new(p)
            } else if flags & abi::STAY != 0 {
                None
            } else {
                self.place_watched(new, align, caller)
            };
        }
        let at = match self.is_older(watch, p) {
            true => None,
            false => Some(self.find_record(watch, p, old, caller)?),
        };
        if new <= old && pad(p.addr(), align) == 0 {
            if let Some(at) = at {
                let record = &mut watch.own.borrow_mut().records[at];
                // SAFETY: the record's own bytes, of which the caller gave these up.
                unsafe { record.p.wrapping_add(new).write_bytes(ZONE_BYTE, old - new) };
                record.size = new;
            }
            return NonNull::new(p);
        }
        if flags & abi::STAY != 0 {
            return None;
        }
        let q = self.place_watched(new, align, caller)?;
        // SAFETY: p has `old` bytes, by its record or by the caller's contract; q is new.
        unsafe { q.as_ptr().copy_from_nonoverlapping(p, old.min(new)) };
        if let Some(at) = at {
            let record = &mut watch.own.borrow_mut().records[at];
            // SAFETY: the record's own bytes, which the caller gave up.
            unsafe { record.p.write_bytes(GONE_BYTE, old) };
            record.freed = true;
        }
        Some(q)
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn free_checked(self, p: *mut u8, size: usize) {
        let Some(watch) = self.watch().filter(|watch| size != 0 && !self.is_older(watch, p)) else { return };
        if let Some(at) = self.find_record(watch, p, size, Caller::NOBODY) {
            let record = &mut watch.own.borrow_mut().records[at];
            // SAFETY: the record's own bytes, which the caller gave up. Its place goes with the arena's.
            unsafe { record.p.write_bytes(GONE_BYTE, size) };
            record.freed = true;
        }
    }

    /// The block that an address is in.
    pub fn block_of(self, address: usize) -> Option<Block> {
        let mut at = Some(self.slow().newest.get());
        while let Some(b) = at.filter(|b| address.wrapping_sub(self.base_of(*b).addr()) >= b.size.get()) {
            at = b.next.get();
        }
        at
    }

    /// Was it allocated before the checks began?
    fn is_older(self, watch: &Watch, p: *mut u8) -> bool {
        let Some(b) = self.block_of(p.addr()).filter(|_| self.holds(p.addr())) else { return false };
        let own = watch.own.borrow();
        let there = own.from >= self.start_of(b).addr() && own.from <= self.end_of(b).addr();
        b.born.get() <= own.since && !(there && p.addr() >= own.from)
    }

    /// The record of a live allocation of that size; else a finding.
    fn find_record(self, watch: &Watch, p: *mut u8, size: usize, caller: Caller) -> Option<usize> {
        let own = watch.own.borrow();
        let number = || {
            let block = self.block_of(p.addr()).filter(|_| p.addr() & 7 == 0 && self.holds(p.addr()))?;
            let zone = self.base_of(block).with_addr(p.addr() - ZONE); // blocks begin with more than that
                                                                       // SAFETY: within the block. If it is no record's zone, it is some number that the record below does not fit.
            Some(unsafe { zone.cast::<usize>().read_unaligned() } ^ MASK)
        };
        let is_it = |at: &usize| own.records.get(*at).is_some_and(|r| r.p.addr() == p.addr() && !r.hidden);
        let found = number().filter(is_it);
        let good = found.filter(|at| !own.records[*at].freed && own.records[*at].size == size);
        if good.is_none() {
            watch.shared().borrow_mut().fault(Fault::BadFree { caller, size });
        }
        good
    }

    // ---- phases ----

    /// What was allocated and what is live, now: `end_phase` subtracts.
    pub fn begin_phase(self) -> Option<(u64, u64)> {
        let watch = self.watch()?;
        watch.metered.get().then(|| (self.allocated_with_scopes(), self.live_with_scopes()))
    }

    pub fn end_phase(self, name: &'static str, began: (u64, u64)) {
        let Some(watch) = self.watch() else { return };
        let allocated = self.allocated_with_scopes();
        let kept = self.live_with_scopes() as i64 - began.1 as i64;
        let mut shared = watch.shared().borrow_mut();
        let allocated = allocated.saturating_sub(began.0);
        let found = shared.phases.iter().position(|phase| phase.name == name);
        let at = found.unwrap_or(shared.phases.len());
        if found.is_none() {
            if shared.phases.try_reserve(1).is_err() {
                return;
            }
            shared.phases.push(Phase { name, entries: 0, allocated: 0, kept: 0 });
        }
        let phase = &mut shared.phases[at];
        phase.entries += 1;
        phase.allocated += allocated;
        phase.kept += kept;
    }

    fn allocated_with_scopes(self) -> u64 {
        self.sync();
        let mut allocated = self.slow().allocated.get();
        self.each_scope(|scope| allocated += scope.allocated_with_scopes());
        allocated
    }

    // ---- looking ----

    /// A report would have something to say.
    pub fn was_watched(self) -> bool {
        !self.is(FRESH) && self.slow().watch.get().is_some()
    }

    pub fn is_metered(self) -> bool {
        self.was_watched() && self.watch().is_some_and(|watch| watch.metered.get())
    }

    pub fn is_closed(self) -> bool {
        self.is(CLAIMED | BUSY)
    }

    fn count_scopes(self) {
        self.each_scope(|scope| {
            scope.enter();
            if let Some(watch) = scope.watch() {
                scope.count_tag(watch);
            }
            scope.count_scopes();
            scope.aim();
        });
    }

    /// The shared part, brought up to date.
    pub fn look<R>(self, f: impl FnOnce(&mut Shared) -> R) -> Option<R> {
        let watch = self.watch()?;
        self.count_tag(watch);
        self.count_scopes();
        let mut shared = watch.shared().borrow_mut();
        Some(f(&mut shared))
    }

    /// Calls by threads that the arena is not pinned to, since the last time.
    pub fn take_strangers(self) -> u64 {
        self.watch().map_or(0, |watch| watch.strangers.swap(0, Ordering::Relaxed) as u64)
    }

    /// The live allocations of a checked arena, oldest first: address, size, who asked.
    pub fn each_record(self, f: &mut dyn FnMut(*const u8, usize, Caller)) {
        if let Some(watch) = self.watch() {
            for record in watch.own.borrow().records.iter().filter(|record| !record.freed && !record.hidden) {
                f(record.p, record.size, record.caller);
            }
        }
        self.each_scope(|scope| scope.each_record(f));
    }
}

impl Record {
    /// What was written in a zone: in the one in front if both were.
    fn broken(&self, number: usize) -> Option<Damage> {
        let number = (number ^ MASK).to_ne_bytes();
        let at = self.p.addr() - ZONE;
        let expected = |address: usize| number.get(address.wrapping_sub(at)).copied().unwrap_or(ZONE_BYTE);
        let end = self.p.wrapping_add(self.size);
        // SAFETY: the record's bytes; the zones are written by nobody but the arena, and by mistake.
        unsafe {
            Damage::of(self.p, self.start, self.p, expected)
                .or_else(|| Damage::of(self.p, end, self.end, |_| ZONE_BYTE))
        }
    }
}
