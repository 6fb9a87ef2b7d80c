//! The iterators of a list that shares its tail.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;

use super::super::cells::{follow, Link, NONE};
use super::super::layout::{Layout, Rows};
use super::super::run::View;

/// Where a walk along a list is: at a cell that has a value, or at the end.
#[derive(Clone)]
struct Walk {
    at: u32,
    /// How far the next cell is guessed to lie from this one: as far as the last did.
    stride: u32,
}

impl Walk {
    fn new(at: Option<u32>) -> Walk {
        Walk { at: at.unwrap_or(NONE), stride: 1_u32.wrapping_neg() }
    }

    /// # Safety
    /// The walk is of cells whose links are there.
    #[inline(always)]
    unsafe fn next(&mut self, link: impl Fn(usize) -> *mut Link) -> Option<usize> {
        let i = self.at;
        if i == NONE {
            return None;
        }
        // SAFETY: the caller's contract. A link is to a cell that had a value when it was made, so that one has a link.
        unsafe {
            let Link { next, other, .. } = *link(i as usize);
            self.at = NONE;
            if other != 0 {
                let at = follow(next, i.wrapping_add(self.stride), || self.stride = next.wrapping_sub(i));
                if (*link(at as usize)).generation == other {
                    self.at = at;
                }
            }
        }
        Some(i as usize)
    }
}

/// The values of a list, by [`ConsList::iter`](super::ConsList::iter).
///
/// ```
/// use toft_pools::cons::{ConsList, Iter};
/// let mut cells = ConsList::new();
/// let list = cells.list([1, 2], None);
/// let iter: Iter<i32> = cells.iter(list);
/// assert_eq!(iter.count(), 2);
/// ```
pub struct Iter<'a, T, L: Layout<T> = Rows> {
    view: View<'a, T, L, Link>,
    walk: Walk,
}

impl<T, L: Layout<T>> Iter<'_, T, L> {
    /// # Safety
    /// The cell, if there is one, has a value; nobody changes the cells or their values for as long as the lifetime.
    #[inline]
    pub(super) unsafe fn new(raw: L::Raw<Link>, at: Option<u32>) -> Self {
        // SAFETY: the caller's contract.
        Iter { view: unsafe { View::new(raw) }, walk: Walk::new(at) }
    }
}

impl<'a, T: 'a, L: Layout<T> + 'a> Iterator for Iter<'a, T, L> {
    type Item = L::Ref<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let raw = self.view.raw();
        // SAFETY: the contract of `new`.
        unsafe {
            let i = self.walk.next(|i| L::meta(raw, i))?;
            Some(self.view.get(i))
        }
    }
}

impl<'a, T: 'a, L: Layout<T> + 'a> FusedIterator for Iter<'a, T, L> {}

impl<T, L: Layout<T>> fmt::Debug for Iter<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("ended", &(self.walk.at == NONE)).finish()
    }
}

impl<T, L: Layout<T>> Clone for Iter<'_, T, L> {
    fn clone(&self) -> Self {
        Iter { view: self.view.clone(), walk: self.walk.clone() }
    }
}
