//! Batches: several values in one allocation, each borrowed separately.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::mut_from_ref)] // the returned references are to new memory

use core::array;

use crate::arena::Arena;
use crate::error::{unwrap_infallible, AllocError};

impl Arena {
    /// Moves `N` values into the arena, adjacent, by one allocation with one compare. Each is borrowed separately.
    ///
    /// Only the batch starts at a multiple of 8, so small values take no more than their size. Values of several types
    /// are a tuple: `let (a, b) = arena.alloc((1, 'x'))`. If their number is known at run time only, they are a slice:
    /// [`alloc_slice_fill_with`](Arena::alloc_slice_fill_with). None of them is dropped.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let [left, right] = arena.alloc_batch([1u16, 2]);
    /// std::mem::swap(left, right);
    /// assert_eq!((*left, *right, arena.stats().live), (2, 1, 8));
    /// ```
    ///
    /// # Panics
    /// If the arena has no memory for all of them.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_batch<T, const N: usize>(&self, values: [T; N]) -> [&mut T; N] {
        unwrap_infallible(self.alloc_no_drop(|| values)).each_mut()
    }

    /// As [`alloc_batch`](Arena::alloc_batch), with an error instead of the panic; all `values` are dropped then.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert!(tight.try_alloc_batch([1u64, 2, 3]).is_err());
    /// let [a, b] = tight.try_alloc_batch([1u64, 2])?;
    /// assert_eq!((*a, *b), (1, 2));
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_batch<T, const N: usize>(&self, values: [T; N]) -> Result<[&mut T; N], AllocError> {
        Ok(self.alloc_no_drop(|| values)?.each_mut())
    }

    /// Constructs `N` values in the arena, from their index.
    ///
    /// The memory is reserved first, so `make` may use the arena. For panics of `make` see the [rule](crate#panics).
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let [x, y, z] = arena.alloc_batch_with(|i| i * 10);
    /// assert_eq!((*x, *y, *z), (0, 10, 20));
    /// ```
    ///
    /// # Panics
    /// If the arena has no memory for all of them.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_batch_with<T, const N: usize>(&self, make: impl FnMut(usize) -> T) -> [&mut T; N] {
        unwrap_infallible(self.alloc_no_drop(|| array::from_fn(make))).each_mut()
    }

    /// As [`alloc_batch_with`](Arena::alloc_batch_with), with an error instead of the panic; `make` does not run then.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert!(tight.try_alloc_batch_with::<u64, 3>(|_| unreachable!()).is_err());
    /// let [a, b] = tight.try_alloc_batch_with(|i| i as u64)?;
    /// assert_eq!((*a, *b), (0, 1));
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_batch_with<T, const N: usize>(
        &self,
        make: impl FnMut(usize) -> T,
    ) -> Result<[&mut T; N], AllocError> {
        Ok(self.alloc_no_drop(|| array::from_fn(make))?.each_mut())
    }
}
