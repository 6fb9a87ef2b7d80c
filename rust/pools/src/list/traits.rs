//! Traits of the standard library for a list.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::ops::{Index, IndexMut};

use super::List;
use crate::columnar::Columnar;
use crate::contiguous::{columns_eq, comparison_traits};
use crate::field_layout::{Columns, FieldLayout, Rows};
use crate::key::Handle;
use toft::Memory;

comparison_traits!(List, M: Memory);

impl<T, M: Memory> List<T, Rows, M> {
    /// Whether a value is equal. O(n).
    ///
    /// ```
    /// assert!(toft_pools::List::from([1, 2]).contains(&2));
    /// ```
    pub fn contains(&self, value: &T) -> bool
    where
        T: PartialEq,
    {
        self.iter().any(|other| other == value)
    }
}

impl<T, L: FieldLayout<T>, M: Memory + Default> Default for List<T, L, M> {
    fn default() -> Self {
        List::new_in(M::default())
    }
}

impl<T, M: Memory> Index<Handle<T>> for List<T, Rows, M> {
    type Output = T;

    /// # Panics
    /// The handle's value is not there.
    #[inline]
    #[track_caller]
    fn index(&self, handle: Handle<T>) -> &T {
        match self.get(handle) {
            Some(value) => value,
            None => missing(),
        }
    }
}

impl<T, M: Memory> IndexMut<Handle<T>> for List<T, Rows, M> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, handle: Handle<T>) -> &mut T {
        match self.get_mut(handle) {
            Some(value) => value,
            None => missing(),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn missing() -> ! {
    panic!("toft: the list has no value under this handle")
}

impl<T, L: FieldLayout<T>, M: Memory> Extend<T> for List<T, L, M> {
    /// At the back.
    ///
    /// # Panics
    /// As [`push_back`](List::push_back).
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let mut values = values.into_iter();
        while let Some(value) = values.next() {
            if self.len() == self.capacity() && !self.is_fixed() {
                self.reserve(values.size_hint().0.saturating_add(1));
            }
            self.push_back(value);
        }
    }
}

impl<'a, T: Copy + 'a, L: FieldLayout<T>, M: Memory> Extend<&'a T> for List<T, L, M> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, values: I) {
        self.extend(values.into_iter().copied());
    }
}

impl<T, L: FieldLayout<T>, M: Memory + Default> FromIterator<T> for List<T, L, M> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut list = Self::default();
        list.extend(values);
        list
    }
}

// Only for rows on the heap, so that the type of `List::from` can be inferred.
impl<T, const N: usize> From<[T; N]> for List<T> {
    fn from(values: [T; N]) -> Self {
        let mut list = Self::with_capacity(N);
        list.extend(values);
        list
    }
}
