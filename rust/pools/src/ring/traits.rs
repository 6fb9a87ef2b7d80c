//! What a ring is to the traits of the standard library.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::{Index, IndexMut};

use super::super::columnar::Columnar;
use super::super::layout::{Columns, Layout, Rows};
use super::super::run::{compare, same};
use super::{Ring, RingIndex};
use toft::Memory;

compare!(Ring, I: RingIndex, M: Memory);

impl<T, L: Layout<T>, I: RingIndex, M: Memory + Default> Default for Ring<T, L, I, M> {
    fn default() -> Self {
        Ring::new_in(M::default())
    }
}

impl<T, I: RingIndex, M: Memory> Index<I> for Ring<T, Rows, I, M> {
    type Output = T;

    /// # Panics
    /// The value of the index is not there.
    #[inline]
    #[track_caller]
    fn index(&self, index: I) -> &T {
        match self.get(index) {
            Some(value) => value,
            None => missing(),
        }
    }
}

impl<T, I: RingIndex, M: Memory> IndexMut<I> for Ring<T, Rows, I, M> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: I) -> &mut T {
        match self.get_mut(index) {
            Some(value) => value,
            None => missing(),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn missing() -> ! {
    panic!("toft: the ring has no value under this index")
}

impl<T, L: Layout<T>, I: RingIndex, M: Memory> Extend<T> for Ring<T, L, I, M> {
    /// At the end.
    ///
    /// # Panics
    /// As [`push_end`](Ring::push_end).
    #[track_caller]
    fn extend<J: IntoIterator<Item = T>>(&mut self, values: J) {
        let mut values = values.into_iter();
        while let Some(value) = values.next() {
            if self.len() == self.capacity() && !self.is_fixed() {
                self.reserve(values.size_hint().0.saturating_add(1));
            }
            self.push_end(value);
        }
    }
}

impl<'a, T: Copy + 'a, L: Layout<T>, I: RingIndex, M: Memory> Extend<&'a T> for Ring<T, L, I, M> {
    #[track_caller]
    fn extend<J: IntoIterator<Item = &'a T>>(&mut self, values: J) {
        self.extend(values.into_iter().copied());
    }
}

impl<T, L: Layout<T>, I: RingIndex, M: Memory + Default> FromIterator<T> for Ring<T, L, I, M> {
    #[track_caller]
    fn from_iter<J: IntoIterator<Item = T>>(values: J) -> Self {
        let mut ring = Self::default();
        ring.extend(values);
        ring
    }
}
