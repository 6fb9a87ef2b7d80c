//! Traits of the standard library for a queue.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use super::Queue;
use crate::columnar::Columnar;
use crate::contiguous::{columns_eq, comparison_traits};
use crate::field_layout::{Columns, FieldLayout, Rows};
use toft::Memory;

comparison_traits!(Queue, M: Memory);

impl<T, L: FieldLayout<T>, M: Memory + Default> Default for Queue<T, L, M> {
    fn default() -> Self {
        Queue::new_in(M::default())
    }
}

impl<T, M: Memory> Index<usize> for Queue<T, Rows, M> {
    type Output = T;

    /// # Panics
    /// The position has no value.
    #[inline]
    #[track_caller]
    fn index(&self, i: usize) -> &T {
        match self.get(i) {
            Some(value) => value,
            None => missing(),
        }
    }
}

impl<T, M: Memory> IndexMut<usize> for Queue<T, Rows, M> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, i: usize) -> &mut T {
        match self.get_mut(i) {
            Some(value) => value,
            None => missing(),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn missing() -> ! {
    panic!("toft: the queue has no value at this position")
}

impl<T, L: FieldLayout<T>, M: Memory> Extend<T> for Queue<T, L, M> {
    /// At the back.
    ///
    /// # Panics
    /// As [`push_back`](Queue::push_back).
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

impl<'a, T: Copy + 'a, L: FieldLayout<T>, M: Memory> Extend<&'a T> for Queue<T, L, M> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, values: I) {
        self.extend(values.into_iter().copied());
    }
}

impl<T, L: FieldLayout<T>, M: Memory + Default> FromIterator<T> for Queue<T, L, M> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut queue = Self::default();
        queue.extend(values);
        queue
    }
}

// Only for rows on the heap, so that the type of `Queue::from` can be inferred.
impl<T, const N: usize> From<[T; N]> for Queue<T> {
    fn from(values: [T; N]) -> Self {
        let mut queue = Self::with_capacity(N);
        queue.extend(values);
        queue
    }
}

impl<T> From<Vec<T>> for Queue<T> {
    fn from(values: Vec<T>) -> Self {
        let mut queue = Self::with_capacity(values.len());
        queue.extend(values);
        queue
    }
}

impl<T, L: FieldLayout<T>, M: Memory> From<Queue<T, L, M>> for Vec<T> {
    fn from(queue: Queue<T, L, M>) -> Vec<T> {
        queue.into_iter().collect()
    }
}

macro_rules! equals {
    ($([$($generics:tt)*] $other:ty;)*) => {$(
        impl<T: PartialEq<U>, U, M: Memory, $($generics)*> PartialEq<$other> for Queue<T, Rows, M> {
            fn eq(&self, other: &$other) -> bool {
                if self.len() != other.len() {
                    return false;
                }
                let (front, back) = self.as_slices();
                let (a, b) = other[..].split_at(front.len());
                front == a && back == b
            }
        }
    )*};
}

equals! {
    [] [U];
    [] &[U];
    [] &mut [U];
    [] Vec<U>;
    [const N: usize] [U; N];
    [const N: usize] &[U; N];
    [const N: usize] &mut [U; N];
}

/// Bytes are taken from the front. Never an error.
#[cfg(feature = "std")]
impl<M: Memory> std::io::Read for Queue<u8, Rows, M> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let (front, _) = self.as_slices();
        let n = front.len().min(to.len());
        to[..n].copy_from_slice(&front[..n]);
        self.drain(..n);
        Ok(n)
    }
}

/// The contiguous bytes at the front.
#[cfg(feature = "std")]
impl<M: Memory> std::io::BufRead for Queue<u8, Rows, M> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        Ok(self.as_slices().0)
    }

    fn consume(&mut self, n: usize) {
        self.drain(..n);
    }
}

/// Bytes are added at the back; a fixed queue takes as many as fit.
#[cfg(feature = "std")]
impl<M: Memory> std::io::Write for Queue<u8, Rows, M> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = match self.try_reserve(bytes.len()) {
            Ok(()) => bytes.len(),
            Err(_) => bytes.len().min(self.capacity() - self.len()),
        };
        self.extend(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
