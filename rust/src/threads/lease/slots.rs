//! The slots of idle arenas: one pointer each, grouped by cache line. A take is one exchange; a return to a reserved
//! slot is a store, to another slot an exchange. No thread waits. This file has no dependency in the crate, so that
//! `loom/` can test every interleaving.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::atomic::{AtomicPtr, Ordering};
use core::ptr::{self, NonNull};

/// The slots of one line, two cache lines wide, since processors fetch lines in pairs.
#[repr(align(128))]
pub struct Line<T, const SLOTS_PER_LINE: usize>([AtomicPtr<T>; SLOTS_PER_LINE]);

impl<T, const SLOTS_PER_LINE: usize> Line<T, SLOTS_PER_LINE> {
    pub const fn of(slots: [AtomicPtr<T>; SLOTS_PER_LINE]) -> Line<T, SLOTS_PER_LINE> {
        Line(slots)
    }
}

/// A slot reserved for the pointer that was taken from it: no other thread uses it. It must be filled or abandoned.
pub struct ReservedSlot<'a, T>(&'a AtomicPtr<T>);

impl<T> ReservedSlot<'_, T> {
    /// Release: pairs with `take_from`. A store suffices, since no other thread writes the slot.
    #[inline(always)]
    pub fn fill(self, one: NonNull<T>) {
        debug_assert!(is_full(one.as_ptr()) && self.0.load(Ordering::Relaxed) == reserved());
        self.0.store(one.as_ptr(), Ordering::Release);
    }

    /// Makes the slot empty, and available to all threads.
    pub fn abandon(self) {
        debug_assert!(self.0.load(Ordering::Relaxed) == reserved());
        self.0.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

/// A pointer in a slot is owned by the slot, and after a take by the thread that took it. No thread dereferences a
/// pointer before it owns it, so there is no ABA problem.
///
/// The first `bound` slots are used, counted across the lines first: threads that start at different lines do not
/// contend even if few slots are used.
pub struct Slots<T, const LINES: usize, const SLOTS_PER_LINE: usize>([Line<T, SLOTS_PER_LINE>; LINES]);

impl<T, const LINES: usize, const SLOTS_PER_LINE: usize> Slots<T, LINES, SLOTS_PER_LINE> {
    pub const CAPACITY: usize = LINES * SLOTS_PER_LINE;
    /// With a bound of at least this, the first slot of each line is reserved for the pointer taken from it. At least
    /// as many others are available to all threads, so that long leases cannot hold all slots.
    pub const RESERVE_MIN: usize = 2 * LINES;

    pub const fn of(lines: [Line<T, SLOTS_PER_LINE>; LINES]) -> Slots<T, LINES, SLOTS_PER_LINE> {
        Slots(lines)
    }

    /// The line where a thread with this hint starts.
    #[inline(always)]
    fn line(hint: usize, bound: usize) -> usize {
        debug_assert!(bound != 0 && bound <= Self::CAPACITY);
        let line = hint % LINES;
        if line < bound {
            line
        } else {
            line % bound // bound is not 0: checked by the callers
        }
    }

    /// What `f` returns for the first of the used slots, from those of a line on, for which it returns anything. Threads
    /// that only take must find what others only put. Full or empty slots are read only, which is cheap compared with
    /// the page faults of new memory.
    fn first_from<R>(&self, line: usize, bound: usize, f: impl Fn(&AtomicPtr<T>) -> Option<R>) -> Option<R> {
        let lines = LINES.min(bound);
        for i in 0..lines {
            let line = (line + i) % lines;
            let used = (bound - line).div_ceil(LINES);
            for slot in &self.0[line].0[..used] {
                if let Some(found) = f(slot) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// Takes a pointer, if there is one, possibly with its slot reserved.
    #[inline]
    pub fn take(&self, hint: usize, bound: usize) -> Option<(NonNull<T>, Option<ReservedSlot<'_, T>>)> {
        if bound >= Self::RESERVE_MIN {
            let slot = &self.0[hint % LINES].0[0];
            if let Some(one) = take_from(slot, reserved()) {
                return Some((one, Some(ReservedSlot(slot))));
            }
        }
        self.take_other(hint, bound).map(|one| (one, None))
    }

    #[cold]
    #[inline(never)]
    fn take_other(&self, hint: usize, bound: usize) -> Option<NonNull<T>> {
        if bound == 0 {
            return None;
        }
        self.first_from(Self::line(hint, bound), bound, |slot| take_from(slot, ptr::null_mut()))
    }

    /// Puts a pointer into an empty slot. `false`: no slot was empty, and the caller still owns it.
    #[inline]
    #[must_use = "what found no slot is still the caller's"]
    pub fn put(&self, hint: usize, bound: usize, one: NonNull<T>) -> bool {
        if bound == 0 {
            return false;
        }
        let line = Self::line(hint, bound);
        put_in(&self.0[line].0[0], one) || self.put_other(line, bound, one)
    }

    #[cold]
    #[inline(never)]
    fn put_other(&self, line: usize, bound: usize, one: NonNull<T>) -> bool {
        self.first_from(line, bound, |slot| put_in(slot, one).then_some(())).is_some()
    }

    /// Takes all pointers, one by one, except those that other threads put at the same time. A pointer that `look`
    /// returns goes back to its slot.
    pub fn each(&self, mut look: impl FnMut(NonNull<T>) -> Option<NonNull<T>>) {
        for line in &self.0 {
            for slot in &line.0 {
                if let Some(one) = take_from(slot, reserved()) {
                    match look(one) {
                        Some(one) => ReservedSlot(slot).fill(one),
                        None => ReservedSlot(slot).abandon(),
                    }
                }
            }
        }
    }

    /// Counts the full slots; not a snapshot while other threads use them.
    pub fn full(&self) -> usize {
        let mut full = 0;
        for line in &self.0 {
            for slot in &line.0 {
                full += is_full(slot.load(Ordering::Relaxed)) as usize; // relaxed: the pointer is not dereferenced
            }
        }
        full
    }
}

/// The value of a reserved slot. No object has this address.
#[inline(always)]
fn reserved<T>() -> *mut T {
    ptr::without_provenance_mut(1)
}

#[inline(always)]
fn is_full<T>(there: *mut T) -> bool {
    there.addr() > 1
}

/// Acquire: pairs with the release of the put. The load first avoids an exchange that would fail, which takes the line
/// from other processors all the same.
#[inline(always)]
fn take_from<T>(slot: &AtomicPtr<T>, replacement: *mut T) -> Option<NonNull<T>> {
    let there = slot.load(Ordering::Relaxed);
    if !is_full(there) {
        return None;
    }
    slot.compare_exchange(there, replacement, Ordering::Acquire, Ordering::Relaxed).ok().and_then(NonNull::new)
}

/// Release: pairs with `take_from`. A failure reads nothing through the pointer, so it needs no ordering.
#[inline(always)]
fn put_in<T>(slot: &AtomicPtr<T>, one: NonNull<T>) -> bool {
    slot.load(Ordering::Relaxed).is_null()
        && slot.compare_exchange(ptr::null_mut(), one.as_ptr(), Ordering::Release, Ordering::Relaxed).is_ok()
}
