//! Blocks of the heap that checked arenas gave back, which wait before they are used again, so that whoever writes there
//! is found. The oldest go when there are more bytes than the bound, and all at the end of the process: each is looked at
//! before it goes.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::ptr::NonNull;
use std::sync::{Mutex, MutexGuard};

use super::damage::Damage;
use super::instruments::{Caller, Fault, Record, GONE_BYTE};
use crate::policy::MIB;
use crate::report::Finding;
use crate::{heap, hook};

const BOUND: usize = MIB;

struct Detained {
    base: NonNull<u8>,
    size: usize,
    /// What was in it last.
    gone: Vec<Record>,
}

// SAFETY: a block that nobody else refers to; the records are numbers to whoever has it, and places in the program.
unsafe impl Send for Detained {}

struct Waiting {
    oldest_first: VecDeque<Detained>,
    bytes: usize,
    armed: bool,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { oldest_first: VecDeque::new(), bytes: 0, armed: false });

unsafe extern "C" {
    fn atexit(end: extern "C" fn()) -> c_int;
}

/// The main thread's cache may be gone by now, and a new one would never end.
extern "C" fn end() {
    discharge(0, heap::put_past);
    hook::deliver();
}

fn waiting() -> MutexGuard<'static, Waiting> {
    WAITING.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The block waits. What is found to be wrong with others is delivered when the caller's operation ends. `false`: it is too large, or there is no memory to note it.
///
/// # Safety
/// `base` is a block of the heap of that size, which nobody uses any more.
pub unsafe fn detain(base: NonNull<u8>, size: usize, gone: Vec<Record>) -> bool {
    // Miri has no atexit, and sees itself what is written late.
    if size > BOUND / 2 || cfg!(miri) {
        return false;
    }
    let mut all = waiting();
    if all.oldest_first.try_reserve(1).is_err() {
        return false;
    }
    if !all.armed {
        all.armed = true;
        // SAFETY: the function may be called at any time. If it cannot be had, the last ones are not looked at.
        unsafe { atexit(end) };
    }
    // SAFETY: the caller's contract.
    unsafe { base.as_ptr().write_bytes(GONE_BYTE, size) };
    all.oldest_first.push_back(Detained { base, size, gone });
    all.bytes += size;
    drop(all);
    discharge(BOUND, heap::put);
    true
}

fn discharge(bound: usize, put: unsafe fn(NonNull<u8>, usize)) {
    loop {
        let mut all = waiting();
        if all.bytes <= bound {
            return;
        }
        let Some(one) = all.oldest_first.pop_front() else { return };
        all.bytes -= one.size;
        drop(all);
        if let Some(fault) = one.fault() {
            hook::found(|| Finding::of(fault));
        }
        // SAFETY: of the heap; it was used no more, and is not here any more.
        unsafe { put(one.base, one.size) };
    }
}

impl Detained {
    fn fault(&self) -> Option<Fault> {
        let (base, end) = (self.base.as_ptr(), self.base.as_ptr().wrapping_add(self.size));
        // SAFETY: the block is this one's alone.
        let damage = |p| unsafe { Damage::of(p, base, end, |_| GONE_BYTE) };
        let address = damage(base)?.offset as usize + base.addr();
        let within = |record: &&Record| record.start.addr() <= address && address < record.end.addr();
        let (caller, size, p) = match self.gone.iter().find(within) {
            Some(record) => (record.caller, record.size, record.p),
            None => (Caller::NOBODY, self.size, base),
        };
        Some(Fault::LateWrite { caller, size, damage: damage(p)? })
    }
}
