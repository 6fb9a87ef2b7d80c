//! Trim, release and statistics of a recycler.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::null_mut;

use super::block::{Block, Segment, UNIT};
use super::range::Range;
use super::state::State;
use super::supply::{Supply, Units};

impl State {
    /// Closes a range whose block has no live object.
    fn close_if_idle(&self, range: &Range) {
        if range.is_idle() {
            self.close(range);
        }
    }

    /// Returns memory without live objects, until about `keep` bytes of it are left; returns what is left.
    pub fn trim(&self, supply: &Supply<'_>, keep: usize) -> usize {
        #[cfg(feature = "std")]
        if let Some(checked) = self.checked() {
            let left = checked.trim(supply, keep);
            crate::hook::deliver();
            return left;
        }
        // SAFETY: as in `alloc_slow`.
        unsafe { self.flush_pending(&supply.index.units) };
        self.close_if_idle(&self.main);
        self.close_if_idle(&self.medium);
        let (mut idle, mut left) = (self.larges.trim(self, supply, self.idle_bytes(), keep), 0);
        let (mut before, mut s): (*mut Segment, _) = (null_mut(), self.segments.get());
        while !s.is_null() {
            // SAFETY: segments are alive until they are returned; a returned one is not used.
            unsafe {
                let (next, size) = ((*s).next, (*s).size);
                if (*s).busy == 0 && idle - size >= keep {
                    idle -= size;
                    (0..(*s).cut).for_each(|i| self.empty.unlink(Segment::block(s, i)));
                    match before.is_null() {
                        true => self.segments.set(next),
                        false => (*before).next = next,
                    }
                    self.forget_last_block();
                    supply.put_segment(self, s);
                } else {
                    left += size;
                    before = s;
                }
                s = next;
            }
        }
        while self.segment_bytes.get() > left.max(UNIT) {
            self.segment_bytes.set(self.segment_bytes.get() / 2); // the size as after growing to what is left
        }
        idle
    }

    fn idle_bytes(&self) -> usize {
        let mut idle = 0;
        self.each_segment(|s| {
            // SAFETY: segments are alive.
            unsafe {
                if (*s).busy == 0 {
                    idle += (*s).size;
                }
            }
        });
        idle
    }

    pub fn each_segment(&self, mut look: impl FnMut(*mut Segment)) {
        let mut s = self.segments.get();
        while !s.is_null() {
            look(s);
            // SAFETY: segments are alive.
            s = unsafe { (*s).next };
        }
    }

    /// Returns all memory, whether it was freed or not. The state is then as a new one.
    ///
    /// # Safety
    /// No allocation is used any more.
    pub unsafe fn release(&self, supply: &Supply<'_>) {
        for range in [&self.main, &self.medium] {
            range.clear();
        }
        self.pending.first.set(0);
        self.pending.end.set(0);
        self.forget_last_block();
        for list in [&self.sparse, &self.empty] {
            list.clear();
        }
        self.segment_bytes.set(UNIT);
        let mut s = self.segments.replace(null_mut());
        while !s.is_null() {
            // SAFETY: segments are alive until they are returned, and not used.
            unsafe {
                let next = (*s).next;
                supply.put_segment(self, s);
                s = next;
            }
        }
        // SAFETY: the caller's contract.
        unsafe {
            self.larges.release(self, supply);
            #[cfg(feature = "std")]
            self.release_checked(supply);
        }
    }

    /// Free bytes of a block that its count includes: those of ranges, and of the pending piece.
    pub fn unallocated(&self, units: &Units, b: *mut Block) -> usize {
        let of = |range: &Range| if range.block.get() == b { range.left() } else { 0 };
        let (first, end) = (self.pending.first.get(), self.pending.end.get());
        // SAFETY: the pending piece is of this state, and its block in the directory.
        let is_pending = first != end && unsafe { self.block_of(units, first) } == b;
        of(&self.main) + of(&self.medium) + if is_pending { end - first } else { 0 }
    }
}
