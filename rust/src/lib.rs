//! Arenas: allocate by moving a pointer, give everything back at once.
//!
//! ```
//! use toft::Arena;
//!
//! let mut arena = Arena::new();
//! let point = arena.alloc((1.0, 2.0));
//! let name = toft::format_in!(arena, "({}, {})", point.0, point.1);
//! assert_eq!(name, "(1, 2)");
//! arena.reset();
//! ```
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_std]
#![cfg_attr(feature = "nightly", feature(allocator_api))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_debug_implementations)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod abi;
mod allocate;
#[cfg(any(feature = "allocator-api2", feature = "nightly"))]
mod allocator;
mod arena;
mod boxed;
mod cursor;
mod drops;
mod error;
mod foreign;
mod heap;
mod maker;
mod options;
#[cfg(feature = "std")]
mod os;
mod owner;
mod policy;
mod scope;
mod source;
#[cfg(feature = "std")]
mod sources;

pub use arena::{Arena, BlockInfo, Borrowed, Keep, Mark, RewindError, Stats};
pub use boxed::Box;
pub use cursor::{Cursor, Pack};
pub use error::{AllocError, InitError};
pub use options::Options;
pub use owner::{Owner, Root};
pub use scope::Scope;
pub use source::Source;
#[cfg(feature = "std")]
pub use sources::{Limited, Pages, Reserve};

#[cfg(feature = "std")]
pub mod cache {
    //! The thread's cache of arenas and blocks, from which arenas on the heap take, and to which they return.
    //!
    //! Each thread keeps up to a total of 4 MiB, and returns it when it ends.
    pub use crate::heap::cache::{held, set_limit, trim};
}
