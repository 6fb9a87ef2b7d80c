//! Arenas of several threads.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(feature = "frames")]
pub(crate) mod frames;
#[cfg(feature = "leases")]
pub(crate) mod lease;
#[cfg(feature = "leases")]
pub(crate) mod parcel;
#[cfg(feature = "shared")]
pub(crate) mod shared;
#[cfg(feature = "frames")]
pub(crate) mod shared_frames;
#[cfg(feature = "leases")]
pub(crate) mod task;
