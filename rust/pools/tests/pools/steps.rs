//! Streams of steps, for models that play them.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::look::Step;
use proptest::prelude::{any, Strategy};

/// Streams of steps of `kinds` kinds, with a full check after each step: a quarter of the length, for Miri, takes a
/// tenth of the time.
pub fn steps(kinds: u8, most: usize) -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((0..kinds, any::<u8>(), any::<u8>()), 0..if cfg!(miri) { most / 4 } else { most })
}
