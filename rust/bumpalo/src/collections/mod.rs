//! Collections in an arena under bumpalo's names: [`Vec`], [`String`], and [`CollectIn`].
//!
//! They are [`toft::collections`], which document them: they grow in place while they are the arena's newest
//! allocation, and free their memory if it is the newest. Elements are dropped as usual.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod collect;
mod drain_filter;
pub mod string;
pub mod vec;

#[doc(inline)]
pub use self::string::String;
#[doc(inline)]
pub use self::vec::Vec;
pub use collect::{CollectIn, FromIteratorIn};

use core::alloc::LayoutError;
use core::fmt;

use toft::collections::TryReserveError;

use crate::AllocErr;

/// The error of `try_reserve`. The collection is unchanged.
///
/// ```
/// use toft_bumpalo::collections::{CollectionAllocErr, Vec};
/// let bump = toft_bumpalo::Bump::new();
/// let mut v = Vec::<u64>::new_in(&bump);
/// assert_eq!(v.try_reserve(usize::MAX), Err(CollectionAllocErr::CapacityOverflow));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CollectionAllocErr {
    /// More than any collection holds: `isize::MAX` bytes.
    CapacityOverflow,
    /// The arena could not serve the request.
    AllocErr,
}

impl fmt::Display for CollectionAllocErr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CollectionAllocErr::CapacityOverflow => TryReserveError::CapacityOverflow.fmt(f),
            CollectionAllocErr::AllocErr => AllocErr.fmt(f),
        }
    }
}

impl core::error::Error for CollectionAllocErr {}

impl From<AllocErr> for CollectionAllocErr {
    fn from(_: AllocErr) -> Self {
        CollectionAllocErr::AllocErr
    }
}

impl From<LayoutError> for CollectionAllocErr {
    fn from(_: LayoutError) -> Self {
        CollectionAllocErr::CapacityOverflow
    }
}

impl From<TryReserveError> for CollectionAllocErr {
    fn from(e: TryReserveError) -> Self {
        match e {
            TryReserveError::CapacityOverflow => CollectionAllocErr::CapacityOverflow,
            TryReserveError::AllocError => CollectionAllocErr::AllocErr,
        }
    }
}
