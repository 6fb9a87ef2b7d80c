//! Slots of one type, taken and given back in any order.
//!
//! The fast paths, each inline: `occupy` and `vacate`, a few loads and stores beside the value. The slow path is
//! `prepare_slot`: slots that were not in use yet, and growth.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::marker::PhantomData;
use core::mem::needs_drop;

use super::capacity_error::CapacityError;
use super::columnar::Columnar;
use super::field_layout::{Columns, FieldLayout, Rows};
use super::free_list::{FreeList, MAX_SLOTS};
use super::key::{generation_seed, Generation, Handle, Key};
use super::slots::Slots;
use toft::AllocError;
use toft::{Heap, Memory};

mod capacity;
mod iter;
mod traits;

pub use iter::{Drain, IntoIter, Iter, IterMut, Keys, Values, ValuesMut};

/// Slots of one type, taken and given back in any order, addressed by key.
///
/// A value goes into a free slot near others that were freed, and stays there: its key is good until it is removed. Its
/// address is not: a pool that grows may move its values. A pool made by [`fixed`](Pool::fixed) never grows.
///
/// * `L`: values lie as [`Rows`], or each field in a column of its own: [`Columns`];
/// * `K`: a [`Handle`], which knows when its value is gone, or a plain index: `u16`, `u32`, `u64`, `usize`;
/// * `M`: where the memory comes from: [`Heap`], `&Arena`, [`Blocks`](toft::Blocks) of a source.
///
/// Insertion and removal take a fixed number of steps (growth aside). Iteration is in the order of the slots; free
/// ones are passed over by the word of 64. A pool may be sent and shared as its values may.
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
    /// The pool's number, from which its generations begin.
    start: u32,
    /// What slots that were never in use begin with.
    unused: K::Generation,
    of: PhantomData<fn() -> K>,
}

// SAFETY: the generations are this value's alone, as its slots are.
unsafe impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Send> Send for Pool<T, L, K, M> where L::Parts: Send {}
// SAFETY: through a shared reference a pool only reads.
unsafe impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory + Sync> Sync for Pool<T, L, K, M> where L::Parts: Sync {}

/// How many slots a pool begins with when it grows.
const MIN_SLOTS: usize = 16;

impl<T> Pool<T> {
    /// A pool of rows on the heap, with no slots yet.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert(7);
    /// assert_eq!(pool[handle], 7);
    /// ```
    pub fn new() -> Self {
        Self::new_in(Heap)
    }

    /// A pool with room for `n` values.
    ///
    /// ```
    /// let pool = toft_pools::Pool::<u8>::with_capacity(100);
    /// assert!(pool.capacity() >= 100);
    /// ```
    ///
    /// # Panics
    /// There is no memory for them.
    pub fn with_capacity(n: usize) -> Self {
        Self::with_capacity_in(n, Heap)
    }

