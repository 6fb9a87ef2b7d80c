//! Pools: slots of one type, used again and again, addressed by handle or index; and what is built of them.
//!
//! (overview follows)
// SPDX-License-Identifier: MIT OR Apache-2.0

mod cells;
mod columnar;
pub mod cons;
#[cfg(feature = "derive")]
mod derive;
#[cfg(feature = "derive")]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod derived;
mod full;
mod iter;
mod key;
mod layout;
pub mod list;
mod memory;
mod plan;
#[allow(clippy::module_inception)] // the file is of the type, the folder of all that goes with it
mod pool;
pub mod queue;
pub mod ring;
mod run;
mod slots;
pub mod stack;
#[cfg(feature = "serde")]
mod stored;
mod vacancy;
mod views;

pub use columnar::{Columnar, ColumnarClone};
pub use cons::ConsList;
#[cfg(feature = "derive")]
pub use derive::Columnar;
pub use full::Full;
pub use iter::{Drain, IntoIter, Iter, IterMut, Keys, Values, ValuesMut};
pub use key::{Count, Handle, Key};
pub use layout::{CloneIn, Columns, Layout, Rows};
pub use list::List;
pub use memory::{Blocks, Heap, Memory};
pub use plan::Planner;
pub use pool::Pool;
pub use queue::Queue;
pub use ring::{Ring, RingIndex};
pub use stack::Stack;
pub use views::{ColumnarViews, ColumnsIter, ColumnsIterMut};
