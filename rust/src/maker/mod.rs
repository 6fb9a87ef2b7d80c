//! The maker: arenas behind the ABI's head, in Rust. Reading order: `state`, `blocks`, `place`, `table`, `settle`,
//! `life`, `nest`, `look`, `watch`, `damage`,
//! `gone`, `quarantine`.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod blocks;
mod damage;
mod gone;
mod life;
mod look;
mod nest;
mod place;
#[cfg(feature = "std")]
mod quarantine;
mod settle;
mod state;
mod table;
mod watch;

pub(crate) use damage::Damage;
pub(crate) use life::{create, create_in, create_with, Settings};
pub(crate) use look::Blocks;
pub(crate) use state::Arena;
pub(crate) use table::{alloc_for, claim_for, resize_for, OPS};
#[cfg(feature = "std")]
pub(crate) use watch::this_thread;
pub(crate) use watch::{boxed, Ask, Caller, Fault, Shared};
#[cfg(feature = "std")]
pub(crate) use watch::{GONE_BYTE, NEW_BYTE, ZONE, ZONE_BYTE};

use crate::abi::Head;
use core::ptr::NonNull;

/// The arena behind a head, if this crate made it.
///
/// # Safety
/// `head` is the head of a live arena.
#[inline]
pub(crate) unsafe fn own(head: NonNull<Head>) -> Option<Arena> {
    // SAFETY: the caller's contract.
    unsafe { core::ptr::eq((*head.as_ptr()).ops.get(), OPS).then(|| Arena::of(head.as_ptr())) }
}
