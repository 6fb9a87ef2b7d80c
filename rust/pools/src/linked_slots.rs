//! Slots with links, of which lists are made: allocation by a free list, and lookup by handle. The lists set the links.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::marker::PhantomData;

use super::capacity_error::capacity_panic;
use super::contiguous::drop_all;
use super::field_layout::{CloneIn, FieldLayout};
use super::key::{generation_seed, Handle, Key};
use super::slots::Slots;
use toft::__buffer::{grow_amortised, least_capacity};
use toft::AllocError;
use toft::Memory;

/// The index that means "no slot".
pub(super) const NONE: u32 = u32::MAX;

/// The data beside a value.
#[derive(Clone, Copy)]
pub(super) struct Link {
    /// Odd while the slot has a value.
    pub(super) generation: u32,
    /// The next slot of the list; of a free slot, the next free one.
    pub(super) next: u32,
    /// The previous slot of the list.
    pub(super) other: u32,
}

pub(super) struct LinkedSlots<T, L: FieldLayout<T>, M: Memory> {
    slots: Slots<T, L, Link, M>,
    free: u32,
    /// The high-water mark: slots below it have an initialized link.
    high_water: u32,
    /// The number of slots that have a value or are retired.
    taken: u32,
    /// The number of retired slots: those with the last generation, which are on no list.
    retired: u32,
    fixed: bool,
    /// The even generation from which unused slots start, and the largest distance of a generation from it.
    start: u32,
    latest: u32,
    /// The generation of retired slots: the one before the first start.
    last: u32,
}

/// Unused slots do not start with so few generations left until the last one.
const WORN: u32 = u32::MAX / 2;

impl<T, L: FieldLayout<T>, M: Memory> LinkedSlots<T, L, M> {
    pub(super) fn new_in(memory: M) -> Self {
        LinkedSlots {
            slots: Slots::new_in(memory),
            free: NONE,
            high_water: 0,
            taken: 0,
            retired: 0,
            fixed: false,
            start: 0,
            latest: 0,
            last: 0,
        }
    }

    /// Allocates memory for `n` values in an empty list, which does not grow from here on.
    pub(super) fn fix(&mut self, n: usize) -> Result<(), AllocError> {
        self.allocate(n)?;
        self.fixed = true;
        Ok(())
    }

