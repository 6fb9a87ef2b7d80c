//! Switches and reports.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(feature = "frames")]
pub(crate) mod snapshot;
pub(crate) mod switches;
