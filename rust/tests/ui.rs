//! Programs in `ui/` that the borrow checker must refuse.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/refused.rs"]
mod refused;

#[test]
#[cfg_attr(miri, ignore = "runs the compiler")]
fn each_misuse_is_refused() {
    refused::check("toft = { path = \"PACKAGE\", features = [\"full\"] }", 100);
}
