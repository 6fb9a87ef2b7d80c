//! The iterators of a pool, in the order of its slots.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::Pool;
use crate::field_layout::{FieldLayout, Rows};
use crate::free_list::OccupiedSlots;
use crate::key::{Handle, Key};
use toft::{Heap, Memory};

/// The occupied slots, and their addresses: all iterators have one.
struct Walk<'a, T, L: FieldLayout<T>, K: Key<T>> {
    live: OccupiedSlots<'a, K::Generation>,
    raw: L::Raw<()>,
    of: PhantomData<(T, K)>,
}

impl<T, L: FieldLayout<T>, K: Key<T>> Walk<'_, T, L, K> {
    /// # Safety
    /// As for `FreeList::occupied`; the slots do not move during that time.
    #[inline]
    unsafe fn new<M: Memory>(pool: &Pool<T, L, K, M>) -> Self {
        // SAFETY: the caller's contract.
        Walk { live: unsafe { pool.free_list().occupied() }, raw: pool.raw(), of: PhantomData }
    }

    /// # Safety
    /// The slot is occupied.
    #[inline(always)]
    unsafe fn key(&self, i: usize) -> K {
        // SAFETY: the caller's contract.
        K::new(i, unsafe { self.live.generations().add(i).read() })
    }
}

impl<T, L: FieldLayout<T>, K: Key<T>> Clone for Walk<'_, T, L, K> {
    fn clone(&self) -> Self {
        Walk { live: self.live.clone(), raw: self.raw, of: PhantomData }
    }
}

/// Defines an iterator by its item for a slot.
macro_rules! walk {
    ($(#[$doc:meta])* $name:ident, $item:ty, ($walk:ident, $i:ident) $make:expr, $of:ty) => {
        $(#[$doc])*
        pub struct $name<'a, T, L: FieldLayout<T> = Rows, K: Key<T> = Handle<T>> {
            walk: Walk<'a, T, L, K>,
            of: PhantomData<$of>,
        }

        impl<'a, T: 'a, L: FieldLayout<T>, K: Key<T>> Iterator for $name<'a, T, L, K> {
            type Item = $item;

            #[inline(always)]
            fn next(&mut self) -> Option<Self::Item> {
                let ($i, $walk) = (self.walk.live.next()?, &self.walk);
                // SAFETY: the slot has a value, and each slot is returned once; the pool is borrowed as the item's type
                // says.
                Some(unsafe { $make })
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.walk.live.len(), Some(self.walk.live.len()))
            }

            #[inline]
            fn fold<A, F: FnMut(A, Self::Item) -> A>(self, state: A, mut f: F) -> A {
                let $walk = &self.walk.clone();
                // SAFETY: see next.
                self.walk.live.fold(state, |state, $i| f(state, unsafe { $make }))
            }
        }

        impl<'a, T: 'a, L: FieldLayout<T>, K: Key<T>> DoubleEndedIterator for $name<'a, T, L, K> {
            #[inline(always)]
            fn next_back(&mut self) -> Option<Self::Item> {
                let ($i, $walk) = (self.walk.live.next_back()?, &self.walk);
                // SAFETY: see next.
                Some(unsafe { $make })
            }
        }

        impl<'a, T: 'a, L: FieldLayout<T>, K: Key<T>> ExactSizeIterator for $name<'a, T, L, K> {}
        impl<'a, T: 'a, L: FieldLayout<T>, K: Key<T>> FusedIterator for $name<'a, T, L, K> {}

        impl<T, L: FieldLayout<T>, K: Key<T>> fmt::Debug for $name<'_, T, L, K> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("len", &self.walk.live.len()).finish_non_exhaustive()
            }
        }
    };
}