    /// Allocates memory for `n` values in an empty list.
    fn allocate(&mut self, n: usize) -> Result<(), AllocError> {
        if n == 0 {
            Ok(())
        } else {
            self.grow_to(n)
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        (self.taken - self.retired) as usize
    }

    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    pub(super) fn is_fixed(&self) -> bool {
        self.fixed
    }

    pub(super) fn memory(&self) -> &M {
        self.slots.memory()
    }

    #[inline(always)]
    pub(super) fn raw(&self) -> L::Raw<Link> {
        self.slots.raw()
    }

    /// Allocates memory for `more` further slots. An error changes nothing.
    #[inline(always)]
    pub(super) fn try_reserve(&mut self, more: usize) -> Result<(), AllocError> {
        if more > self.capacity() - self.taken as usize {
            self.grow(more)?;
        }
        Ok(())
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn reserve_or_panic(&mut self, more: usize) {
        if self.try_reserve(more).is_err() {
            capacity_panic()
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) -> Result<(), AllocError> {
        debug_assert!(self.verify());
        if self.fixed {
            return Err(AllocError);
        }
        let needed = (self.taken as usize).checked_add(more);
        grow_amortised(self.capacity(), needed, least_capacity(size_of::<T>()), NONE as usize, |n| self.grow_to(n))
    }

    pub(super) fn grow_to(&mut self, n: usize) -> Result<(), AllocError> {
        if n > NONE as usize {
            return Err(AllocError);
        }
        let first = self.capacity() == 0;
        self.slots.resize(n, self.high_water as usize)?;
        if first {
            self.start = generation_seed() & !1; // as for pools: the start differs between lists
            self.last = self.start.wrapping_sub(2);
        }
        Ok(())
    }

    /// Writes a value to a free slot. The caller links the slot.
    ///
    /// # Safety
    /// There is a free slot.
    #[inline(always)]
    pub(super) unsafe fn insert(&mut self, value: T, next: u32, other: u32) -> u32 {
        debug_assert!((self.taken as usize) < self.capacity());
        let raw = self.raw();
        let (i, generation);
        // SAFETY: a slot of the free list has a link; the slot at the high-water mark is within the capacity.
        unsafe {
            if self.free != NONE {
                i = self.free;
                let link = *L::meta(raw, i as usize);
                generation = link.generation.wrapping_add(1);
                self.free = near(link.next, i);
                self.latest = self.latest.max(generation.wrapping_sub(self.start));
            } else {
                i = self.high_water;
                generation = self.start.wrapping_add(1);
                self.high_water += 1;
                self.latest = self.latest.max(1);
            }
            L::meta(raw, i as usize).write(Link { generation, next, other });
            L::write(raw, i as usize, value);
        }
        self.taken += 1;
        i
    }

    /// Frees a slot, or retires it. The caller owns its value.
    ///
    /// # Safety
    /// The slot has a value.
    #[inline(always)]
    pub(super) unsafe fn free_slot(&mut self, i: u32) {
        // SAFETY: the caller's contract.
        unsafe {
            let link = L::meta(self.raw(), i as usize);
            let generation = (*link).generation.wrapping_add(1);
            debug_assert!(i < self.high_water && generation % 2 == 0);
            (*link).generation = generation;
            (*link).next = self.free;
            self.free = i;
            self.taken -= 1;
            if generation == self.last {
                self.retire();
            }
        }
    }

    /// Takes the slot that was freed last off the free list, for ever.
    #[cold]
    #[inline(never)]
    fn retire(&mut self) {
        // SAFETY: the slot is free, so it has a link.
        debug_assert!(self.free != NONE && unsafe { (*self.link(self.free)).generation } == self.last);
        // SAFETY: as above.
        self.free = unsafe { (*self.link(self.free)).next };
        self.taken += 1;
        self.retired += 1;
    }

    /// Frees all slots at once: every handle becomes stale. The caller owns the values. Returns false, and frees none,
    /// if unused slots would start with few generations left: then the slots must be freed one by one.
    pub(super) fn free_all(&mut self) -> bool {
        if self.high_water != 0 {
            let start = self.start.wrapping_add(self.latest).wrapping_add(1);
            if self.last.wrapping_sub(start) < WORN {
                return false;
            }
            self.start = start;
            (self.free, self.high_water, self.taken, self.latest) = (NONE, 0, 0, 0);
        }
        true
    }

    /// Verifies the free list and the generations: see `assertions.rs` of the crate `toft`.
    pub(super) fn verify(&self) -> bool {
        debug_assert!(self.high_water as usize <= self.capacity());
        debug_assert!(self.retired <= self.taken && self.taken <= self.high_water);
        debug_assert!(self.start % 2 == 0 && self.last % 2 == 0);
        if !toft::__verifies(self.high_water as usize) {
            return true;
        }
        let (mut values, mut retired) = (0, 0);
        for i in 0..self.high_water {
            // SAFETY: a slot below the high-water mark has a link.
            let generation = unsafe { (*self.link(i)).generation };
            values += generation % 2;
            retired += (generation == self.last) as u32;
            debug_assert!(
                generation.wrapping_sub(self.start) <= self.latest + 1,
                "a generation is later than the latest"
            );
        }
        debug_assert!(values as usize == self.len());
        debug_assert!(retired == self.retired);
        let (mut i, mut free) = (self.free, 0);
        while i != NONE {
            debug_assert!(i < self.high_water && free < self.high_water - self.taken);
            // SAFETY: a slot below the high-water mark has a link.
            let link = unsafe { *self.link(i) };
            debug_assert!(link.generation % 2 == 0 && link.generation != self.last);
            (i, free) = (link.next, free + 1);
        }
        debug_assert!(free == self.high_water - self.taken, "a free slot is in no list");
        true
    }

    /// Sets the number of generations from the start to the last one, an even number: free slots have even generations.
    #[cfg(test)]
    pub(super) fn set_generations(&mut self, n: u32) {
        self.last = self.start.wrapping_add(n);
    }

    /// Whether a handle has one of so many generations before the last one.
    #[cfg(test)]
    pub(super) fn uses_generation(&self, handle: Handle<T>, n: u32) -> bool {
        (1..n).contains(&self.last.wrapping_sub((handle.to_bits() >> 32) as u32))
    }

    /// The slot of a handle that is not stale.
    #[inline(always)]
    pub(super) fn find(&self, handle: Handle<T>) -> Option<u32> {
        let i = handle.index();
        // SAFETY: a slot below the high-water mark has a link.
        let there =
            i < self.high_water && Key::<T>::matches(handle, unsafe { (*L::meta(self.raw(), i as usize)).generation });
        there.then_some(i)
    }

    /// # Safety
    /// The slot has a value.
    #[inline(always)]
    pub(super) unsafe fn handle(&self, i: u32) -> Handle<T> {
        // SAFETY: the caller's contract.
        Key::<T>::new(i as usize, unsafe { (*L::meta(self.raw(), i as usize)).generation })
    }

    /// # Safety
    /// The slot has a value; the pointer is valid until slots move.
    #[inline(always)]
    pub(super) unsafe fn link(&self, i: u32) -> *mut Link {
        // SAFETY: the caller's contract.
        unsafe { L::meta(self.raw(), i as usize) }
    }
}

/// Returns the index of the next slot, which was read from memory, through a branch on a predicted index. If the
/// prediction is right, the processor continues with it before the read completes. Slots that were allocated one after
/// the other are adjacent, so a list is traversed nearly as fast as an array. The compiler must neither know that both
/// indices are equal nor select one without a branch, hence `opaque`.
#[inline(always)]
pub(super) fn follow(next: u32, guess: u32, missed: impl FnOnce()) -> u32 {
    if next == opaque(guess) {
        opaque(guess)
    } else {
        missed();
        next
    }
}

/// The same without a known stride: the next slot is predicted to be a neighbour.
#[inline(always)]
pub(super) fn near(next: u32, i: u32) -> u32 {
    let (below, above) = (i.wrapping_sub(1), i.wrapping_add(1));
    if next == opaque(below) {
        opaque(below)
    } else if next == opaque(above) {
        opaque(above)
    } else {
        next
    }
}

/// The rest of a list, which is walked from both ends. Each end predicts that the next slot is as far from the last one
/// as that is from the one before.
#[derive(Clone)]
pub(super) struct LinkedRange {
    front: u32,
    back: u32,
    pub(super) remaining: usize,
    ahead: u32,
    behind: u32,
}

impl LinkedRange {
    #[inline]
    pub(super) fn new(front: u32, back: u32, remaining: usize) -> LinkedRange {
        LinkedRange { front, back, remaining, ahead: 1, behind: 1_u32.wrapping_neg() }
    }

    /// # Safety
    /// The range is that of a list whose links are initialized.
    #[inline(always)]
    pub(super) unsafe fn next(&mut self, link: impl FnOnce(usize) -> *mut Link) -> Option<usize> {
        self.remaining = self.remaining.checked_sub(1)?;
        let i = self.front;
        // SAFETY: the caller's contract.
        let next = unsafe { (*link(i as usize)).next };
        self.front = follow(next, i.wrapping_add(self.ahead), || self.ahead = next.wrapping_sub(i));
        Some(i as usize)
    }

    /// # Safety
    /// As for `next`.
    #[inline(always)]
    pub(super) unsafe fn next_back(&mut self, link: impl FnOnce(usize) -> *mut Link) -> Option<usize> {
        self.remaining = self.remaining.checked_sub(1)?;
        let i = self.back;
        // SAFETY: the caller's contract.
        let next = unsafe { (*link(i as usize)).other };
        self.back = follow(next, i.wrapping_add(self.behind), || self.behind = next.wrapping_sub(i));
        Some(i as usize)
    }
}

/// The indices of the slots of a range.
pub(super) struct LinkedIndices<T, L: FieldLayout<T>>(L::Raw<Link>, LinkedRange, PhantomData<T>);

impl<T, L: FieldLayout<T>> LinkedIndices<T, L> {
    /// # Safety
    /// The range is that of a list whose links are initialized and do not change.
    pub(super) unsafe fn new(raw: L::Raw<Link>, range: LinkedRange) -> Self {
        LinkedIndices(raw, range, PhantomData)
    }
}

impl<T, L: FieldLayout<T>> Iterator for LinkedIndices<T, L> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let raw = self.0;
        // SAFETY: the contract of `new`.
        unsafe { self.1.next(|i| L::meta(raw, i)) }
    }
}

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[inline(always)]
fn opaque(mut number: u32) -> u32 {
    // SAFETY: the assembly is a comment without instructions.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("/* {0:e} */", inout(reg) number, options(nomem, nostack, preserves_flags));
    }
    // SAFETY: the same.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("/* {0:w} */", inout(reg) number, options(nomem, nostack, preserves_flags));
    }
    number
}

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
#[inline(always)]
fn opaque(number: u32) -> u32 {
    number
}

