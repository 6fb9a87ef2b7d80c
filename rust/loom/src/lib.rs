//! The tests of this package are all there is: `cargo test --release`.
// SPDX-License-Identifier: MIT OR Apache-2.0
