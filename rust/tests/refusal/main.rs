//! Refusals by the source, the system and limits: a refusal changes nothing, and the same call is served when there is
//! memory again.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

mod calls;
mod heap;
mod kinds;
#[path = "../common/refusing.rs"]
mod refusing;
mod rounds;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
