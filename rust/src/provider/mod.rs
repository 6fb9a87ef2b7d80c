//! The Rust provider: arenas behind the ABI's head. Reading order: `state`, `blocks`, `alloc_slow`, `ops`, `reset`,
//! `create_release`, `nested`, `inspect`, `instruments`, `damage`, `freed`, `quarantine`.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod alloc_slow;
mod blocks;
mod create_release;
mod damage;
mod freed;
mod inspect;
mod instruments;
mod nested;
mod ops;
#[cfg(feature = "std")]
mod quarantine;
mod reset;
mod state;

pub(crate) use create_release::{create, create_in, create_with, Settings};
pub(crate) use damage::Damage;
#[cfg(feature = "std")]
pub(crate) use instruments::thread_id;
pub(crate) use instruments::{boxed, Caller, Fault, RefusalHook, Shared};
#[cfg(feature = "std")]
pub(crate) use instruments::{FREED_BYTE, REDZONE, REDZONE_BYTE, UNINIT_BYTE};
pub(crate) use ops::{alloc_for, claim_for, resize_for, OPS};
pub(crate) use state::ArenaPtr;

use crate::abi::Head;
use core::ptr::NonNull;

/// The arena of a head, if this crate is its provider.
///
/// # Safety
/// `head` is the head of a live arena.
#[inline]
pub(crate) unsafe fn own(head: NonNull<Head>) -> Option<ArenaPtr> {
    // SAFETY: the caller's contract.
    unsafe { core::ptr::eq((*head.as_ptr()).ops.get(), OPS).then(|| ArenaPtr::of(head.as_ptr())) }
}
