//! Slots for values that are not stored in leaves: large ones, and columns. It owns the tree's memory.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::field_layout::FieldLayout;
use crate::slots::Slots;
use toft::__buffer::grow_amortised;
use toft::AllocError;
use toft::Memory;

/// The index beside a free slot is that of the next free one.
pub(super) struct ValueSlots<V, L: FieldLayout<V>, M: Memory> {
    slots: Slots<V, L, u32, M>,
    /// The high-water mark: slots from it on are unused.
    used: usize,
    free: u32,
}

/// The index that means "no slot".
const NONE: u32 = u32::MAX;
/// The largest number of slots.
const MAX_SLOTS: usize = NONE as usize;
/// The number of slots after the first growth.
const MIN_SLOTS: usize = 8;

impl<V, L: FieldLayout<V>, M: Memory> ValueSlots<V, L, M> {
    pub fn new_in(memory: M) -> Self {
        ValueSlots { slots: Slots::new_in(memory), used: 0, free: NONE }
    }

    #[inline(always)]
    pub fn raw(&self) -> L::Raw<u32> {
        self.slots.raw()
    }

    #[inline(always)]
    pub fn memory(&self) -> &M {
        self.slots.memory()
    }

    /// The number of allocated slots, for the verification of a tree.
    pub fn in_use(&self) -> usize {
        debug_assert!(self.used <= self.slots.capacity());
        let (mut free, mut i) = (0, self.free);
        while i != NONE {
            debug_assert!((i as usize) < self.used && free < self.used, "the free list has a cycle");
            // SAFETY: a free slot has an initialized link.
            i = unsafe { *L::meta(self.slots.raw(), i as usize) };
            free += 1;
        }
        self.used - free
    }

    /// The bytes of the slots.
    pub fn bytes(&self) -> usize {
        self.slots.bytes()
    }

    /// Allocates a slot, which has no value yet.
    #[inline]
    pub fn allocate(&mut self) -> Result<u32, AllocError> {
        if self.free != NONE {
            let i = self.free;
            // SAFETY: a free slot has an initialized link.
            self.free = unsafe { *L::meta(self.slots.raw(), i as usize) };
            return Ok(i);
        }
        if self.used == self.slots.capacity() {
            self.grow()?;
        }
        self.used += 1;
        Ok((self.used - 1) as u32)
    }

    /// Frees a slot.
    ///
    /// # Safety
    /// `allocate` returned it, and its value is moved or dropped.
    #[inline]
    pub unsafe fn free(&mut self, i: u32) {
        debug_assert!((i as usize) < self.used && i != self.free);
        // SAFETY: it is one of the slots.
        unsafe { *L::meta(self.slots.raw(), i as usize) = self.free };
        self.free = i;
    }

    /// Frees all slots, whose values are moved or dropped.
    pub fn reset(&mut self) {
        (self.used, self.free) = (0, NONE);
    }

    /// Grows for one more value. Precondition: all slots are used.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<(), AllocError> {
        grow_amortised(self.used, self.used.checked_add(1), MIN_SLOTS, MAX_SLOTS, |n| self.reserve(n))
    }

    /// Grows to at least so many slots.
    #[cold]
    pub fn reserve(&mut self, capacity: usize) -> Result<(), AllocError> {
        if capacity > MAX_SLOTS {
            return Err(AllocError);
        }
        match capacity <= self.slots.capacity() {
            true => Ok(()),
            false => self.slots.resize(capacity, self.used),
        }
    }

    /// Shrinks to `n` slots: the closure returns the old index of each new slot in order. An error changes nothing.
    ///
    /// # Safety
    /// The closure returns each allocated slot once, and there are `n`; the caller replaces the old indices by the new
    /// ones.
    pub unsafe fn pack(&mut self, n: usize, mut slot: impl FnMut() -> u32) -> Result<(), AllocError> {
        self.slots.replace(n, |from, to| {
            for i in 0..n {
                // SAFETY: the caller's contract; the new slots are `n`.
                unsafe { L::copy(from, slot() as usize, to, i, 1) };
            }
        })?;
        (self.used, self.free) = (n, NONE);
        Ok(())
    }
}
