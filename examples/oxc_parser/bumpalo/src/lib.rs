//! toft-bumpalo under bumpalo's name.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_std]
pub use toft_bumpalo::*;
