//! The dense pool: keys as those of a pool, values without gaps. It consists of three stacks: the values, their keys, and
//! the slots that the keys address, each with the place of its value.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::{Copied, Zip};
use core::ops::{Index, IndexMut};

use super::capacity_error::{unwrap_capacity, CapacityError};
use super::columnar::Columnar;
use super::field_layout::{CloneIn, Columns, FieldLayout, Rows};
use super::key::{generation_seed, Generation, Handle, Key};
use super::stack::{self, Stack};
use toft::AllocError;
use toft::{Heap, Memory};

/// A slot map whose values are adjacent: what removes a value moves the last one to its place.
///
/// Iteration is that of a slice, however many values were removed, and [`values`](DensePool::as_slice) are a slice. A
/// lookup takes a load more than that of a [`Pool`](crate::Pool), values move, and each has 16 bytes more (a key and a slot). So
/// choose it where values are visited more often than they are looked up; with [`Columns`] it is a sparse
/// set of an entity component system.
///
/// The parameters are those of [`Pool`](crate::Pool); the memory is cloned for each of three arrays. A key is valid until its value is
/// removed. Insertion is O(1) amortised, removal and lookup are O(1).
///
/// ```
/// use toft_pools::DensePool;
///
/// let mut pool = DensePool::new();
/// let a = pool.insert("a");
/// let b = pool.insert("b");
/// let c = pool.insert("c");
/// assert_eq!(pool.remove(a), Some("a"));
/// assert_eq!(pool.as_slice(), ["c", "b"]);
/// assert_eq!((pool.get(a), pool[b], pool[c]), (None, "b", "c"));
/// ```
pub struct DensePool<T, L: FieldLayout<T> = Rows, K: Key<T> = Handle<T>, M: Memory = Heap> {
    values: Stack<T, L, M>,
    /// The key of each value.
    keys: Stack<K, Rows, M>,
    slots: Stack<Slot<K::Generation>, Rows, M>,
    /// The slot that was freed last; `NONE`: no slot is free.
    free: u32,
    /// The seed of the generations; 0 until the first insertion.
    start: u32,
}

/// What a key addresses. The generation is odd if there is a value; a retired slot is free, and in no list.
#[derive(Clone, Copy)]
struct Slot<G> {
    generation: G,
    /// The place of the value, or the next free slot.
    place: u32,
}

const NONE: u32 = u32::MAX;

