//! The iterators of a stack.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::mem::ManuallyDrop;
use core::ops::{Range, RangeBounds};

use super::Stack;
use crate::contiguous::{
    debug_remaining, double_ended_iterator, draining_iterator, drop_all, resolve_range, View, ViewMut,
};
use crate::field_layout::{FieldLayout, Rows};
use crate::slots::Slots;
use toft::{Heap, Memory};

/// The values of a [`Stack`], by [`Stack::iter`].
///
/// ```
/// let stack = toft_pools::Stack::from([1, 2]);
/// let iter: toft_pools::stack::Iter<i32> = stack.iter();
/// assert_eq!(iter.len(), 2);
/// ```
pub struct Iter<'a, T, L: FieldLayout<T> = Rows> {
    view: View<'a, T, L>,
    at: Range<usize>,
}

impl<T, L: FieldLayout<T>> Iter<'_, T, L> {
    /// # Safety
    /// The slots have values, which nothing changes during the lifetime.
    #[inline]
    pub(super) unsafe fn new(raw: L::Raw<()>, at: Range<usize>) -> Self {
        // SAFETY: the caller's contract.
        Iter { view: unsafe { View::new(raw) }, at }
    }
}

impl<T, L: FieldLayout<T>> Clone for Iter<'_, T, L> {
    fn clone(&self) -> Self {
        Iter { view: self.view.clone(), at: self.at.clone() }
    }
}

/// The values of a [`Stack`], mutable, by [`Stack::iter_mut`].
///
/// ```
/// let mut stack = toft_pools::Stack::from([1, 2]);
/// let iter: toft_pools::stack::IterMut<i32> = stack.iter_mut();
/// assert_eq!(iter.len(), 2);
/// ```
pub struct IterMut<'a, T, L: FieldLayout<T> = Rows> {
    view: ViewMut<'a, T, L>,
    at: Range<usize>,
}

impl<T, L: FieldLayout<T>> IterMut<'_, T, L> {
    /// # Safety
    /// The slots have values, to which no other reference exists during the lifetime.
    #[inline]
    pub(super) unsafe fn new(raw: L::Raw<()>, at: Range<usize>) -> Self {
        // SAFETY: the caller's contract.
        IterMut { view: unsafe { ViewMut::new(raw) }, at }
    }
}

double_ended_iterator!(['a, T: 'a, L: FieldLayout<T> + 'a] Iter<'a, T, L>, L::Ref<'a>, |this, i| this.view.get(i));
double_ended_iterator!(['a, T: 'a, L: FieldLayout<T> + 'a] IterMut<'a, T, L>, L::Mut<'a>, |this, i| this.view.get(i));

/// The values of a [`Stack`] by value, from the oldest on: its `into_iter()`. Dropping the iterator drops the remaining
/// ones.
///
/// ```
/// let mut iter: toft_pools::stack::IntoIter<i32> = toft_pools::Stack::from([1, 2]).into_iter();
/// assert_eq!((iter.next_back(), iter.next(), iter.next()), (Some(2), Some(1), None));
/// ```
pub struct IntoIter<T, L: FieldLayout<T> = Rows, M: Memory = Heap> {
    slots: Slots<T, L, (), M>,
    at: Range<usize>,
}

impl<T, L: FieldLayout<T>, M: Memory> Drop for IntoIter<T, L, M> {
    fn drop(&mut self) {
        // SAFETY: these slots have values and are not read again.
        unsafe { drop_all::<T, L, ()>(self.slots.raw(), self.at.clone()) }
    }
}

draining_iterator!([T, L: FieldLayout<T>, M: Memory] IntoIter<T, L, M>, T, |this, i| L::read(this.slots.raw(), i));

/// The removed values of a range of a [`Stack`]: [`Stack::drain`].
///
/// ```
/// let mut stack = toft_pools::Stack::from([1, 2]);
/// let drain: toft_pools::stack::Drain<i32> = stack.drain(..);
/// assert_eq!(drain.len(), 2);
/// ```
pub struct Drain<'a, T, L: FieldLayout<T> = Rows, M: Memory = Heap> {
    stack: &'a mut Stack<T, L, M>,
    at: Range<usize>,
    /// The positions after the range.
    rest: Range<usize>,
}

impl<'a, T, L: FieldLayout<T>, M: Memory> Drain<'a, T, L, M> {
    pub(super) fn new(stack: &'a mut Stack<T, L, M>, at: Range<usize>) -> Self {
        let rest = at.end..stack.len;
        // Until the iterator is dropped, the stack has only the values before the range: if it is leaked, so are the
        // others.
        stack.len = at.start;
        Drain { stack, at, rest }
    }
}

impl<T, L: FieldLayout<T>, M: Memory> Drop for Drain<'_, T, L, M> {
    fn drop(&mut self) {
        /// Closes the gap, also if a destructor panics.
        struct Close<'b, T, L: FieldLayout<T>, M: Memory>(&'b mut Stack<T, L, M>, Range<usize>);

        impl<T, L: FieldLayout<T>, M: Memory> Drop for Close<'_, T, L, M> {
            fn drop(&mut self) {
                let (stack, rest) = (&mut *self.0, &self.1);
                // SAFETY: the positions after the range have values, and those between the stack's end and them have
                // none.
                unsafe { L::shift(stack.slots.raw(), rest.start, stack.len, rest.len()) }
                stack.len += rest.len();
            }
        }

        let close = Close(self.stack, self.rest.clone());
        // SAFETY: these slots have values and are not read again.
        unsafe { drop_all::<T, L, ()>(close.0.slots.raw(), self.at.clone()) }
    }
}

