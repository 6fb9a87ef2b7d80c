//! Cells: slots that are linked to each other. What the lists are built of: taking a cell, giving it back, and finding the
//! one that a handle means. Which cells follow each other is for the lists to say.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::full::no_slot;
use super::key::{Handle, Key};
use super::layout::{CloneIn, Layout};
use super::pool::number;
use super::run::{drop_all, grown};
use super::slots::Slots;
use toft::AllocError;
use toft::Memory;

/// The number of no cell.
pub(super) const NONE: u32 = u32::MAX;

/// What stands beside a value.
#[derive(Clone, Copy)]
pub(super) struct Link {
    /// Odd while the cell has a value.
    pub(super) generation: u32,
    /// The cell that follows; of a free one, the next free one.
    pub(super) next: u32,
    /// The list's: the cell before, or the generation of the next one.
    pub(super) other: u32,
}

pub(super) struct Cells<T, L: Layout<T>, M: Memory> {
    slots: Slots<T, L, Link, M>,
    free: u32,
    /// How many cells were in use since all were given back: those below have a link.
    known: u32,
    len: u32,
    fixed: bool,
    /// The generation of the others, even; and by how much the latest of all is beyond it.
    start: u32,
    latest: u32,
}

impl<T, L: Layout<T>, M: Memory> Cells<T, L, M> {
    pub(super) fn new_in(memory: M) -> Self {
        Cells { slots: Slots::new_in(memory), free: NONE, known: 0, len: 0, fixed: false, start: 0, latest: 0 }
    }

    pub(super) fn with_capacity_in(n: usize, memory: M) -> Result<Self, AllocError> {
        let mut cells = Self::new_in(memory);
        if n > 0 {
            cells.grow_to(n)?;
        }
        Ok(cells)
    }

