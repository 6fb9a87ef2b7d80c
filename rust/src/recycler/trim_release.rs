//! Trim and release of a recycler.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::null_mut;

use super::block::{Segment, UNIT};
use super::range::List;
use super::state::State;
use super::supply::Supply;

impl State {
    /// Returns memory without live objects, until about `keep` bytes of it are left; returns what is left.
    pub fn trim(&self, supply: &Supply<'_>, keep: usize) -> usize {
        #[cfg(feature = "std")]
        if let Some(checked) = self.checked() {
            let left = checked.trim(supply, keep);
            crate::hook::deliver();
            return left;
        }
        self.flush(&supply.index.units);
        self.each_active(|_, c| {
            // SAFETY: a range's block is alive; after the flush it counts live bytes.
            if !c.range.block.get().is_null() && unsafe { (*c.range.block.get()).live } == 0 {
                self.close(&supply.index.units, &c.range);
            }
        });
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

    /// Returns all memory without live objects, so that a block that was refused may be requested once more; `false`:
    /// there is none.
    #[cold]
    pub fn trim_after_refusal(&self, supply: &Supply<'_>) -> bool {
        let before = self.reserved.get();
        self.trim(supply, 0);
        self.reserved.get() < before
    }

    fn idle_bytes(&self) -> usize {
        // SAFETY: segments are alive.
        self.segments().filter(|s| unsafe { (**s).busy } == 0).map(|s| unsafe { (*s).size }).sum()
    }

    pub fn segments(&self) -> impl Iterator<Item = *mut Segment> {
        let some = |s: *mut Segment| (!s.is_null()).then_some(s);
        // SAFETY: segments are alive.
        core::iter::successors(some(self.segments.get()), move |s| some(unsafe { (**s).next }))
    }

    /// Returns all memory, whether it was freed or not. The state is then as a new one.
    ///
    /// # Safety
    /// No allocation is used any more.
    pub unsafe fn release(&self, supply: &Supply<'_>) {
        self.each_active(|_, c| c.clear());
        self.active.set(0);
        self.empty.clear();
        if self.run_bits.replace(0) != 0 {
            self.runs.iter().for_each(List::clear);
        }
        self.segment_bytes.set(UNIT);
        self.refused.set(false);
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
}