crate::constructors::constructors! {
    DensePool, "pool", "1";
    heap [T] DensePool<T>;
    rows [T, M: Memory + Clone] DensePool<T, Rows, Handle<T>, M>;
    columns [T: Columnar] DensePool<T, Columns>, [T: Columnar, M: Memory + Clone] DensePool<T, Columns, Handle<T>, M>, "insert(Item { number: 1 })";
    any [T, L: FieldLayout<T>, K: Key<T>, M: Memory + Clone] DensePool<T, L, K, M>
}
crate::constructors::key_constructors!(DensePool, [Memory + Clone]);

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Clone> DensePool<T, L, K, M> {
    /// An empty pool that grows, of the layout and the key of its type.
    ///
    /// ```
    /// use toft_pools::{DensePool, Heap, Rows};
    /// let mut pool: DensePool<char, Rows, u16> = DensePool::any_in(Heap);
    /// pool.insert('a');
    /// ```
    pub fn any_in(memory: M) -> Self {
        let (values, keys) = (Stack::any_in(memory.clone()), Stack::any_in(memory.clone()));
        DensePool { values, keys, slots: Stack::any_in(memory), free: NONE, start: 0 }
    }
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Clone> DensePool<T, L, K, M> {
    /// As [`Pool::map_values`](crate::Pool::map_values).
    ///
    /// # Panics
    /// There is no memory.
    #[track_caller]
    pub fn map_values<V>(self, mut change: impl FnMut(K, T) -> V) -> DensePool<V, Rows, K, M>
    where
        K: Key<V, Generation = <K as Key<T>>::Generation>,
    {
        let mut values = Stack::any_in(self.values.memory().clone());
        let made = if self.is_fixed() { values.fix(self.values.capacity()) } else { values.try_reserve(self.len()) };
        unwrap_capacity(made);
        values.extend(self.keys.iter().zip(self.values).map(|(key, value)| change(*key, value)));
        DensePool { values, keys: self.keys, slots: self.slots, free: self.free, start: self.start }
    }
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> DensePool<T, L, K, M> {
    fn fix(&mut self, n: usize) -> Result<(), AllocError> {
        if n > Self::SLOTS {
            return Err(AllocError);
        }
        self.values.fix(n)?;
        self.keys.fix(n)?;
        self.slots.fix(n)
    }

    /// As many as keys address, without the number that is `NONE`.
    const SLOTS: usize = if K::SLOTS < NONE as usize { K::SLOTS } else { NONE as usize };

    // ---- insertion, removal ----

    /// Inserts a value and returns its key. O(1) amortised.
    ///
    /// ```
    /// let mut pool = toft_pools::DensePool::new();
    /// let handle = pool.insert(7);
    /// pool[handle] += 1;
    /// assert_eq!(pool[handle], 8);
    /// ```
    ///
    /// # Panics
    /// The pool is fixed and each slot has a value or is retired, keys cannot address more slots, or there is no
    /// memory.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, value: T) -> K {
        unwrap_capacity(self.try_insert(value))
    }

    /// As [`insert`](DensePool::insert), with an error instead of a panic.
    ///
    /// ```
    /// use toft_pools::{CapacityError, DensePool};
    /// let mut pool = DensePool::fixed(0);
    /// assert_eq!(pool.try_insert("full"), Err(CapacityError("full")));
    /// ```
    ///
    /// # Errors
    /// The value is returned in the error, and nothing has changed.
    #[inline]
    pub fn try_insert(&mut self, value: T) -> Result<K, CapacityError<T>> {
        let reserved = self.values.try_reserve(1).and_then(|()| self.keys.try_reserve(1));
        let Ok(key) = reserved.and_then(|()| self.occupy()) else { return Err(CapacityError(value)) };
        // SAFETY: both have a free slot reserved.
        unsafe {
            self.keys.put(key);
            self.values.put(value);
        }
        Ok(key)
    }

    /// Inserts the value that a closure makes from its key: for a value that contains its own key.
    ///
    /// ```
    /// let mut pool = toft_pools::DensePool::new();
    /// let handle = pool.insert_with(|this| this.index());
    /// assert!(pool[handle] == handle.index() && !pool.is_fixed());
    /// ```
    ///
    /// # Panics
    /// As [`insert`](DensePool::insert), after the closure ran. If the closure panics, nothing has changed.
    #[track_caller]
    pub fn insert_with(&mut self, value: impl FnOnce(K) -> T) -> K {
        if self.start == 0 {
            self.start = generation_seed();
        }
        let key = match self.slots.get(self.free as usize) {
            Some(slot) => K::new(self.free as usize, slot.generation.next()),
            None => K::new(self.slots.len(), K::unused(self.start).next()),
        };
        self.insert(value(key))
    }

    /// Takes a free slot, or a new one, for the value that is added next.
    #[inline(always)]
    fn occupy(&mut self) -> Result<K, AllocError> {
        let place = self.len() as u32;
        let Some(slot) = self.slots.get_mut(self.free as usize) else { return self.occupy_new(place) };
        let (i, generation) = (self.free, slot.generation.next());
        self.free = slot.place;
        *slot = Slot { generation, place };
        Ok(K::new(i as usize, generation))
    }

    /// See `assertions.rs` of the crate `toft`.
    fn verify(&self) -> bool {
        let (len, slots) = (self.len(), self.slots.as_slice());
        debug_assert!(self.values.len() == len && len <= slots.len());
        debug_assert!(slots.len() <= Self::SLOTS);
        debug_assert!(self.start != 0 || slots.is_empty());
        debug_assert!(self.free == NONE || (self.free as usize) < slots.len());
        if !toft::__verifies(slots.len()) {
            return true;
        }
        for (place, key) in self.keys().iter().enumerate() {
            debug_assert!(self.place(*key) == Some(place));
        }
        let retired = |slot: &Slot<K::Generation>| Some(slot.generation) == K::retired(self.start);
        let retired = slots.iter().filter(|slot| retired(slot)).count();
        debug_assert!(slots.iter().filter(|slot| slot.generation.is_odd()).count() == len);
        let (mut free, mut i) = (0, self.free);
        while let Some(slot) = slots.get(i as usize) {
            debug_assert!(!slot.generation.is_odd() && free < slots.len() - len);
            (free, i) = (free + 1, slot.place);
        }
        debug_assert!(i == NONE && free + len + retired == slots.len(), "a free slot is in no list");
        true
    }

    #[cold]
    #[inline(never)]
    fn occupy_new(&mut self, place: u32) -> Result<K, AllocError> {
        debug_assert!(self.verify());
        let i = self.slots.len();
        if i >= Self::SLOTS {
            return Err(AllocError);
        }
        if self.start == 0 {
            self.start = generation_seed();
        }
        let generation = K::unused(self.start).next();
        self.slots.try_push(Slot { generation, place }).map_err(|_| AllocError)?;
        Ok(K::new(i, generation))
    }

    /// Frees the slot of a key that is not stale.
    #[inline(always)]
    fn vacate(&mut self, key: K) {
        let slot = &mut self.slots.as_mut_slice()[key.index()];
        debug_assert!(key.matches(slot.generation));
        slot.generation = slot.generation.next();
        if Some(slot.generation) != K::retired(self.start) {
            slot.place = self.free;
            self.free = key.index() as u32;
        }
    }

    /// Removes the value of a key and returns it, or `None` if the key is stale. The last value moves to its place. O(1).
    ///
    /// ```
    /// let mut pool = toft_pools::DensePool::new();
    /// let handle = pool.insert('a');
    /// assert_eq!((pool.remove(handle), pool.remove(handle)), (Some('a'), None));
    /// ```
    #[inline]
    pub fn remove(&mut self, key: K) -> Option<T> {
        let place = self.place(key)?;
        self.vacate(key);
        self.keys.swap_remove(place);
        if let Some(moved) = self.keys.get(place) {
            self.slots.as_mut_slice()[moved.index()].place = place as u32;
        }
        Some(self.values.swap_remove(place))
    }

    /// Removes the values that `keep` refuses, which gets the key and the value at a place.
    fn filter(&mut self, mut keep: impl FnMut(K, &mut Stack<T, L, M>, usize) -> bool) {
        let mut place = 0;
        while let Some(&key) = self.keys.get(place) {
            if keep(key, &mut self.values, place) {
                place += 1;
            } else {
                self.remove(key);
            }
        }
        debug_assert!(self.verify());
    }

    /// Removes all keys and values, and returns them. The memory is kept.
    ///
    /// ```
    /// let mut pool: toft_pools::DensePool<char> = ['a', 'b'].into_iter().collect();
    /// assert!(pool.drain().map(|(_, value)| value).eq(['a', 'b']));
    /// assert!(pool.is_empty());
    /// ```
    pub fn drain(&mut self) -> Zip<stack::Drain<'_, K, Rows, M>, stack::Drain<'_, T, L, M>> {
        for place in 0..self.len() {
            self.vacate(self.keys[place]);
        }
        self.keys.drain(..).zip(self.values.drain(..))
    }

    /// Removes all values. Their keys are stale, and the memory is kept.
    ///
    /// ```
    /// let mut pool: toft_pools::DensePool<char> = ['a', 'b'].into_iter().collect();
    /// pool.clear();
    /// assert!(pool.is_empty() && pool.capacity() >= 2);
    /// ```
    pub fn clear(&mut self) {
        while let Some(key) = self.keys.pop() {
            self.vacate(key);
        }
        self.values.clear(); // last: a destructor may panic
        debug_assert!(self.verify());
    }

    // ---- access ----

    #[inline(always)]
    fn place(&self, key: K) -> Option<usize> {
        let slot = self.slots.get(key.index())?;
        key.matches(slot.generation).then_some(slot.place as usize)
    }

    /// Whether the pool has the value of a key.
    ///
    /// ```
    /// let mut pool = toft_pools::DensePool::new();
    /// let handle = pool.insert(());
    /// assert!(pool.contains(handle));
    /// pool.clear();
    /// assert!(!pool.contains(handle));
    /// ```
    #[inline]
    pub fn contains(&self, key: K) -> bool {
        self.place(key).is_some()
    }

    /// The value of a key, or `None` if it was removed or the key is of another pool. O(1).
    ///
    /// ```
    /// let mut pool = toft_pools::DensePool::new();
    /// let handle = pool.insert('a');
    /// assert_eq!(pool.get(handle), Some(&'a'));
    /// ```
    #[inline]
    pub fn get(&self, key: K) -> Option<L::Ref<'_>> {
        self.values.get(self.place(key)?)
    }

    /// The value of a key, mutable.
    ///
    /// ```
    /// let mut pool = toft_pools::DensePool::new();
    /// let handle = pool.insert('a');
    /// *pool.get_mut(handle).unwrap() = 'b';
    /// assert_eq!(pool[handle], 'b');
    /// ```
    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<L::Mut<'_>> {
        let place = self.place(key)?;
        self.values.get_mut(place)
    }

    /// Mutable references to several values at once; `None` if a key has no value or two keys are equal.
    ///
    /// ```
    /// let mut pool = toft_pools::DensePool::new();
    /// let (a, b) = (pool.insert(1), pool.insert(2));
    /// let [x, y] = pool.get_disjoint_mut([a, b]).unwrap();
    /// std::mem::swap(x, y);
    /// assert_eq!((pool[a], pool[b]), (2, 1));
    /// ```
    pub fn get_disjoint_mut<const N: usize>(&mut self, keys: [K; N]) -> Option<[L::Mut<'_>; N]> {
        let mut places = [0; N];
        for (n, key) in keys.iter().enumerate() {
            places[n] = self.place(*key)?;
            if places[..n].contains(&places[n]) {
                return None;
            }
        }
        // SAFETY: each place has a value, and no two are the same.
        Some(places.map(|place| unsafe { L::get_mut(self.values.raw(), place) }))
    }

    /// The values: a slice, or with [`Columns`] one of each field. [`keys`](DensePool::keys) has the key
    /// of each.
    ///
    /// ```
    /// let pool: toft_pools::DensePool<u8> = [1, 2].into_iter().collect();
    /// assert_eq!(pool.as_slice(), [1, 2]);
    /// ```
    #[inline]
    pub fn as_slice(&self) -> L::Slices<'_> {
        self.values.as_slice()
    }

    /// The values, mutable. Each keeps its key.
    ///
    /// ```
    /// let mut pool: toft_pools::DensePool<u8> = [1, 2].into_iter().collect();
    /// pool.as_mut_slice().fill(7);
    /// assert_eq!(pool.as_slice(), [7, 7]);
    /// ```
    #[inline]
    pub fn as_mut_slice(&mut self) -> L::SlicesMut<'_> {
        self.values.as_mut_slice()
    }

    /// The key of each value, in the order of [`as_slice`](DensePool::as_slice).
    ///
    /// ```
    /// let mut pool = toft_pools::DensePool::new();
    /// let handle = pool.insert('a');
    /// assert_eq!(pool.keys(), [handle]);
    /// ```
    #[inline]
    pub fn keys(&self) -> &[K] {
        self.keys.as_slice()
    }

    /// The values, in the order of [`as_slice`](DensePool::as_slice).
    ///
    /// ```
    /// let pool: toft_pools::DensePool<u8> = [1, 2].into_iter().collect();
    /// assert!(pool.values().eq(&[1, 2]));
    /// ```
    #[inline]
    pub fn values(&self) -> stack::Iter<'_, T, L> {
        self.values.iter()
    }

    /// The values, mutable.
    ///
    /// ```
    /// let mut pool: toft_pools::DensePool<u8> = [1, 2].into_iter().collect();
    /// pool.values_mut().for_each(|value| *value *= 2);
    /// assert!(pool.values().eq(&[2, 4]));
    /// ```
    #[inline]
    pub fn values_mut(&mut self) -> stack::IterMut<'_, T, L> {
        self.values.iter_mut()
    }

    /// The keys and values.
    ///
    /// ```
    /// let mut pool = toft_pools::DensePool::new();
    /// let handle = pool.insert('a');
    /// assert_eq!(pool.iter().next(), Some((handle, &'a')));
    /// ```
    #[inline]
    pub fn iter(&self) -> Iter<'_, T, L, K> {
        self.keys().iter().copied().zip(self.values.iter())
    }

    /// The keys and mutable values.
    ///
    /// ```
    /// let mut pool = toft_pools::DensePool::new();
    /// let handle = pool.insert(1);
    /// pool.iter_mut().for_each(|(_, value)| *value += 1);
    /// assert_eq!(pool[handle], 2);
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, T, L, K> {
        self.keys.as_slice().iter().copied().zip(self.values.iter_mut())
    }

    // ---- capacity ----

    /// The number of values.
    ///
    /// ```
    /// assert_eq!(toft_pools::DensePool::<u8>::new().len(), 0);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no value.
    ///
    /// ```
    /// assert!(toft_pools::DensePool::<u8>::new().is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the pool never grows.
    pub fn is_fixed(&self) -> bool {
        self.values.is_fixed()
    }

    /// The number of values for which there is memory.
    ///
    /// ```
    /// assert!(toft_pools::DensePool::<u8>::with_capacity(10).capacity() >= 10);
    /// ```
    pub fn capacity(&self) -> usize {
        self.values.capacity().min(self.keys.capacity()).min(self.slots.capacity())
    }

    /// Reserves memory for `more` further values.
    ///
    /// ```
    /// let mut pool = toft_pools::DensePool::<u8>::new();
    /// pool.reserve(100);
    /// assert!(pool.capacity() >= 100);
    /// ```
    ///
    /// # Panics
    /// There is no memory for them, keys cannot address as many slots, or the pool is fixed and its capacity is too
    /// small.
    #[track_caller]
    pub fn reserve(&mut self, more: usize) {
        unwrap_capacity(self.try_reserve(more))
    }

    /// As [`reserve`](DensePool::reserve), with an error instead of a panic.
    ///
    /// ```
    /// assert!(toft_pools::DensePool::<u8>::new().try_reserve(usize::MAX).is_err());
    /// ```
    ///
    /// # Errors
    /// There is not enough memory, or the pool is fixed or its keys cannot address as many slots. Nothing changes but the
    /// memory that is reserved.
    pub fn try_reserve(&mut self, more: usize) -> Result<(), AllocError> {
        let wanted = self.len().checked_add(more).ok_or(AllocError)?;
        if wanted > Self::SLOTS {
            return Err(AllocError);
        }
        self.slots.try_reserve(wanted.saturating_sub(self.slots.len()))?;
        self.keys.try_reserve(more)?;
        self.values.try_reserve(more)
    }

    /// Returns unused memory. Slots that have had a value keep theirs, since a stale key is known by their generation.
    ///
    /// ```
    /// let mut pool = toft_pools::DensePool::with_capacity(100);
    /// pool.insert(1);
    /// pool.shrink_to_fit();
    /// assert_eq!(pool.capacity(), 1);
    /// ```
    pub fn shrink_to_fit(&mut self) {
        self.slots.shrink_to_fit();
        self.keys.shrink_to_fit();
        self.values.shrink_to_fit();
    }
}

