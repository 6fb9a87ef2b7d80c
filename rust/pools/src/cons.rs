//! Singly linked lists that share their tails, whose cells are of one pool.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;

use super::cells::{near, Cells, Link};
use super::full::Full;
use super::key::{Handle, Key};
use super::layout::{CloneIn, Layout, Rows};
use toft::AllocError;
use toft::{Heap, Memory};

mod iter;

pub use iter::Iter;

/// Many singly linked lists in one pool of cells: in rows or [`Columns`](super::Columns), growable or fixed, in any
/// [`Memory`].
///
/// A list is the [`Handle`] of its first cell, or `None`: it is empty. Handles are copied freely, and a list may be the tail
/// of any number of others. Nobody owns a list; its cells are given back
///
/// * all at once, by [`clear`](ConsList::clear), or when the pool is dropped;
/// * one by one, by [`uncons`](ConsList::uncons), or a list at a time, by [`free`](ConsList::free). A handle of a cell that was
///   given back is stale and taken for an empty list, and so is a tail: a list that shared the cell now ends before it.
///
/// `cons`, `head`, `tail` and `uncons` are O(1). Cells that were made one after the other lie side by side: such a list is
/// walked at the speed of an array.
///
/// ```
/// use toft_pools::ConsList;
///
/// let mut cells = ConsList::new();
/// let a = cells.cons(1, None);
/// let b = cells.cons(2, a);
/// let c = cells.cons(3, a); // shares its tail with b
/// assert!(cells.iter(b).eq(&[2, 1]));
/// assert!(cells.iter(c).eq(&[3, 1]));
/// ```
pub struct ConsList<T, L: Layout<T> = Rows, M: Memory = Heap> {
    cells: Cells<T, L, M>,
}

/// The list that a cell's link says is its tail.
#[inline(always)]
fn tail_of<T>(link: Link) -> Option<Handle<T>> {
    (link.other != 0).then(|| Handle::new(link.next as usize, link.other))
}

impl<T> ConsList<T> {
    /// No cells yet, of rows, on the heap.
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::new();
    /// let list = cells.cons('a', None);
    /// assert_eq!(cells.head(list), Some(&'a'));
    /// ```
    pub fn new() -> ConsList<T> {
        ConsList::new_in(Heap)
    }

    /// With room for `n` values.
    ///
    /// ```
    /// assert!(toft_pools::ConsList::<u8>::with_capacity(10).capacity() >= 10);
    /// ```
    ///
    /// # Panics
    /// There is no memory, or handles cannot tell as many apart.
    #[track_caller]
    pub fn with_capacity(n: usize) -> ConsList<T> {
        ConsList::with_capacity_in(n, Heap)
    }

    /// For `n` values at most.
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::fixed(1);
    /// let list = cells.cons('a', None);
    /// assert!(cells.try_cons('b', list).is_err());
    /// ```
    ///
    /// # Panics
    /// There is no memory, or handles cannot tell as many apart.
    #[track_caller]
    pub fn fixed(n: usize) -> ConsList<T> {
        ConsList::fixed_in(n, Heap)
    }
}

impl<T, L: Layout<T>, M: Memory> ConsList<T, L, M> {
    /// No cells yet.
    ///
    /// ```
    /// use toft_pools::{ConsList, Rows};
    /// let arena = toft::Arena::new();
    /// let mut cells: ConsList<u64, Rows, _> = ConsList::new_in(&arena);
    /// cells.cons(1, None);
    /// ```
    pub fn new_in(memory: M) -> Self {
        ConsList { cells: Cells::new_in(memory) }
    }

    /// With room for `n` values.
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{ConsList, Rows};
    /// let cells: ConsList<u8, Rows, _> = ConsList::with_capacity_in(10, Heap);
    /// assert!(cells.capacity() >= 10);
    /// ```
    ///
    /// # Panics
    /// There is no memory, or handles cannot tell as many apart.
    #[track_caller]
    pub fn with_capacity_in(n: usize, memory: M) -> Self {
        Self::try_with_capacity_in(n, memory).expect("toft: no memory for lists")
    }

