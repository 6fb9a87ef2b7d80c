//! Types and arithmetic, panics of user code, locks, system calls.
// SPDX-License-Identifier: MIT OR Apache-2.0

pub(crate) mod abi_types;
pub(crate) mod assertions;
#[cfg(feature = "std")]
pub(crate) mod budget_report;
pub(crate) mod error;
#[cfg(feature = "diagnostics")]
pub(crate) mod finding;
#[cfg(feature = "std")]
pub(crate) mod lock;
#[cfg(feature = "std")]
pub(crate) mod os;
pub(crate) mod panics;
pub(crate) mod policy;
#[cfg(feature = "diagnostics")]
pub(crate) mod report;
pub(crate) mod source;
#[cfg(all(feature = "std", any(feature = "leases", feature = "recycler")))]
pub(crate) mod thread_hint;
#[cfg(any(feature = "diagnostics", feature = "region"))]
pub(crate) mod try_box;

/// Loads of a held lock before the thread yields. The tests in `loom/` compile `lock.rs` with their own of these three.
#[cfg(feature = "std")]
pub(crate) const SPINS: usize = 64;
#[cfg(feature = "std")]
use {core::sync::atomic, std::thread::yield_now};
