//! The pool (slot map): slots of one type, allocated and freed in any order.
//!
//! The fast paths are inline: `occupy` and `vacate`, a few loads and stores beside the value. The slow path is
//! `prepare_slot`: it takes slots that were not used yet, and grows.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::marker::PhantomData;
use core::mem::needs_drop;

use super::capacity_error::CapacityError;
use super::columnar::Columnar;
use super::field_layout::{Columns, FieldLayout, Rows};
use super::free_list::{FreeList, MAX_SLOTS};
use super::key::{generation_seed, Generation, Handle, Key};
use super::slots::Slots;
use toft::__buffer::grow_amortised;
use toft::AllocError;
use toft::{Heap, Memory};

mod capacity;
mod iter;
mod traits;

pub use iter::{Drain, IntoIter, Iter, IterMut, Keys, Values, ValuesMut};

/// A slot map: values of one type that are inserted and removed in any order, addressed by keys.
///
/// A value stays in its slot, so its key is valid until it is removed. Its address is not: growth may move the values.
/// A pool that [`fixed`](Pool::fixed) creates never grows. Freed slots are reused; values that are inserted one after
/// the other are adjacent as far as possible. A slot is reused until its handles have had all generations
/// ([`Handle`]): with 32 bits the memory of one slot is lost in 2^31 insertions, or in 2^30 if the pool was shrunk.
/// Slots of plain indices are reused without end.
///
/// * `L`, the field layout: [`Rows`], or [`Columns`] for each field in an array of its own (struct of arrays);
/// * `K`, the key: a [`Handle`], which detects that its value was removed, or a plain index: `u16`, `u32`, `u64`,
///   `usize`;
/// * `M`, the memory: [`Heap`], `&Arena`, or [`Blocks`](toft::Blocks) of a source.
///
/// Insertion is O(1) amortised, removal and lookup are O(1). Iteration is in the order of the slots and tests one bit
/// for each slot, 64 at a time. A pool is `Send` and `Sync` if its values and its memory are.
///
/// ```
/// use toft_pools::Pool;
///
/// let mut pool = Pool::new();
/// let a = pool.insert("a");
/// let b = pool.insert("b");
/// assert_eq!(pool[a], "a");
/// assert_eq!(pool.remove(a), Some("a"));
/// assert_eq!(pool.get(a), None); // stale, also when the slot has a value again
/// let c = pool.insert("c");
/// assert_eq!(pool.get(a), None);
/// assert_eq!(pool.values().copied().collect::<Vec<_>>(), ["c", "b"]);
/// # let _ = (b, c);
/// ```
pub struct Pool<T, L: FieldLayout<T> = Rows, K: Key<T> = Handle<T>, M: Memory = Heap> {
    slots: Slots<T, L, (), M>,
    free_list: FreeList<K::Generation>,
    fixed: bool,
    /// The seed of the generations; 0 until the first insertion.
    start: u32,
    /// The generation of unused slots, which is not worn.
    unused: K::Generation,
    of: PhantomData<fn() -> K>,
}

// SAFETY: the pool owns its slots and generations.
unsafe impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Send> Send for Pool<T, L, K, M> where L::Parts: Send {}
// SAFETY: a shared reference only reads.
unsafe impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Sync> Sync for Pool<T, L, K, M> where L::Parts: Sync {}

/// The number of slots after the first growth.
const MIN_SLOTS: usize = 16;

