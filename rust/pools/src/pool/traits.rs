//! Traits of the standard library for a pool.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::ops::{Index, IndexMut};

use super::{capacity_overflow, Pool};
use crate::columnar::Columnar;
use crate::contiguous::drop_all;
use crate::field_layout::{CloneIn, Columns, FieldLayout, Rows};
use crate::key::Key;
use toft::Memory;

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> Drop for Pool<T, L, K, M> {
    fn drop(&mut self) {
        /// Deallocates the generations, also if a destructor panics.
        struct Words<'a, T, L: FieldLayout<T>, K: Key<T>, M: Memory>(&'a mut Pool<T, L, K, M>);

        impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> Drop for Words<'_, T, L, K, M> {
            fn drop(&mut self) {
                // SAFETY: they were allocated in this memory, and the pool is not used again.
                unsafe { self.0.free_list.deallocate(self.0.slots.memory()) }
            }
        }

        let words = Words(self);
        // SAFETY: these have values, and the pool is not used again.
        unsafe {
            let mut live = words.0.free_list.occupied();
            drop_all::<T, L, ()>(words.0.slots.raw(), core::iter::from_fn(|| live.next()))
        }
    }
}

impl<T, L: CloneIn<T>, K: Key<T>, M: Memory + Clone> Clone for Pool<T, L, K, M> {
    /// With each value in a slot of the same number: the keys are valid in both.
    fn clone(&self) -> Self {
        let mut pool = Self::any_in(self.slots.memory().clone());
        if pool.grow(self.capacity()).is_err() {
            capacity_overflow(self.capacity())
        }
        let (generations, unused) = self.generations();
        (pool.fixed, pool.start, pool.unused) = (self.fixed, self.start, unused);
        // SAFETY: the clone has as many slots; each is free until its value is written, so if a clone panics, the
        // values written so far are dropped. In the end all generations are those of `self`.
        unsafe {
            pool.free_list.set_generations(generations, unused, K::retired(self.start));
            let mut live = self.free_list.occupied();
            while let Some(i) = live.next() {
                L::write(pool.slots.raw(), i, L::clone_at(self.slots.raw(), i));
                pool.free_list.set_occupied(i, generations[i]);
            }
        }
        pool.free_list.rebuild_stack();
        pool
    }
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Clone> Pool<T, L, K, M> {
    /// A pool of other values in slots of the same numbers: the keys are valid in it.
    ///
    /// ```
    /// let mut names = toft_pools::Pool::new();
    /// let ada = names.insert("Ada");
    /// let lengths = names.map_values(|_, name| name.len());
    /// assert_eq!(lengths[ada], 3);
    /// ```
    ///
    /// # Panics
    /// There is no memory.
    pub fn map_values<V>(mut self, mut change: impl FnMut(K, T) -> V) -> Pool<V, Rows, K, M>
    where
        K: Key<V, Generation = <K as Key<T>>::Generation>,
    {
        let mut pool = Pool::<V, Rows, K, M>::any_in(self.slots.memory().clone());
        if pool.grow(self.capacity()).is_err() {
            capacity_overflow(self.capacity())
        }
        let (generations, unused) = self.generations();
        (pool.fixed, pool.start, pool.unused) = (self.fixed, self.start, unused);
        // SAFETY: as in `clone`; a value is taken out of its slot, which is free then, before the function is called.
        unsafe {
            pool.free_list.set_generations(generations, unused, <K as Key<T>>::retired(self.start));
            let mut live = self.free_list.occupied();
            while let Some(i) = live.next() {
                let (generation, key) = (self.free_list.generation(i), self.key(i));
                let value = L::read(self.slots.raw(), i);
                self.vacate(i);
                <Rows as FieldLayout<V>>::write(pool.slots.raw(), i, change(key, value));
                pool.free_list.set_occupied(i, generation);
            }
        }
        pool.free_list.rebuild_stack();
        pool
    }
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Default> Default for Pool<T, L, K, M> {
    fn default() -> Self {
        Self::any_in(M::default())
    }
}

impl<T, K: Key<T>, M: Memory> Index<K> for Pool<T, Rows, K, M> {
    type Output = T;

    /// # Panics
    /// The key is stale.
    #[inline]
    #[track_caller]
    fn index(&self, key: K) -> &T {
        match self.get(key) {
            Some(value) => value,
            None => missing(),
        }
    }
}

impl<T, K: Key<T>, M: Memory> IndexMut<K> for Pool<T, Rows, K, M> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: K) -> &mut T {
        match self.get_mut(key) {
            Some(value) => value,
            None => missing(),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn missing() -> ! {
    panic!("toft: the pool has no value under this key")
}

impl<T: fmt::Debug, K: Key<T> + fmt::Debug, M: Memory> fmt::Debug for Pool<T, Rows, K, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<T: Columnar, K: Key<T> + fmt::Debug, M: Memory> fmt::Debug for Pool<T, Columns, K, M>
where
    for<'a> T::Ref<'a>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
