//! A doubly linked list whose nodes are slots of one pool.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::capacity_error::CapacityError;
use super::contiguous::drop_all;
use super::field_layout::{CloneIn, FieldLayout, Rows};
use super::key::Handle;
use super::linked_slots::{near, LinkedIndices, LinkedRange, LinkedSlots, NONE};
use toft::AllocError;
use toft::{Heap, Memory};

mod handles;
mod iter;
mod retain;
mod splice;
mod traits;

pub use iter::{Handles, IntoIter, Iter, IterMut};

/// A doubly linked list with insertion and removal in O(1) at any position, by [`Handle`]: in rows or
/// [`Columns`](super::Columns), growing or fixed, in any [`Memory`]. Its nodes are slots of one pool, which are
/// adjacent and reused. A handle stays valid when its value moves within the list, and is stale when that was removed.
///
/// ```
/// use toft_pools::List;
///
/// // The least recently used is at the back.
/// let mut cache = List::new();
/// let a = cache.push_front("a");
/// let b = cache.push_front("b");
/// cache.move_to_front(a);
/// assert_eq!(cache.pop_back(), Some("b"));
/// assert_eq!((cache.get(a), cache.get(b)), (Some(&"a"), None));
/// ```
pub struct List<T, L: FieldLayout<T> = Rows, M: Memory = Heap> {
    slots: LinkedSlots<T, L, M>,
    front: u32,
    back: u32,
}

impl<T, L: FieldLayout<T>, M: Memory> List<T, L, M> {
    /// An empty list that grows, of the layout of its type.
    ///
    /// ```
    /// let mut values: toft_pools::List<u8> = toft_pools::List::any_in(toft::Heap);
    /// values.push_back(1);
    /// ```
    pub fn any_in(memory: M) -> Self {
        List { slots: LinkedSlots::new_in(memory), front: NONE, back: NONE }
    }

    fn fix(&mut self, n: usize) -> Result<(), AllocError> {
        self.slots.fix(n)
    }

    /// Returns the next value: free slots are linked one by one.
    #[inline(always)]
    fn fill(&mut self, values: &mut impl Iterator<Item = T>) -> Option<T> {
        values.next()
    }

    // ---- size ----

    /// The number of values.
    ///
    /// ```
    /// assert_eq!(toft_pools::List::from([1, 2]).len(), 2);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// The number of values that fit without growth; of a fixed list, the largest number of values.
    ///
    /// ```
    /// assert_eq!(toft_pools::List::<u8>::fixed(3).capacity(), 3);
    /// ```
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Whether the capacity is fixed.
    ///
    /// ```
    /// assert!(toft_pools::List::<u8>::fixed(3).is_fixed());
    /// ```
    pub fn is_fixed(&self) -> bool {
        self.slots.is_fixed()
    }

    /// As [`reserve`](List::reserve), with an error instead of a panic.
    ///
    /// ```
    /// let mut list = toft_pools::List::<u8>::fixed(2);
    /// assert!(list.try_reserve(2).is_ok() && list.try_reserve(3).is_err());
    /// ```
    ///
    /// # Errors
    /// The list is fixed and its capacity is too small, a handle cannot address as many slots, or there is no memory.
    pub fn try_reserve(&mut self, more: usize) -> Result<(), AllocError> {
        self.slots.try_reserve(more)
    }

    // ---- the ends ----

    /// Adds a value at the back. O(1) amortised.
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// list.push_back(1);
    /// let two = list.push_back(2);
    /// assert_eq!((list.len(), list[two]), (2, 2));
    /// ```
    ///
    /// # Panics
    /// The list is fixed and full, a handle cannot address more slots, or there is no memory.
    #[inline]
    #[track_caller]
    pub fn push_back(&mut self, value: T) -> Handle<T> {
        self.slots.reserve_or_panic(1);
        // SAFETY: there is a free slot.
        unsafe { self.link_in(value, self.back, NONE) }
    }

    /// As [`push_back`](List::push_back), with an error instead of a panic.
    ///
    /// ```
    /// use toft_pools::{CapacityError, List};
    /// assert_eq!(List::fixed(0).try_push_back('a'), Err(CapacityError('a')));
    /// ```
    ///
    /// # Errors
    /// The value is returned in the error: the list is fixed and full, a handle cannot address more slots, or there is
    /// no memory.
    #[inline]
    pub fn try_push_back(&mut self, value: T) -> Result<Handle<T>, CapacityError<T>> {
        // SAFETY: an end of the list.
        unsafe { self.try_link_in(value, self.back, NONE) }
    }

