//! Pools: slots of one type, used again and again, addressed by handle or index; and the collections built of them.
//!
//! Where an arena gives everything back at once, a pool takes and gives back single values, all of one type, out of memory
//! that lies together. A value is named by a [`Handle`] of 8 bytes or an index of 2 to 8, not by an address: the pool may
//! grow, links between values are half as large as pointers, and a handle whose value is gone finds nothing.
//!
//! | | slots are taken and given back | addressed by |
//! |---|---|---|
//! | [`Pool`] | in any order | [`Handle`], or a plain index |
//! | [`Stack`] | at one end | a number, or a slice of all |
//! | [`Queue`] | at either end, and in the middle as `VecDeque` | a number |
//! | [`List`] | anywhere: doubly linked | [`Handle`], cursors |
//! | [`OrderedMap`], [`OrderedSet`] | in the order of the keys: a B+ tree | keys, ranges |
//!
//! # The kinds
//!
//! Each of them is of any kind, by its type's parameters and how it is made:
//!
//! * **Rows or columns**: `Stack<T>` keeps values as they are, `Stack<T, Columns>` each field in a column of its own:
//!   [`Columnar`](derive@crate::Columnar) is derived. Of an ordered map it is the values that are columns.
//! * **Growing or fixed**: `new` and `with_capacity` make what grows, `fixed(n)` what has `n` slots for good: then nothing
//!   is ever moved or allocated, and what finds no room panics; its `try_` twin returns the value in a [`CapacityError`].
//! * **Memory**: [`Heap`], `&Arena`, the [`Blocks`] of a source, or what implements [`Memory`]: `new_in`, `fixed_in`.
//! * **Keys** of a pool: [`Handle`] with a generation of 32, 16 or 8 bits, or `u16`, `u32`, `u64`, `usize` without.
//!
//! What stays where: an index or handle means the same value until that is removed, whatever grows meanwhile. An address
//! is good for as long as the borrow checker says, since growth moves values; in what is fixed it is good until the value
//! is removed, for code that keeps addresses on its own account.
//!
//! # Panics and errors
//!
//! What allocates panics when there is no memory, or no room in what is fixed; nothing has changed then. Its `try_` twin
//! returns an error. A destructor, a clone, a comparison or a closure of yours that panics leaves everything whole: each
//! value is dropped once.
//!
//! # Features
//!
//! * `std`, on by default: ordered maps search with AVX2 where the processor has it, and a queue of bytes reads and writes.
//!   Without it the crate is `no_std` with `alloc`.
//! * `derive`: [`Columnar`](derive@Columnar) is derived.
//! * `serde`: pools and collections can be stored.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_debug_implementations)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod capacity_error;
mod column_views;
mod columnar;
mod contiguous;
#[cfg(feature = "derive")]
mod derive;
#[cfg(feature = "derive")]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod derive_support;
mod field_layout;
mod free_list;
mod key;
mod linked_slots;
pub mod list;
mod ordered;
mod planner;
mod pool;
pub mod queue;
#[cfg(feature = "serde")]
mod serde;
mod slots;
pub mod stack;

pub use capacity_error::CapacityError;
pub use column_views::{ColumnarViews, ColumnsIter, ColumnsIterMut};
pub use columnar::{Columnar, ColumnarClone};
#[cfg(feature = "derive")]
pub use derive::Columnar;
pub use field_layout::{CloneIn, Columns, FieldLayout, Rows};
pub use key::{Generation, Handle, Key};
pub use list::List;
pub use ordered::{OrderedMap, OrderedSet};
pub use planner::Planner;
pub use pool::Pool;
pub use pool::{Drain, IntoIter, Iter, IterMut, Keys, Values, ValuesMut};
pub use queue::Queue;
pub use stack::Stack;
pub use toft::{Blocks, Heap, Memory};

pub mod ordered_map {
    //! What [`OrderedMap`](super::OrderedMap) hands out: entries and iterators.
    pub use super::ordered::{
        Entry, IntoIter, IntoKeys, IntoValues, Iter, IterMut, Keys, OccupiedEntry, Range, RangeMut, VacantEntry,
        Values, ValuesMut,
    };
}

pub mod ordered_set {
    //! What [`OrderedSet`](super::OrderedSet) hands out: iterators.
    pub use super::ordered::of_set::{Difference, Intersection, IntoIter, Iter, Range, SymmetricDifference, Union};
}

// The examples of README.md are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
