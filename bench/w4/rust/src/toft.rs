//! Ours.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0
use crate::ordered::Ordered;
use crate::pools::Pools;
use crate::sequences::Rows;
use crate::sets::{Dicts, Scans, Sets};
pub fn pools<const REST: usize>(_: &mut Pools<REST>) {}
pub fn sequences<const P: usize>(_: &mut Rows<P>) {}
pub fn sets(_: &mut Sets) {}
pub fn dicts<const P: usize>(_: &mut Dicts<P>) {}
pub fn scans(_: &mut Scans) {}
pub fn maps(_: &mut Ordered) {}
pub fn ordered_sets(_: &mut Ordered) {}
