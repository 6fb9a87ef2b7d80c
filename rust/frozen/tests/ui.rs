//! Types in `ui/` that must not be frozen.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "derive")]

#[path = "../../tests/common/refused.rs"]
mod refused;

#[test]
#[cfg_attr(miri, ignore = "runs the compiler")]
fn each_misuse_is_refused() {
    refused::check("toft-frozen = { path = \"PACKAGE\" }", 45);
}
