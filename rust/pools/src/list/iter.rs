//! The iterators of a list.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::super::cells::{follow, Link};
use super::super::key::{Handle, Key};
use super::super::layout::{Layout, Rows};
use super::super::run::{show_rest, View, ViewMut};
use super::List;
use toft::{Heap, Memory};

/// Where a walk along a list is. Each end guesses that the next cell lies as far from the last as that did from the one
/// before.
#[derive(Clone)]
pub(super) struct Walk {
    front: u32,
    back: u32,
    left: usize,
    ahead: u32,
    behind: u32,
}

impl Walk {
    #[inline]
    pub(super) fn new(front: u32, back: u32, left: usize) -> Walk {
        Walk { front, back, left, ahead: 1, behind: 1_u32.wrapping_neg() }
    }

    /// # Safety
    /// The walk is of a list, whose links are there.
    #[inline(always)]
    unsafe fn next(&mut self, link: impl FnOnce(usize) -> *mut Link) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let i = self.front;
        // SAFETY: the caller's contract.
        let next = unsafe { (*link(i as usize)).next };
        self.front = follow(next, i.wrapping_add(self.ahead), || self.ahead = next.wrapping_sub(i));
        Some(i as usize)
    }

    /// # Safety
    /// As for `next`.
    #[inline(always)]
    unsafe fn next_back(&mut self, link: impl FnOnce(usize) -> *mut Link) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let i = self.back;
        // SAFETY: the caller's contract.
        let next = unsafe { (*link(i as usize)).other };
        self.back = follow(next, i.wrapping_add(self.behind), || self.behind = next.wrapping_sub(i));
        Some(i as usize)
    }
}

/// The cells of a walk.
pub(super) struct Positions<T, L: Layout<T>>(L::Raw<Link>, Walk, PhantomData<T>);

impl<T, L: Layout<T>> Positions<T, L> {
    /// # Safety
    /// The walk is of a list, whose links are there and stay as they are.
    pub(super) unsafe fn new(raw: L::Raw<Link>, walk: Walk) -> Self {
        Positions(raw, walk, PhantomData)
    }
}

impl<T, L: Layout<T>> Iterator for Positions<T, L> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let raw = self.0;
        // SAFETY: the contract of `new`.
        unsafe { self.1.next(|i| L::meta(raw, i)) }
    }
}

/// The values of a [`List`], by [`List::iter`].
///
/// ```
/// use toft_pools::list::{Iter, List};
/// let list = List::from([1, 2]);
/// let iter: Iter<i32> = list.iter();
/// assert_eq!(iter.len(), 2);
/// ```
pub struct Iter<'a, T, L: Layout<T> = Rows> {
    view: View<'a, T, L, Link>,
    walk: Walk,
}

/// The values of a [`List`], exclusive, by [`List::iter_mut`].
///
/// ```
/// use toft_pools::list::{IterMut, List};
/// let mut list = List::from([1, 2]);
/// let iter: IterMut<i32> = list.iter_mut();
/// assert_eq!(iter.len(), 2);
/// ```
pub struct IterMut<'a, T, L: Layout<T> = Rows> {
    view: ViewMut<'a, T, L, Link>,
    walk: Walk,
}

/// The handles of a [`List`]'s values, by [`List::handles`].
///
/// ```
/// use toft_pools::list::{Handles, List};
/// let list = List::from([1, 2]);
/// let handles: Handles<i32> = list.handles();
/// assert!(handles.map(|handle| list[handle]).eq([1, 2]));
/// ```
pub struct Handles<'a, T, L: Layout<T> = Rows> {
    view: View<'a, T, L, Link>,
    walk: Walk,
}

/// A [`List`] whose values are taken out, the first one first: its `into_iter()`. What is left is dropped with it.
///
/// ```
/// use toft_pools::list::{IntoIter, List};
/// let mut iter: IntoIter<i32> = List::from([1, 2]).into_iter();
/// assert_eq!((iter.next_back(), iter.next(), iter.next()), (Some(2), Some(1), None));
/// ```
pub struct IntoIter<T, L: Layout<T> = Rows, M: Memory = Heap>(List<T, L, M>);

impl<T, L: Layout<T>> Iter<'_, T, L> {
    /// # Safety
    /// The walk is of a list whose values nobody changes for as long as the lifetime.
    #[inline]
    pub(super) unsafe fn new(raw: L::Raw<Link>, walk: Walk) -> Self {
        // SAFETY: the caller's contract.
        Iter { view: unsafe { View::new(raw) }, walk }
    }
}

