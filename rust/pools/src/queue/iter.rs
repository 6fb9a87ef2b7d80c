//! The iterators over all values of a queue.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::mem::ManuallyDrop;

use super::super::layout::{Layout, Rows};
use super::super::run::{drop_all, show_rest, walk, walk_out, Runs, View, ViewMut};
use super::super::slots::Slots;
use super::Queue;
use toft::{Heap, Memory};

/// The values of a [`Queue`], by [`Queue::iter`].
///
/// ```
/// use toft_pools::queue::{Iter, Queue};
/// let queue = Queue::from(['a', 'b']);
/// let iter: Iter<char> = queue.iter();
/// assert_eq!(iter.len(), 2);
/// ```
pub struct Iter<'a, T, L: Layout<T> = Rows> {
    view: View<'a, T, L>,
    at: Runs,
}

impl<T, L: Layout<T>> Iter<'_, T, L> {
    /// # Safety
    /// The slots have values, which nobody changes for as long as the lifetime.
    #[inline]
    pub(super) unsafe fn new(raw: L::Raw<()>, at: Runs) -> Self {
        // SAFETY: the caller's contract.
        Iter { view: unsafe { View::new(raw) }, at }
    }
}

impl<T, L: Layout<T>> Clone for Iter<'_, T, L> {
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
pub struct IterMut<'a, T, L: Layout<T> = Rows> {
    view: ViewMut<'a, T, L>,
    at: Runs,
}

impl<T, L: Layout<T>> IterMut<'_, T, L> {
    /// # Safety
    /// The slots have values, which nobody else has for as long as the lifetime.
    #[inline]
    pub(super) unsafe fn new(raw: L::Raw<()>, at: Runs) -> Self {
        // SAFETY: the caller's contract.
        IterMut { view: unsafe { ViewMut::new(raw) }, at }
    }
}

walk!(['a, T: 'a, L: Layout<T> + 'a] Iter<'a, T, L>, L::Ref<'a>, |this, i| this.view.get(i));
walk!(['a, T: 'a, L: Layout<T> + 'a] IterMut<'a, T, L>, L::Mut<'a>, |this, i| this.view.get(i));

/// A [`Queue`] whose values are taken out, the first one first: its `into_iter()`. What is
/// left is dropped with it.
///
/// ```
/// use toft_pools::queue::{IntoIter, Queue};
/// let queue = Queue::from(['a', 'b']);
/// let mut iter: IntoIter<char> = queue.into_iter();
/// assert_eq!((iter.next_back(), iter.next(), iter.next()), (Some('b'), Some('a'), None));
/// ```
pub struct IntoIter<T, L: Layout<T> = Rows, M: Memory = Heap> {
    slots: Slots<T, L, (), M>,
    at: Runs,
}

impl<T, L: Layout<T>, M: Memory> Drop for IntoIter<T, L, M> {
    fn drop(&mut self) {
        // SAFETY: these have values, and are asked for no more.
        unsafe { drop_all::<T, L, ()>(self.slots.raw(), self.at.clone()) }
    }
}

walk_out!([T, L: Layout<T>, M: Memory] IntoIter<T, L, M>, T, |this, i| L::read(this.slots.raw(), i));

show_rest! {
    [T, L: Layout<T>] Iter<'_, T, L>, "Iter";
    [T, L: Layout<T>] IterMut<'_, T, L>, "IterMut";
    [T, L: Layout<T>, M: Memory] IntoIter<T, L, M>, "IntoIter";
}

impl<T, L: Layout<T>, M: Memory> IntoIterator for Queue<T, L, M> {
    type Item = T;
    type IntoIter = IntoIter<T, L, M>;

    fn into_iter(self) -> IntoIter<T, L, M> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the queue is not used again, and not dropped.
        IntoIter { slots: unsafe { core::ptr::read(&this.slots) }, at: this.runs() }
    }
}

impl<'a, T, L: Layout<T>, M: Memory> IntoIterator for &'a Queue<T, L, M> {
    type Item = L::Ref<'a>;
    type IntoIter = Iter<'a, T, L>;

    fn into_iter(self) -> Iter<'a, T, L> {
        self.iter()
    }
}

impl<'a, T, L: Layout<T>, M: Memory> IntoIterator for &'a mut Queue<T, L, M> {
    type Item = L::Mut<'a>;
    type IntoIter = IterMut<'a, T, L>;

    fn into_iter(self) -> IterMut<'a, T, L> {
        self.iter_mut()
    }
}