crate::constructors::constructors! {
    Pool, "pool", "1";
    heap [T] Pool<T>;
    rows [T, M: Memory] Pool<T, Rows, Handle<T>, M>;
    columns [T: Columnar] Pool<T, Columns>, [T: Columnar, M: Memory] Pool<T, Columns, Handle<T>, M>, "insert(Item { number: 1 })";
    any [T, L: FieldLayout<T>, K: Key<T>, M: Memory] Pool<T, L, K, M>
}
crate::constructors::key_constructors!(Pool, [Memory]);

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> Pool<T, L, K, M> {
    /// An empty pool that grows, of the layout and the key of its type.
    ///
    /// ```
    /// use toft_pools::{Heap, Pool, Rows};
    /// let mut pool: Pool<char, Rows, u16> = Pool::any_in(Heap);
    /// pool.insert('a');
    /// ```
    pub fn any_in(memory: M) -> Self {
        let (free_list, unused) = (FreeList::new(), K::unused(0));
        Pool { slots: Slots::new_in(memory), free_list, fixed: false, start: 0, unused, of: PhantomData }
    }

    fn fix(&mut self, n: usize) -> Result<(), AllocError> {
        self.grow(n)?;
        self.fixed = true;
        Ok(())
    }

    // ---- insertion ----

    /// Inserts a value into a free slot and returns its key. O(1) amortised.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert(7);
    /// pool[handle] += 1;
    /// assert_eq!(pool[handle], 8);
    /// ```
    ///
    /// # Panics
    /// The pool is fixed and each slot has a value or is retired, keys cannot address more slots, or there is no
    /// memory.
    #[inline(always)]
    #[track_caller]
    pub fn insert(&mut self, value: T) -> K {
        if !self.free_list.has_next() && self.prepare_slot().is_err() {
            pool_full()
        }
        // SAFETY: there is a free slot.
        unsafe { self.occupy(value) }
    }

    /// As [`insert`](Pool::insert), with an error instead of a panic.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::fixed(0);
    /// assert!(pool.try_insert("full").is_err());
    /// ```
    ///
    /// # Errors
    /// The value is returned in the error, and nothing has changed.
    #[inline(always)]
    pub fn try_insert(&mut self, value: T) -> Result<K, CapacityError<T>> {
        if !self.free_list.has_next() && self.prepare_slot().is_err() {
            return Err(CapacityError(value));
        }
        // SAFETY: there is a free slot.
        Ok(unsafe { self.occupy(value) })
    }

    /// Inserts the value that a closure makes from its key: for a value that contains its own key.
    ///
    /// ```
    /// use toft_pools::{Handle, Pool};
    /// struct Node {
    ///     this: Handle<Node>,
    /// }
    /// let mut pool = Pool::new();
    /// let handle = pool.insert_with(|this| Node { this });
    /// assert_eq!(pool[handle].this, handle);
    /// ```
    ///
    /// # Panics
    /// As [`insert`](Pool::insert). If the closure panics, nothing has changed.
    #[inline]
    #[track_caller]
    pub fn insert_with(&mut self, value: impl FnOnce(K) -> T) -> K {
        if !self.free_list.has_next() && self.prepare_slot().is_err() {
            pool_full()
        }
        // SAFETY: there is a free slot, and the closure cannot access the pool.
        unsafe {
            let (i, generation) = self.free_list.next_slot();
            let value = value(K::new(i, generation.next()));
            self.occupy(value)
        }
    }

    /// # Safety
    /// There is a free slot.
    #[inline(always)]
    unsafe fn occupy(&mut self, value: T) -> K {
        // SAFETY: the slot is free, so it has no value.
        unsafe {
            let (i, generation) = self.free_list.next_slot();
            let generation = generation.next();
            self.free_list.occupy(i, generation);
            L::write(self.slots.raw(), i, value);
            K::new(i, generation)
        }
    }

    /// Takes unused slots or grows.
    #[cold]
    #[inline(never)]
    fn prepare_slot(&mut self) -> Result<(), AllocError> {
        debug_assert!(self.verify());
        if self.start == 0 {
            self.start = generation_seed();
            self.unused = K::unused(self.start);
        }
        let retired = K::retired(self.start);
        if self.free_list.find_next(self.unused, retired) {
            return Ok(());
        }
        self.grow_to_at_least(self.capacity().checked_add(1))?;
        self.free_list.find_next(self.unused, retired);
        debug_assert!(self.free_list.has_next());
        Ok(())
    }

    /// Increases the number of slots to so many, or to more. An error changes nothing.
    #[cold]
    fn grow_to_at_least(&mut self, needed: Option<usize>) -> Result<(), AllocError> {
        if self.fixed {
            return Err(AllocError);
        }
        // Keys may address fewer slots than a power of two: the last growth is to as many as they can.
        grow_amortised(self.capacity(), needed, MIN_SLOTS, K::SLOTS.min(MAX_SLOTS), |n| self.grow(n))
    }

    /// Increases the number of slots. An error changes nothing.
    fn grow(&mut self, capacity: usize) -> Result<(), AllocError> {
        if capacity > K::SLOTS.min(MAX_SLOTS) {
            return Err(AllocError);
        }
        let mut grown = self.free_list.reserve(capacity, self.slots.memory());
        if grown.is_ok() {
            grown = self.slots.resize(capacity, self.free_list.high_water());
        }
        if grown.is_err() {
            self.free_list.shrink(self.slots.capacity(), self.slots.memory());
        } else {
            self.free_list.set_slots(capacity);
        }
        debug_assert!(self.verify());
        grown
    }

    // ---- access ----

    /// Whether the pool has the value of a key.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert(());
    /// assert!(pool.contains(handle));
    /// pool.clear();
    /// assert!(!pool.contains(handle));
    /// ```
    #[inline]
    pub fn contains(&self, key: K) -> bool {
        self.find(key).is_some()
    }

    /// The slot of a key that is not stale.
    #[inline(always)]
    fn find(&self, key: K) -> Option<usize> {
        let i = key.index();
        // SAFETY: the slot is below the high-water mark.
        let there = i < self.free_list.high_water() && key.matches(unsafe { self.free_list.generation(i) });
        there.then_some(i)
    }

    /// The value of a key, or `None` if it was removed or the key is of another pool. O(1).
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert('a');
    /// assert_eq!(pool.get(handle), Some(&'a'));
    /// ```
    #[inline]
    pub fn get(&self, key: K) -> Option<L::Ref<'_>> {
        let i = self.find(key)?;
        // SAFETY: the slot has a value, which nothing changes while the pool is borrowed.
        Some(unsafe { L::get(self.slots.raw(), i) })
    }

    /// The value of a key, mutable.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert('a');
    /// *pool.get_mut(handle).unwrap() = 'b';
    /// assert_eq!(pool[handle], 'b');
    /// ```
    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<L::Mut<'_>> {
        let i = self.find(key)?;
        // SAFETY: the slot has a value, and the pool is borrowed exclusively.
        Some(unsafe { L::get_mut(self.slots.raw(), i) })
    }

    /// The value of a key, without a check.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert('a');
    /// assert_eq!(unsafe { pool.get_unchecked(handle) }, &'a');
    /// ```
    ///
    /// # Safety
    /// [`contains`](Pool::contains) is true for the key.
    #[inline(always)]
    pub unsafe fn get_unchecked(&self, key: K) -> L::Ref<'_> {
        debug_assert!(self.contains(key));
        // SAFETY: the caller's contract.
        unsafe { L::get(self.slots.raw(), key.index()) }
    }

    /// The value of a key, without a check, mutable.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert('a');
    /// *unsafe { pool.get_unchecked_mut(handle) } = 'b';
    /// assert_eq!(pool[handle], 'b');
    /// ```
    ///
    /// # Safety
    /// [`contains`](Pool::contains) is true for the key.
    #[inline(always)]
    pub unsafe fn get_unchecked_mut(&mut self, key: K) -> L::Mut<'_> {
        debug_assert!(self.contains(key));
        // SAFETY: the caller's contract.
        unsafe { L::get_mut(self.slots.raw(), key.index()) }
    }

    /// Mutable references to several values at once; `None` if a key has no value or two keys are equal.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let (a, b) = (pool.insert(1), pool.insert(2));
    /// let [x, y] = pool.get_disjoint_mut([a, b]).unwrap();
    /// std::mem::swap(x, y);
    /// assert_eq!((pool[a], pool[b]), (2, 1));
    /// assert!(pool.get_disjoint_mut([a, a]).is_none());
    /// ```
    pub fn get_disjoint_mut<const N: usize>(&mut self, keys: [K; N]) -> Option<[L::Mut<'_>; N]> {
        for (n, &key) in keys.iter().enumerate() {
            self.find(key)?;
            if keys[..n].iter().any(|other| other.index() == key.index()) {
                return None;
            }
        }
        // SAFETY: each has a value, and no two are the same slot.
        Some(keys.map(|key| unsafe { L::get_mut(self.slots.raw(), key.index()) }))
    }

    /// The key of the value in the slot of this index, if it has one.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert('a');
    /// assert_eq!(pool.key_at(0), Some(handle));
    /// assert_eq!(pool.key_at(1), None);
    /// ```
    #[inline]
    pub fn key_at(&self, index: usize) -> Option<K> {
        if index >= self.free_list.high_water() {
            return None;
        }
        // SAFETY: the slot is below the high-water mark.
        let generation = unsafe { self.free_list.generation(index) };
        generation.is_odd().then(|| K::new(index, generation))
    }

    /// # Safety
    /// The slot has a value.
    #[inline(always)]
    pub(super) unsafe fn key(&self, i: usize) -> K {
        // SAFETY: the caller's contract.
        K::new(i, unsafe { self.free_list.generation(i) })
    }

    // ---- removal ----

    /// Removes and returns a value, and frees its slot; `None` if the key is stale. O(1).
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert('a');
    /// assert_eq!(pool.remove(handle), Some('a'));
    /// assert_eq!(pool.remove(handle), None);
    /// ```
    #[inline]
    pub fn remove(&mut self, key: K) -> Option<T> {
        let i = self.find(key)?;
        // SAFETY: the slot has a value, which is returned; no other code runs before the slot is free.
        unsafe {
            let value = L::read(self.slots.raw(), i);
            self.vacate(i);
            Some(value)
        }
    }

    /// # Safety
    /// The slot has a value, which the caller owns.
    #[inline(always)]
    pub(super) unsafe fn vacate(&mut self, i: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.free_list.free(i, self.free_list.generation(i)) }
    }

    fn retain_slots(&mut self, mut keep: impl FnMut(K, L::Raw<()>, usize) -> bool) {
        // SAFETY: only slots that the iterator has returned are freed. A slot is free before its value's destructor
        // runs, so the pool is consistent if that panics.
        unsafe {
            let mut live = self.free_list.occupied();
            while let Some(i) = live.next() {
                if !keep(self.key(i), self.slots.raw(), i) {
                    self.vacate(i);
                    L::drop_in_place(self.slots.raw(), i);
                }
            }
        }
        debug_assert!(self.verify());
    }

    /// Drops all values. The memory is kept; slots are taken from the first on again.
    ///
    /// ```
    /// let mut pool: toft_pools::Pool<i32> = (0..10).collect();
    /// pool.clear();
    /// assert!(pool.is_empty() && pool.capacity() >= 10);
    /// ```
    pub fn clear(&mut self) {
        if needs_drop::<T>() {
            // SAFETY: as in retain.
            unsafe {
                let mut live = self.free_list.occupied();
                while let Some(i) = live.next() {
                    self.vacate(i);
                    L::drop_in_place(self.slots.raw(), i);
                }
            }
        }
        self.free_list.clear(K::retired(self.start));
        debug_assert!(self.verify());
    }

    /// A pool of slots with these generations and values. The indices of the values ascend and are less than the number
    /// of slots.
    #[cfg(feature = "serde")]
    pub(super) fn restore(
        start: u32,
        unused: K::Generation,
        generations: &[K::Generation],
        values: alloc::vec::Vec<(usize, T)>,
    ) -> Result<Self, AllocError>
    where
        M: Default,
    {
        let mut pool = Self::default();
        pool.grow(generations.len())?;
        // A pool that has slots has a seed, and the generations do not depend on its lowest bit.
        (pool.start, pool.unused) = (if generations.is_empty() { start } else { start | 1 }, unused);
        // SAFETY: there are as many slots, and each is free until its value is written.
        unsafe {
            pool.free_list.set_generations(generations, unused, K::retired(start));
            for (i, value) in values {
                L::write(pool.raw(), i, value);
                pool.free_list.set_occupied(i, generations[i]);
            }
        }
        pool.free_list.rebuild_stack();
        debug_assert!(pool.verify());
        Ok(pool)
    }

    #[cfg(feature = "serde")]
    pub(super) fn start(&self) -> u32 {
        self.start
    }

    #[inline(always)]
    pub(super) fn raw(&self) -> L::Raw<()> {
        self.slots.raw()
    }

    #[inline(always)]
    pub(super) fn free_list(&self) -> &FreeList<K::Generation> {
        &self.free_list
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn pool_full() -> ! {
    panic!("toft: the pool is fixed and full, its keys cannot address more slots, or there is no memory")
}

#[cold]
#[inline(never)]
#[track_caller]
fn capacity_overflow(n: usize) -> ! {
    panic!("toft: no memory for a pool of {n} values, or it is fixed, or its keys cannot address as many slots")
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> Pool<T, L, K, M> {
    /// Slices of adjacent values; with columns, the slices of each field.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use toft_pools::{Columnar, Columns, Pool};
    ///
    /// #[derive(Columnar)]
    /// struct Body {
    ///     x: f32,
    ///     speed: f32,
    /// }
    ///
    /// let mut bodies: Pool<Body, Columns> = Pool::default();
    /// let handles: Vec<_> = (0..5).map(|i| bodies.insert(Body { x: i as f32, speed: 1.0 })).collect();
    /// bodies.remove(handles[2]);
    /// let runs: Vec<&[f32]> = bodies.slices().map(|run| run.x).collect();
    /// assert_eq!(runs, [[0.0, 1.0], [3.0, 4.0]]);
    /// # }
    /// ```
    pub fn slices(&self) -> impl Iterator<Item = L::Slices<'_>> + '_ {
        // SAFETY: the pool is borrowed, so it does not change.
        let mut live = unsafe { self.free_list.occupied() };
        core::iter::from_fn(move || {
            let (start, n) = live.next_range()?;
            // SAFETY: all slots of a range have values.
            Some(unsafe { L::slices(self.slots.raw(), start, n) })
        })
    }

    /// Slices of adjacent values, mutable.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use toft_pools::{Columnar, Columns, Pool};
    ///
    /// #[derive(Columnar)]
    /// struct Body {
    ///     x: f32,
    ///     speed: f32,
    /// }
    ///
    /// let mut bodies: Pool<Body, Columns> = Pool::default();
    /// let handle = bodies.insert(Body { x: 1.0, speed: 0.5 });
    /// for run in bodies.slices_mut() {
    ///     for (x, speed) in run.x.iter_mut().zip(run.speed) {
    ///         *x += *speed;
    ///     }
    /// }
    /// assert_eq!(*bodies.get(handle).unwrap().x, 1.5);
    /// # }
    /// ```
    pub fn slices_mut(&mut self) -> impl Iterator<Item = L::SlicesMut<'_>> + '_ {
        // SAFETY: the pool is borrowed exclusively, so only values change.
        let mut live = unsafe { self.free_list.occupied() };
        let raw = self.slots.raw();
        core::iter::from_fn(move || {
            let (start, n) = live.next_range()?;
            // SAFETY: all slots of a range have values, and ranges do not overlap.
            Some(unsafe { L::slices_mut(raw, start, n) })
        })
    }
}

// For each layout separately: a closure that takes `L::Mut<'_>` of any layout would require `T: 'static`.
impl<T, K: Key<T>, M: Memory> Pool<T, Rows, K, M> {
    /// Keeps the values for which `keep` returns true and drops the others, in the order of their slots.
    ///
    /// ```
    /// let mut pool: toft_pools::Pool<i32> = (0..10).collect();
    /// pool.retain(|_, value| *value % 3 == 0);
    /// assert_eq!(pool.values().copied().collect::<Vec<_>>(), [0, 3, 6, 9]);
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(K, &mut T) -> bool) {
        // SAFETY: the slot has a value, and the pool is borrowed exclusively.
        self.retain_slots(|key, raw, i| keep(key, unsafe { Rows::get_mut(raw, i) }));
    }
}

impl<T: Columnar, K: Key<T>, M: Memory> Pool<T, Columns, K, M> {
    /// Keeps the values for which `keep` returns true and drops the others, in the order of their slots. The values
    /// must not borrow, since the compiler assumes that the closure's argument may live longer than the call.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use toft_pools::{Columnar, Columns, Pool};
    ///
    /// #[derive(Columnar)]
    /// struct Body {
    ///     x: f32,
    /// }
    ///
    /// let mut bodies: Pool<Body, Columns> = Pool::default();
    /// bodies.extend([Body { x: 1.0 }, Body { x: -1.0 }]);
    /// bodies.retain(|_, body| *body.x > 0.0);
    /// assert_eq!(bodies.len(), 1);
    /// # }
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(K, T::Mut<'_>) -> bool) {
        // SAFETY: the slot has a value, and the pool is borrowed exclusively.
        self.retain_slots(|key, raw, i| keep(key, unsafe { <Columns as FieldLayout<T>>::get_mut(raw, i) }));
    }
}
