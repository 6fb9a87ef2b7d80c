//! The iterators over all values of a queue.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::Queue;
use crate::contiguous::SlotRanges;

crate::sequence::slot_iterators!(Queue, "queue", SlotRanges);
