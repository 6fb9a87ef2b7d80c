//! This package has tests only: `cargo test --release`.
// SPDX-License-Identifier: MIT OR Apache-2.0
