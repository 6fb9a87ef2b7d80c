//! The iterators of a ring, and of a queue.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;

use super::super::layout::{Layout, Rows};
use super::super::run::{drop_all, show_rest, walk, walk_out, Runs, View, ViewMut};
use super::super::slots::Slots;
use super::{Ring, RingIndex};
use toft::{Heap, Memory};

/// The values of a [`Ring`] or a [`Queue`](crate::Queue), by their `iter`.
///
/// ```
/// use toft_pools::ring::{Iter, Ring};
/// let ring: Ring<_> = ['a', 'b'].into_iter().collect();
/// let iter: Iter<char> = ring.iter();
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
    pub(crate) unsafe fn new(raw: L::Raw<()>, at: Runs) -> Self {
        // SAFETY: the caller's contract.
        Iter { view: unsafe { View::new(raw) }, at }
    }
}

impl<T, L: Layout<T>> Clone for Iter<'_, T, L> {
    fn clone(&self) -> Self {
        Iter { view: self.view.clone(), at: self.at.clone() }
    }
}

/// The values of a [`Ring`] or a [`Queue`](crate::Queue), exclusive, by their `iter_mut`.
///
/// ```
/// use toft_pools::ring::{IterMut, Ring};
/// let mut ring: Ring<_> = ['a', 'b'].into_iter().collect();
/// let iter: IterMut<char> = ring.iter_mut();
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
    pub(crate) unsafe fn new(raw: L::Raw<()>, at: Runs) -> Self {
        // SAFETY: the caller's contract.
        IterMut { view: unsafe { ViewMut::new(raw) }, at }
    }
}

walk!(['a, T: 'a, L: Layout<T> + 'a] Iter<'a, T, L>, L::Ref<'a>, |this, i| this.view.get(i));
walk!(['a, T: 'a, L: Layout<T> + 'a] IterMut<'a, T, L>, L::Mut<'a>, |this, i| this.view.get(i));

/// A [`Ring`] or a [`Queue`](crate::Queue) whose values are taken out, the first one first: their `into_iter()`. What is
/// left is dropped with it.
///
/// ```
/// use toft_pools::ring::{IntoIter, Ring};
/// let ring: Ring<_> = ['a', 'b'].into_iter().collect();
/// let mut iter: IntoIter<char> = ring.into_iter();
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

/// The values of a [`Ring`], taken out by [`Ring::drain`].
///
/// ```
/// use toft_pools::ring::{Drain, Ring};
/// let mut ring: Ring<_> = ['a', 'b'].into_iter().collect();
/// let drain: Drain<char> = ring.drain();
/// assert_eq!(drain.len(), 2);
/// ```
pub struct Drain<'a, T, L: Layout<T> = Rows, I: RingIndex = u32, M: Memory = Heap> {
    ring: &'a mut Ring<T, L, I, M>,
    at: Runs,
}

impl<'a, T, L: Layout<T>, I: RingIndex, M: Memory> Drain<'a, T, L, I, M> {
    /// The slots have values that are the ring's no more.
    pub(super) fn new(ring: &'a mut Ring<T, L, I, M>, at: Runs) -> Self {
        Drain { ring, at }
    }
}

impl<T, L: Layout<T>, I: RingIndex, M: Memory> Drop for Drain<'_, T, L, I, M> {
    fn drop(&mut self) {
        // SAFETY: these have values, and are asked for no more.
        unsafe { drop_all::<T, L, ()>(self.ring.slots.raw(), self.at.clone()) }
    }
}

walk_out! {
    ['a, T, L: Layout<T>, I: RingIndex, M: Memory] Drain<'a, T, L, I, M>, T, |this, i| L::read(this.ring.slots.raw(), i)
}

/// The indices of a [`Ring`]'s values, by [`Ring::indices`].
///
/// ```
/// use toft_pools::ring::{Indices, Ring};
/// let ring: Ring<_> = ['a', 'b'].into_iter().collect();
/// let indices: Indices<u32> = ring.indices();
/// assert_eq!(indices.len(), 2);
/// ```
#[derive(Clone)]
pub struct Indices<I> {
    next: usize,
    left: usize,
    of: PhantomData<I>,
}

impl<I> Indices<I> {
    pub(super) fn new(next: usize, left: usize) -> Self {
        Indices { next, left, of: PhantomData }
    }
}

impl<I: RingIndex> Iterator for Indices<I> {
    type Item = I;

    #[inline]
    fn next(&mut self) -> Option<I> {
        self.left = self.left.checked_sub(1)?;
        let count = self.next;
        self.next = count.wrapping_add(1);
        Some(I::new(count))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<I: RingIndex> DoubleEndedIterator for Indices<I> {
    #[inline]
    fn next_back(&mut self) -> Option<I> {
        self.left = self.left.checked_sub(1)?;
        Some(I::new(self.next.wrapping_add(self.left)))
    }
}

impl<I: RingIndex> ExactSizeIterator for Indices<I> {}
impl<I: RingIndex> FusedIterator for Indices<I> {}

show_rest! {
    [T, L: Layout<T>] Iter<'_, T, L>, "Iter";
    [T, L: Layout<T>] IterMut<'_, T, L>, "IterMut";
    [T, L: Layout<T>, M: Memory] IntoIter<T, L, M>, "IntoIter";
    [T, L: Layout<T>, I: RingIndex, M: Memory] Drain<'_, T, L, I, M>, "Drain";
    [I: RingIndex] Indices<I>, "Indices";
}

impl<T, L: Layout<T>, I: RingIndex, M: Memory> IntoIterator for Ring<T, L, I, M> {
    type Item = T;
    type IntoIter = IntoIter<T, L, M>;

    fn into_iter(self) -> IntoIter<T, L, M> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the ring is not used again, and not dropped.
        IntoIter { slots: unsafe { core::ptr::read(&this.slots) }, at: this.runs() }
    }
}

impl<'a, T, L: Layout<T>, I: RingIndex, M: Memory> IntoIterator for &'a Ring<T, L, I, M> {
    type Item = L::Ref<'a>;
    type IntoIter = Iter<'a, T, L>;

    fn into_iter(self) -> Iter<'a, T, L> {
        self.iter()
    }
}

impl<'a, T, L: Layout<T>, I: RingIndex, M: Memory> IntoIterator for &'a mut Ring<T, L, I, M> {
    type Item = L::Mut<'a>;
    type IntoIter = IterMut<'a, T, L>;

    fn into_iter(self) -> IterMut<'a, T, L> {
        self.iter_mut()
    }
}
