//! Large objects: each has a block of its own; some freed blocks are kept for reuse.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::{null_mut, NonNull};

use super::block::{self, LINE};
use super::state::{Large, Larges, Spare, State, SPARES};
use super::stats::RecyclerStats;
use super::supply::Supply;
use crate::policy::{round, BLOCK_MIN, MIB};

pub const fn key_of(object: usize) -> usize {
    object / LINE
}

/// The offset of an object in its block, behind its header.
fn object_start(base: usize, total: usize, size: usize, align: usize) -> Option<usize> {
    Some(LINE + block::fit(base + LINE, total - LINE, size, align)?)
}

impl Larges {
    fn take_spare(&self, i: usize) -> Spare {
        let spare = self.spares[i].get();
        let count = self.spare_count.get() - 1;
        (i..count).for_each(|k| self.spares[k].set(self.spares[k + 1].get()));
        self.spare_count.set(count);
        self.spare_bytes.set(self.spare_bytes.get() - spare.size);
        spare
    }

    fn put_spare(&self, state: &State, supply: &Supply<'_>, i: usize) {
        let Spare { base, size } = self.take_spare(i);
        // SAFETY: it was taken with that size, and its object was freed.
        unsafe { supply.put_large(state, NonNull::new_unchecked(base), size) }
    }

    fn keep(&self, spare: Spare) {
        let count = self.spare_count.get();
        self.spares[count].set(spare);
        self.spare_count.set(count + 1);
        self.spare_bytes.set(self.spare_bytes.get() + spare.size);
    }

    /// Removes the block freed last that fits, up to `most` bytes: it is likely to be in the processor's caches.
    fn find(&self, size: usize, align: usize, most: usize) -> Option<Spare> {
        let fits = |s: Spare| s.size <= most && object_start(s.base.addr(), s.size, size, align).is_some();
        let i = (0..self.spare_count.get()).rev().find(|i| fits(self.spares[*i].get()))?;
        Some(self.take_spare(i))
    }

    /// Rounds sizes in steps of at most an eighth, so that blocks can be reused; a block above three times the size is
    /// used only if the source has none. After a refusal the same requests find the same blocks again: none is larger
    /// than needed.
    #[inline(never)]
    pub fn alloc(&self, state: &State, supply: &Supply<'_>, size: usize, align: usize) -> Option<NonNull<u8>> {
        let align = align.max(LINE);
        let need = LINE.checked_add(size)?.checked_add(align - LINE)?;
        let mut step = BLOCK_MIN;
        while step < need / 16 {
            step *= 2;
        }
        let total = round(need, step);
        let most = if state.refused.get() { total } else { total.saturating_mul(3) };
        let take = |size| Some(Spare { base: supply.take_large(state, size)?.as_ptr(), size });
        let spare = self.find(size, align, most).or_else(|| take(total)).or_else(|| self.find(size, align, usize::MAX));
        let after_trim = || if state.trim_after_refusal(supply) { take(round(need, BLOCK_MIN)) } else { None };
        let spare = spare.or_else(after_trim)?;
        // SAFETY: the block is owned by this call, and the object and its header fit in it.
        unsafe {
            let p = spare.base.add(object_start(spare.base.addr(), spare.size, size, align).unwrap_unchecked());
            let l = p.cast::<Large>().sub(1);
            l.write(Large {
                next: self.first.get(),
                previous: null_mut(),
                base: spare.base,
                size: spare.size,
                used: size,
                owner: supply.owner,
            });
            let register = || supply.register(state, key_of(p.addr()), NonNull::new_unchecked(l));
            if !(register() || state.trim_after_refusal(supply) && register()) {
                supply.put_large(state, NonNull::new_unchecked(spare.base), spare.size);
                return None;
            }
            if !self.first.get().is_null() {
                (*self.first.get()).previous = l;
            }
            self.first.set(l);
            self.bytes.set(self.bytes.get() + spare.size);
            self.peak.set(self.peak.get().max(self.bytes.get()));
            NonNull::new(p)
        }
    }

    /// # Safety
    /// `l` is the header of a live object of this state.
    unsafe fn unlink(&self, l: *mut Large) -> Spare {
        // SAFETY: the caller's contract.
        unsafe {
            match (*l).previous {
                before if before.is_null() => self.first.set((*l).next),
                before => (*before).next = (*l).next,
            }
            if !(*l).next.is_null() {
                (*(*l).next).previous = (*l).previous;
            }
            self.bytes.set(self.bytes.get() - (*l).size);
            Spare { base: (*l).base, size: (*l).size }
        }
    }

    /// Keeps the block, while all blocks together have at most twice the maximum of live bytes, or 1 MiB of them are
    /// kept: fewer blocks stay in the processor's caches. The oldest is returned first.
    ///
    /// # Safety
    /// `at` is a live object of this state, which is not used any more.
    pub unsafe fn free(&self, state: &State, supply: &Supply<'_>, at: usize) {
        let key = key_of(at);
        // SAFETY: the caller's contract: the object is in the directory.
        let spare = unsafe {
            let l = supply.index.larges.find(key);
            supply.unregister(key);
            self.unlink(l.as_ptr())
        };
        if self.spare_count.get() == SPARES {
            self.put_spare(state, supply, 0);
        }
        self.keep(spare);
        while self.spare_bytes.get() > MIB && self.bytes.get() + self.spare_bytes.get() > 2 * self.peak.get() {
            self.put_spare(state, supply, 0);
        }
    }

    /// Resizes in place; `false`: impossible, or the object would use less than a quarter of its block.
    ///
    /// # Safety
    /// `at` is a live object of this state; the bytes behind `size` are not used any more.
    pub unsafe fn resize(&self, supply: &Supply<'_>, at: usize, size: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe {
            let l = supply.index.larges.find(key_of(at)).as_ptr();
            let room = (*l).base.addr() + (*l).size - at;
            let stays = size <= room && size >= (*l).size / 4;
            if stays {
                (*l).used = size;
            }
            stays
        }
    }

    /// Returns kept blocks until `idle` bytes and those kept here are at most about `keep`; returns what is left.
    pub fn trim(&self, state: &State, supply: &Supply<'_>, idle: usize, keep: usize) -> usize {
        let mut idle = idle + self.spare_bytes.get();
        while self.spare_count.get() != 0 && idle - self.spares[0].get().size >= keep {
            idle -= self.spares[0].get().size;
            self.put_spare(state, supply, 0);
        }
        idle
    }

    /// # Safety
    /// No object is used any more.
    pub unsafe fn release(&self, state: &State, supply: &Supply<'_>) {
        while let Some(l) = NonNull::new(self.first.get()) {
            // SAFETY: the caller's contract.
            unsafe {
                supply.unregister(key_of(l.add(1).addr().get()));
                let spare = self.unlink(l.as_ptr());
                supply.put_large(state, NonNull::new_unchecked(spare.base), spare.size);
            }
        }
        while self.spare_count.get() != 0 {
            self.put_spare(state, supply, 0);
        }
        self.peak.set(0);
    }

    pub fn count(&self, stats: &mut RecyclerStats) {
        stats.kept += self.spare_bytes.get() as u64;
        let mut l = self.first.get();
        while !l.is_null() {
            // SAFETY: the headers of live objects are alive.
            unsafe {
                stats.live += (*l).used as u64;
                stats.pinned += ((*l).base.addr() + (*l).size - l.add(1).addr() - (*l).used) as u64;
                stats.blocks += 1;
                stats.large_blocks += 1;
                l = (*l).next;
            }
        }
    }
}
