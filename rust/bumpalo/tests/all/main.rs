//! Programs for bumpalo behave the same with this crate, except for the differences that `differences.rs` tests.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(all(feature = "std", feature = "boxed", feature = "collections"))]

mod boxed;
mod bump;
#[cfg(not(miri))] // it compares with bumpalo's crate
mod differences;
#[cfg(feature = "next")]
mod emplace;
#[cfg(not(miri))]
mod program;
mod string;
mod vec;