    /// Adds a value at the front. O(1) amortised.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([2]);
    /// list.push_front(1);
    /// assert!(list.iter().eq(&[1, 2]));
    /// ```
    ///
    /// # Panics
    /// The list is fixed and full, a handle cannot address more slots, or there is no memory.
    #[inline]
    #[track_caller]
    pub fn push_front(&mut self, value: T) -> Handle<T> {
        self.slots.reserve_or_panic(1);
        // SAFETY: there is a free slot.
        unsafe { self.link_in(value, NONE, self.front) }
    }

    /// As [`push_front`](List::push_front), with an error instead of a panic.
    ///
    /// ```
    /// use toft_pools::{CapacityError, List};
    /// assert_eq!(List::fixed(0).try_push_front('a'), Err(CapacityError('a')));
    /// ```
    ///
    /// # Errors
    /// The value is returned in the error: the list is fixed and full, a handle cannot address more slots, or there is
    /// no memory.
    #[inline]
    pub fn try_push_front(&mut self, value: T) -> Result<Handle<T>, CapacityError<T>> {
        // SAFETY: an end of the list.
        unsafe { self.try_link_in(value, NONE, self.front) }
    }

    /// Removes and returns the value at the back. O(1).
    ///
    /// ```
    /// assert_eq!(toft_pools::List::from([1, 2]).pop_back(), Some(2));
    /// ```
    #[inline]
    pub fn pop_back(&mut self) -> Option<T> {
        let i = self.back;
        if i == NONE {
            return None;
        }
        // SAFETY: the last slot has a value, which the caller owns.
        unsafe {
            self.back = near((*self.slots.link(i)).other, i);
            if self.back == NONE {
                self.front = NONE;
            } else {
                (*self.slots.link(self.back)).next = NONE;
            }
            Some(self.read(i))
        }
    }