    /// As [`with_capacity_in`](ConsList::with_capacity_in).
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{ConsList, Rows};
    /// assert!(ConsList::<u8, Rows, _>::try_with_capacity_in(usize::MAX, Heap).is_err());
    /// ```
    ///
    /// # Errors
    /// There is no memory, or handles cannot tell as many apart.
    pub fn try_with_capacity_in(n: usize, memory: M) -> Result<Self, AllocError> {
        Ok(ConsList { cells: Cells::with_capacity_in(n, memory)? })
    }

    /// For `n` values at most.
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{ConsList, Rows};
    /// let cells: ConsList<u8, Rows, _> = ConsList::fixed_in(10, Heap);
    /// assert_eq!(cells.capacity(), 10);
    /// ```
    ///
    /// # Panics
    /// There is no memory, or handles cannot tell as many apart.
    #[track_caller]
    pub fn fixed_in(n: usize, memory: M) -> Self {
        Self::try_fixed_in(n, memory).expect("toft: no memory for lists")
    }

    /// As [`fixed_in`](ConsList::fixed_in).
    ///
    /// ```
    /// use toft::Heap;
    /// use toft_pools::{ConsList, Rows};
    /// assert!(ConsList::<u8, Rows, _>::try_fixed_in(usize::MAX, Heap).is_err());
    /// ```
    ///
    /// # Errors
    /// There is no memory, or handles cannot tell as many apart.
    pub fn try_fixed_in(n: usize, memory: M) -> Result<Self, AllocError> {
        Ok(ConsList { cells: Cells::fixed_in(n, memory)? })
    }

    // ---- size ----

    /// How many values all lists have together; one that is shared counts once.
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::new();
    /// cells.cons('a', None);
    /// cells.cons('b', None);
    /// assert_eq!(cells.len(), 2);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are none.
    ///
    /// ```
    /// assert!(toft_pools::ConsList::<u8>::new().is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many values there can be before it must grow; of a fixed one: at all.
    ///
    /// ```
    /// assert_eq!(toft_pools::ConsList::<u8>::fixed(3).capacity(), 3);
    /// ```
    pub fn capacity(&self) -> usize {
        self.cells.capacity()
    }

    /// Whether it cannot grow.
    ///
    /// ```
    /// assert!(toft_pools::ConsList::<u8>::fixed(3).is_fixed());
    /// ```
    pub fn is_fixed(&self) -> bool {
        self.cells.is_fixed()
    }

    /// Where the cells come from.
    ///
    /// ```
    /// assert_eq!(toft_pools::ConsList::<u8>::new().memory(), &toft::Heap);
    /// ```
    pub fn memory(&self) -> &M {
        self.cells.memory()
    }

    /// Makes room for `more` values.
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::<u8>::new();
    /// cells.reserve(10);
    /// assert!(cells.capacity() >= 10);
    /// ```
    ///
    /// # Panics
    /// It is fixed and has no room for them, handles cannot tell as many apart, or there is no memory.
    #[track_caller]
    pub fn reserve(&mut self, more: usize) {
        self.cells.sure_room(more);
    }

    /// As [`reserve`](ConsList::reserve).
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::<u8>::fixed(2);
    /// assert!(cells.try_reserve(2).is_ok() && cells.try_reserve(3).is_err());
    /// ```
    ///
    /// # Errors
    /// It is fixed and has no room for them, handles cannot tell as many apart, or there is no memory.
    pub fn try_reserve(&mut self, more: usize) -> Result<(), AllocError> {
        self.cells.room(more)
    }

    // ---- lists ----

    /// The list of a value and a tail: a list, or `None`. O(1) amortised.
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::new();
    /// let mut list = None;
    /// for number in 1..=3 {
    ///     list = Some(cells.cons(number, list));
    /// }
    /// assert!(cells.iter(list).eq(&[3, 2, 1]));
    /// ```
    ///
    /// # Panics
    /// The tail is stale, it is fixed and full, handles cannot tell more apart, or there is no memory.
    #[inline]
    #[track_caller]
    pub fn cons(&mut self, value: T, tail: impl Into<Option<Handle<T>>>) -> Handle<T> {
        let tail = self.check(tail.into());
        self.cells.sure_room(1);
        // SAFETY: there is room.
        unsafe { self.put(value, tail) }
    }

