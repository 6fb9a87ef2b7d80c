//! The environment, the caches of pages and of each thread, delivery of findings.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(feature = "std")]
pub(crate) mod background;
#[cfg(feature = "std")]
pub(crate) mod environment;
#[cfg(all(feature = "std", any(target_os = "linux", target_os = "android"), not(miri)))]
mod first_touch;
pub(crate) mod heap;
#[cfg(all(feature = "std", feature = "diagnostics"))]
pub(crate) mod hook;
#[cfg(not(all(feature = "std", feature = "diagnostics")))]
#[path = "hook_bare.rs"]
pub(crate) mod hook;
#[cfg(feature = "std")]
pub(crate) mod page_cache;
#[cfg(all(feature = "std", feature = "diagnostics"))]
pub(crate) mod process;
#[cfg(feature = "std")]
pub(crate) mod sanitizers;