walk!(
    /// The keys and values of a pool: [`Pool::iter`].
    Iter, (K, L::Ref<'a>), (walk, i) (walk.key(i), L::get(walk.raw, i)), &'a T
);
walk!(
    /// The keys and mutable values of a pool: [`Pool::iter_mut`].
    IterMut, (K, L::Mut<'a>), (walk, i) (walk.key(i), L::get_mut(walk.raw, i)), &'a mut T
);
walk!(
    /// The values of a pool: [`Pool::values`].
    Values, L::Ref<'a>, (walk, i) L::get(walk.raw, i), &'a T
);
walk!(
    /// The values of a pool, to change them: [`Pool::values_mut`].
    ValuesMut, L::Mut<'a>, (walk, i) L::get_mut(walk.raw, i), &'a mut T
);
walk!(
    /// The keys of a pool: [`Pool::keys`].
    Keys, K, (walk, i) walk.key(i), &'a T
);

/// Iterators of shared references are `Clone`.
macro_rules! shared {
    ($($name:ident)*) => {$(
        impl<T, L: FieldLayout<T>, K: Key<T>> Clone for $name<'_, T, L, K> {
            fn clone(&self) -> Self {
                $name { walk: self.walk.clone(), of: PhantomData }
            }
        }

        // SAFETY: as a shared reference to the pool's values.
        unsafe impl<T, L: FieldLayout<T>, K: Key<T>> Send for $name<'_, T, L, K> where L::Parts: Sync {}
        // SAFETY: the same.
        unsafe impl<T, L: FieldLayout<T>, K: Key<T>> Sync for $name<'_, T, L, K> where L::Parts: Sync {}
    )*};
}

shared!(Iter Values Keys);

/// Iterators of mutable references.
macro_rules! exclusive {
    ($($name:ident)*) => {$(
        // SAFETY: as an exclusive reference to the pool's values.
        unsafe impl<T, L: FieldLayout<T>, K: Key<T>> Send for $name<'_, T, L, K> where L::Parts: Send {}
        // SAFETY: the same.
        unsafe impl<T, L: FieldLayout<T>, K: Key<T>> Sync for $name<'_, T, L, K> where L::Parts: Sync {}
    )*};
}

exclusive!(IterMut ValuesMut);

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> Pool<T, L, K, M> {
    /// Keys and values, in the order of the slots.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert('a');
    /// assert_eq!(pool.iter().next(), Some((handle, &'a')));
    /// ```
    #[inline]
    pub fn iter(&self) -> Iter<'_, T, L, K> {
        // SAFETY: the pool is borrowed for as long as the iterator and its items.
        Iter { walk: unsafe { Walk::new(self) }, of: PhantomData }
    }

    /// Keys and values, in the order of the slots, with mutable values.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert(1);
    /// for (_, value) in pool.iter_mut() {
    ///     *value += 1;
    /// }
    /// assert_eq!(pool[handle], 2);
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, T, L, K> {
        // SAFETY: the pool is borrowed exclusively for as long as the iterator and its items.
        IterMut { walk: unsafe { Walk::new(self) }, of: PhantomData }
    }

    /// Values, in the order of the slots.
    ///
    /// ```
    /// let pool: toft_pools::Pool<_> = [1, 2, 3].into_iter().collect();
    /// assert_eq!(pool.values().sum::<i32>(), 6);
    /// ```
    #[inline]
    pub fn values(&self) -> Values<'_, T, L, K> {
        // SAFETY: see iter.
        Values { walk: unsafe { Walk::new(self) }, of: PhantomData }
    }

    /// Values, in the order of the slots, mutable.
    ///
    /// ```
    /// let mut pool: toft_pools::Pool<_> = [1, 2, 3].into_iter().collect();
    /// pool.values_mut().for_each(|value| *value *= 2);
    /// assert_eq!(pool.values().sum::<i32>(), 12);
    /// ```
    #[inline]
    pub fn values_mut(&mut self) -> ValuesMut<'_, T, L, K> {
        // SAFETY: see iter_mut.
        ValuesMut { walk: unsafe { Walk::new(self) }, of: PhantomData }
    }

    /// Keys, in the order of the slots.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert(());
    /// assert_eq!(pool.keys().collect::<Vec<_>>(), [handle]);
    /// ```
    #[inline]
    pub fn keys(&self) -> Keys<'_, T, L, K> {
        // SAFETY: see iter.
        Keys { walk: unsafe { Walk::new(self) }, of: PhantomData }
    }

    /// Removes all values and returns them one by one. Dropping the iterator drops the remaining ones.
    ///
    /// ```
    /// let mut pool: toft_pools::Pool<_> = [1, 2, 3].into_iter().collect();
    /// assert_eq!(pool.drain().map(|(_, value)| value).max(), Some(3));
    /// assert!(pool.is_empty());
    /// ```
    pub fn drain(&mut self) -> Drain<'_, T, L, K, M> {
        // SAFETY: the pool is borrowed exclusively; slots are freed when the iterator has passed them.
        Drain { live: unsafe { self.free_list().occupied() }, pool: self }
    }
}

