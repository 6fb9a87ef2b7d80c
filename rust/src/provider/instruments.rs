//! The instruments of an arena: records with red zones, samples, bytes by tag and phase, budgets of tags. They are
//! allocated when the first one is switched on. Their only hook is the compare of the inline path: `set_limit` lowers
//! the limit to the next byte that an instrument must see, and sets the instrumented bit, so that rewinds, resizes and
//! frees call ops.
//!
//! Functions called by the rest of the provider are `extern "C"`, which prevents unwinding into clients in other
//! languages.
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
use super::freed::BlockLog;
use super::state::*;
use crate::abi::{self, round8};
use crate::policy::{pad, MAX_REQUEST};

/// Size of the red zones around an allocation of a checked arena. The front one ends with the record's number, masked.
pub const REDZONE: usize = 16;
const NUMBER: usize = size_of::<usize>();
/// Makes a small number look like the rest of the red zone.
const MASK: usize = usize::from_ne_bytes([REDZONE_BYTE; NUMBER]);
pub const REDZONE_BYTE: u8 = 0xFD;
pub const UNINIT_BYTE: u8 = 0xCD;
pub const FREED_BYTE: u8 = 0xDD;
/// Ranges of stale marks that are remembered; older ones are forgotten.
const STALE_MARKS_MAX: usize = 4096;
/// Further findings are counted, not kept.
const FINDINGS_MAX: usize = 1000;

/// The call site of an allocation: a location in Rust code, or the `site` of code in another language.
#[derive(Clone, Copy)]
pub struct Caller {
    pub location: Option<&'static Location<'static>>,
    pub site: usize,
    /// The value has a destructor that will not run.
    pub drops: bool,
}

impl Caller {
    pub const UNKNOWN: Caller = Caller { location: None, site: 0, drops: false };

    fn key(&self) -> (usize, usize) {
        (self.location.map_or(0, |at| core::ptr::from_ref(at).addr()), self.site)
    }
}

/// A live or freed allocation of a checked arena.
#[derive(Clone, Copy)]
pub struct Record {
    /// A red zone, `size` bytes at `p`, a red zone up to `end`.
    pub start: *mut u8,
    pub p: *mut u8,
    pub size: usize,
    pub end: *mut u8,
    epoch: usize,
    /// The arena's cursor after the allocation, as in a mark taken then.
    cursor: usize,
    freed: bool,
    /// An allocation of the arena's own.
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

/// Allocations by call site and tag.
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

/// The part of the instruments that an arena shares with its scopes.
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
    refusal_hook: Option<RefusalHook>,
}

/// Called with the live bytes, the budget and the requested size; `Some` is the new budget.
pub type RefusalHook = Box<dyn FnMut(u64, u64, usize) -> Option<u64> + Send>;

/// The instruments of an arena. Created when one is first switched on; released with the arena.
pub struct Instruments {
    /// A box of the outermost instrumented arena: see `root`.
    shared: NonNull<RefCell<Shared>>,
    own: RefCell<Own>,
    pub freed: RefCell<Vec<BlockLog>>,
    metered: Cell<bool>,
    period: Cell<u64>,
    /// The thread that the arena is pinned to, as of `thread_id`; 0: none.
    thread: Cell<usize>,
    /// Number of calls by other threads.
    wrong_thread_calls: AtomicUsize,
}

struct Own {
    records: Vec<Record>,
    /// The epoch and the cursor at the last reset, or when the checks began: older allocations have no record.
    since: usize,
    from: usize,
    /// `from`, before trim returned the block of an empty arena.
    before: usize,
    /// Half-open ranges of epochs whose marks are stale although their cursor is valid: allocations in dedicated blocks
    /// were freed after them, which does not move the cursor. Ascending and disjoint.
    stale_marks: Vec<(usize, usize)>,
    /// The value of `allocated` at which the next sample is due.
    next_sample: u64,
    /// For bytes in regular blocks, counted from 0 and freed from the end: where the bytes of each tag begin.
    tag_stack: Vec<(u64, usize)>,
    /// Bytes in detached blocks in order of allocation: block, tag, size.
    detached: Vec<(usize, usize, u64)>,
    detached_bytes: u64,
    tag: usize,
    /// The tag at the time of the present claim.
    claim_tag: usize,
    /// The value of `allocated` up to which tags are counted.
    counted: u64,
}

