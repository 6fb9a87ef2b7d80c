//! The index of a value in a ring: a counter that wraps.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt::Debug;
use core::hash::Hash;

/// What a [`Ring`](super::Ring) hands out for a value: `u16`, `u32`, `u64` or `usize`. The trait is sealed.
///
/// ```
/// use toft_pools::{Ring, Rows};
///
/// let mut ring: Ring<char, Rows, u16> = Ring::default();
/// let i: u16 = ring.push_end('a');
/// assert_eq!(ring.get(i), Some(&'a'));
/// ```
pub trait RingIndex: Copy + Eq + Ord + Hash + Debug + 'static + sealed::Sealed {
    /// How many values there may be at once: half of the indices, so that the other half are known to be of none.
    #[doc(hidden)]
    const MOST: usize;

    /// The index that a count stands for.
    #[doc(hidden)]
    fn new(count: usize) -> Self;
    /// How far after the index of `first` this one is: more than any number of values when it is none of its ring's.
    #[doc(hidden)]
    fn after(self, first: usize) -> usize;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for usize {}
}

macro_rules! index {
    ($($int:ty)*) => {$(
        impl RingIndex for $int {
            const MOST: usize = (usize::MAX / 2 + 1) >> usize::BITS.saturating_sub(<$int>::BITS);

            #[inline(always)]
            fn new(count: usize) -> $int {
                count as $int
            }

            #[inline(always)]
            fn after(self, first: usize) -> usize {
                if size_of::<$int>() < size_of::<usize>() {
                    self.wrapping_sub(first as $int) as usize
                } else {
                    // One that is wider than a count is none of ours beyond it.
                    usize::try_from(self).map_or(usize::MAX, |i| i.wrapping_sub(first))
                }
            }
        }
    )*};
}

index!(u16 u32 u64 usize);