    /// A pool of `n` slots for good: their addresses never change, and [`insert`](Pool::insert) panics when all are taken.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::fixed(1);
    /// pool.insert('a');
    /// assert_eq!(pool.try_insert('b').unwrap_err().into_inner(), 'b');
    /// ```
    ///
    /// # Panics
    /// There is no memory for them.
    pub fn fixed(n: usize) -> Self {
        Self::fixed_in(n, Heap)
    }
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> Pool<T, L, K, M> {
    /// A pool of any kind, with no slots yet.
    ///
    /// ```
    /// use toft_pools::{Pool, Rows};
    /// use toft::Arena;
    ///
    /// let arena = Arena::new();
    /// let mut pool: Pool<char, Rows, u32, &Arena> = Pool::new_in(&arena);
    /// let i: u32 = pool.insert('a');
    /// assert_eq!(pool[i], 'a');
    /// ```
    pub fn new_in(memory: M) -> Self {
        let (free_list, unused) = (FreeList::new(), K::unused(0));
        Pool { slots: Slots::new_in(memory), free_list, fixed: false, start: 0, unused, of: PhantomData }
    }

    /// A pool of any kind with room for `n` values.
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{Pool, Rows};
    /// let pool: Pool<u8, Rows, u16> = Pool::with_capacity_in(100, Heap);
    /// assert!(pool.capacity() >= 100);
    /// ```
    ///
    /// # Panics
    /// There is no memory for them, or keys cannot tell them apart.
    pub fn with_capacity_in(n: usize, memory: M) -> Self {
        let mut pool = Self::new_in(memory);
        pool.reserve(n);
        pool
    }

    /// A pool of any kind with `n` slots for good.
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{Pool, Rows};
    /// let pool: Pool<u8, Rows, u16> = Pool::fixed_in(100, Heap);
    /// assert_eq!(pool.capacity(), 100);
    /// ```
    ///
    /// # Panics
    /// There is no memory for them, or keys cannot tell them apart.
    pub fn fixed_in(n: usize, memory: M) -> Self {
        Self::try_fixed_in(n, memory).unwrap_or_else(|_| capacity_overflow(n))
    }

    /// As [`fixed_in`](Pool::fixed_in).
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{Pool, Rows};
    /// assert!(Pool::<u8, Rows, u16>::try_fixed_in(1 << 20, Heap).is_err());
    /// ```
    ///
    /// # Errors
    /// There is no memory for them, or keys cannot tell them apart.
    pub fn try_fixed_in(n: usize, memory: M) -> Result<Self, AllocError> {
        let mut pool = Self::new_in(memory);
        pool.grow(n)?;
        pool.fixed = true;
        Ok(pool)
    }

    // ---- insertion ----

    /// Puts a value into a free slot.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert(7);
    /// pool[handle] += 1;
    /// assert_eq!(pool[handle], 8);
    /// ```
    ///
    /// # Panics
    /// The pool is fixed and full, keys cannot tell more slots apart, or there is no memory.
    #[inline(always)]
    pub fn insert(&mut self, value: T) -> K {
        if !self.free_list.has_next() && self.prepare_slot().is_err() {
            pool_full()
        }
        // SAFETY: there is room.
        unsafe { self.occupy(value) }
    }

    /// As [`insert`](Pool::insert).
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::fixed(0);
    /// assert!(pool.try_insert("no room").is_err());
    /// ```
    ///
    /// # Errors
    /// There is no room: the value comes back, and nothing changed.
    #[inline(always)]
    pub fn try_insert(&mut self, value: T) -> Result<K, CapacityError<T>> {
        if !self.free_list.has_next() && self.prepare_slot().is_err() {
            return Err(CapacityError(value));
        }
        // SAFETY: there is room.
        Ok(unsafe { self.occupy(value) })
    }

    /// Puts a value that knows its own key into a free slot.
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
    /// As [`insert`](Pool::insert). If the closure does, nothing changed.
    #[inline]
    pub fn insert_with(&mut self, value: impl FnOnce(K) -> T) -> K {
        if !self.free_list.has_next() && self.prepare_slot().is_err() {
            pool_full()
        }
        // SAFETY: there is room, and the closure cannot reach the pool.
        unsafe {
            let (i, generation) = self.free_list.next_slot();
            let value = value(K::new(i, generation.next()));
            self.occupy(value)
        }
    }

    /// # Safety
    /// There is room.
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

    /// Finds a free slot, or makes some.
    #[cold]
    #[inline(never)]
    fn prepare_slot(&mut self) -> Result<(), AllocError> {
        if self.start == 0 {
            self.start = generation_seed();
            self.unused = K::unused(self.start);
        }
        if self.free_list.find_next(self.unused) {
            return Ok(());
        }
        // Keys may tell less apart than a power of two: the last step is to as many as there can be.
        let capacity = self.capacity();
        let wanted = capacity.saturating_mul(2).max(MIN_SLOTS).min(K::SLOTS.min(MAX_SLOTS));
        if self.fixed || wanted == capacity {
            return Err(AllocError);
        }
        self.grow(wanted)?;
        self.free_list.find_next(self.unused);
        Ok(())
    }

    /// More slots. An error changes nothing.
    fn grow(&mut self, capacity: usize) -> Result<(), AllocError> {
        if capacity > K::SLOTS.min(MAX_SLOTS) {
            return Err(AllocError);
        }
        self.free_list.reserve(capacity, self.slots.memory())?;
        self.slots.grow(capacity, self.free_list.high_water())?;
        self.free_list.set_slots(capacity);
        Ok(())
    }

    // ---- access ----

    /// Whether the key's value is there.
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

    /// The slot of a key whose value is there.
    #[inline(always)]
    fn find(&self, key: K) -> Option<usize> {
        let i = key.index();
        // SAFETY: the slot is known.
        let there = i < self.free_list.high_water() && key.matches(unsafe { self.free_list.generation(i) });
        there.then_some(i)
    }

    /// The value of a key, or `None`: it was removed, or is another pool's.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert('a');
    /// assert_eq!(pool.get(handle), Some(&'a'));
    /// ```
    #[inline]
    pub fn get(&self, key: K) -> Option<L::Ref<'_>> {
        let i = self.find(key)?;
        // SAFETY: the slot has a value, which nobody changes while the pool is borrowed.
        Some(unsafe { L::get(self.slots.raw(), i) })
    }

    /// The value of a key, to change it.
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

