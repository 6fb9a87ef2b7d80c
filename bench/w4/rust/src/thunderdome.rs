//! thunderdome: an arena by indices with generations.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::pools::{keyed_pool, Pools};
use thunderdome::{Arena, Index};

keyed_pool!(Arena, Index, remove);

pub fn pools<const REST: usize>(rows: &mut Pools<REST>) {
    rows.add("thunderdome", Arena::new);
}
