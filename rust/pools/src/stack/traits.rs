//! Constructors and traits of the standard library for a stack.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut, Index, IndexMut};
use core::slice::SliceIndex;

use super::Stack;

crate::sequence::sequence!(Stack, "stack", push, try_push, "there is no memory");
crate::sequence::indexed!(Stack, "stack", "n");
crate::sequence::vec_conversions!(Stack);

impl<T, M: Memory> Deref for Stack<T, Rows, M> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T, M: Memory> DerefMut for Stack<T, Rows, M> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T, M: Memory> AsRef<[T]> for Stack<T, Rows, M> {
    fn as_ref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T, M: Memory> AsMut<[T]> for Stack<T, Rows, M> {
    fn as_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T, I: SliceIndex<[T]>, M: Memory> Index<I> for Stack<T, Rows, M> {
    type Output = I::Output;

    #[inline]
    #[track_caller]
    fn index(&self, i: I) -> &I::Output {
        &self.as_slice()[i]
    }
}

impl<T, I: SliceIndex<[T]>, M: Memory> IndexMut<I> for Stack<T, Rows, M> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, i: I) -> &mut I::Output {
        &mut self.as_mut_slice()[i]
    }
}

// Only for rows on the heap, as `From` of an array.
impl<T: Clone> From<&[T]> for Stack<T> {
    fn from(values: &[T]) -> Self {
        let mut stack = Self::default();
        stack.extend_from_slice(values);
        stack
    }
}

macro_rules! equals {
    ($([$($generics:tt)*] $other:ty;)*) => {$(
        impl<T: PartialEq<U>, U, M: Memory, $($generics)*> PartialEq<$other> for Stack<T, Rows, M> {
            fn eq(&self, other: &$other) -> bool {
                self.as_slice() == &other[..]
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
}
