//! Length, capacity and memory of a pool.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{capacity_overflow, Pool};
use crate::field_layout::FieldLayout;
use crate::key::{Generation, Key};
use toft::AllocError;
use toft::Memory;

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> Pool<T, L, K, M> {
    /// The number of values.
    ///
    /// ```
    /// let pool: toft_pools::Pool<_> = ["a", "b"].into_iter().collect();
    /// assert_eq!(pool.len(), 2);
    /// ```
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.free_list.len()
    }

    /// Whether there are no values.
    ///
    /// ```
    /// assert!(toft_pools::Pool::<u8>::new().is_empty());
    /// ```
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of slots.
    ///
    /// ```
    /// assert_eq!(toft_pools::Pool::<u8>::fixed(10).capacity(), 10);
    /// ```
    #[inline(always)]
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Whether the pool never grows.
    ///
    /// ```
    /// assert!(toft_pools::Pool::<u8>::fixed(10).is_fixed());
    /// ```
    #[inline(always)]
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// The memory that the slots are allocated in.
    ///
    /// ```
    /// assert_eq!(toft_pools::Pool::<u8>::new().memory(), &toft::Heap);
    /// ```
    pub fn memory(&self) -> &M {
        self.slots.memory()
    }

    /// The bytes that the pool has allocated: slots, generations (4 bytes for handles, 1 for indices), 4 bytes for each
    /// 64 slots.
    ///
    /// ```
    /// let pool = toft_pools::Pool::<u64>::fixed(1024);
    /// assert_eq!(pool.memory_use(), 1024 * 8 + 1024 * 4 + 1024 / 16);
    /// ```
    pub fn memory_use(&self) -> usize {
        self.slots.bytes() + self.free_list.bytes()
    }

    /// Reserves memory for `more` further values.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::<u8>::new();
    /// pool.reserve(100);
    /// assert!(pool.capacity() >= 100);
    /// ```
    ///
    /// # Panics
    /// There is no memory for them, keys cannot address as many slots, or the pool is fixed and its capacity is too
    /// small.
    #[track_caller]
    pub fn reserve(&mut self, more: usize) {
        if self.try_reserve(more).is_err() {
            capacity_overflow(more)
        }
    }

    /// As [`reserve`](Pool::reserve), with an error instead of a panic.
    ///
    /// ```
    /// assert!(toft_pools::Pool::<u8>::new().try_reserve(usize::MAX).is_err());
    /// ```
    ///
    /// # Errors
    /// There is not enough memory, or the pool is fixed or its keys cannot address as many slots. Nothing changes.
    pub fn try_reserve(&mut self, more: usize) -> Result<(), AllocError> {
        let unavailable = self.len() + self.free_list.retired(K::retired(self.start));
        let wanted = unavailable.checked_add(more).ok_or(AllocError)?;
        if wanted <= self.capacity() {
            return Ok(());
        }
        self.grow_to_at_least(Some(wanted))
    }

    /// Deallocates the slots after the last value, or after the last slot that is retired or has had more than half of
    /// the uses after which a slot is retired ([`Handle`](crate::Handle)). Their keys stay stale. A fixed pool is not
    /// changed.
    ///
    /// ```
    /// let mut pool: toft_pools::Pool<i32> = (0..1000).collect();
    /// pool.retain(|_, value| *value < 10);
    /// pool.shrink_to_fit();
    /// assert_eq!(pool.capacity(), 10);
    /// ```
    pub fn shrink_to_fit(&mut self) {
        let worn_end = self.free_list.worn_end(K::retired(self.start));
        let keep = self.free_list.last().map_or(0, |i| i + 1).max(worn_end);
        if self.fixed || keep == self.capacity() {
            return;
        }
        let unused = self.first_generation_from(keep);
        if self.slots.resize(keep, keep).is_ok() {
            self.unused = unused;
            self.free_list.truncate(keep, unused);
            self.free_list.set_slots(keep);
        }
        debug_assert!(self.verify());
    }

    /// The generation from which the slots from index `n` on, which are free, must start after the high-water mark is
    /// lowered to `n`: none of them has had a later one.
    fn first_generation_from(&self, n: usize) -> K::Generation {
        let Some(retired) = K::retired(self.start) else { return self.unused };
        let removed = &self.free_list.generations(self.free_list.initialized())[n..];
        removed.iter().fold(self.unused, |latest, &generation| {
            core::cmp::min_by_key(latest, generation, |generation| generation.until(retired))
        })
    }

    /// The generations that a copy of the pool needs: those of its first slots, and that of the others.
    pub(crate) fn generations(&self) -> (&[K::Generation], K::Generation) {
        let n = self.free_list.high_water().max(self.free_list.worn_end(K::retired(self.start)));
        (self.free_list.generations(n), self.first_generation_from(n))
    }

    /// See `assertions.rs` of the crate `toft`.
    pub(super) fn verify(&self) -> bool {
        debug_assert!(self.free_list.high_water() <= self.capacity());
        debug_assert!(self.capacity() <= K::SLOTS);
        debug_assert!(self.start != 0 || self.is_empty());
        debug_assert!(!self.unused.is_odd());
        debug_assert!(K::retired(self.start).is_none_or(|retired| self.start == 0 || !self.unused.is_worn(retired)));
        debug_assert!(self.free_list.verify(K::retired(self.start)));
        true
    }
}
