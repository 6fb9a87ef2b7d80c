//! The iterators over all values of a queue.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::mem::ManuallyDrop;
use core::ops::RangeBounds;

use super::Queue;
use crate::contiguous::{
    debug_remaining, double_ended_iterator, draining_iterator, drop_all, resolve_range, SlotRanges, View, ViewMut,
};
use crate::field_layout::{FieldLayout, Rows};
use crate::slots::Slots;
use toft::{Heap, Memory};

/// The values of a [`Queue`], by [`Queue::iter`].
///
/// ```
/// use toft_pools::queue::{Iter, Queue};
/// let queue = Queue::from(['a', 'b']);
/// let iter: Iter<char> = queue.iter();
/// assert_eq!(iter.len(), 2);
/// ```
pub struct Iter<'a, T, L: FieldLayout<T> = Rows> {
    view: View<'a, T, L>,
    at: SlotRanges,
}

impl<T, L: FieldLayout<T>> Iter<'_, T, L> {
    /// # Safety
    /// The slots have values, which nothing changes during the lifetime.
    #[inline]
    pub(super) unsafe fn new(raw: L::Raw<()>, at: SlotRanges) -> Self {
        // SAFETY: the caller's contract.
        Iter { view: unsafe { View::new(raw) }, at }
    }
}

impl<T, L: FieldLayout<T>> Clone for Iter<'_, T, L> {
    fn clone(&self) -> Self {
        Iter { view: self.view.clone(), at: self.at.clone() }
    }
}

/// The values of a [`Queue`], exclusive, by [`Queue::iter_mut`].
///
/// ```
/// use toft_pools::queue::{IterMut, Queue};
/// let mut queue = Queue::from(['a', 'b']);
/// let iter: IterMut<char> = queue.iter_mut();
/// assert_eq!(iter.len(), 2);
/// ```
pub struct IterMut<'a, T, L: FieldLayout<T> = Rows> {
    view: ViewMut<'a, T, L>,
    at: SlotRanges,
}

impl<T, L: FieldLayout<T>> IterMut<'_, T, L> {
    /// # Safety
    /// The slots have values, to which no other reference exists during the lifetime.
    #[inline]
    pub(super) unsafe fn new(raw: L::Raw<()>, at: SlotRanges) -> Self {
        // SAFETY: the caller's contract.
        IterMut { view: unsafe { ViewMut::new(raw) }, at }
    }
}

double_ended_iterator!(['a, T: 'a, L: FieldLayout<T> + 'a] Iter<'a, T, L>, L::Ref<'a>, |this, i| this.view.get(i));
double_ended_iterator!(['a, T: 'a, L: FieldLayout<T> + 'a] IterMut<'a, T, L>, L::Mut<'a>, |this, i| this.view.get(i));

/// A [`Queue`] whose values are returned in order: its `into_iter()`. Dropping the
/// iterator drops the remaining ones.
///
/// ```
/// use toft_pools::queue::{IntoIter, Queue};
/// let queue = Queue::from(['a', 'b']);
/// let mut iter: IntoIter<char> = queue.into_iter();
/// assert_eq!((iter.next_back(), iter.next(), iter.next()), (Some('b'), Some('a'), None));
/// ```
pub struct IntoIter<T, L: FieldLayout<T> = Rows, M: Memory = Heap> {
    slots: Slots<T, L, (), M>,
    at: SlotRanges,
}

impl<T, L: FieldLayout<T>, M: Memory> Drop for IntoIter<T, L, M> {
    fn drop(&mut self) {
        // SAFETY: these slots have values and are not read again.
        unsafe { drop_all::<T, L, ()>(self.slots.raw(), self.at.clone()) }
    }
}

draining_iterator!([T, L: FieldLayout<T>, M: Memory] IntoIter<T, L, M>, T, |this, i| L::read(this.slots.raw(), i));

debug_remaining! {
    [T, L: FieldLayout<T>] Iter<'_, T, L>, "Iter";
    [T, L: FieldLayout<T>] IterMut<'_, T, L>, "IterMut";
    [T, L: FieldLayout<T>, M: Memory] IntoIter<T, L, M>, "IntoIter";
}

impl<T, L: FieldLayout<T>, M: Memory> Queue<T, L, M> {
    /// The values, from the front on.
    ///
    /// ```
    /// let queue = toft_pools::Queue::from([1, 2]);
    /// assert!(queue.iter().rev().eq(&[2, 1]));
    /// ```
    #[inline]
    pub fn iter(&self) -> Iter<'_, T, L> {
        // SAFETY: see get.
        unsafe { Iter::new(self.slots.raw(), self.slot_ranges()) }
    }

    /// The values, mutable, from the front on.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2]);
    /// queue.iter_mut().for_each(|value| *value *= 10);
    /// assert_eq!(queue, [10, 20]);
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, T, L> {
        // SAFETY: see get.
        unsafe { IterMut::new(self.slots.raw(), self.slot_ranges()) }
    }

    /// The values of a range of positions.
    ///
    /// ```
    /// let queue = toft_pools::Queue::from([1, 2, 3]);
    /// assert!(queue.range(1..).eq(&[2, 3]));
    /// ```
    ///
    /// # Panics
    /// The range is not within the queue.
    #[track_caller]
    pub fn range(&self, range: impl RangeBounds<usize>) -> Iter<'_, T, L> {
        let at = self.slot_ranges_of(resolve_range(range, self.len()));
        // SAFETY: see get.
        unsafe { Iter::new(self.slots.raw(), at) }
    }

    /// The values of a range of positions, mutable.
    ///
    /// ```
    /// let mut queue = toft_pools::Queue::from([1, 2, 3]);
    /// queue.range_mut(1..).for_each(|value| *value = 0);
    /// assert_eq!(queue, [1, 0, 0]);
    /// ```
    ///
    /// # Panics
    /// The range is not within the queue.
    #[track_caller]
    pub fn range_mut(&mut self, range: impl RangeBounds<usize>) -> IterMut<'_, T, L> {
        let at = self.slot_ranges_of(resolve_range(range, self.len()));
        // SAFETY: see get.
        unsafe { IterMut::new(self.slots.raw(), at) }
    }
}

impl<T, L: FieldLayout<T>, M: Memory> IntoIterator for Queue<T, L, M> {
    type Item = T;
    type IntoIter = IntoIter<T, L, M>;

    fn into_iter(self) -> IntoIter<T, L, M> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the queue is not used again, and not dropped.
        IntoIter { slots: unsafe { core::ptr::read(&this.slots) }, at: this.slot_ranges() }
    }
}

impl<'a, T, L: FieldLayout<T>, M: Memory> IntoIterator for &'a Queue<T, L, M> {
    type Item = L::Ref<'a>;
    type IntoIter = Iter<'a, T, L>;

    fn into_iter(self) -> Iter<'a, T, L> {
        self.iter()
    }
}

impl<'a, T, L: FieldLayout<T>, M: Memory> IntoIterator for &'a mut Queue<T, L, M> {
    type Item = L::Mut<'a>;
    type IntoIter = IterMut<'a, T, L>;

    fn into_iter(self) -> IterMut<'a, T, L> {
        self.iter_mut()
    }
}
