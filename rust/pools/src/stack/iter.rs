//! The iterators over all values of a stack.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::Range;

use super::Stack;

crate::sequence::slot_iterators!(Stack, "stack", Range<usize>);