draining_iterator!(['a, T, L: FieldLayout<T>, M: Memory] Drain<'a, T, L, M>, T, |this, i| L::read(this.stack.slots.raw(), i));

debug_remaining! {
    [T, L: FieldLayout<T>] Iter<'_, T, L>, "Iter";
    [T, L: FieldLayout<T>] IterMut<'_, T, L>, "IterMut";
    [T, L: FieldLayout<T>, M: Memory] IntoIter<T, L, M>, "IntoIter";
    [T, L: FieldLayout<T>, M: Memory] Drain<'_, T, L, M>, "Drain";
}

impl<T, L: FieldLayout<T>, M: Memory> Stack<T, L, M> {
    /// Removes the values of a range and returns them one by one. Dropping the iterator drops the remaining ones, and
    /// the values after the range move. O(n).
    ///
    /// If the iterator is leaked, so are the values from the start of the range on.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::from(['a', 'b', 'c', 'd']);
    /// assert!(stack.drain(1..3).eq(['b', 'c']));
    /// assert_eq!(stack, ['a', 'd']);
    /// ```
    ///
    /// # Panics
    /// The range is not within the stack.
    #[track_caller]
    pub fn drain(&mut self, range: impl RangeBounds<usize>) -> Drain<'_, T, L, M> {
        let at = resolve_range(range, self.len);
        Drain::new(self, at)
    }

    /// The values, from the oldest on.
    ///
    /// ```
    /// let stack = toft_pools::Stack::from([1, 2, 3]);
    /// assert_eq!(stack.iter().rev().next(), Some(&3));
    /// ```
    #[inline]
    pub fn iter(&self) -> Iter<'_, T, L> {
        // SAFETY: the values are borrowed with the stack.
        unsafe { Iter::new(self.slots.raw(), 0..self.len) }
    }

    /// The values, mutable, from the oldest on.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::from([1, 2]);
    /// stack.iter_mut().for_each(|value| *value *= 10);
    /// assert_eq!(stack, [10, 20]);
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, T, L> {
        // SAFETY: see iter.
        unsafe { IterMut::new(self.slots.raw(), 0..self.len) }
    }
}

impl<T, L: FieldLayout<T>, M: Memory> IntoIterator for Stack<T, L, M> {
    type Item = T;
    type IntoIter = IntoIter<T, L, M>;

    fn into_iter(self) -> IntoIter<T, L, M> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the stack is not used again, and not dropped.
        IntoIter { slots: unsafe { core::ptr::read(&this.slots) }, at: 0..this.len }
    }
}

impl<'a, T, L: FieldLayout<T>, M: Memory> IntoIterator for &'a Stack<T, L, M> {
    type Item = L::Ref<'a>;
    type IntoIter = Iter<'a, T, L>;

    fn into_iter(self) -> Iter<'a, T, L> {
        self.iter()
    }
}

impl<'a, T, L: FieldLayout<T>, M: Memory> IntoIterator for &'a mut Stack<T, L, M> {
    type Item = L::Mut<'a>;
    type IntoIter = IterMut<'a, T, L>;

    fn into_iter(self) -> IterMut<'a, T, L> {
        self.iter_mut()
    }
}
