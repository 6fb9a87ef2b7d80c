//! The quarantine: freed heap blocks of checked arenas, filled, whose reuse is delayed to detect late writes. Blocks
//! are checked and freed, oldest first, while there are more bytes than the limit, and all of them when the process
//! ends.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::ptr::NonNull;
use std::sync::{Mutex, MutexGuard};

use super::caller::Caller;
use super::damage::Damage;
use super::instrument_types::{Fault, Record};
use super::records::FREED_BYTE;
use crate::base::finding::Finding;
use crate::base::policy::MIB;
use crate::system::{heap, hook};

const QUARANTINE_MAX: usize = MIB;

struct Quarantined {
    base: NonNull<u8>,
    size: usize,
    records: Vec<Record>,
}

// SAFETY: no other code refers to the block; the records are addresses that are not dereferenced, and locations.
unsafe impl Send for Quarantined {}

struct Quarantine {
    oldest_first: VecDeque<Quarantined>,
    bytes: usize,
    exit_registered: bool,
}

static QUARANTINE: Mutex<Quarantine> =
    Mutex::new(Quarantine { oldest_first: VecDeque::new(), bytes: 0, exit_registered: false });

unsafe extern "C" {
    fn atexit(end: extern "C" fn()) -> c_int;
}

/// Past the thread's cache, which may be destroyed already; a new one would not be.
extern "C" fn flush_at_exit() {
    flush(0, heap::put_uncached);
    hook::deliver();
}

fn lock() -> MutexGuard<'static, Quarantine> {
    QUARANTINE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Adds a block. Late writes found in blocks that leave the quarantine are delivered when the caller's operation ends.
/// `false`: the block is too large, or there is no memory for the entry.
///
/// # Safety
/// `base` is a block of the heap of that size, which is not used any more.
pub unsafe fn push(base: NonNull<u8>, size: usize, records: Vec<Record>) -> bool {
    // Miri has no atexit, and detects late writes itself.
    if size > QUARANTINE_MAX / 2 || cfg!(miri) {
        return false;
    }
    let mut all = lock();
    if all.oldest_first.try_reserve(1).is_err() {
        return false;
    }
    if !all.exit_registered {
        all.exit_registered = true;
        // SAFETY: the function may be called at any time. If the registration fails, the last blocks are not checked.
        unsafe { atexit(flush_at_exit) };
    }
    // SAFETY: the caller's contract.
    unsafe { base.as_ptr().write_bytes(FREED_BYTE, size) };
    all.oldest_first.push_back(Quarantined { base, size, records });
    all.bytes += size;
    debug_assert!(all.oldest_first.iter().rev().take(8).map(|one| one.size).sum::<usize>() <= all.bytes);
    drop(all);
    flush(QUARANTINE_MAX, heap::put);
    true
}

fn flush(bound: usize, put: unsafe fn(NonNull<u8>, usize)) {
    loop {
        let mut all = lock();
        if all.bytes <= bound {
            return;
        }
        let Some(one) = all.oldest_first.pop_front() else { return };
        all.bytes -= one.size;
        debug_assert!(!all.oldest_first.is_empty() || all.bytes == 0);
        drop(all);
        if let Some(fault) = one.fault() {
            hook::found(|| Finding::of(fault));
        }
        // SAFETY: a block of the heap, not used any more, and removed from the quarantine.
        unsafe { put(one.base, one.size) };
    }
}

impl Quarantined {
    fn fault(&self) -> Option<Fault> {
        let (base, end) = (self.base.as_ptr(), self.base.as_ptr().wrapping_add(self.size));
        // SAFETY: the block is exclusively this entry's.
        let damage = |p| unsafe { Damage::of(p, base, end, FREED_BYTE) };
        let address = damage(base)?.offset as usize + base.addr();
        let within = |record: &&Record| record.start.addr() <= address && address < record.end.addr();
        let (caller, size, p) = match self.records.iter().find(within) {
            Some(record) => (record.caller, record.size, record.p),
            None => (Caller::UNKNOWN, self.size, base),
        };
        Some(Fault::LateWrite { caller, size, damage: damage(p)? })
    }
}
