//! Programs for bumpalo behave the same with this crate, but for what `differences.rs` tests.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(all(feature = "std", feature = "boxed", feature = "collections"))]

mod boxed;
mod bump;
#[cfg(not(miri))] // it compares with the other crate
mod differences;
#[cfg(feature = "next")]
mod emplace;
#[cfg(not(miri))]
mod program;
mod string;
mod vec;
