//! The Rust provider: arenas behind the ABI's head. Reading order: `state`, `blocks`, `alloc_slow`, `ops`, `reset`,
//! `create_release`, `nested`, `inspect`; then the instruments: `instruments`, `records`, `tags`, `sampling`, `budgets`,
//! `faults`, `damage`, `freed`, `quarantine`.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod alloc_slow;
mod blocks;
#[cfg(feature = "diagnostics")]
mod budgets;
mod caller;
mod create_release;
#[cfg(feature = "diagnostics")]
mod damage;
#[cfg(feature = "diagnostics")]
mod faults;
#[cfg(feature = "diagnostics")]
mod freed;
mod inspect;
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

pub(crate) use caller::Caller;
pub(crate) use create_release::{create, create_in, create_with, Settings};
pub use inspect::BlockInfo;
pub(crate) use ops::{alloc_for, claim_for, resize_for, OPS};
pub(crate) use state::RawArena;

#[cfg(feature = "diagnostics")]
pub(crate) use self::budgets::RefusalHook;
#[cfg(all(feature = "std", feature = "frames"))]
pub(crate) use self::instruments::thread_id;
#[cfg(all(feature = "std", feature = "recycler"))]
pub(crate) use self::{
    damage::Damage,
    faults::Fault,
    records::{FREED_BYTE, REDZONE, REDZONE_BYTE, UNINIT_BYTE},
};

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