    /// Removes and returns the value at the front. O(1).
    ///
    /// ```
    /// assert_eq!(toft_pools::List::from([1, 2]).pop_front(), Some(1));
    /// ```
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let i = self.front;
        if i == NONE {
            return None;
        }
        // SAFETY: the first slot has a value, which the caller owns.
        unsafe {
            self.front = near((*self.slots.link(i)).next, i);
            if self.front == NONE {
                self.back = NONE;
            } else {
                (*self.slots.link(self.front)).other = NONE;
            }
            Some(self.read(i))
        }
    }

    /// The value at the front.
    ///
    /// ```
    /// assert_eq!(toft_pools::List::from([1, 2]).front(), Some(&1));
    /// ```
    pub fn front(&self) -> Option<L::Ref<'_>> {
        self.at(self.front)
    }

    /// The value at the front, mutable.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// *list.front_mut().unwrap() = 7;
    /// assert!(list.iter().eq(&[7, 2]));
    /// ```
    pub fn front_mut(&mut self) -> Option<L::Mut<'_>> {
        self.at_mut(self.front)
    }

    /// The value at the back.
    ///
    /// ```
    /// assert_eq!(toft_pools::List::from([1, 2]).back(), Some(&2));
    /// ```
    pub fn back(&self) -> Option<L::Ref<'_>> {
        self.at(self.back)
    }

    /// The value at the back, mutable.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// *list.back_mut().unwrap() = 7;
    /// assert!(list.iter().eq(&[1, 7]));
    /// ```
    pub fn back_mut(&mut self) -> Option<L::Mut<'_>> {
        self.at_mut(self.back)
    }

    // ---- all ----

    /// Drops all values; their handles are stale. The memory is kept. O(1) without destructors, until a slot has had half
    /// of its uses ([`Handle`]).
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2]);
    /// list.clear();
    /// assert!(list.is_empty());
    /// ```
    pub fn clear(&mut self) {
        let range = self.in_order();
        if !self.slots.free_all() {
            return self.pop_all();
        }
        (self.front, self.back) = (NONE, NONE);
        // SAFETY: they had values, and their links are kept until the slots are reused.
        unsafe { drop_all::<T, L, _>(self.slots.raw(), LinkedIndices::<T, L>::new(self.slots.raw(), range)) }
        debug_assert!(self.verify());
    }

    /// Removes and drops the values one by one. If a destructor panics, the others are dropped as well.
    #[cold]
    #[inline(never)]
    fn pop_all(&mut self) {
        struct Rest<'a, T, L: FieldLayout<T>, M: Memory>(&'a mut List<T, L, M>);

        impl<T, L: FieldLayout<T>, M: Memory> Rest<'_, T, L, M> {
            fn run(&mut self) {
                while self.0.pop_front().is_some() {}
            }
        }

        impl<T, L: FieldLayout<T>, M: Memory> Drop for Rest<'_, T, L, M> {
            fn drop(&mut self) {
                self.run();
            }
        }

        Rest(self).run();
        debug_assert!(self.verify());
    }

    // ---- slots ----

    /// The slot after one; after the end, the first one.
    fn after(&self, i: u32) -> u32 {
        if i == NONE {
            return self.front;
        }
        // SAFETY: a slot of the list.
        unsafe { (*self.slots.link(i)).next }
    }

    /// The slot before one; before the end, the last one.
    fn before(&self, i: u32) -> u32 {
        if i == NONE {
            return self.back;
        }
        // SAFETY: a slot of the list.
        unsafe { (*self.slots.link(i)).other }
    }

    fn at(&self, i: u32) -> Option<L::Ref<'_>> {
        // SAFETY: a slot of the list has a value, borrowed with it; here and below.
        (i != NONE).then(|| unsafe { L::get(self.slots.raw(), i as usize) })
    }

    fn at_mut(&mut self, i: u32) -> Option<L::Mut<'_>> {
        // SAFETY: see at.
        (i != NONE).then(|| unsafe { L::get_mut(self.slots.raw(), i as usize) })
    }

    fn handle_at(&self, i: u32) -> Option<Handle<T>> {
        // SAFETY: see at.
        (i != NONE).then(|| unsafe { self.slots.handle(i) })
    }

    /// Verifies the links: see `assertions.rs` of the crate `toft`.
    fn verify(&self) -> bool {
        debug_assert!(self.slots.verify());
        debug_assert!((self.front == NONE) == (self.back == NONE));
        debug_assert!((self.front == NONE) == self.is_empty());
        if !toft::__verifies(self.len()) {
            return true;
        }
        let (mut before, mut i, mut n) = (NONE, self.front, 0);
        while i != NONE {
            debug_assert!(n < self.len(), "the list has a cycle");
            // SAFETY: a slot of the list.
            let link = unsafe { *self.slots.link(i) };
            debug_assert!(link.other == before && link.generation % 2 == 1);
            (before, i, n) = (i, link.next, n + 1);
        }
        debug_assert!(before == self.back && n == self.len());
        true
    }

    /// The slots of the values, in their order.
    #[inline]
    fn in_order(&self) -> LinkedRange {
        LinkedRange::new(self.front, self.back, self.len())
    }

    /// Inserts a value between two neighbours, or at an end.
    ///
    /// # Safety
    /// There is a free slot; the two are neighbours.
    #[inline(always)]
    unsafe fn link_in(&mut self, value: T, before: u32, after: u32) -> Handle<T> {
        // SAFETY: the caller's contract.
        unsafe {
            let i = self.slots.insert(value, after, before);
            self.join(before, i, after);
            self.slots.handle(i)
        }
    }

    /// As `link_in`, with an error if there is no slot.
    ///
    /// # Safety
    /// The two are neighbours in the list; `NONE` is its end.
    #[inline(always)]
    unsafe fn try_link_in(&mut self, value: T, before: u32, after: u32) -> Result<Handle<T>, CapacityError<T>> {
        match self.slots.try_reserve(1) {
            // SAFETY: there is a free slot; the caller's contract.
            Ok(()) => Ok(unsafe { self.link_in(value, before, after) }),
            Err(AllocError) => Err(CapacityError(value)),
        }
    }

    /// # Safety
    /// The slot has a value and is not linked; the others are neighbours.
    unsafe fn link_between(&mut self, i: u32, before: u32, after: u32) {
        debug_assert!(i != before && i != after);
        // SAFETY: the caller's contract.
        unsafe {
            let link = self.slots.link(i);
            ((*link).other, (*link).next) = (before, after);
            self.join(before, i, after);
        }
        debug_assert!(self.verify());
    }

    /// # Safety
    /// The slots are of the list, or none.
    #[inline(always)]
    unsafe fn join(&mut self, before: u32, i: u32, after: u32) {
        // SAFETY: the caller's contract.
        unsafe {
            if before == NONE {
                self.front = i;
            } else {
                (*self.slots.link(before)).next = i;
            }
            if after == NONE {
                self.back = i;
            } else {
                (*self.slots.link(after)).other = i;
            }
        }
    }

    /// # Safety
    /// The slot is of the list.
    #[inline(always)]
    unsafe fn unlink(&mut self, i: u32) {
        // SAFETY: the caller's contract.
        unsafe {
            let link = *self.slots.link(i);
            if link.other == NONE {
                self.front = link.next;
            } else {
                (*self.slots.link(link.other)).next = link.next;
            }
            if link.next == NONE {
                self.back = link.other;
            } else {
                (*self.slots.link(link.next)).other = link.other;
            }
        }
    }

    /// # Safety
    /// The slot is of the list.
    #[inline(always)]
    unsafe fn take(&mut self, i: u32) -> T {
        // SAFETY: the caller's contract.
        unsafe {
            self.unlink(i);
            self.read(i)
        }
    }

    /// # Safety
    /// The slot has a value, and is unlinked.
    #[inline(always)]
    unsafe fn read(&mut self, i: u32) -> T {
        // SAFETY: the caller's contract; the value is his.
        unsafe {
            let value = L::read(self.slots.raw(), i as usize);
            self.slots.free_slot(i);
            value
        }
    }
}

