//! Where what is idle waits for any thread: slots of one pointer each, in lines of the processor's cache. One exchange
//! takes; what came from the first slot of a line goes back there by a store, and into another slot by one exchange.
//! Nobody waits for anybody. This file stands alone, so that `loom/` can try every interleaving of it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::atomic::{AtomicPtr, Ordering};
use core::ptr::{self, NonNull};

/// The slots that share a line: of two lines, since processors fetch them in pairs.
#[repr(align(128))]
pub struct Line<T, const SLOTS_PER_LINE: usize>([AtomicPtr<T>; SLOTS_PER_LINE]);

impl<T, const SLOTS_PER_LINE: usize> Line<T, SLOTS_PER_LINE> {
    pub const fn of(slots: [AtomicPtr<T>; SLOTS_PER_LINE]) -> Line<T, SLOTS_PER_LINE> {
        Line(slots)
    }
}

/// A slot that is kept for what was taken out of it: nobody else puts into it or takes from it. Whoever has it either
/// fills it or leaves it; if neither, it is lost.
pub struct ReservedSlot<'a, T>(&'a AtomicPtr<T>);

impl<T> ReservedSlot<'_, T> {
    /// Release: the other half of `take_from`. A store will do, since nobody else writes here now.
    #[inline(always)]
    pub fn fill(self, one: NonNull<T>) {
        self.0.store(one.as_ptr(), Ordering::Release);
    }

    /// It is empty, and anybody's.
    pub fn abandon(self) {
        self.0.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

/// A pointer in a slot belongs to the slot; whoever takes it out has it alone. So there is no ABA here: nobody looks at
/// what a pointer points to before it has it.
///
/// Of all slots the first `bound` are used, counted across the lines before along them: threads that begin at different
/// lines are apart even when few slots are used.
pub struct Slots<T, const LINES: usize, const SLOTS_PER_LINE: usize>([Line<T, SLOTS_PER_LINE>; LINES]);

impl<T, const LINES: usize, const SLOTS_PER_LINE: usize> Slots<T, LINES, SLOTS_PER_LINE> {
    pub const CAPACITY: usize = LINES * SLOTS_PER_LINE;
    /// With so many slots the first ones of the lines are kept for what was taken there. The others, as many at least, are
    /// anybody's: what is out for long must not keep all.
    pub const RESERVE_MIN: usize = 2 * LINES;

    pub const fn of(lines: [Line<T, SLOTS_PER_LINE>; LINES]) -> Slots<T, LINES, SLOTS_PER_LINE> {
        Slots(lines)
    }

    /// The line at which a thread with this hint begins.
    #[inline(always)]
    fn line(hint: usize, bound: usize) -> usize {
        let line = hint % LINES;
        if line < bound {
            line
        } else {
            line % bound // not 0: who calls looks first
        }
    }

    /// The slots that are used: those of a line, and of the lines after it. Threads that only take must find what others
    /// only put. Most are full, or empty, and not written then: to look at them is cheap beside the page faults of new
    /// memory.
    fn slots_from(&self, line: usize, bound: usize) -> impl Iterator<Item = &AtomicPtr<T>> {
        let lines = LINES.min(bound);
        (0..lines).map(move |i| (line + i) % lines).flat_map(move |line| {
            let used = (bound - line).div_ceil(LINES);
            &self.0[line].0[..used]
        })
    }

    /// Takes one out, if one is there; and with it, perhaps, its slot.
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
        self.slots_from(Self::line(hint, bound), bound).find_map(|slot| take_from(slot, ptr::null_mut()))
    }

    /// Puts one in, and says so: if not, no slot was empty, and it is the caller's as before.
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
        self.slots_from(line, bound).any(|slot| put_in(slot, one))
    }

    /// Takes out all, one by one; what is put in meanwhile may stay. What `look` returns goes back to where it was.
    pub fn each(&self, mut look: impl FnMut(NonNull<T>) -> Option<NonNull<T>>) {
        for slot in self.0.iter().flat_map(|line| &line.0) {
            if let Some(one) = take_from(slot, reserved()) {
                match look(one) {
                    Some(one) => ReservedSlot(slot).fill(one),
                    None => ReservedSlot(slot).abandon(),
                }
            }
        }
    }

    /// How many slots are full. One after the other: while others put and take, no moment need have had so many.
    pub fn full(&self) -> usize {
        // Relaxed: nothing is done with what is there.
        self.0.iter().flat_map(|line| &line.0).filter(|slot| is_full(slot.load(Ordering::Relaxed))).count()
    }
}

/// In a slot that is kept. Nothing that waits is at this address.
#[inline(always)]
fn reserved<T>() -> *mut T {
    ptr::without_provenance_mut(1)
}

#[inline(always)]
fn is_full<T>(there: *mut T) -> bool {
    there.addr() > 1
}

/// Acquire: what was written before the pointer was put is seen by whoever takes it. The load before is a guess, which
/// spares the exchange: an exchange takes the line away from the other processors even where it finds nothing.
#[inline(always)]
fn take_from<T>(slot: &AtomicPtr<T>, replacement: *mut T) -> Option<NonNull<T>> {
    let there = slot.load(Ordering::Relaxed);
    if !is_full(there) {
        return None;
    }
    slot.compare_exchange(there, replacement, Ordering::Acquire, Ordering::Relaxed).ok().and_then(NonNull::new)
}

/// Release: the other half of `take_from`. Nothing is read through what was there, so a failure orders nothing.
#[inline(always)]
fn put_in<T>(slot: &AtomicPtr<T>, one: NonNull<T>) -> bool {
    slot.load(Ordering::Relaxed).is_null()
        && slot.compare_exchange(ptr::null_mut(), one.as_ptr(), Ordering::Release, Ordering::Relaxed).is_ok()
}
