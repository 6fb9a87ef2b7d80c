//! Pools and collections against models, and each guarantee of their documentation. Tests that leak values are in
//! `callbacks_pools`, programs that must not compile in `ui.rs`.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(feature = "derive")]
mod columns;
#[cfg(feature = "derive")]
pub mod columns_hygiene;
mod dense;
mod inference;
mod ledger;
mod list;
mod look;
#[cfg(not(target_family = "wasm"))] // a panic ends the program there
mod ordered_model;
#[cfg(not(target_family = "wasm"))]
mod ordered_std;
#[cfg(not(target_family = "wasm"))]
mod ordered_streams;
mod pair;
mod pool;
mod pool_model;
mod queue;
#[cfg(not(target_family = "wasm"))]
mod refused_growth;
#[path = "../../../tests/common/refusing.rs"]
mod refusing;
mod secondary;
mod sequence_model;
mod sequences;
#[cfg(feature = "serde")]
mod serialization;
mod stack;
