//! Slots for values that do not live in leaves: large ones, and such as lie in columns. It has the memory of the tree.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::field_layout::FieldLayout;
use crate::slots::Slots;
use toft::AllocError;
use toft::Memory;

/// Beside each slot that is free is the index of the next one.
pub(super) struct ValueSlots<V, L: FieldLayout<V>, M: Memory> {
    slots: Slots<V, L, u32, M>,
    /// Slots below this number were in use.
    used: usize,
    free: u32,
}

/// No slot.
const NONE: u32 = u32::MAX;
/// How many have a number.
const MAX_SLOTS: usize = NONE as usize;
/// How many there are at first.
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

    /// How many slots were taken and not put back, for tests.
    pub fn in_use(&self) -> usize {
        let (mut free, mut i) = (0, self.free);
        while i != NONE {
            // SAFETY: a slot that is free is one of the slots, and names the next.
            i = unsafe { *L::meta(self.slots.raw(), i as usize) };
            free += 1;
        }
        self.used - free
    }

    /// What the slots take.
    pub fn bytes(&self) -> usize {
        Slots::<V, L, u32, M>::layout(self.slots.capacity()).map_or(0, |layout| layout.size())
    }

    /// A slot, which has no value until it is written.
    #[inline]
    pub fn allocate(&mut self) -> Result<u32, AllocError> {
        if self.free != NONE {
            let i = self.free;
            // SAFETY: a slot that is free is one of the slots, and names the next.
            self.free = unsafe { *L::meta(self.slots.raw(), i as usize) };
            return Ok(i);
        }
        if self.used == self.slots.capacity() {
            // The last step is to as many as there are numbers.
            match self.used.saturating_mul(2).clamp(MIN_SLOTS, MAX_SLOTS) {
                as_many if as_many == self.used => return Err(AllocError),
                more => self.reserve(more)?,
            }
        }
        self.used += 1;
        Ok((self.used - 1) as u32)
    }

    /// Takes a slot back.
    ///
    /// # Safety
    /// It came from `take`, and its value is moved or dropped.
    #[inline]
    pub unsafe fn free(&mut self, i: u32) {
        // SAFETY: one of the slots.
        unsafe { *L::meta(self.slots.raw(), i as usize) = self.free };
        self.free = i;
    }

    /// Takes all slots back, whose values are moved or dropped.
    pub fn reset(&mut self) {
        (self.used, self.free) = (0, NONE);
    }

    /// At least so many slots in all.
    #[cold]
    pub fn reserve(&mut self, capacity: usize) -> Result<(), AllocError> {
        if capacity > MAX_SLOTS {
            return Err(AllocError);
        }
        match capacity <= self.slots.capacity() {
            true => Ok(()),
            false => self.slots.grow(capacity, self.used),
        }
    }

    /// As few slots as can be: slot `i` of the new ones is that which the closure names, for `i` below `n`. An error
    /// changes nothing.
    ///
    /// # Safety
    /// It names `n` slots that were taken, each once; the caller replaces the old indices by the new ones.
    pub unsafe fn pack(&mut self, n: usize, mut slot: impl FnMut() -> u32) -> Result<(), AllocError> {
        self.slots.reallocate(n, |from, to| {
            for i in 0..n {
                // SAFETY: the caller's contract; the new slots are `n`.
                unsafe { L::copy(from, slot() as usize, to, i, 1) };
            }
        })?;
        (self.used, self.free) = (n, NONE);
        Ok(())
    }
}
