//! Growing collections in an arena, a scope or a frame: [`Vec`] and [`String`], and with the feature `hashbrown`
//! `HashMap` and `HashSet`.
//!
//! ```
//! let arena = toft::Arena::new();
//! let mut words = arena.vec();
//! words.extend("what a frame finds out".split(' '));
//! let mut line = arena.string();
//! for word in &words {
//!     line.push_str(&word[..1]);
//! }
//! assert_eq!((words.len(), line.as_str()), (5, "waffo"));
//! ```
//!
//! They borrow their arena, so they cannot outlive a reset or the end of a scope. They grow in place while they are the
//! arena's newest allocation, and move otherwise; the memory that they leave stays in use until the arena is reset.
//! Elements are dropped with their collection. A collection in an outer arena may grow while scopes of it are open: it
//! is served from another block, which survives the scope.
//!
//! ```
//! let arena = toft::Arena::new();
//! let mut longest = arena.vec();
//! for line in ["a bb", "ccc d"] {
//!     arena.scope(|inner| {
//!         let mut words = inner.vec_from_iter(line.split(' '));
//!         words.sort_by_key(|word| word.len());
//!         longest.extend(words.pop());
//!     });
//! }
//! assert_eq!(longest, ["bb", "ccc"]);
//! ```
//!
//! `Vec` and `String` have the stable functions and traits of the standard library's, by the same names, but for those
//! that create on its heap: an arena's calls ([`Arena::vec`](crate::Arena::vec)) and those that end in `_in`
//! ([`Vec::new_in`]) create in a memory. `rust/parity.txt` in the repository lists each missing name with the reason,
//! and a check compares it with the compiler's library. Conversions to a slice or a box return the arena's.
//!
//! Calls that need memory panic if the arena has none; those that begin with `try_` return an error, and leave the
//! collection unchanged. A map that grows leaves its old tables in the arena; a [`Recycler`](crate::Recycler)
//! frees them.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod collect;
pub mod string;
pub mod vec;

pub use collect::{CollectIn, FromIteratorIn};
#[cfg(feature = "hashbrown")]
pub use maps::{HashMap, HashSet};
#[doc(inline)]
pub use string::String;
#[doc(inline)]
pub use vec::Vec;

use core::alloc::Layout;
use core::fmt;
use core::ops::{Bound, RangeBounds};

use crate::base::error::{AllocError, ErrorMode};

/// The error of `try_reserve`. The collection is unchanged.
///
/// ```
/// use toft::collections::TryReserveError;
/// let arena = toft::Arena::new();
/// assert_eq!(arena.vec::<u64>().try_reserve(usize::MAX), Err(TryReserveError::CapacityOverflow));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryReserveError {
    /// More than any collection holds: `isize::MAX` bytes.
    CapacityOverflow,
    /// The arena could not serve the request.
    AllocError,
}

impl fmt::Display for TryReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryReserveError::CapacityOverflow => f.write_str("more than a collection can hold"),
            TryReserveError::AllocError => AllocError.fmt(f),
        }
    }
}

impl core::error::Error for TryReserveError {}

impl From<AllocError> for TryReserveError {
    fn from(_: AllocError) -> Self {
        TryReserveError::AllocError
    }
}

impl ErrorMode for TryReserveError {
    fn out_of_memory(_: Layout) -> Self {
        TryReserveError::AllocError
    }

    fn overflow() -> Self {
        TryReserveError::CapacityOverflow
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

#[cfg(feature = "hashbrown")]
mod maps {
    use hashbrown::DefaultHashBuilder;

    use crate::memory::arena::Arena;

    /// hashbrown's map, in an arena: [`Arena::map`] makes one.
    pub type HashMap<'a, K, V, S = DefaultHashBuilder> = hashbrown::HashMap<K, V, S, &'a Arena>;

    /// hashbrown's set, in an arena: [`Arena::set`] makes one.
    pub type HashSet<'a, T, S = DefaultHashBuilder> = hashbrown::HashSet<T, S, &'a Arena>;

    /// Maps and sets are hashbrown's: `reserve` makes room for many entries, and if the arena may refuse, `try_reserve`
    /// before an insertion. An insertion that gets no memory calls [`handle_alloc_error`](alloc::alloc::handle_alloc_error).
    impl Arena {
        /// Creates an empty map that grows in this arena. It takes no memory yet.
        ///
        /// ```
        /// let arena = toft::Arena::new();
        /// let mut counts = arena.map();
        /// for word in "a b a".split(' ') {
        ///     *counts.entry(word).or_insert(0) += 1;
        /// }
        /// assert_eq!((counts["a"], counts.len()), (2, 2));
        /// ```
        #[inline]
        pub fn map<K, V>(&self) -> HashMap<'_, K, V> {
            HashMap::with_hasher_in(DefaultHashBuilder::default(), self)
        }

        /// Creates an empty set that grows in this arena. It takes no memory yet.
        ///
        /// ```
        /// let arena = toft::Arena::new();
        /// let mut seen = arena.set();
        /// seen.extend("a b a".split(' '));
        /// assert_eq!(seen.len(), 2);
        /// ```
        #[inline]
        pub fn set<T>(&self) -> HashSet<'_, T> {
            HashSet::with_hasher_in(DefaultHashBuilder::default(), self)
        }
    }
}