impl<T, L: Layout<T>> IterMut<'_, T, L> {
    /// # Safety
    /// The walk is of a list whose values nobody else has for as long as the lifetime.
    #[inline]
    pub(super) unsafe fn new(raw: L::Raw<Link>, walk: Walk) -> Self {
        // SAFETY: the caller's contract.
        IterMut { view: unsafe { ViewMut::new(raw) }, walk }
    }
}

impl<T, L: Layout<T>> Handles<'_, T, L> {
    /// # Safety
    /// The walk is of a list that nobody changes for as long as the lifetime.
    #[inline]
    pub(super) unsafe fn new(raw: L::Raw<Link>, walk: Walk) -> Self {
        // SAFETY: the caller's contract.
        Handles { view: unsafe { View::new(raw) }, walk }
    }
}

macro_rules! walks {
    ($($name:ident, $item:ty, |$this:ident, $i:ident| $get:expr;)*) => {$(
        impl<'a, T: 'a, L: Layout<T> + 'a> Iterator for $name<'a, T, L> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let raw = self.view.raw();
                // SAFETY: the contract of `new`.
                let $i = unsafe { self.walk.next(|i| L::meta(raw, i)) }?;
                let $this = self;
                // SAFETY: the cell has a value, and comes once.
                Some(unsafe { $get })
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.walk.left, Some(self.walk.left))
            }

            #[inline]
            fn last(mut self) -> Option<Self::Item> {
                self.next_back()
            }
        }

        impl<'a, T: 'a, L: Layout<T> + 'a> DoubleEndedIterator for $name<'a, T, L> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                let raw = self.view.raw();
                // SAFETY: the contract of `new`.
                let $i = unsafe { self.walk.next_back(|i| L::meta(raw, i)) }?;
                let $this = self;
                // SAFETY: the cell has a value, and comes once.
                Some(unsafe { $get })
            }
        }

        impl<'a, T: 'a, L: Layout<T> + 'a> ExactSizeIterator for $name<'a, T, L> {}
        impl<'a, T: 'a, L: Layout<T> + 'a> FusedIterator for $name<'a, T, L> {}
    )*};
}

walks! {
    Iter, L::Ref<'a>, |this, i| this.view.get(i);
    IterMut, L::Mut<'a>, |this, i| this.view.get(i);
    Handles, Handle<T>, |this, i| Handle::new(i, (*L::meta(this.view.raw(), i)).generation);
}

macro_rules! clones {
    ($($name:ident)*) => {$(
        impl<T, L: Layout<T>> Clone for $name<'_, T, L> {
            fn clone(&self) -> Self {
                $name { view: self.view.clone(), walk: self.walk.clone() }
            }
        }
    )*};
}

clones!(Iter Handles);

impl<T, L: Layout<T>, M: Memory> Iterator for IntoIter<T, L, M> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.pop_front()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl<T, L: Layout<T>, M: Memory> DoubleEndedIterator for IntoIter<T, L, M> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        self.0.pop_back()
    }
}

impl<T, L: Layout<T>, M: Memory> ExactSizeIterator for IntoIter<T, L, M> {}
impl<T, L: Layout<T>, M: Memory> FusedIterator for IntoIter<T, L, M> {}

show_rest! {
    ['a, T: 'a, L: Layout<T> + 'a] Iter<'a, T, L>, "Iter";
    ['a, T: 'a, L: Layout<T> + 'a] IterMut<'a, T, L>, "IterMut";
    ['a, T: 'a, L: Layout<T> + 'a] Handles<'a, T, L>, "Handles";
    [T, L: Layout<T>, M: Memory] IntoIter<T, L, M>, "IntoIter";
}

impl<T, L: Layout<T>, M: Memory> IntoIterator for List<T, L, M> {
    type Item = T;
    type IntoIter = IntoIter<T, L, M>;

    fn into_iter(self) -> IntoIter<T, L, M> {
        IntoIter(self)
    }
}

impl<'a, T, L: Layout<T>, M: Memory> IntoIterator for &'a List<T, L, M> {
    type Item = L::Ref<'a>;
    type IntoIter = Iter<'a, T, L>;

    fn into_iter(self) -> Iter<'a, T, L> {
        self.iter()
    }
}

impl<'a, T, L: Layout<T>, M: Memory> IntoIterator for &'a mut List<T, L, M> {
    type Item = L::Mut<'a>;
    type IntoIter = IterMut<'a, T, L>;

    fn into_iter(self) -> IterMut<'a, T, L> {
        self.iter_mut()
    }
}
