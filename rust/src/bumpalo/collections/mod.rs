//! Collections in an arena: [`Vec`] and [`String`], as the standard library's, and [`CollectIn`], which makes them.
//!
//! They grow in place while they are the arena's newest allocation, and when dropped give back what is the newest. What
//! they held elsewhere stays in the arena until that is reset. Elements are dropped as usual.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod buffer;
mod collect;
pub mod string;
pub mod vec;

#[doc(inline)]
pub use self::string::String;
#[doc(inline)]
pub use self::vec::Vec;
pub use collect::{CollectIn, FromIteratorIn};

use core::alloc::{Layout, LayoutError};
use core::fmt;
use core::ops::{Bound, RangeBounds};

use super::AllocErr;
use crate::error::ErrorMode;

/// Why a collection could not grow. It is as it was.
///
/// ```
/// use toft::bumpalo::collections::{CollectionAllocErr, Vec};
/// let bump = toft::bumpalo::Bump::new();
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
            CollectionAllocErr::CapacityOverflow => f.write_str("more than a collection can hold"),
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

impl ErrorMode for CollectionAllocErr {
    fn out_of_memory(_: Layout) -> Self {
        CollectionAllocErr::AllocErr
    }

    fn overflow() -> Self {
        CollectionAllocErr::CapacityOverflow
    }
}

/// Start and end of a range in a collection of `len`, or a panic.
#[track_caller]
#[inline]
fn within(range: impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    let start = match range.start_bound() {
        Bound::Included(&i) => Some(i),
        Bound::Excluded(&i) => i.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&i) => i.checked_add(1),
        Bound::Excluded(&i) => Some(i),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => (start, end),
        _ => out_of_range(range.start_bound().cloned(), range.end_bound().cloned(), len),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn out_of_range(start: Bound<usize>, end: Bound<usize>, len: usize) -> ! {
    panic!("toft: the range from {start:?} to {end:?} is not within a length of {len}")
}