    /// The value of a key that is known to have one.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert('a');
    /// assert_eq!(unsafe { pool.get_unchecked(handle) }, &'a');
    /// ```
    ///
    /// # Safety
    /// [`contains`](Pool::contains) would say so.
    #[inline(always)]
    pub unsafe fn get_unchecked(&self, key: K) -> L::Ref<'_> {
        debug_assert!(self.contains(key));
        // SAFETY: the caller's contract.
        unsafe { L::get(self.slots.raw(), key.index()) }
    }

    /// The value of a key that is known to have one, to change it.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert('a');
    /// *unsafe { pool.get_unchecked_mut(handle) } = 'b';
    /// assert_eq!(pool[handle], 'b');
    /// ```
    ///
    /// # Safety
    /// [`contains`](Pool::contains) would say so.
    #[inline(always)]
    pub unsafe fn get_unchecked_mut(&mut self, key: K) -> L::Mut<'_> {
        debug_assert!(self.contains(key));
        // SAFETY: the caller's contract.
        unsafe { L::get_mut(self.slots.raw(), key.index()) }
    }

    /// Several values at once, to change them; `None` when a key has no value, or two are the same.
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

    /// The key of the value in slot number `index`, if that has one.
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
        // SAFETY: the slot is known.
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

    /// Takes a value out, and frees its slot. `None`: it is not there.
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
        // SAFETY: the slot has a value, which goes to the caller before anything else can happen.
        unsafe {
            let value = L::read(self.slots.raw(), i);
            self.vacate(i);
            Some(value)
        }
    }

    /// # Safety
    /// The slot has a value, which is the caller's.
    #[inline(always)]
    pub(super) unsafe fn vacate(&mut self, i: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.free_list.free(i, self.free_list.generation(i)) }
    }

    fn retain_slots(&mut self, mut keep: impl FnMut(K, L::Raw<()>, usize) -> bool) {
        // SAFETY: only slots that were passed are freed. A slot is free before its value's destructor runs, so if that
        // panics, the rest is as it was.
        unsafe {
            let mut live = self.free_list.occupied();
            while let Some(i) = live.next() {
                if !keep(self.key(i), self.slots.raw(), i) {
                    self.vacate(i);
                    L::drop_in_place(self.slots.raw(), i);
                }
            }
        }
    }

    /// Drops all values. The memory stays; slots are taken from the first on again.
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
        self.free_list.clear();
    }

    /// What slots from number `n` on, which are free, must begin with where they are not known any more: a generation that
    /// none of them had.
    pub(super) fn first_generation_from(&self, n: usize) -> K::Generation {
        let gone = &self.free_list.generations(self.free_list.initialized())[n..];
        gone.iter().fold(self.unused, |latest, generation| {
            core::cmp::max_by_key(latest, generation.after(), |generation| generation.since(self.start))
        })
    }

    /// Of known slots with these generations, and these values, whose numbers ascend and are below that of the slots.
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
        (pool.start, pool.unused) = (start, unused);
        // SAFETY: there are as many slots, each free until its value is there.
        unsafe {
            pool.free_list.set_generations(generations, unused);
            for (i, value) in values {
                L::write(pool.raw(), i, value);
                pool.free_list.set_occupied(i, generations[i]);
            }
        }
        pool.free_list.rebuild_stack();
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
fn pool_full() -> ! {
    panic!("the pool is full")
}

#[cold]
#[inline(never)]
fn capacity_overflow(n: usize) -> ! {
    panic!("the pool cannot have room for {n} values")
}

impl<T, L: FieldLayout<T>, K: Key<T>, M: Memory> Pool<T, L, K, M> {
    /// Slices of the values that follow each other without a gap; of each column, where values are columns.
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
        // SAFETY: the pool is borrowed, so nothing changes.
        let mut live = unsafe { self.free_list.occupied() };
        core::iter::from_fn(move || {
            let (start, n) = live.next_range()?;
            // SAFETY: a run's slots all have values.
            Some(unsafe { L::slices(self.slots.raw(), start, n) })
        })
    }

    /// Slices of the values that follow each other without a gap, to change them.
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
        // SAFETY: the pool is borrowed exclusively, so nothing changes but the values.
        let mut live = unsafe { self.free_list.occupied() };
        let raw = self.slots.raw();
        core::iter::from_fn(move || {
            let (start, n) = live.next_range()?;
            // SAFETY: a run's slots all have values, and no two runs have a slot in common.
            Some(unsafe { L::slices_mut(raw, start, n) })
        })
    }
}

// Of each layout by itself: with a `Mut` that could be any layout's, a closure would ask of T to live forever.
impl<T, K: Key<T>, M: Memory> Pool<T, Rows, K, M> {
    /// Drops the values of which `keep` says no, in the order of their slots.
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
    /// Drops the values of which `keep` says no, in the order of their slots. (The values must borrow nothing: the
    /// compiler cannot see that `T::Mut` needs `T` only for the call.)
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