    /// As [`cons`](ConsList::cons).
    ///
    /// ```
    /// use toft_pools::{ConsList, Full};
    /// assert_eq!(ConsList::fixed(0).try_cons('a', None), Err(Full('a')));
    /// ```
    ///
    /// # Errors
    /// The value comes back: it is fixed and full, handles cannot tell more apart, or there is no memory.
    ///
    /// # Panics
    /// The tail is stale.
    #[inline]
    #[track_caller]
    pub fn try_cons(&mut self, value: T, tail: impl Into<Option<Handle<T>>>) -> Result<Handle<T>, Full<T>> {
        let tail = self.check(tail.into());
        match self.cells.room(1) {
            // SAFETY: there is room.
            Ok(()) => Ok(unsafe { self.put(value, tail) }),
            Err(AllocError) => Err(Full(value)),
        }
    }

    /// A link to a tail that is there. (One that is not yet could become a circle.)
    #[inline(always)]
    #[track_caller]
    fn check(&self, tail: Option<Handle<T>>) -> (u32, u32) {
        let Some(tail) = tail else { return (0, 0) };
        match self.cells.find(tail) {
            // SAFETY: the cell has a value.
            Some(i) => (i, unsafe { (*self.cells.link(i)).generation }),
            None => stale(),
        }
    }

    /// # Safety
    /// There is room.
    #[inline(always)]
    unsafe fn put(&mut self, value: T, (next, generation): (u32, u32)) -> Handle<T> {
        // SAFETY: the caller's contract.
        unsafe {
            let i = self.cells.put(value, next, generation);
            self.cells.handle(i)
        }
    }

    /// The list of what an iterator gives, in its order, and a tail. An iterator that gives nothing: the tail.
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::new();
    /// let tail = cells.cons(3, None);
    /// let list = cells.list([1, 2], tail);
    /// assert!(cells.iter(list).eq(&[1, 2, 3]));
    /// ```
    ///
    /// # Panics
    /// As [`cons`](ConsList::cons). What the iterator gave until then stays, in lists of one value that nobody has.
    #[track_caller]
    pub fn list(
        &mut self,
        values: impl IntoIterator<Item = T>,
        tail: impl Into<Option<Handle<T>>>,
    ) -> Option<Handle<T>> {
        let tail = tail.into();
        let end = self.check(tail);
        let (mut first, mut last) = (tail, None);
        for value in values {
            self.cells.sure_room(1);
            // SAFETY: there is room; the last cell has a value.
            unsafe {
                let i = self.cells.put(value, end.0, end.1);
                let handle = self.cells.handle(i);
                match last.replace(i) {
                    None => first = Some(handle),
                    Some(last) => {
                        let link = self.cells.link(last);
                        ((*link).next, (*link).other) = (i, (*self.cells.link(i)).generation);
                    }
                }
            }
        }
        first
    }

    /// The cell of a list that is neither empty nor stale.
    #[inline(always)]
    fn find(&self, list: impl Into<Option<Handle<T>>>) -> Option<u32> {
        self.cells.find(list.into()?)
    }

    /// Whether a list has a value: it is neither empty nor stale.
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::new();
    /// let list = cells.cons('a', None);
    /// assert!(cells.contains_handle(list));
    /// cells.clear();
    /// assert!(!cells.contains_handle(list));
    /// ```
    pub fn contains_handle(&self, list: impl Into<Option<Handle<T>>>) -> bool {
        self.find(list).is_some()
    }

