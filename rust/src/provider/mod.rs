//! The Rust provider: arenas behind the ABI's head. Reading order: `block`, `state`, `blocks`, `alloc_slow`, `ops`,
//! `reset`, `create_release`, `nested`, `inspect`, `verify`; then the instruments: `instrument_types`, `instruments`, `records`,
//! `tags`, `sampling`, `budgets`, `damage`, `freed`, `quarantine`, `findings`, `profile`. `dispatch` is for clients.
//!
//! Each operation begins with `sync_in`, which initialises the second part of the state on the first slow call and adds
//! what was allocated inline to the live bytes. It ends with `end_op`, which delivers findings and calls `set_limit`.
//! `raise` and `lower` set and clear flags of an arena, for example `BUSY` while a cleanup runs.
//!
//! `Instruments` exist from the first time that one is switched on. `Own` is the part of one arena: the records of its
//! allocations, the epochs whose marks are stale, the bytes of each tag. After `Own::begin` no older allocation has a
//! record. `Shared` is the part that an arena has in common with its scopes: tags, counts by call site, phases, and
//! each `Fault`, which `findings` converts to a finding.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod alloc_slow;
mod block;
mod blocks;
#[cfg(feature = "diagnostics")]
mod budgets;
mod caller;
mod create_release;
#[cfg(feature = "diagnostics")]
mod damage;
pub(crate) mod dispatch;
#[cfg(feature = "diagnostics")]
mod findings;
#[cfg(feature = "diagnostics")]
mod freed;
mod inspect;
#[cfg(feature = "diagnostics")]
mod instrument_types;
#[cfg(feature = "diagnostics")]
mod instruments;
#[cfg(not(feature = "diagnostics"))]
#[path = "instruments_omitted.rs"]
mod instruments;
mod nested;
mod ops;
#[cfg(all(feature = "std", feature = "diagnostics"))]
mod profile;
#[cfg(all(feature = "std", feature = "diagnostics"))]
mod quarantine;
#[cfg(feature = "diagnostics")]
mod records;
mod reset;
#[cfg(feature = "diagnostics")]
mod sampling;
mod state;
#[cfg(feature = "diagnostics")]
mod tags;
mod verify;

pub(crate) use caller::Caller;
pub(crate) use create_release::{create, create_in, create_with, Settings};
pub use inspect::BlockInfo;
pub(crate) use ops::{alloc_for, claim_for, resize_for, OPS};
pub(crate) use state::RawArena;

#[cfg(feature = "diagnostics")]
pub(crate) use self::instrument_types::RefusalHook;
#[cfg(all(feature = "std", feature = "diagnostics", feature = "frames"))]
pub(crate) use self::instruments::thread_id;
#[cfg(all(feature = "std", feature = "diagnostics", feature = "recycler"))]
pub(crate) use self::{
    damage::Damage,
    instrument_types::Fault,
    records::{FREED_BYTE, REDZONE, REDZONE_BYTE, UNINIT_BYTE},
};

use crate::base::abi_types::Head;
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
