//! Constructors and traits of the standard library for a stack.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::ops::{Deref, DerefMut};

use super::Stack;

crate::sequence::sequence!(Stack, "stack", push, "push(Item { number: 1 })", "there is no memory");
crate::sequence::indexed!(Stack, "stack");

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

impl<T: PartialEq<U>, U, M: Memory, const N: usize> PartialEq<[U; N]> for Stack<T, Rows, M> {
    fn eq(&self, other: &[U; N]) -> bool {
        self.as_slice() == other
    }
}
