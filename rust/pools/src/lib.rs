//! Slot maps, struct-of-arrays pools and collections whose memory comes from the heap, an arena or a fixed buffer.
//!
//! A pool stores values of one type, frees them one by one and reuses their slots. A value is addressed by a
//! [`Handle`]: the index of its slot and a generation, 8 bytes in all (a *generational index*). The pool may grow, and
//! a handle whose value was removed finds nothing, also when the slot has another value.
//!
//! ```
//! let mut pool = toft_pools::Pool::new();
//! let handle = pool.insert("a value");
//! assert_eq!(pool.remove(handle), Some("a value"));
//! assert_eq!(pool.get(handle), None);
//! ```
//!
//! | task | type |
//! |---|---|
//! | values that are freed in any order, addressed by generational handles (slot map, arena with indices) | [`Pool`] |
//! | the same, visited more often than looked up: values without gaps (dense slot map, sparse set) | [`DensePool`] |
//! | the same with plain indices of 16, 32 or 64 bits (slab) | [`Pool<T, Rows, u32>`](Pool) |
//! | values beside those of a pool, by its keys; key types of a program | [`SecondaryMap`], [`SparseSecondaryMap`]; [`new_key_type!`] |
//! | struct of arrays (SoA): each field in an array of its own | `columns()` of each type, with [`#[derive(Columnar)]`](derive@Columnar) |
//! | last in, first out; a vector of columns | [`Stack`] |
//! | first in, first out: a ring buffer (`VecDeque`) | [`Queue`] |
//! | lookup by key without an order | `arena.map()` and `arena.set()` of the crate `toft`, hashbrown's |
//! | doubly linked list with handles | [`List`] |
//! | map or set in the order of its keys, with ranges (B+ tree) | [`OrderedMap`], [`OrderedSet`] |
//! | at most `n` values: never allocates after its creation, never moves a value | `fixed(n)` of each type |
//! | memory of an arena, a recycler or a block source | `new_in(&arena)` of each type; [`Memory`] |
//!
//! # Parameters
//!
//! Those of a type are in this order: the stored types, the field layout, the key, the memory.
//!
//! * **Field layout**: [`Rows`] keeps each value together (array of structs), [`Columns`] each field (struct of
//!   arrays). The columns of an ordered map are those of its values.
//! * **Key** of a pool: a [`Handle`] with a generation of 32, 16 or 8 bits, or `u16`, `u32`, `u64` or `usize` without
//!   one.
//! * **Memory**: [`Heap`], `&Arena`, the [`Blocks`] of a source, or an implementation of [`Memory`].
//!
//! A constructor determines the layout and the key, and the compiler infers the rest:
//!
//! | constructor | creates |
//! |---|---|
//! | `new()`, `with_capacity(n)` | rows, addressed by handles, on the heap, growing |
//! | `fixed(n)` | the same with `n` slots, which never grows. When these are full, a call panics, and its `try_` variant returns the value in a [`CapacityError`] |
//! | `columns()` | columns |
//! | `with_key()`, `with_capacity_and_key(n)` | a pool with the key of its type: `Pool::<_, Rows, u32>::with_key()` |
//! | `new_in(&arena)`, `columns_in(&arena)` and so on | the same in any memory |
//! | `any_in(memory)`, `any_fixed_in(n, memory)` | all parameters are those of the type, for generic code |
//!
//! A handle or index is valid until its value is removed, however the collection grows. References cannot outlive a
//! change of the collection. Growth moves values; in a fixed collection an address stays the same until the value is
//! removed.
//!
//! # Panics and errors
//!
//! A call that allocates panics if there is no memory, or if the collection is fixed and full; its `try_` variant
//! returns an error. In both cases nothing has changed. Growth requests twice the memory; if that is refused, it
//! requests what the call needs (a queue: the next power of two) before it fails.
//!
//! If a destructor, a clone, a comparison or a closure panics, the collection stays usable, and each value is dropped
//! once.
//!
//! # Features
//!
//! * `std`, on by default: ordered maps search with AVX2 on processors that offer it, and a queue of bytes implements
//!   `Read` and `Write`. Without it the crate is `no_std` with `alloc`.
//! * `derive`: `#[derive(Columnar)]`.
//! * `serde`: `Serialize` and `Deserialize` for handles, pools and collections.
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
mod constructors;
mod contiguous;
pub mod dense_pool;
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
pub mod secondary;
mod sequence;
#[cfg(feature = "serde")]
mod serde;
mod slots;
pub mod stack;

#[cfg(feature = "serde")]
#[doc(hidden)]
pub use ::serde as __serde;
pub use capacity_error::CapacityError;
pub use column_views::{ColumnarViews, ColumnsIter, ColumnsIterMut};
pub use columnar::{Columnar, ColumnarClone};
pub use dense_pool::DensePool;
#[cfg(feature = "derive")]
pub use derive::Columnar;
pub use field_layout::{CloneIn, Columns, FieldLayout, Rows};
pub use key::{Generation, Handle, Key, KeyType};
pub use list::List;
pub use ordered::{OrderedMap, OrderedSet};
pub use planner::Planner;
pub use pool::Pool;
pub use pool::{Drain, IntoIter, Iter, IterMut, Keys, Values, ValuesMut};
pub use queue::Queue;
pub use secondary::{SecondaryMap, SparseSecondaryMap};
pub use stack::Stack;
pub use toft::{Blocks, Heap, Memory};

pub mod ordered_map {
    //! The entries and iterators of [`OrderedMap`](super::OrderedMap).
    pub use super::ordered::{
        Entry, ExtractIf, IntoIter, IntoKeys, IntoValues, Iter, IterMut, Keys, OccupiedEntry, Range, RangeMut,
        VacantEntry, Values, ValuesMut,
    };
}

pub mod ordered_set {
    //! The iterators of [`OrderedSet`](super::OrderedSet).
    pub use super::ordered::of_set::{
        Difference, ExtractIf, Intersection, IntoIter, Iter, Range, SymmetricDifference, Union,
    };
}

// The examples of README.md are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
