//! What a program makes of one arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(feature = "std")]
pub(crate) mod budget;
pub(crate) mod cursor;
pub(crate) mod drops;
pub(crate) mod foreign;
pub(crate) mod lazy;
pub(crate) mod options;
pub(crate) mod owner;
pub(crate) mod promote;
#[cfg(feature = "region")]
pub(crate) mod region;
pub(crate) mod scope;
#[cfg(feature = "std")]
pub(crate) mod sources;
