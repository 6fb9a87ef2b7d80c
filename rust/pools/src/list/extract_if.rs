//! The iterator of `List::extract_if`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;

use super::List;
use crate::columnar::Columnar;
use crate::field_layout::{Columns, FieldLayout, Rows};
use crate::linked_slots::{Link, NONE};
use toft::{Heap, Memory};

/// The values of a [`List`] that a function accepts: [`List::extract_if`]. Values that were not visited when it is
/// dropped stay in the list.
#[must_use = "it removes nothing until it is iterated; retain_mut drops values"]
pub struct ExtractIf<'a, T, F, L: FieldLayout<T> = Rows, M: Memory = Heap> {
    list: &'a mut List<T, L, M>,
    /// The slot of the next value to visit.
    next: u32,
    accepts: F,
}

impl<T, L: FieldLayout<T>, M: Memory> List<T, L, M> {
    /// Removes the first value that is accepted from slot `next` on, which becomes the slot after it. If the function
    /// panics, `next` is the slot of its value.
    #[inline]
    fn extract_next(&mut self, next: &mut u32, mut accepts: impl FnMut(L::Raw<Link>, usize) -> bool) -> Option<T> {
        while *next != NONE {
            let i = *next;
            let accepted = accepts(self.slots.raw(), i as usize);
            // SAFETY: a slot of the list.
            unsafe {
                *next = (*self.slots.link(i)).next;
                if accepted {
                    return Some(self.take(i));
                }
            }
        }
        None
    }
}

impl<T, M: Memory> List<T, Rows, M> {
    /// Removes the values for which `accepts` returns true, and returns them by an iterator, which calls it for one
    /// value after another from the front on. O(n). The function may change the values that stay.
    ///
    /// If the function panics, its value stays in the list; so do the values not visited when the iterator is leaked.
    ///
    /// ```
    /// let mut list = toft_pools::List::from([1, 2, 3, 4]);
    /// assert!(list.extract_if(|value| *value % 2 == 0).eq([2, 4]));
    /// assert!(list.iter().eq(&[1, 3]));
    /// ```
    pub fn extract_if<F: FnMut(&mut T) -> bool>(&mut self, accepts: F) -> ExtractIf<'_, T, F, Rows, M> {
        ExtractIf { next: self.front, list: self, accepts }
    }
}

impl<T: Columnar, M: Memory> List<T, Columns, M> {
    /// Removes the values for which `accepts` returns true, and returns them by an iterator, as a list of rows does.
    pub fn extract_if<F: FnMut(T::Mut<'_>) -> bool>(&mut self, accepts: F) -> ExtractIf<'_, T, F, Columns, M> {
        ExtractIf { next: self.front, list: self, accepts }
    }
}

impl<T, F: FnMut(&mut T) -> bool, M: Memory> Iterator for ExtractIf<'_, T, F, Rows, M> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let accepts = &mut self.accepts;
        // SAFETY: the slot has a value.
        self.list.extract_next(&mut self.next, |raw, i| accepts(unsafe { <Rows as FieldLayout<T>>::get_mut(raw, i) }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.list.len()))
    }
}

impl<T: Columnar, F: FnMut(T::Mut<'_>) -> bool, M: Memory> Iterator for ExtractIf<'_, T, F, Columns, M> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let accepts = &mut self.accepts;
        // SAFETY: the slot has a value.
        self.list.extract_next(&mut self.next, |raw, i| accepts(unsafe { T::get_mut(raw.0, i) }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.list.len()))
    }
}

impl<T, F, L: FieldLayout<T>, M: Memory> fmt::Debug for ExtractIf<'_, T, F, L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtractIf").finish_non_exhaustive()
    }
}
