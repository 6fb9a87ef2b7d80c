//! Without `std` or the feature `diagnostics` findings are not delivered: they stay in their arena, if there are any.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

/// Calls a source.
pub(crate) fn call_source<R>(call: impl FnOnce() -> R) -> R {
    call()
}

/// Nothing to defer.
#[cfg(feature = "std")]
pub(crate) struct DeferReports(());

#[cfg(feature = "std")]
impl DeferReports {
    pub fn new() -> DeferReports {
        DeferReports(())
    }

    pub fn end(self) {}
}
