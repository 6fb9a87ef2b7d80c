//! `Memory`, which allocates and frees by layout, and `Allocate`, which places values in it.
// SPDX-License-Identifier: MIT OR Apache-2.0

pub(crate) mod allocate;
pub(crate) mod arena;
pub(crate) mod boxed;
pub(crate) mod buffer;
pub(crate) mod by_layout;
pub mod collections;
pub(crate) mod common_impls;
pub(crate) mod construct;
