//! The records of a checked arena: an entry, red zones and fill for each allocation, from which late and wrong writes,
//! leaks and bad frees are detected.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(improper_ctypes_definitions)] // these functions do not unwind

use core::mem::size_of;
use core::ptr::NonNull;

use super::caller::Caller;
use super::damage::{is_filled, Damage};
use super::instrument_types::{Fault, Instruments, Own, Record};
use super::state::*;
use crate::base::abi_types as abi;
use crate::base::policy::{pad, round8, MAX_REQUEST};

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

/// Returns the size with red zones; the front one is as large as the alignment. `None`: too large.
pub fn size_with_redzones(size: usize, align: usize) -> Option<usize> {
    align.max(REDZONE).checked_add(round8(size))?.checked_add(REDZONE).filter(|whole| *whole <= MAX_REQUEST)
}

impl Own {
    /// Older allocations have no record.
    pub(super) fn begin(&mut self, a: RawArena) {
        self.since = a.epoch();
        self.from = a.head.cursor.get().addr();
        self.stale_marks.clear();
    }

    /// Marks of these epochs are stale.
    pub(super) fn add_stale_marks(&mut self, epoch: usize, now: usize) {
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

    pub(super) fn is_stale_epoch(&self, epoch: usize) -> bool {
        let older = self.stale_marks.partition_point(|range| range.0 <= epoch);
        older.checked_sub(1).is_some_and(|last| epoch < self.stale_marks[last].1)
    }
}

impl RawArena {
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

    pub(super) fn alloc_checked(
        self,
        instruments: &Instruments,
        size: usize,
        align: usize,
        caller: Caller,
        hidden: bool,
    ) -> Start {
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
    pub extern "C" fn alloc_hidden(self, size: usize, align: usize) -> Start {
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

    /// Called after an allocation from the claimed range.
    #[cold]
    #[inline(never)]
    pub extern "C" fn note_claim_alloc(self) {
        if let Some(instruments) = self.instruments().filter(|_| self.is(CHECKED)) {
            let mut own = instruments.own.borrow_mut();
            if own.claim_epoch == 0 {
                own.claim_epoch = self.epoch();
            }
        }
    }

    /// The range was returned: marks made since its first allocation are stale.
    #[cold]
    #[inline(never)]
    pub extern "C" fn end_marks_of_claim(self) {
        if let Some(instruments) = self.instruments().filter(|_| self.is(CHECKED)) {
            let mut own = instruments.own.borrow_mut();
            let epoch = core::mem::take(&mut own.claim_epoch);
            if epoch != 0 {
                self.next_epoch();
                own.add_stale_marks(epoch, self.epoch());
            }
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
    ) -> Start {
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
    pub(super) fn is_older(self, instruments: &Instruments, p: *mut u8) -> bool {
        let Some(b) = self.block_of(p.addr()).filter(|_| self.holds(p.addr())) else { return false };
        let own = instruments.own.borrow();
        let there = own.from >= self.start_of(b).addr() && own.from <= self.end_of(b).addr();
        b.epoch.get() <= own.since && !(there && p.addr() >= own.from)
    }

    /// The record of a live allocation of that size; reports a bad free if there is none.
    pub(super) fn find_record(
        self,
        instruments: &Instruments,
        p: *mut u8,
        size: usize,
        caller: Caller,
    ) -> Option<usize> {
        let own = instruments.own.borrow();
        let number = || {
            let block = self.block_of(p.addr()).filter(|_| p.addr() & 7 == 0 && self.holds(p.addr()))?;
            // More than a red zone precedes each allocation.
            let zone = self.base_of(block).with_addr(p.addr() - REDZONE);
            // SAFETY: within the block. If it is not a red zone, the number does not match a record.
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
    pub(super) fn find_damage(&self, number: usize) -> Option<Damage> {
        let (number, zone) = (number ^ MASK, self.p.wrapping_sub(REDZONE));
        let expected = |at: usize| *number.to_ne_bytes().get(at.wrapping_sub(zone.addr())).unwrap_or(&REDZONE_BYTE);
        // SAFETY: the record's bytes; no reference to the red zones exists. Both are multiples of 8.
        unsafe {
            let intact = zone.cast::<usize>().read_volatile() == number
                && is_filled(self.start, zone, REDZONE_BYTE)
                && is_filled(zone.add(NUMBER), self.p, REDZONE_BYTE);
            match intact {
                true => Damage::of(self.p, self.p.add(self.size), self.end, REDZONE_BYTE),
                false => Damage::describe(self.p, self.start, self.p, &expected),
            }
        }
    }
}