impl Shared {
    fn fault(&mut self, fault: Fault) {
        #[cfg(feature = "std")]
        crate::hook::found(|| crate::report::Finding::of(fault));
        if self.faults.len() < FINDINGS_MAX && self.faults.try_reserve(1).is_ok() {
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
    /// Older allocations have no record.
    fn begin(&mut self, a: ArenaPtr) {
        self.since = a.epoch();
        self.from = a.head.cursor.get().addr();
        self.stale_marks.clear();
    }

    /// Marks of these epochs are stale: a rewind to the present cursor freed the allocations after them.
    fn add_stale_marks(&mut self, epoch: usize, now: usize) {
        while self.stale_marks.last().is_some_and(|range| range.0 > epoch) {
            self.stale_marks.pop();
        }
        if self.stale_marks.len() == STALE_MARKS_MAX {
            self.stale_marks.drain(..STALE_MARKS_MAX / 2);
        }
        if self.stale_marks.try_reserve(1).is_ok() {
            self.stale_marks.push((epoch, now));
        }
    }

    fn is_stale_epoch(&self, epoch: usize) -> bool {
        let older = self.stale_marks.partition_point(|range| range.0 <= epoch);
        older.checked_sub(1).is_some_and(|last| epoch < self.stale_marks[last].1)
    }

    /// SPEC 6: drops the bytes above `live` from their tags; later ones belong to the present tag.
    fn cut_tags(&mut self, live: u64) {
        let in_regular = live.saturating_sub(self.detached_bytes);
        while self.tag_stack.last().is_some_and(|top| top.0 >= in_regular) {
            self.tag_stack.pop();
        }
        if self.tag_stack.last().is_none_or(|top| top.1 != self.tag) && self.tag_stack.try_reserve(1).is_ok() {
            self.tag_stack.push((in_regular, self.tag));
        }
    }

    fn live_of(&self, tag: usize, live: u64) -> u64 {
        let in_regular = live.saturating_sub(self.detached_bytes);
        let ends = self.tag_stack.iter().skip(1).map(|entry| entry.0).chain([in_regular]);
        let stretches = self.tag_stack.iter().zip(ends).filter(|(entry, _)| entry.1 == tag);
        let detached: u64 = self.detached.iter().filter(|entry| entry.1 == tag).map(|entry| entry.2).sum();
        detached + stretches.map(|(entry, end)| end.saturating_sub(entry.0)).sum::<u64>()
    }

    /// Precondition: `reserve_detached` returned true.
    fn detached_add(&mut self, block: Block, tag: usize, bytes: u64) {
        let block = block.base().addr();
        match self.detached.last_mut().filter(|last| last.0 == block && last.1 == tag) {
            Some(last) => last.2 += bytes,
            None => self.detached.push((block, tag, bytes)),
        }
        self.detached_bytes += bytes;
    }

    fn detached_clear(&mut self) {
        self.detached.clear();
        self.detached_bytes = 0;
    }
}

impl Shared {
    /// Returns the bytes to the next sample, `period` on average, exponentially distributed. The distribution is
    /// memoryless, so scopes may start anew and end in any order.
    fn distance(&mut self, period: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let u = (self.random >> 32) | 1; // of 2^32
        let whole = u.ilog2() as u64;
        // The fraction bits of the logarithm, by squaring: without std there is no ln.
        let (mut log, mut y) = (whole << 16, u << (31 - whole));
        for bit in (0..16).rev() {
            y = (y * y) >> 31;
            if y >> 32 != 0 {
                log |= 1 << bit;
                y >>= 1;
            }
        }
        let nats = ((32 << 16) - log) as f64 / 65536.0 * core::f64::consts::LN_2;
        // The geometric distribution: nats / ln(1 + 1 / period), by its first terms.
        let middle = period as f64 + 0.5;
        let y = 0.25 / (middle * middle);
        (nats * middle / (1.0 + y / 3.0 + y * y / 5.0)) as u64
    }
}

pub fn boxed<T>(value: T) -> Option<Box<T>> {
    let layout = Layout::new::<T>();
    if layout.size() == 0 {
        return Some(Box::new(value)); // takes no memory
    }
    // SAFETY: the size is not 0, and a box has memory of this layout.
    unsafe {
        let at = NonNull::new(alloc::alloc::alloc(layout).cast::<T>())?;
        at.write(value);
        Some(Box::from_raw(at.as_ptr()))
    }
}

/// Returns the size with red zones; the front one is as large as the alignment. `None`: too large.
fn size_with_redzones(size: usize, align: usize) -> Option<usize> {
    align.max(REDZONE).checked_add(round8(size))?.checked_add(REDZONE).filter(|whole| *whole <= MAX_REQUEST)
}

impl Instruments {
    pub fn fault(&self, fault: Fault) {
        self.shared().borrow_mut().fault(fault);
    }

    fn shared(&self) -> &RefCell<Shared> {
        // SAFETY: it is released with the outermost arena, after all scopes.
        unsafe { self.shared.as_ref() }
    }
}

/// An address that is unique among the running threads.
pub fn thread_id() -> usize {
    #[cfg(feature = "std")]
    {
        std::thread_local!(static HERE: u8 = const { 0 });
        HERE.with(|here| core::ptr::from_ref(here).addr())
    }
    #[cfg(not(feature = "std"))]
    1
}

impl ArenaPtr {
    /// The instruments, if they were ever created.
    pub fn instruments(&self) -> Option<&Instruments> {
        // SAFETY: a box made by `instruments_or_new`, and freed only by `release_instruments`, with the arena.
        self.slow().instruments.get().map(|instruments| unsafe { instruments.as_ref() })
    }

    fn instruments_or_new(&self) -> Option<&Instruments> {
        if self.slow().instruments.get().is_none() {
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
                refusal_hook: None,
            };
            let shared = NonNull::from(Box::leak(boxed(RefCell::new(shared))?));
            if !self.attach_instruments(shared, 0) {
                // SAFETY: made from a box just now.
                drop(unsafe { Box::from_raw(shared.as_ptr()) });
            }
        }
        self.instruments()
    }

    fn attach_instruments(&self, shared: NonNull<RefCell<Shared>>, tag: usize) -> bool {
        let slow = self.slow();
        let own = Own {
            records: Vec::new(),
            since: self.epoch(),
            from: self.head.cursor.get().addr(),
            before: 0,
            stale_marks: Vec::new(),
            next_sample: 0,
            tag_stack: Vec::new(),
            detached: Vec::new(),
            detached_bytes: 0,
            tag,
            claim_tag: tag,
            counted: slow.allocated.get(),
        };
        let instruments = Instruments {
            shared,
            own: RefCell::new(own),
            freed: RefCell::new(Vec::new()),
            metered: Cell::new(false),
            period: Cell::new(0),
            thread: Cell::new(0),
            wrong_thread_calls: AtomicUsize::new(0),
        };
        let Some(instruments) = boxed(instruments) else { return false };
        slow.instruments.set(Some(NonNull::from(Box::leak(instruments))));
        true
    }

    /// Gives a scope the instruments of its outer arena, to which it reports. `false`: no memory.
    #[cold]
    #[inline(never)]
    pub extern "C" fn inherit_instruments(self, parent: ArenaPtr) -> bool {
        let Some(theirs) = parent.instruments().filter(|_| parent.is(INSTRUMENTED)) else { return true };
        self.sync_in();
        let tag = theirs.own.borrow().tag;
        if !self.attach_instruments(theirs.shared, tag) {
            return false;
        }
        let Some(instruments) = self.instruments() else { return false };
        instruments.metered.set(theirs.metered.get());
        instruments.period.set(theirs.period.get());
        instruments.thread.set(theirs.thread.get());
        instruments.own.borrow_mut().next_sample = instruments.shared().borrow_mut().distance(theirs.period.get());
        self.raise(parent.flags.get() & (INSTRUMENTED | CHECKED));
        true
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn release_instruments(self) {
        let owns_shared = self.root() == self;
        if let (Some(instruments), Some(parent)) = (self.instruments(), self.parent.get()) {
            self.sync_tag(instruments);
            parent.add_scope_bytes(self.slow().allocated.get());
        }
        if let Some(instruments) = self.slow().instruments.take() {
            // SAFETY: made from boxes; no reference to them exists between operations, and the scopes have ended.
            let instruments = unsafe { Box::from_raw(instruments.as_ptr()) };
            if owns_shared {
                // SAFETY: as above.
                let shared = unsafe { Box::from_raw(instruments.shared.as_ptr()) };
                crate::drops::catch_panic(|| drop(shared)); // a destructor of the refusal hook's captures may panic
            }
        }
    }

    /// Adds the bytes that a scope allocated, which were counted for its tags and sampled.
    fn add_scope_bytes(self, allocated: u64) {
        if let Some(instruments) = self.instruments() {
            self.slow().allocated.set(self.slow().allocated.get() + allocated);
            let mut own = instruments.own.borrow_mut();
            own.counted += allocated;
            own.next_sample = own.next_sample.saturating_add(allocated);
        }
    }

    /// Applies a change of the shared part to all limits.
    fn set_all_limits(self) {
        self.sync_in();
        self.set_limit();
        self.each_scope(ArenaPtr::set_all_limits);
    }

    /// Updates the flag INSTRUMENTED after a switch.
    fn update_instrumented(&self, instruments: &Instruments) {
        let shared = instruments.shared().borrow();
        let on = instruments.metered.get()
            || instruments.period.get() != 0
            || shared.soft_budget != u64::MAX
            || shared.refusal_hook.is_some();
        if on || self.is(CHECKED) || instruments.thread.get() != 0 {
            self.raise(INSTRUMENTED);
        } else {
            self.lower(INSTRUMENTED);
        }
    }

    // ---- switches; precondition: the arena is synced and not closed ----

    pub fn set_checked(self, on: bool) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        if on == self.is(CHECKED) {
            return abi::OK;
        }
        self.next_epoch();
        self.verify_freed();
        self.lower(CHECKED);
        let code = self.check_records(0);
        // the present regions are not filled, and later allocations have no records, or are the first to
        self.clear_freed();
        let mut own = instruments.own.borrow_mut();
        own.begin(self);
        drop(own);
        if on {
            self.raise(CHECKED);
        }
        self.update_instrumented(instruments);
        code
    }

    pub fn sample(self) -> u64 {
        self.instruments().map_or(0, |instruments| instruments.period.get())
    }

    pub fn set_sample(self, period: u64) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        instruments.period.set(period);
        let distance = instruments.shared().borrow_mut().distance(period);
        instruments.own.borrow_mut().next_sample = self.slow().allocated.get().saturating_add(distance);
        self.next_epoch();
        self.update_instrumented(instruments);
        abi::OK
    }