/// The removed keys and values of a pool: [`Pool::drain`].
pub struct Drain<'a, T, L: FieldLayout<T> = Rows, K: Key<T> = Handle<T>, M: Memory = Heap> {
    pool: &'a mut Pool<T, L, K, M>,
    live: OccupiedSlots<'a, K::Generation>,
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> Drop for Drain<'_, T, L, K, M> {
    fn drop(&mut self) {
        self.pool.clear();
    }
}

// SAFETY: as an exclusive reference to the pool.
unsafe impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Send> Send for Drain<'_, T, L, K, M> where L::Parts: Send {}
// SAFETY: the same.
unsafe impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Sync> Sync for Drain<'_, T, L, K, M> where L::Parts: Sync {}

/// The keys and values of a pool, by value: its `into_iter()`.
///
/// ```
/// let pool: toft_pools::Pool<_> = ["a".to_string(), "b".to_string()].into_iter().collect();
/// let owned: Vec<String> = pool.into_iter().map(|(_, value)| value).collect();
/// assert_eq!(owned, ["a", "b"]);
/// ```
pub struct IntoIter<T, L: FieldLayout<T> = Rows, K: Key<T> = Handle<T>, M: Memory = Heap> {
    /// It reads the generations of `pool`, which is dropped after it.
    live: OccupiedSlots<'static, K::Generation>,
    pool: Pool<T, L, K, M>,
}

/// Iterators that take each value out of the field `pool`.
macro_rules! taking {
    ($($name:ident<$($a:lifetime)?>)*) => {$(
        impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> Iterator for $name<$($a,)? T, L, K, M> {
            type Item = (K, T);

            #[inline]
            fn next(&mut self) -> Option<(K, T)> {
                let i = self.live.next()?;
                // SAFETY: the slot has a value, and the iterator has returned it.
                unsafe {
                    let taken = (self.pool.key(i), L::read(self.pool.raw(), i));
                    self.pool.vacate(i);
                    Some(taken)
                }
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.live.len(), Some(self.live.len()))
            }
        }

        impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> ExactSizeIterator for $name<$($a,)? T, L, K, M> {}
        impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> FusedIterator for $name<$($a,)? T, L, K, M> {}

        impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> fmt::Debug for $name<$($a,)? T, L, K, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("len", &self.live.len()).finish_non_exhaustive()
            }
        }
    )*};
}
taking!(Drain<'_> IntoIter<>);

// SAFETY: as the pool.
unsafe impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Send> Send for IntoIter<T, L, K, M> where L::Parts: Send {}
// SAFETY: the same.
unsafe impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Sync> Sync for IntoIter<T, L, K, M> where L::Parts: Sync {}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> IntoIterator for Pool<T, L, K, M> {
    type Item = (K, T);
    type IntoIter = IntoIter<T, L, K, M>;

    fn into_iter(self) -> IntoIter<T, L, K, M> {
        // SAFETY: moving the pool does not move its generations, and it is dropped after the last use of `live`.
        IntoIter { live: unsafe { self.free_list().occupied() }, pool: self }
    }
}

impl<'a, T, L: FieldLayout<T>, K: Key<T>, M: Memory> IntoIterator for &'a Pool<T, L, K, M> {
    type Item = (K, L::Ref<'a>);
    type IntoIter = Iter<'a, T, L, K>;

    fn into_iter(self) -> Iter<'a, T, L, K> {
        self.iter()
    }
}

impl<'a, T, L: FieldLayout<T>, K: Key<T>, M: Memory> IntoIterator for &'a mut Pool<T, L, K, M> {
    type Item = (K, L::Mut<'a>);
    type IntoIter = IterMut<'a, T, L, K>;

    fn into_iter(self) -> IterMut<'a, T, L, K> {
        self.iter_mut()
    }
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> Extend<T> for Pool<T, L, K, M> {
    /// [`Pool::keys`] returns the keys of the values.
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        if !self.is_fixed() {
            self.reserve(values.size_hint().0);
        }
        for value in values {
            self.insert(value);
        }
    }
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Default> FromIterator<T> for Pool<T, L, K, M> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut pool = Self::default();
        pool.extend(values);
        pool
    }
}
