//! Ordered maps and sets: a B+ tree in nodes of its own.
//!
//! `node` says how a node lies in memory, `store` where nodes come from, `number` how numbers are searched. On these is
//! `tree` with `insert`, `remove`, `walk` and `whole`, which knows nothing of the interface: that is `map`, `entry`, `iter`,
//! `drain`, `traits`, and for sets `set` and `algebra`.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod algebra;
mod check;
mod drain;
mod entry;
mod insert;
mod iter;
mod map;
mod node;
mod number;
mod remove;
mod set;
mod store;
mod traits;
mod tree;
mod values;
mod walk;
mod whole;
#[cfg(all(feature = "std", target_arch = "x86_64", not(miri)))]
mod wide;

pub use drain::{IntoIter, IntoKeys, IntoValues};
pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use iter::{Iter, IterMut, Keys, Range, RangeMut, Values, ValuesMut};
pub use map::OrderedMap;
pub use set::OrderedSet;

pub mod of_set {
    //! What a set hands out.
    pub use super::algebra::{Difference, Intersection, SymmetricDifference, Union};
    pub use super::set::{IntoIter, Iter, Range};
}
