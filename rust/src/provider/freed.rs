//! The log of freed regions of a checked arena, and the check for late writes before they are used again.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(improper_ctypes_definitions)] // as in instruments.rs

use alloc::vec::Vec;

use super::damage::Damage;
use super::instrument_types::{BlockLog, Fault, Instruments, Record};
use super::records::FREED_BYTE;
use super::state::*;

fn verify_log(instruments: &Instruments, records: &[Record]) {
    for fault in records.iter().filter_map(|record| record.find_late_write(record.start, record.end)) {
        instruments.fault(fault);
    }
}

impl Record {
    /// Finds a write after the free, and fills the bytes again.
    pub fn find_late_write(&self, from: *mut u8, to: *mut u8) -> Option<Fault> {
        // SAFETY: freed bytes of a block of the arena, which are not used.
        let damage = unsafe { Damage::of(self.p, from, to, FREED_BYTE) }?;
        // SAFETY: as above. Each write is reported once.
        unsafe { from.write_bytes(FREED_BYTE, to.addr() - from.addr()) };
        Some(Fault::LateWrite { caller: self.caller, size: self.size, damage })
    }
}

impl Instruments {
    /// Logs a region that was filled. If this allocation fails the region is no longer checked.
    pub fn log_freed(logs: &mut Vec<BlockLog>, block: Option<Block>, record: Record) {
        let Some(block) = block else { return };
        let at = logs.iter().position(|log| log.block == block).unwrap_or_else(|| {
            if logs.try_reserve(1).is_ok() {
                logs.push(BlockLog { block, records: Vec::new() });
            }
            logs.len().wrapping_sub(1)
        });
        if let Some(log) = logs.get_mut(at).filter(|log| log.block == block) {
            debug_assert!(log.records.last().is_none_or(|above| record.end.addr() <= above.start.addr()));
            if log.records.try_reserve(1).is_ok() {
                log.records.push(record);
            }
        }
    }
}

impl RawArena {
    /// Verifies the log up to `end` before these bytes of the block are used again.
    pub fn verify_before_reuse(self, instruments: &Instruments, block: Block, end: *mut u8) {
        let mut logs = instruments.freed.borrow_mut();
        let Some(log) = logs.iter_mut().find(|log| log.block == block) else { return };
        while let Some(record) = log.records.last_mut().filter(|record| record.start.addr() < end.addr()) {
            let to = if record.end.addr() < end.addr() { record.end } else { record.start.with_addr(end.addr()) };
            if let Some(fault) = record.find_late_write(record.start, to) {
                instruments.fault(fault);
            }
            if record.end.addr() > end.addr() {
                record.start = to;
                break;
            }
            log.records.pop();
        }
    }

    /// Verifies the freed regions of all blocks. `false`: something was written.
    pub fn verify_freed(self) -> bool {
        let Some(instruments) = self.instruments() else { return true };
        let mut intact = true;
        for record in instruments.freed.borrow().iter().flat_map(|log| &log.records) {
            if let Some(fault) = record.find_late_write(record.start, record.end) {
                instruments.fault(fault);
                intact = false;
            }
        }
        intact
    }

    /// Verifies and drops a block's log, before the block is returned or used without records.
    #[cold]
    #[inline(never)]
    pub extern "C" fn drop_block_log(self, block: Block) {
        let Some(instruments) = self.instruments() else { return };
        verify_log(instruments, &self.take_block_log(block));
    }

    /// As [`drop_block_log`](RawArena::drop_block_log), for a block that is returned to its source. `true`: the
    /// quarantine keeps the block.
    #[cold]
    #[inline(never)]
    pub extern "C" fn quarantine_block(self, block: Block) -> bool {
        let Some(instruments) = self.instruments() else { return false };
        let records = self.take_block_log(block);
        verify_log(instruments, &records);
        self.quarantine(block, records)
    }

    /// Removes a block's log from the arena.
    pub fn take_block_log(self, block: Block) -> Vec<Record> {
        let Some(instruments) = self.instruments() else { return Vec::new() };
        let mut logs = instruments.freed.borrow_mut();
        let at = logs.iter().position(|log| log.block == block);
        at.map_or(Vec::new(), |at| logs.swap_remove(at).records)
    }

    #[cfg(feature = "std")]
    pub fn quarantine(self, block: Block, records: Vec<Record>) -> bool {
        let initial = block == self.initial();
        let (base, size) =
            if initial { (self.base(), self.initial_size.get()) } else { (block.base(), block.size.get()) };
        let on_heap = self.is(CHECKED) && self.source.get().is_none() && !(initial && self.is(BORROWED));
        // SAFETY: the arena does not use the block any more, and without a source it is the heap's.
        on_heap
            && core::ptr::NonNull::new(base).is_some_and(|base| unsafe { super::quarantine::push(base, size, records) })
    }

    #[cfg(not(feature = "std"))]
    pub fn quarantine(self, _block: Block, _records: Vec<Record>) -> bool {
        false
    }

    /// Drops all logs: the memory is used without records from now on.
    pub fn clear_freed(self) {
        if let Some(instruments) = self.instruments() {
            instruments.freed.borrow_mut().clear();
        }
    }
}
