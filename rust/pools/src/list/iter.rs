//! The iterators of a list.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::iter::FusedIterator;

use super::List;
use crate::key::{Handle, Key};
use crate::linked_slots::{Link, LinkedRange};
use crate::sequence::reference_iterators;

reference_iterators!(List, "list", Link, LinkedRange);

/// The handles of a [`List`]'s values, by [`List::handles`].
///
/// ```
/// use toft_pools::list::{Handles, List};
/// let list = List::from([1, 2]);
/// let handles: Handles<i32> = list.handles();
/// assert!(handles.map(|handle| list[handle]).eq([1, 2]));
/// ```
pub struct Handles<'a, T, L: FieldLayout<T> = Rows> {
    view: View<'a, T, L, Link>,
    at: LinkedRange,
}

/// A [`List`] by value, in order: its `into_iter()`. Dropping the iterator drops the remaining values.
///
/// ```
/// use toft_pools::list::{IntoIter, List};
/// let mut iter: IntoIter<i32> = List::from([1, 2]).into_iter();
/// assert_eq!((iter.next_back(), iter.next(), iter.next()), (Some(2), Some(1), None));
/// ```
pub struct IntoIter<T, L: FieldLayout<T> = Rows, M: Memory = Heap>(List<T, L, M>);

impl<T, L: FieldLayout<T>> Handles<'_, T, L> {
    /// # Safety
    /// The range is that of a list that does not change during the lifetime.
    #[inline]
    pub(super) unsafe fn new(raw: L::Raw<Link>, at: LinkedRange) -> Self {
        // SAFETY: the caller's contract.
        Handles { view: unsafe { View::new(raw) }, at }
    }
}

macro_rules! iterators {
    ($($name:ident, $item:ty, |$this:ident, $i:ident| $get:expr;)*) => {$(
        impl<'a, T: 'a, L: FieldLayout<T> + 'a> Iterator for $name<'a, T, L> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let raw = self.view.raw();
                // SAFETY: the contract of `new`.
                let $i = unsafe { self.at.next(|i| L::meta(raw, i)) }?;
                let $this = self;
                // SAFETY: the slot has a value, and is returned once.
                Some(unsafe { $get })
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.at.remaining, Some(self.at.remaining))
            }

            #[inline]
            fn last(mut self) -> Option<Self::Item> {
                self.next_back()
            }
        }

        impl<'a, T: 'a, L: FieldLayout<T> + 'a> DoubleEndedIterator for $name<'a, T, L> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                let raw = self.view.raw();
                // SAFETY: the contract of `new`.
                let $i = unsafe { self.at.next_back(|i| L::meta(raw, i)) }?;
                let $this = self;
                // SAFETY: the slot has a value, and is returned once.
                Some(unsafe { $get })
            }
        }

        impl<'a, T: 'a, L: FieldLayout<T> + 'a> ExactSizeIterator for $name<'a, T, L> {}
        impl<'a, T: 'a, L: FieldLayout<T> + 'a> FusedIterator for $name<'a, T, L> {}
    )*};
}

iterators! {
    Iter, L::Ref<'a>, |this, i| this.view.get(i);
    IterMut, L::Mut<'a>, |this, i| this.view.get(i);
    Handles, Handle<T>, |this, i| Key::<T>::new(i, (*L::meta(this.view.raw(), i)).generation);
}

impl<T, L: FieldLayout<T>> Clone for Handles<'_, T, L> {
    fn clone(&self) -> Self {
        Handles { view: self.view.clone(), at: self.at.clone() }
    }
}

impl<T, L: FieldLayout<T>, M: Memory> Iterator for IntoIter<T, L, M> {
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

impl<T, L: FieldLayout<T>, M: Memory> DoubleEndedIterator for IntoIter<T, L, M> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        self.0.pop_back()
    }
}

impl<T, L: FieldLayout<T>, M: Memory> ExactSizeIterator for IntoIter<T, L, M> {}
impl<T, L: FieldLayout<T>, M: Memory> FusedIterator for IntoIter<T, L, M> {}

debug_remaining! {
    ['a, T: 'a, L: FieldLayout<T> + 'a] Handles<'a, T, L>, "Handles";
}

impl<T, L: FieldLayout<T>, M: Memory> List<T, L, M> {
    /// The handles of the values, from the front on.
    ///
    /// ```
    /// let mut list = toft_pools::List::new();
    /// let (one, two) = (list.push_back(1), list.push_back(2));
    /// assert!(list.handles().eq([one, two]));
    /// ```
    pub fn handles(&self) -> Handles<'_, T, L> {
        // SAFETY: the values are borrowed with the list.
        unsafe { Handles::new(self.slots.raw(), self.in_order()) }
    }
}

impl<T, L: FieldLayout<T>, M: Memory> IntoIterator for List<T, L, M> {
    type Item = T;
    type IntoIter = IntoIter<T, L, M>;

    fn into_iter(self) -> IntoIter<T, L, M> {
        IntoIter(self)
    }
}