impl<T, K: Key<T>, M: Memory> DensePool<T, Rows, K, M> {
    /// Keeps the values for which `keep` returns true, and drops the others. O(n). Values after a dropped one move.
    ///
    /// ```
    /// let mut pool: toft_pools::DensePool<i32> = (0..10).collect();
    /// pool.retain(|_, value| *value % 2 == 0);
    /// assert_eq!(pool.values().sum::<i32>(), 20);
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(K, &mut T) -> bool) {
        self.filter(|key, values, place| keep(key, &mut values[place]));
    }
}

impl<T: Columnar, K: Key<T>, M: Memory> DensePool<T, Columns, K, M> {
    /// Keeps the values for which `keep` returns true, and drops the others. O(n). Values after a dropped one move. The
    /// values must not borrow, since the compiler assumes that the closure's argument may live longer than the call.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use toft_pools::{Columnar, Columns, DensePool};
    ///
    /// #[derive(Columnar)]
    /// struct Body {
    ///     x: f32,
    /// }
    ///
    /// let mut bodies: DensePool<Body, Columns> = DensePool::default();
    /// bodies.extend([Body { x: 1.0 }, Body { x: -1.0 }]);
    /// bodies.retain(|_, body| *body.x > 0.0);
    /// assert_eq!(bodies.len(), 1);
    /// # }
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(K, T::Mut<'_>) -> bool) {
        self.filter(|key, values, place| values.get_mut(place).is_some_and(|value| keep(key, value)));
    }
}

