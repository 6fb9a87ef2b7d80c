//! Without `std` findings are not delivered: they stay in their arena.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

/// Calls a source.
pub(crate) fn call_source<R>(call: impl FnOnce() -> R) -> R {
    call()
}
