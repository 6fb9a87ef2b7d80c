//! bumpalo's names for Toft's arenas, for `[patch.crates-io]`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_std]

pub use toft_bumpalo::*;