impl<T, L: CloneIn<T>, M: Memory + Clone> Clone for LinkedSlots<T, L, M> {
    /// With each value in the slot of the same number: handles are valid in both.
    fn clone(&self) -> Self {
        let mut clone = Self::new_in(self.memory().clone());
        if clone.allocate(self.capacity()).is_err() {
            capacity_panic()
        }
        for i in 0..self.high_water as usize {
            // SAFETY: the clone has as many slots. A slot below the high-water mark has a link, and a value if its
            // generation is odd. The mark of the clone rises when both are written, since the next clone may panic.
            unsafe {
                let link = *L::meta(self.raw(), i);
                if link.generation % 2 == 1 {
                    L::write(clone.raw(), i, L::clone_at(self.raw(), i));
                }
                L::meta(clone.raw(), i).write(link);
            }
            clone.high_water += 1;
        }
        (clone.free, clone.taken, clone.retired, clone.fixed) = (self.free, self.taken, self.retired, self.fixed);
        (clone.start, clone.latest, clone.last) = (self.start, self.latest, self.last);
        clone
    }
}

impl<T, L: FieldLayout<T>, M: Memory> Drop for LinkedSlots<T, L, M> {
    fn drop(&mut self) {
        let (raw, high_water) = (self.raw(), self.high_water as usize);
        // SAFETY: a slot whose generation is odd has a value, which is not reachable any more.
        unsafe { drop_all::<T, L, Link>(raw, (0..high_water).filter(|&i| (*L::meta(raw, i)).generation % 2 == 1)) }
    }
}