    pub fn set_metered(self, on: bool) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        if on != instruments.metered.get() {
            let mut own = instruments.own.borrow_mut();
            own.detached_clear();
            if on && !self.detached_add_all(&mut own) {
                own.detached_clear();
                return abi::ENOMEM;
            }
            instruments.metered.set(on);
            own.tag = 0;
            own.tag_stack.clear();
            let detached = own.detached_bytes;
            own.cut_tags(detached); // at 0 bytes in regular blocks
            own.counted = self.slow().allocated.get();
        }
        self.next_epoch();
        self.update_instrumented(instruments);
        abi::OK
    }

    /// Counts all present detached blocks for no tag. `false`: no memory.
    fn detached_add_all(self, own: &mut Own) -> bool {
        let mut at = Some(self.slow().newest.get());
        while let Some(b) = at {
            if matches!(b.kind.get(), Kind::Dedicated | Kind::Side) {
                if own.detached.try_reserve(1).is_err() {
                    return false;
                }
                own.detached_add(b, 0, b.charge.get() as u64);
            }
            at = b.next.get();
        }
        true
    }

    /// Switches to the tag of this number and path. Returns the previous one's index.
    pub fn set_tag(self, number: u64, path: &str) -> Option<usize> {
        let instruments = self.instruments_or_new()?;
        let tag = instruments.shared().borrow_mut().tag_named(Some(number), path.strip_prefix('/').unwrap_or(path))?;
        Some(self.change_tag(tag))
    }

    /// As `set_tag`, for a name within the present tag, or a path that begins with `/`.
    pub fn enter_tag(self, name: &str) -> Option<usize> {
        let instruments = self.instruments_or_new()?;
        let outer = instruments.own.borrow().tag;
        let tag = instruments.shared().borrow_mut().tag_within(outer, name)?;
        Some(self.change_tag(tag))
    }

    pub fn change_tag(self, tag: usize) -> usize {
        let Some(instruments) = self.instruments() else { return 0 };
        self.sync_tag(instruments);
        let mut own = instruments.own.borrow_mut();
        let before = core::mem::replace(&mut own.tag, tag);
        own.cut_tags(self.slow().live.get());
        before
    }

    /// Records the present tag for a claim.
    #[cold]
    #[inline(never)]
    pub extern "C" fn save_claim_tag(self) {
        if let Some(instruments) = self.instruments() {
            let mut own = instruments.own.borrow_mut();
            own.claim_tag = own.tag;
        }
    }

    /// Switches to the tag of the claim, so that the range's bytes are counted for it. Returns the present tag.
    #[cold]
    #[inline(never)]
    pub extern "C" fn enter_claim_tag(self) -> Option<usize> {
        let tag = self.instruments()?.own.borrow().claim_tag;
        Some(self.change_tag(tag))
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn leave_claim_tag(self, present: usize) {
        self.change_tag(present);
    }

    pub fn set_tag_budget(self, name: &str, bytes: u64) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        let mut shared = instruments.shared().borrow_mut();
        let Some(tag) = shared.tag_named(None, name.strip_prefix('/').unwrap_or(name)) else { return abi::ENOMEM };
        shared.tags[tag].budget = bytes;
        shared.tag_budgets = shared.tags.iter().any(|tag| tag.budget != u64::MAX);
        drop(shared);
        self.root().set_all_limits();
        abi::OK
    }

    pub fn set_soft_budget(self, bytes: u64) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        let mut shared = instruments.shared().borrow_mut();
        shared.soft_budget = bytes;
        shared.soft_passed = false;
        drop(shared);
        self.next_epoch();
        self.update_instrumented(instruments);
        self.root().set_all_limits();
        abi::OK
    }

    /// Swaps the hook. The caller drops the previous one, whose captures may have destructors, after the operation.
    pub fn set_refusal_hook(self, refusal_hook: &mut Option<RefusalHook>) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        core::mem::swap(&mut instruments.shared().borrow_mut().refusal_hook, refusal_hook);
        self.update_instrumented(instruments);
        abi::OK
    }

    /// Restricts allocation to this thread; 0: no restriction.
    #[cfg(feature = "std")]
    pub fn pin_thread(self, thread: usize) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        instruments.thread.set(thread);
        self.update_instrumented(instruments);
        abi::OK
    }

    /// Delivers the findings of the operation that ends here. This arena and its outer ones are closed during the
    /// delivery: a caller that is about to rewind must not free what a hook allocated.
    #[cfg(feature = "std")]
    #[cold]
    #[inline(never)]
    pub extern "C" fn deliver(self) {
        if self.is(BUSY) {
            return; // the operation that it is part of has not ended
        }
        for a in self.self_and_outer().filter(|a| !a.is(BUSY)) {
            a.raise(BUSY | IN_HOOK);
        }
        self.set_limit();
        crate::hook::deliver();
        for a in self.self_and_outer().filter(|a| a.is(IN_HOOK)) {
            a.lower(BUSY | IN_HOOK);
        }
    }

    // ---- calls of the provider ----

    /// Whether the arena is pinned to another thread. Called before anything is changed.
    #[cold]
    #[inline(never)]
    pub extern "C" fn is_wrong_thread(self) -> bool {
        let Some(instruments) = self.instruments() else { return false };
        let pinned = instruments.thread.get();
        if pinned == 0 || pinned == thread_id() {
            return false;
        }
        instruments.wrong_thread_calls.fetch_add(1, Ordering::Relaxed);
        #[cfg(feature = "std")]
        {
            crate::hook::found(|| crate::report::Finding::WrongThread { calls: 1 });
            crate::hook::deliver(); // nothing of the arena has changed
        }
        true
    }

    /// Reserves memory for the entry of one more detached block. `false`: no memory.
    #[cold]
    #[inline(never)]
    pub extern "C" fn reserve_detached(self) -> bool {
        self.instruments().is_none_or(|instruments| {
            !instruments.metered.get() || instruments.own.borrow_mut().detached.try_reserve(1).is_ok()
        })
    }

    /// Counts bytes of a detached block that were added to live.
    #[cold]
    #[inline(never)]
    pub extern "C" fn detached_add(self, block: Block, bytes: usize) {
        if let Some(instruments) = self.instruments().filter(|instruments| instruments.metered.get()) {
            let mut own = instruments.own.borrow_mut();
            let tag = own.tag;
            own.detached_add(block, tag, bytes as u64);
        }
    }

    /// Subtracts a block whose bytes were subtracted from live. Its entries are among the last.
    #[cold]
    #[inline(never)]
    pub extern "C" fn detached_remove(self, block: Block) {
        if let Some(instruments) = self.instruments().filter(|instruments| instruments.metered.get()) {
            let mut own = instruments.own.borrow_mut();
            let block = block.base().addr();
            let end = own.detached.iter().rposition(|entry| entry.0 == block).map_or(0, |last| last + 1);
            let start = own.detached[..end].iter().rposition(|entry| entry.0 != block).map_or(0, |other| other + 1);
            let gone: u64 = own.detached.drain(start..end).map(|entry| entry.2).sum();
            own.detached_bytes -= gone;
        }
    }

    /// Part of `set_limit`: the bytes up to the next one that an instrument must see.
    #[cold]
    #[inline(never)]
    pub extern "C" fn instrumented_limit(self, mut remaining: u64) -> u64 {
        let Some(instruments) = self.instruments() else { return remaining };
        let slow = self.slow();
        let live = slow.live.get();
        self.sync_tag(instruments);
        let mut own = instruments.own.borrow_mut();
        own.cut_tags(live);
        let shared = instruments.shared().borrow();
        if self.is(CHECKED) || instruments.thread.get() != 0 {
            return 0;
        }
        if instruments.period.get() != 0 {
            // The allocation that contains the next sample takes the slow path.
            remaining = remaining.min(own.next_sample.saturating_sub(slow.allocated.get()) & !7);
        }
        let shares = self.parent.get().is_some() || slow.scopes.get().is_some();
        if shared.soft_budget != u64::MAX && !shared.soft_passed {
            remaining = remaining.min(if shares { 0 } else { shared.soft_budget.saturating_sub(live) & !7 });
        }
        let budget = shared.tags[own.tag].budget;
        if budget != u64::MAX && instruments.metered.get() {
            remaining = remaining.min(if shares { 0 } else { budget.saturating_sub(own.live_of(own.tag, live)) & !7 });
        }
        remaining
    }

    fn sync_tag(self, instruments: &Instruments) {
        let mut own = instruments.own.borrow_mut();
        let allocated = self.slow().allocated.get();
        let more = allocated.wrapping_sub(own.counted); // negative if a claim was not extended
        let counted = &mut instruments.shared().borrow_mut().tags[own.tag].allocated;
        *counted = counted.wrapping_add(more);
        own.counted = allocated;
    }

    /// Whether the present tag's budget allows `charge` more bytes.
    #[cold]
    #[inline(never)]
    pub extern "C" fn fits_tag_budget(self, charge: usize) -> bool {
        let Some(instruments) = self.instruments() else { return true };
        let (tag, budget) = {
            let (own, shared) = (instruments.own.borrow(), instruments.shared().borrow());
            if !shared.tag_budgets || !instruments.metered.get() {
                return true;
            }
            (own.tag, shared.tags[own.tag].budget)
        };
        let used = || self.root().live_of_tag(tag).saturating_add(self.root().claimed_of_tag(tag));
        budget == u64::MAX || used().saturating_add(charge as u64) <= budget
    }

    /// This arena and its outer ones, innermost first.
    fn self_and_outer(self) -> impl Iterator<Item = ArenaPtr> {
        core::iter::successors(Some(self), |a| a.parent.get())
    }

    /// The outermost arena with the same shared part.
    fn root(self) -> ArenaPtr {
        let shared = |a: &ArenaPtr| a.instruments().map(|instruments| instruments.shared);
        let mine = shared(&self);
        self.self_and_outer().take_while(|a| shared(a) == mine).last().unwrap_or(self)
    }

    /// Live bytes of a tag, open scopes included.
    pub fn live_of_tag(self, tag: usize) -> u64 {
        let Some(instruments) = self.instruments() else { return 0 };
        self.sync();
        let mut live = instruments.own.borrow().live_of(tag, self.slow().live.get());
        self.each_scope(|scope| live += scope.live_of_tag(tag));
        live
    }

    /// Unused bytes of the claimed ranges of a tag, open scopes included.
    fn claimed_of_tag(self, tag: usize) -> u64 {
        let Some(instruments) = self.instruments() else { return 0 };
        let mut held = if instruments.own.borrow().claim_tag == tag { self.claimed_bytes() as u64 } else { 0 };
        self.each_scope(|scope| held += scope.claimed_of_tag(tag));
        held
    }

    /// As `alloc_slow`, for the instruments.
    #[cold]
    #[inline(never)]
    pub extern "C" fn alloc_instrumented(self, size: usize, align: usize, caller: Caller) -> Option<NonNull<u8>> {
        let Some(instruments) = self.instruments() else { return self.alloc_slow(size, align) };
        let before = self.slow().allocated.get();
        let p = self.alloc_or_raise_budget(instruments, size, align, caller, false);
        if p.is_some() {
            self.count_allocation(instruments, size, caller, before);
        }
        p
    }

    fn alloc_or_raise_budget(
        self,
        instruments: &Instruments,
        size: usize,
        align: usize,
        caller: Caller,
        hidden: bool,
    ) -> Option<NonNull<u8>> {
        let alloc = || {
            if self.is(CHECKED) {
                self.alloc_checked(instruments, size, align, caller, hidden)
            } else {
                self.alloc_slow(size, align)
            }
        };
        alloc().or_else(|| if self.raise_budgets(instruments, size, align) { alloc() } else { None })
    }

    /// Called after a refusal. Whether it was by budgets, and all of them were raised.
    fn raise_budgets(self, instruments: &Instruments, size: usize, align: usize) -> bool {
        let (charge, align) = match self.is(CHECKED) {
            true => (size_with_redzones(size, align), align.max(REDZONE)),
            false => (Some(round8(size)), align),
        };
        let Some(charge) = charge.filter(|charge| self.fits_tag_budget(*charge)) else { return false };
        let need = charge as u64 + if align > 8 { align as u64 } else { 0 };
        let mut raised = false;
        for a in self.self_and_outer() {
            let budget = a.budget.get();
            if budget != u64::MAX && a.live_and_claimed().saturating_add(need) > budget {
                raised = self.call_refusal_hook(instruments, a, size);
                if !raised {
                    return false;
                }
            }
        }
        raised
    }

    /// Calls the refusal hook for the budget of `over`, this arena or an outer one. Returns whether it was raised.
    fn call_refusal_hook(self, instruments: &Instruments, over: ArenaPtr, size: usize) -> bool {
        if self.self_and_outer().any(|a| a.is(BUSY)) {
            return false; // called by a hook that has not returned yet
        }
        let Some(mut refusal_hook) = instruments.shared().borrow_mut().refusal_hook.take() else { return false };
        let (live, budget) = (over.live_with_scopes(), over.budget.get());
        self.self_and_outer().for_each(|a| a.raise(BUSY)); // the hook may query the arenas, not allocate there
        self.set_limit();
        let mut answer = None;
        crate::drops::catch_panic(|| answer = refusal_hook(live, budget, size));
        self.self_and_outer().for_each(|a| a.lower(BUSY));
        let replaced = instruments.shared().borrow().refusal_hook.is_some();
        if replaced {
            crate::drops::catch_panic(|| drop(refusal_hook)); // the hook replaced itself
        } else {
            instruments.shared().borrow_mut().refusal_hook = Some(refusal_hook);
        }
        match answer {
            Some(more) if more > budget => {
                over.budget.set(more);
                true
            }
            _ => false,
        }
    }

    /// Counts an allocation. `before`: the value of `allocated` before it.
    fn count_allocation(self, instruments: &Instruments, size: usize, caller: Caller, before: u64) {
        let mut own = instruments.own.borrow_mut();
        let allocated = self.slow().allocated.get();
        if self.is(CHECKED) {
            instruments.shared().borrow_mut().count(caller, own.tag, 1.0, size as f64);
        } else if instruments.period.get() != 0 {
            let period = instruments.period.get();
            let mut hits = 0;
            let many = allocated.saturating_sub(own.next_sample.max(before)) / period;
            if many > 256 {
                hits = many; // an approximation for many samples
                own.next_sample = allocated.saturating_add(instruments.shared().borrow_mut().distance(period));
            }
            while own.next_sample < allocated {
                // else the sample was in a range, or in an allocation of the arena's own
                hits += (own.next_sample >= before) as u64;
                let distance = instruments.shared().borrow_mut().distance(period);
                own.next_sample = own.next_sample.saturating_add(distance);
            }
            // An allocation of `charge` bytes is sampled once in period / charge times.
            let charge = allocated.saturating_sub(before).max(1);
            if hits != 0 {
                let count = hits as f64 * period as f64 / charge as f64;
                instruments.shared().borrow_mut().count(caller, own.tag, count, count * size as f64);
            }
        }
        drop(own);
        let (soft, passed) = (instruments.shared().borrow().soft_budget, instruments.shared().borrow().soft_passed);
        if soft != u64::MAX && !passed {
            let live = self.root().live_with_scopes();
            if live > soft {
                let mut shared = instruments.shared().borrow_mut();
                shared.soft_passed = true;
                shared.fault(Fault::OverBudget { caller, live, budget: soft });
            }
        }
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn count_growth(self, more: usize, caller: Caller, before: u64) {
        if let Some(instruments) = self.instruments().filter(|_| self.slow().allocated.get() > before) {
            self.count_allocation(instruments, more, caller, before);
        }
    }

    // ---- checks ----

    fn alloc_checked(
        self,
        instruments: &Instruments,
        size: usize,
        align: usize,
        caller: Caller,
        hidden: bool,
    ) -> Option<NonNull<u8>> {
        let front = align.max(REDZONE);
        let whole = size_with_redzones(size, align)?;
        instruments.own.borrow_mut().records.try_reserve(1).ok()?;
        let start = self.alloc_slow(whole, front)?.as_ptr();
        let p = start.wrapping_add(front);
        if let Some(block) = self.block_of(start.addr()) {
            self.verify_before_reuse(instruments, block, start.wrapping_add(whole));
        }
        let number = instruments.own.borrow().records.len();
        // SAFETY: just allocated.
        unsafe {
            start.write_bytes(REDZONE_BYTE, whole);
            p.sub(REDZONE).cast::<usize>().write_unaligned(number ^ MASK);
            p.write_bytes(UNINIT_BYTE, size);
        }
        self.next_epoch(); // distinguishes marks before and after the allocation
        instruments.own.borrow_mut().records.push(Record {
            start,
            p,
            size,
            end: start.wrapping_add(whole),
            epoch: self.epoch(),
            cursor: self.head.cursor.get().addr(),
            freed: false,
            hidden,
            caller,
        });
        NonNull::new(p)
    }

    /// Allocates for the arena itself; not counted.
    #[cold]
    #[inline(never)]
    pub extern "C" fn alloc_hidden(self, size: usize, align: usize) -> Option<NonNull<u8>> {
        match self.instruments().filter(|_| self.is(INSTRUMENTED)) {
            Some(instruments) => self.alloc_or_raise_budget(instruments, size, align, Caller::UNKNOWN, true),
            None => self.alloc_slow(size, align),
        }
    }

    /// Checks and drops the records made after `epoch`, and returns a code. Their memory is logged as freed, unless the
    /// checks were switched off.
    #[cold]
    #[inline(never)]
    pub extern "C" fn check_records(self, epoch: usize) -> i32 {
        let Some(instruments) = self.instruments() else { return abi::OK };
        let (mut own, mut shared) = (instruments.own.borrow_mut(), instruments.shared().borrow_mut());
        let (mut code, mut last) = (abi::OK, None);
        while own.records.last().is_some_and(|record| record.epoch > epoch) {
            let Some(record) = own.records.pop() else { break };
            last = Some((record.cursor, record.epoch));
            if let Some(damage) = record.find_damage(own.records.len()) {
                code = abi::ECORRUPT;
                shared.fault(Fault::Corrupt { caller: record.caller, size: record.size, damage });
            }
            let end = record.p.wrapping_add(record.size);
            if let Some(fault) = if record.freed { record.find_late_write(record.p, end) } else { None } {
                code = abi::ECORRUPT;
                shared.fault(fault);
            }
            if !self.is(CHECKED) {
                continue; // the checks end, but the allocation stays
            }
            self.poison(record.start, record.end); // side blocks are not below the cursor
            Instruments::log_freed(&mut instruments.freed.borrow_mut(), self.block_of(record.start.addr()), record);
            if record.caller.drops && !record.freed {
                shared.fault(Fault::Leak { caller: record.caller, size: record.size });
            }
        }
        let cursor = own.records.last().map_or(own.from, |below| below.cursor);
        if let Some((_, epoch)) = last.filter(|last| last.0 == cursor) {
            self.next_epoch(); // marks taken from now on are valid
            own.add_stale_marks(epoch, self.epoch());
        }
        code
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn begin_round(self) {
        if let Some(instruments) = self.instruments() {
            if self.root() == self {
                instruments.shared().borrow_mut().soft_passed = false; // a scope's reset does not end the arena's round
            }
            let mut own = instruments.own.borrow_mut();
            own.detached_clear();
            own.begin(self);
        }
    }

    /// Called after a rewind to a mark, which may be older than the checks.
    #[cold]
    #[inline(never)]
    pub extern "C" fn after_rewind(self, epoch: usize) {
        if let Some(instruments) = self.instruments() {
            let mut own = instruments.own.borrow_mut();
            if epoch < own.since {
                own.begin(self);
            }
        }
    }

    /// Called after trim returned the block of an empty arena.
    #[cold]
    #[inline(never)]
    pub extern "C" fn after_trim(self) {
        if let Some(instruments) = self.instruments() {
            let mut own = instruments.own.borrow_mut();
            own.before = own.from;
            own.from = self.head.cursor.get().addr();
        }
    }

    /// Whether a mark is stale. Each allocation has its own epoch, so a valid mark has the cursor after the last one
    /// before it.
    #[cold]
    #[inline(never)]
    pub extern "C" fn mark_is_stale(self, cursor: usize, epoch: usize) -> bool {
        let Some(instruments) = self.instruments().filter(|_| self.is(CHECKED)) else { return false };
        let own = instruments.own.borrow();
        if epoch < own.since {
            return false;
        }
        let younger = own.records.partition_point(|record| record.epoch <= epoch);
        let start = if epoch < self.slow().trim_epoch.get() { own.before } else { own.from };
        own.is_stale_epoch(epoch) || cursor != younger.checked_sub(1).map_or(start, |newest| own.records[newest].cursor)
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn poison(self, from: *mut u8, to: *mut u8) {
        if self.is(CHECKED) && from.addr() < to.addr() {
            // SAFETY: part of a block of this arena that is not used any more.
            unsafe { from.write_bytes(FREED_BYTE, to.addr() - from.addr()) };
        }
    }

    /// Fills the allocated bytes of a block.
    #[cold]
    #[inline(never)]
    pub extern "C" fn poison_block(self, b: Block) {
        if self.is(CHECKED) && !(b == self.initial() && self.is(INITIAL_IDLE)) {
            let start = self.start_of(b);
            self.poison(start, start.with_addr(self.used_end_of(b).addr()));
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
        let instruments = self.instruments()?;
        if old == 0 {
            // An allocation of 0 bytes has no record.
            return if new == 0 && pad(p.addr(), align) == 0 {
                NonNull::new(p)
            } else if flags & abi::STAY != 0 {
                None
            } else {
                self.alloc_instrumented(new, align, caller)
            };
        }
        let at = match self.is_older(instruments, p) {
            true => None,
            false => Some(self.find_record(instruments, p, old, caller)?),
        };
        if new <= old && pad(p.addr(), align) == 0 {
            if let Some(at) = at {
                let record = &mut instruments.own.borrow_mut().records[at];
                // SAFETY: the record's own bytes, which the caller no longer uses.
                unsafe { record.p.wrapping_add(new).write_bytes(REDZONE_BYTE, old - new) };
                record.size = new;
            }
            return NonNull::new(p);
        }
        if flags & abi::STAY != 0 {
            return None;
        }
        let q = self.alloc_instrumented(new, align, caller)?;
        // SAFETY: p has `old` bytes, by its record or by the caller's contract; q is new.
        unsafe { q.as_ptr().copy_from_nonoverlapping(p, old.min(new)) };
        if let Some(at) = at {
            let record = &mut instruments.own.borrow_mut().records[at];
            // SAFETY: the record's own bytes, which the caller no longer uses.
            unsafe { record.p.write_bytes(FREED_BYTE, old) };
            record.freed = true;
        }
        Some(q)
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn free_checked(self, p: *mut u8, size: usize) {
        let Some(instruments) = self.instruments().filter(|instruments| size != 0 && !self.is_older(instruments, p))
        else {
            return;
        };
        if let Some(at) = self.find_record(instruments, p, size, Caller::UNKNOWN) {
            let record = &mut instruments.own.borrow_mut().records[at];
            // SAFETY: the record's own bytes, which the caller no longer uses.
            unsafe { record.p.write_bytes(FREED_BYTE, size) };
            record.freed = true;
        }
    }

    pub fn block_of(self, address: usize) -> Option<Block> {
        let mut at = Some(self.slow().newest.get());
        while let Some(b) = at.filter(|b| address.wrapping_sub(self.base_of(*b).addr()) >= b.size.get()) {
            at = b.next.get();
        }
        at
    }

    /// Whether p was allocated before the checks began.
    fn is_older(self, instruments: &Instruments, p: *mut u8) -> bool {
        let Some(b) = self.block_of(p.addr()).filter(|_| self.holds(p.addr())) else { return false };
        let own = instruments.own.borrow();
        let there = own.from >= self.start_of(b).addr() && own.from <= self.end_of(b).addr();
        b.epoch.get() <= own.since && !(there && p.addr() >= own.from)
    }

    /// The record of a live allocation of that size; reports a bad free if there is none.
    fn find_record(self, instruments: &Instruments, p: *mut u8, size: usize, caller: Caller) -> Option<usize> {
        let own = instruments.own.borrow();
        let number = || {
            let block = self.block_of(p.addr()).filter(|_| p.addr() & 7 == 0 && self.holds(p.addr()))?;
            let zone = self.base_of(block).with_addr(p.addr() - REDZONE); // more than that precedes each allocation
                                                                          // SAFETY: within the block. If it is not a
                                                                          // red zone, the number does not match a
                                                                          // record.
            Some(unsafe { zone.cast::<usize>().read_unaligned() } ^ MASK)
        };
        let is_it = |at: &usize| own.records.get(*at).is_some_and(|r| r.p.addr() == p.addr() && !r.hidden);
        let found = number().filter(is_it);
        let good = found.filter(|at| !own.records[*at].freed && own.records[*at].size == size);
        if good.is_none() {
            instruments.shared().borrow_mut().fault(Fault::BadFree { caller, size });
        }
        good
    }

    // ---- phases ----

    /// The allocated and live bytes at the begin of a phase, for `end_phase`.
    pub fn begin_phase(self) -> Option<(u64, u64)> {
        let instruments = self.instruments()?;
        instruments.metered.get().then(|| (self.allocated_with_scopes(), self.live_with_scopes()))
    }

    pub fn end_phase(self, name: &'static str, began: (u64, u64)) {
        let Some(instruments) = self.instruments() else { return };
        let allocated = self.allocated_with_scopes();
        let kept = self.live_with_scopes() as i64 - began.1 as i64;
        let mut shared = instruments.shared().borrow_mut();
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

    // ---- queries ----

    /// Whether instruments were ever created.
    pub fn has_instruments(self) -> bool {
        !self.is(PRISTINE) && self.slow().instruments.get().is_some()
    }

    pub fn is_metered(self) -> bool {
        self.has_instruments() && self.instruments().is_some_and(|instruments| instruments.metered.get())
    }

    pub fn is_closed(self) -> bool {
        self.is(CLAIMED | BUSY)
    }

    fn sync_scope_tags(self) {
        self.each_scope(|scope| {
            scope.sync_in();
            if let Some(instruments) = scope.instruments() {
                scope.sync_tag(instruments);
            }
            scope.sync_scope_tags();
            scope.set_limit();
        });
    }

    /// Calls f with the shared part, after updating it.
    pub fn with_shared<R>(self, f: impl FnOnce(&mut Shared) -> R) -> Option<R> {
        let instruments = self.instruments()?;
        self.sync_tag(instruments);
        self.sync_scope_tags();
        let mut shared = instruments.shared().borrow_mut();
        Some(f(&mut shared))
    }

    /// Returns and clears the number of calls by wrong threads.
    pub fn take_wrong_thread_calls(self) -> u64 {
        self.instruments().map_or(0, |instruments| instruments.wrong_thread_calls.swap(0, Ordering::Relaxed) as u64)
    }

    /// Calls f for the live allocations of a checked arena, oldest first, with address, size and call site.
    pub fn each_record(self, f: &mut dyn FnMut(*const u8, usize, Caller)) {
        if let Some(instruments) = self.instruments() {
            for record in instruments.own.borrow().records.iter().filter(|record| !record.freed && !record.hidden) {
                f(record.p, record.size, record.caller);
            }
        }
        self.each_scope(|scope| scope.each_record(f));
    }
}

impl Record {
    /// Finds a write in a red zone; the one in front has precedence.
    fn find_damage(&self, number: usize) -> Option<Damage> {
        let number = (number ^ MASK).to_ne_bytes();
        let at = self.p.addr() - REDZONE;
        let expected = |address: usize| number.get(address.wrapping_sub(at)).copied().unwrap_or(REDZONE_BYTE);
        let end = self.p.wrapping_add(self.size);
        // SAFETY: the record's bytes; no reference to the red zones exists.
        unsafe {
            Damage::of(self.p, self.start, self.p, expected)
                .or_else(|| Damage::of(self.p, end, self.end, |_| REDZONE_BYTE))
        }
    }
}
