//! The Rust provider: arenas behind the ABI's head. Reading order: `state`, `blocks`, `alloc_slow`, `ops`, `reset`,
//! `create_release`, `nested`, `inspect`; then the instruments: `instruments`, `records`, `tags`, `sampling`, `budgets`,
//! `faults`, `damage`, `freed`, `quarantine`.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod alloc_slow;
mod blocks;
mod budgets;
mod create_release;
mod damage;
mod faults;
mod freed;
mod inspect;
mod instruments;
mod nested;
mod ops;
#[cfg(feature = "std")]
mod quarantine;
mod records;
mod reset;
mod sampling;
mod state;
mod tags;

pub(crate) use budgets::RefusalHook;
pub(crate) use create_release::{create, create_in, create_with, Settings};
pub(crate) use damage::Damage;
pub(crate) use faults::Fault;
#[cfg(feature = "std")]
pub(crate) use instruments::thread_id;
pub(crate) use instruments::{Caller, Shared};
pub(crate) use ops::{alloc_for, claim_for, resize_for, OPS};
#[cfg(feature = "std")]
pub(crate) use records::{FREED_BYTE, REDZONE, REDZONE_BYTE, UNINIT_BYTE};
pub(crate) use state::RawArena;

use crate::abi_types::Head;
use core::ptr::NonNull;

/// The arena of a head, if this crate is its provider.
///
/// # Safety
/// `head` is the head of a live arena.
#[inline]
pub(crate) unsafe fn own(head: NonNull<Head>) -> Option<RawArena> {
    // SAFETY: the caller's contract.
    unsafe { core::ptr::eq((*head.as_ptr()).ops.get(), OPS).then(|| RawArena::of(head.as_ptr())) }
}
