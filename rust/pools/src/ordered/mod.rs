//! Ordered maps and sets: a B+ tree.
//!
//! The bottom layer is the node: `node` is its memory layout, `node_storage` and `value_slots` its allocation,
//! `integer_keys` and `simd` the search among integer keys. Above it is the tree: `tree` with `insert`, `remove`,
//! `leaf_range`, `bulk` and `invariants`. On top is the API: `capacity`, `map`, `entry`, `extract_if`, `iter`, `into_iter`, `traits`,
//! and for sets `set` and `set_operations`.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod bulk;
mod capacity;
mod entry;
mod extract_if;
mod insert;
mod integer_keys;
mod into_iter;
mod invariants;
mod iter;
mod leaf_range;
mod map;
mod node;
mod node_storage;
mod remove;
mod set;
mod set_operations;
mod set_traits;
#[cfg(all(feature = "std", target_arch = "x86_64", not(miri)))]
mod simd;
mod traits;
mod tree;
mod value_slots;

pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use extract_if::ExtractIf;
pub use into_iter::{IntoIter, IntoKeys, IntoValues};
pub use iter::{Iter, IterMut, Keys, Range, RangeMut, Values, ValuesMut};
pub use map::OrderedMap;
pub use set::OrderedSet;

pub mod of_set {
    //! The iterators of a set.
    pub use super::extract_if::ExtractElementsIf as ExtractIf;
    pub use super::set::{IntoIter, Iter, Range};
    pub use super::set_operations::{Difference, Intersection, SymmetricDifference, Union};
}