impl<T, L: CloneIn<T>, M: Memory + Clone> Clone for List<T, L, M> {
    /// With each value in a slot of the same number: the handles are valid in both.
    ///
    /// # Panics
    /// There is no memory.
    fn clone(&self) -> Self {
        let clone = List { slots: self.slots.clone(), front: self.front, back: self.back };
        debug_assert!(clone.verify());
        clone
    }
}

impl<T, L: FieldLayout<T>, M: Memory> Drop for List<T, L, M> {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::List;
    use alloc::collections::BTreeSet;
    use alloc::rc::Rc;
    use alloc::vec::Vec;

    /// No handle is returned twice or has a generation from the last one on, however values are removed.
    #[test]
    fn slots_are_retired_before_generations_repeat() {
        // With more than `WORN` a clear frees all slots at once for some time.
        for (generations, steps) in [(254, 100_000), (u32::MAX / 2 + 61, 2000)] {
            let (mut list, mut returned) = (List::new(), BTreeSet::new());
            list.reserve(100);
            list.slots.set_generations(generations);
            let mut random = 1u64;
            for step in 0..if cfg!(miri) { 200 } else { steps } {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let handles: Vec<_> = list.handles().collect();
                match random >> 60 {
                    0..9 => {
                        let handle = list.push_back(step);
                        assert!(returned.insert(handle), "step {step}");
                        assert!(list.slots.uses_generation(handle, generations), "step {step}: {handle:?}");
                    }
                    9..14 if !handles.is_empty() => {
                        assert!(list.remove(handles[(random >> 33) as usize % handles.len()]).is_some());
                    }
                    14 => list = list.clone(),
                    _ if step % 5 == 0 => list.clear(),
                    _ => (),
                }
                assert_eq!(list.iter().count(), list.len());
            }
            assert_eq!(returned.iter().filter(|handle| list.get(**handle).is_some()).count(), list.len());
            assert!(list.slots.capacity() <= 2 * (100 + returned.len() / 64));
        }
    }

    #[test]
    fn a_fixed_list_of_retired_slots_is_full() {
        let mut list = List::fixed(2);
        list.slots.set_generations(6);
        for _ in 0..2 * 3 {
            let value = Rc::new(());
            list.push_back(value.clone());
            list.clear();
            assert_eq!(Rc::strong_count(&value), 1);
        }
        assert!(list.try_push_back(Rc::new(())).is_err() && list.clone().try_push_front(Rc::new(())).is_err());
        assert_eq!((list.len(), list.capacity(), list.iter().count()), (0, 2, 0));
        list.clear();
        assert!(list.try_push_back(Rc::new(())).is_err());
    }
}
