//! Requests above the size classes that share blocks, in grains: the first word of a block's hole bits has one bit for
//! each free grain. Blocks are listed by their longest run of free grains; an allocation takes the first run that is
//! long enough in a block whose longest run is the shortest that serves it. All calls take constant time.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

use super::block::{self, Block, ListName};
use super::state::{State, Units};
use super::supply::Supply;

/// 64 of these fill the shortest whole block; what a block has beyond its grains belongs to no run.
const GRAIN: usize = 504;

/// The grains of a block that the `size` bytes at an offset are in.
fn grains_of(capacity: u32, at: usize, size: usize) -> u64 {
    let (first, last) = (at / GRAIN, (at + size - 1) / GRAIN);
    u64::MAX >> (63 - (last - first)) << first & all(capacity)
}

fn all(capacity: u32) -> u64 {
    u64::MAX >> (64 - (capacity as usize / GRAIN).min(64))
}

/// The grains that begin a run of `count` or more.
fn runs_of(mut grains: u64, mut count: usize) -> u64 {
    while count > 1 {
        grains &= grains >> (count / 2);
        count -= count / 2;
    }
    grains
}

fn longest_run(grains: u64) -> usize {
    let mut rows = [grains; 6]; // the begins of runs of 1, 2, 4 ... 32
    (1..6).for_each(|i| rows[i] = rows[i - 1] & rows[i - 1] >> (1 << (i - 1)));
    let (mut begins, mut longest) = (u64::MAX, 0);
    for i in (0..6).rev() {
        let longer = begins & rows[i] >> longest;
        if longer != 0 {
            (begins, longest) = (longer, longest + (1 << i));
        }
    }
    longest
}

impl State {
    /// # Safety
    /// `b` is a block of this state with grains, in the list of the run `(*b).sweep`, or in none if that is 0.
    unsafe fn set_grains(&self, b: *mut Block, grains: u64, live: usize) {
        let run = if live != 0 { longest_run(grains) } else { 0 };
        // SAFETY: the caller's contract.
        unsafe {
            *Block::grains(b) = grains;
            (*b).live = live as i32;
            let was = (*b).sweep as usize;
            if run != was {
                if was != 0 {
                    self.runs[was].unlink(b);
                }
                if run != 0 {
                    self.runs[run].push(b, ListName::Sparse);
                }
                let bits = self.run_bits.get() & !((self.runs[was].first.get().is_null() as u64) << was);
                self.run_bits.set(bits | ((run != 0) as u64) << run);
                (*b).sweep = run as u32;
            }
            if live == 0 {
                self.block_emptied(b);
            }
        }
    }

    pub fn alloc_medium(&self, supply: &Supply<'_>, size: usize, align: usize) -> Option<NonNull<u8>> {
        let count = (size + align - 8).div_ceil(GRAIN); // grains start at multiples of 8
        let fitting = self.run_bits.get() >> count << count;
        // SAFETY: a listed block is alive and of this state, and so is one that was just taken.
        unsafe {
            let b = match fitting {
                0 => {
                    let b = self.take_block(supply, size, align)?;
                    ((*b).live, (*b).sweep, (*b).list) = (0, 0, ListName::Open);
                    *Block::grains(b) = all((*b).capacity);
                    b
                }
                _ => self.runs[fitting.trailing_zeros() as usize].first.get(),
            };
            let free = *Block::grains(b);
            let first = runs_of(free, count).trailing_zeros() as usize % 64 * GRAIN; // none: it fits at the front
            let at = first + (((*b).base.addr() + first).wrapping_neg() & (align - 1));
            self.set_grains(b, free & !grains_of((*b).capacity, at, size), (*b).live as usize + size);
            NonNull::new((*b).base.add(at))
        }
    }

    /// # Safety
    /// The `size` bytes at `at` were allocated by `alloc_medium`, and are not used any more.
    pub unsafe fn free_medium(&self, units: &Units, at: usize, size: usize) {
        // SAFETY: the caller's contract: the block is in the directory.
        unsafe {
            let b = units.find(block::unit_of(at)).as_ptr();
            let free = *Block::grains(b) | grains_of((*b).capacity, at - (*b).base.addr(), size);
            self.set_grains(b, free, (*b).live as usize - size);
        }
    }

    /// Resizes in place; `false`: impossible.
    ///
    /// # Safety
    /// The `was` bytes at `at` were allocated by `alloc_medium`; those behind `now` are not used any more.
    pub unsafe fn resize_medium(&self, units: &Units, at: usize, was: usize, now: usize) -> bool {
        // SAFETY: the caller's contract: the block is in the directory.
        unsafe {
            let b = units.find(block::unit_of(at)).as_ptr();
            let (capacity, from) = ((*b).capacity, at - (*b).base.addr());
            if now > capacity as usize - from {
                return false;
            }
            let (free, needed) = (*Block::grains(b) | grains_of(capacity, from, was), grains_of(capacity, from, now));
            let fits = free & needed == needed;
            if fits {
                self.set_grains(b, free & !needed, (*b).live as usize - was + now);
            }
            fits
        }
    }
}

#[cfg(any(kani, test))]
#[path = "../../tests/unit/medium.rs"]
mod tests;
