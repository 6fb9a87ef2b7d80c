//! The traits of other crates, counted handles, and the public face of the ABI.
// SPDX-License-Identifier: MIT OR Apache-2.0

pub mod abi;
pub(crate) mod allocator;
#[cfg(toft_allocator_clone)]
pub(crate) mod allocator_clone;
pub(crate) mod counted;
