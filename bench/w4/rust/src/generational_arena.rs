//! generational-arena: an arena by indices with generations.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::pools::{keyed_pool, Pools};
use generational_arena::{Arena, Index};

keyed_pool!(Arena, Index, remove);

pub fn pools<const REST: usize>(rows: &mut Pools<REST>) {
    rows.add("generational-arena", Arena::new);
}