    pub(super) fn fixed_in(n: usize, memory: M) -> Result<Self, AllocError> {
        let mut cells = Self::with_capacity_in(n, memory)?;
        cells.fixed = true;
        Ok(cells)
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len as usize
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

    /// Room for `more` cells, or an error that changed nothing.
    #[inline(always)]
    pub(super) fn room(&mut self, more: usize) -> Result<(), AllocError> {
        if more > self.capacity() - self.len() {
            self.grow(more)?;
        }
        Ok(())
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn sure_room(&mut self, more: usize) {
        if self.room(more).is_err() {
            no_slot()
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) -> Result<(), AllocError> {
        let wanted = self.len().checked_add(more).ok_or(AllocError)?;
        if self.fixed || wanted > NONE as usize {
            return Err(AllocError);
        }
        self.grow_to(grown::<T>(self.capacity(), self.len(), more)?.min(NONE as usize))
    }

    fn grow_to(&mut self, n: usize) -> Result<(), AllocError> {
        if n > NONE as usize {
            return Err(AllocError);
        }
        let first = self.capacity() == 0;
        self.slots.grow(n, self.known as usize)?;
        if first {
            self.start = number() & !1; // as of pools: each begins elsewhere
        }
        Ok(())
    }

    /// Puts a value into a cell. The caller links it.
    ///
    /// # Safety
    /// There is room.
    #[inline(always)]
    pub(super) unsafe fn put(&mut self, value: T, next: u32, other: u32) -> u32 {
        let raw = self.raw();
        let (i, generation);
        // SAFETY: a free cell is known, and has a link; the next that is not known is within the capacity.
        unsafe {
            if self.free != NONE {
                i = self.free;
                let link = *L::meta(raw, i as usize);
                generation = link.generation.wrapping_add(1);
                self.free = near(link.next, i);
                self.latest = self.latest.max(generation.wrapping_sub(self.start));
            } else {
                i = self.known;
                generation = self.start.wrapping_add(1);
                self.known += 1;
                self.latest = self.latest.max(1);
            }
            L::meta(raw, i as usize).write(Link { generation, next, other });
            L::write(raw, i as usize, value);
        }
        self.len += 1;
        i
    }

    /// Gives a cell back. Its value is the caller's.
    ///
    /// # Safety
    /// The cell has a value.
    #[inline(always)]
    pub(super) unsafe fn give(&mut self, i: u32) {
        // SAFETY: the caller's contract.
        unsafe {
            let link = L::meta(self.raw(), i as usize);
            (*link).generation = (*link).generation.wrapping_add(1);
            (*link).next = self.free;
        }
        self.free = i;
        self.len -= 1;
    }

    /// Gives all cells back at once: no handle finds its value any more. The values are the caller's.
    pub(super) fn give_all(&mut self) {
        if self.known != 0 {
            self.start = self.start.wrapping_add(self.latest).wrapping_add(1);
            (self.free, self.known, self.len, self.latest) = (NONE, 0, 0, 0);
        }
    }

    /// Drops all values, in the order of their cells, and gives all cells back.
    pub(super) fn clear(&mut self) {
        let (raw, known) = (self.raw(), self.known as usize);
        self.give_all();
        // SAFETY: a cell whose generation is odd has a value, which is nobody's now.
        unsafe { drop_all::<T, L, Link>(raw, (0..known).filter(|&i| (*L::meta(raw, i)).generation % 2 == 1)) }
    }

    /// The cell of a handle whose value is there.
    #[inline(always)]
    pub(super) fn find(&self, handle: Handle<T>) -> Option<u32> {
        let i = handle.index();
        // SAFETY: a known cell has a link.
        let there = i < self.known && handle.matches(unsafe { (*L::meta(self.raw(), i as usize)).generation });
        there.then_some(i)
    }

    /// # Safety
    /// The cell has a value.
    #[inline(always)]
    pub(super) unsafe fn handle(&self, i: u32) -> Handle<T> {
        // SAFETY: the caller's contract.
        Handle::new(i as usize, unsafe { (*L::meta(self.raw(), i as usize)).generation })
    }

    /// # Safety
    /// The cell has a value; the pointer is good until cells move.
    #[inline(always)]
    pub(super) unsafe fn link(&self, i: u32) -> *mut Link {
        // SAFETY: the caller's contract.
        unsafe { L::meta(self.raw(), i as usize) }
    }
}

/// The number of the next cell, which was read from memory. If it is the one that was guessed, the processor need not wait
/// for what was read: it goes on with the guess, and learns later that it was right. Cells that were made one after the
/// other lie side by side, so a list is walked nearly as fast as an array. The compiler must neither know that both numbers
/// are the same, nor choose between them without a branch.
#[inline(always)]
pub(super) fn follow(next: u32, guess: u32, missed: impl FnOnce()) -> u32 {
    if next == opaque(guess) {
        opaque(guess)
    } else {
        missed();
        next
    }
}

/// The same, where no stride is known: the next cell is guessed to be a neighbour.
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

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[inline(always)]
fn opaque(mut number: u32) -> u32 {
    // SAFETY: a comment, and no instruction.
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

impl<T, L: CloneIn<T>, M: Memory + Clone> Clone for Cells<T, L, M> {
    /// With each value in the cell of the same number: handles are good in both.
    fn clone(&self) -> Self {
        let mut clone = match Self::with_capacity_in(self.capacity(), self.memory().clone()) {
            Ok(clone) => clone,
            Err(AllocError) => no_slot(),
        };
        for i in 0..self.known as usize {
            // SAFETY: there are as many cells; a known one has a link, and one whose generation is odd a value. A cell
            // of the clone is known as soon as both are there: the next clone may panic.
            unsafe {
                let link = *L::meta(self.raw(), i);
                if link.generation % 2 == 1 {
                    L::write(clone.raw(), i, L::clone_at(self.raw(), i));
                }
                L::meta(clone.raw(), i).write(link);
            }
            clone.known += 1;
        }
        (clone.free, clone.len, clone.fixed) = (self.free, self.len, self.fixed);
        (clone.start, clone.latest) = (self.start, self.latest);
        clone
    }
}

impl<T, L: Layout<T>, M: Memory> Drop for Cells<T, L, M> {
    fn drop(&mut self) {
        self.clear();
    }
}
