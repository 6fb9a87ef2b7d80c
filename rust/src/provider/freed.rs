//! What a checked arena gave back, and looks at again before it is handed out: whoever wrote there meanwhile is found.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(improper_ctypes_definitions)] // as in watch.rs

use alloc::vec::Vec;

use super::damage::Damage;
use super::instruments::{Fault, Record, Watch, GONE_BYTE};
use super::state::*;

/// Of one block: what was given back, descending, since a block is given back from its end.
pub struct Shadow {
    block: Block,
    gone: Vec<Record>,
}

fn look(watch: &Watch, gone: &[Record]) {
    for fault in gone.iter().filter_map(|record| record.late_write(record.start, record.end)) {
        watch.fault(fault);
    }
}

impl Record {
    /// Was it written since it was given back? What was written is filled again.
    pub fn late_write(&self, from: *mut u8, to: *mut u8) -> Option<Fault> {
        // SAFETY: bytes of a block of the arena, which nobody uses: they were given back.
        let damage = unsafe { Damage::of(self.p, from, to, |_| GONE_BYTE) }?;
        // SAFETY: as above. It is told of once.
        unsafe { from.write_bytes(GONE_BYTE, to.addr() - from.addr()) };
        Some(Fault::LateWrite { caller: self.caller, size: self.size, damage })
    }
}

impl Watch {
    /// The record's place is filled. Without memory for it nobody looks there again.
    pub fn remember_gone(shadows: &mut Vec<Shadow>, block: Option<Block>, record: Record) {
        let Some(block) = block else { return };
        let at = shadows.iter().position(|shadow| shadow.block == block).unwrap_or_else(|| {
            if shadows.try_reserve(1).is_ok() {
                shadows.push(Shadow { block, gone: Vec::new() });
            }
            shadows.len().wrapping_sub(1)
        });
        if let Some(shadow) = shadows.get_mut(at).filter(|shadow| shadow.block == block) {
            if shadow.gone.try_reserve(1).is_ok() {
                shadow.gone.push(record);
            }
        }
    }
}

impl ArenaPtr {
    /// The bytes of a block up to `end` are about to be handed out again.
    pub fn look_back(self, watch: &Watch, block: Block, end: *mut u8) {
        let mut shadows = watch.gone.borrow_mut();
        let Some(shadow) = shadows.iter_mut().find(|shadow| shadow.block == block) else { return };
        while let Some(record) = shadow.gone.last_mut().filter(|record| record.start.addr() < end.addr()) {
            let to = if record.end.addr() < end.addr() { record.end } else { record.start.with_addr(end.addr()) };
            if let Some(fault) = record.late_write(record.start, to) {
                watch.fault(fault);
            }
            if record.end.addr() > end.addr() {
                record.start = to;
                break;
            }
            shadow.gone.pop();
        }
    }

    /// Looks at what was given back in all blocks. `false`: something was written.
    pub fn look_at_all_gone(self) -> bool {
        let Some(watch) = self.watch() else { return true };
        let mut intact = true;
        for record in watch.gone.borrow().iter().flat_map(|shadow| &shadow.gone) {
            if let Some(fault) = record.late_write(record.start, record.end) {
                watch.fault(fault);
                intact = false;
            }
        }
        intact
    }

    /// The block goes, or is to be used for something that has no records.
    #[cold]
    #[inline(never)]
    pub extern "C" fn part_with(self, block: Block) {
        let Some(watch) = self.watch() else { return };
        look(watch, &self.take_gone(block));
    }

    /// As [`part_with`](ArenaPtr::part_with) for a block that goes to its source. `true`: it stays in quarantine.
    #[cold]
    #[inline(never)]
    pub extern "C" fn part_for_good(self, block: Block) -> bool {
        let Some(watch) = self.watch() else { return false };
        let gone = self.take_gone(block);
        look(watch, &gone);
        self.detain(block, gone)
    }

    /// What is known of a block's past, from now on the caller's.
    pub fn take_gone(self, block: Block) -> Vec<Record> {
        let Some(watch) = self.watch() else { return Vec::new() };
        let mut shadows = watch.gone.borrow_mut();
        let at = shadows.iter().position(|shadow| shadow.block == block);
        at.map_or(Vec::new(), |at| shadows.swap_remove(at).gone)
    }

    #[cfg(feature = "std")]
    pub fn detain(self, block: Block, gone: Vec<Record>) -> bool {
        let home = block == self.home();
        let (base, size) = if home { (self.base(), self.home_size.get()) } else { (block.base(), block.size.get()) };
        let heaps = self.is(CHECKED) && self.source.get().is_none() && !(home && self.is(BORROWED));
        // SAFETY: the arena does not use the block any more, and without a source it is the heap's.
        heaps
            && core::ptr::NonNull::new(base).is_some_and(|base| unsafe { super::quarantine::detain(base, size, gone) })
    }

    #[cfg(not(feature = "std"))]
    pub fn detain(self, _block: Block, _gone: Vec<Record>) -> bool {
        false
    }

    /// All of it is to be used without records.
    pub fn forget_gone(self) {
        if let Some(watch) = self.watch() {
            watch.gone.borrow_mut().clear();
        }
    }
}