// ---- traits of the standard library ----

/// The keys and values of a [`DensePool`]: its `iter()`.
pub type Iter<'a, T, L = Rows, K = Handle<T>> = Zip<Copied<core::slice::Iter<'a, K>>, stack::Iter<'a, T, L>>;

/// The keys and mutable values of a [`DensePool`]: its `iter_mut()`.
pub type IterMut<'a, T, L = Rows, K = Handle<T>> = Zip<Copied<core::slice::Iter<'a, K>>, stack::IterMut<'a, T, L>>;

/// The keys and values of a [`DensePool`] by value: its `into_iter()`.
pub type IntoIter<T, L = Rows, K = Handle<T>, M = Heap> = Zip<stack::IntoIter<K, Rows, M>, stack::IntoIter<T, L, M>>;

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> IntoIterator for DensePool<T, L, K, M> {
    type Item = (K, T);
    type IntoIter = IntoIter<T, L, K, M>;

    fn into_iter(self) -> Self::IntoIter {
        self.keys.into_iter().zip(self.values)
    }
}

impl<'a, T, L: FieldLayout<T>, K: Key<T>, M: Memory> IntoIterator for &'a DensePool<T, L, K, M> {
    type Item = (K, L::Ref<'a>);
    type IntoIter = Iter<'a, T, L, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T, L: FieldLayout<T>, K: Key<T>, M: Memory> IntoIterator for &'a mut DensePool<T, L, K, M> {
    type Item = (K, L::Mut<'a>);
    type IntoIter = IterMut<'a, T, L, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> Extend<T> for DensePool<T, L, K, M> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.insert(value);
        }
    }
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Clone + Default> FromIterator<T> for DensePool<T, L, K, M> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut pool = Self::default();
        pool.extend(values);
        pool
    }
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Clone + Default> Default for DensePool<T, L, K, M> {
    fn default() -> Self {
        Self::any_in(M::default())
    }
}

impl<T, L: CloneIn<T>, K: Key<T>, M: Memory + Clone> Clone for DensePool<T, L, K, M> {
    /// With the same keys.
    fn clone(&self) -> Self {
        let (values, keys, slots) = (self.values.clone(), self.keys.clone(), self.slots.clone());
        DensePool { values, keys, slots, ..*self }
    }
}

impl<T, K: Key<T>, M: Memory> Index<K> for DensePool<T, Rows, K, M> {
    type Output = T;

    /// # Panics
    /// The key is stale.
    #[inline]
    fn index(&self, key: K) -> &T {
        self.get(key).expect("toft: the pool has no value under this key")
    }
}

impl<T, K: Key<T>, M: Memory> IndexMut<K> for DensePool<T, Rows, K, M> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        self.get_mut(key).expect("toft: the pool has no value under this key")
    }
}

impl<T, L: FieldLayout<T>, K: Key<T> + fmt::Debug, M: Memory> fmt::Debug for DensePool<T, L, K, M>
where
    for<'a> L::Ref<'a>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