    /// The first value of a list; `None`: it is empty or stale. O(1).
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::new();
    /// let list = cells.cons('a', None);
    /// assert_eq!(cells.head(list), Some(&'a'));
    /// ```
    #[inline]
    pub fn head(&self, list: impl Into<Option<Handle<T>>>) -> Option<L::Ref<'_>> {
        let i = self.find(list)?;
        // SAFETY: the value is there, and borrowed with the cells; here and below.
        Some(unsafe { L::get(self.cells.raw(), i as usize) })
    }

    /// The first value of a list, to change it, also for the lists that share it. O(1).
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::new();
    /// let list = cells.cons('a', None);
    /// *cells.head_mut(list).unwrap() = 'b';
    /// assert_eq!(cells.head(list), Some(&'b'));
    /// ```
    #[inline]
    pub fn head_mut(&mut self, list: impl Into<Option<Handle<T>>>) -> Option<L::Mut<'_>> {
        let i = self.find(list)?;
        // SAFETY: see head.
        Some(unsafe { L::get_mut(self.cells.raw(), i as usize) })
    }

    /// A list without its first value; `None`: that is empty, or the list is empty or stale. O(1).
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::new();
    /// let one = cells.cons(1, None);
    /// let two = cells.cons(2, one);
    /// assert_eq!((cells.tail(two), cells.tail(one)), (Some(one), None));
    /// ```
    #[inline]
    pub fn tail(&self, list: impl Into<Option<Handle<T>>>) -> Option<Handle<T>> {
        let i = self.find(list)?;
        // SAFETY: the cell has a value.
        tail_of(unsafe { *self.cells.link(i) }).filter(|&tail| self.cells.find(tail).is_some())
    }

    /// Takes the first value of a list, gives its cell back, and says what its tail is; `None`: the list is empty or stale.
    /// O(1). Lists that shared the value end before it from now on.
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::new();
    /// let mut list = cells.list([1, 2, 3], None);
    /// let mut sum = 0;
    /// while let Some((value, tail)) = cells.uncons(list) {
    ///     sum += value;
    ///     list = tail;
    /// }
    /// assert_eq!((sum, cells.len()), (6, 0));
    /// ```
    #[inline]
    pub fn uncons(&mut self, list: impl Into<Option<Handle<T>>>) -> Option<(T, Option<Handle<T>>)> {
        let i = self.find(list)?;
        // SAFETY: the cell has a value, which is the caller's.
        unsafe {
            let mut link = *self.cells.link(i);
            link.next = near(link.next, i);
            let value = L::read(self.cells.raw(), i as usize);
            self.cells.give(i);
            Some((value, tail_of(link)))
        }
    }

    /// Drops all values of a list, and gives its cells back. O(n). Lists that shared some end before them from now on.
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::new();
    /// let list = cells.list([1, 2, 3], None);
    /// cells.free(list);
    /// assert!(cells.is_empty());
    /// ```
    ///
    /// # Panics
    /// A destructor does: the rest of the list stays, and nobody has it.
    pub fn free(&mut self, list: impl Into<Option<Handle<T>>>) {
        let mut list = list.into();
        while let Some((value, tail)) = self.uncons(list) {
            list = tail;
            drop(value);
        }
    }

    /// Drops all values of all lists. The memory stays, all handles are stale. O(1), but for what destructors do.
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::new();
    /// let list = cells.list([1, 2, 3], None);
    /// cells.clear();
    /// assert_eq!((cells.len(), cells.head(list)), (0, None));
    /// ```
    pub fn clear(&mut self) {
        self.cells.clear();
    }

    /// The values of a list. (To change them go along it by [`head_mut`](ConsList::head_mut) and [`tail`](ConsList::tail).)
    ///
    /// ```
    /// let mut cells = toft_pools::ConsList::new();
    /// let list = cells.list([1, 2, 3], None);
    /// assert_eq!(cells.iter(list).sum::<i32>(), 6);
    /// ```
    #[inline]
    pub fn iter(&self, list: impl Into<Option<Handle<T>>>) -> Iter<'_, T, L> {
        // SAFETY: the values are borrowed with the cells.
        unsafe { Iter::new(self.cells.raw(), self.find(list)) }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn stale() -> ! {
    panic!("toft: the tail of a list is stale")
}

impl<T, L: CloneIn<T>, M: Memory + Clone> Clone for ConsList<T, L, M> {
    /// With the same lists: the handles are good in both.
    ///
    /// # Panics
    /// There is no memory.
    fn clone(&self) -> Self {
        ConsList { cells: self.cells.clone() }
    }
}

impl<T, L: Layout<T>, M: Memory + Default> Default for ConsList<T, L, M> {
    fn default() -> Self {
        ConsList::new_in(M::default())
    }
}

impl<T, L: Layout<T>, M: Memory> fmt::Debug for ConsList<T, L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsList").field("len", &self.len()).field("capacity", &self.capacity()).finish()
    }
}
