//! Without `std` findings are not delivered: an arena keeps its own.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// Calls a source.
pub(crate) fn held<R>(call: impl FnOnce() -> R) -> R {
    call()
}
