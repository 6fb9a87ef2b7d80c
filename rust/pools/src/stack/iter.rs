//! The iterators of a stack.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ops::{Range, RangeBounds};

use super::Stack;
use crate::contiguous::resolve_range;

crate::sequence::slot_iterators!(Stack, "stack", Range<usize>);

/// The removed values of a range of a [`Stack`]: [`Stack::drain`].
pub struct Drain<'a, T, L: FieldLayout<T> = Rows, M: Memory = Heap> {
    stack: &'a mut Stack<T, L, M>,
    at: Range<usize>,
    /// The positions after the range.
    rest: Range<usize>,
}

impl<'a, T, L: FieldLayout<T>, M: Memory> Drain<'a, T, L, M> {
    pub(super) fn new(stack: &'a mut Stack<T, L, M>, at: Range<usize>) -> Self {
        let rest = at.end..stack.len;
        // Until the iterator is dropped, the stack has only the values before the range: if it is leaked, so are the
        // others.
        stack.len = at.start;
        Drain { stack, at, rest }
    }
}

impl<T, L: FieldLayout<T>, M: Memory> Drop for Drain<'_, T, L, M> {
    fn drop(&mut self) {
        /// Closes the gap, also if a destructor panics.
        struct Close<'b, T, L: FieldLayout<T>, M: Memory>(&'b mut Stack<T, L, M>, Range<usize>);

        impl<T, L: FieldLayout<T>, M: Memory> Drop for Close<'_, T, L, M> {
            fn drop(&mut self) {
                let (stack, rest) = (&mut *self.0, &self.1);
                // SAFETY: the positions after the range have values, and those between the stack's end and them have
                // none.
                unsafe { L::shift(stack.slots.raw(), rest.start, stack.len, rest.len()) }
                stack.len += rest.len();
            }
        }

        let close = Close(self.stack, self.rest.clone());
        // SAFETY: these slots have values and are not read again.
        unsafe { drop_all::<T, L, ()>(close.0.slots.raw(), self.at.clone()) }
    }
}

draining_iterator!(
    ['a, T, L: FieldLayout<T>, M: Memory] Drain<'a, T, L, M>, T, |this, i| L::read(this.stack.slots.raw(), i)
);

debug_remaining! {
    [T, L: FieldLayout<T>, M: Memory] Drain<'_, T, L, M>, "Drain";
}

impl<T, L: FieldLayout<T>, M: Memory> Stack<T, L, M> {
    /// Removes the values of a range and returns them one by one. Dropping the iterator drops the remaining ones, and
    /// the values after the range move. O(n).
    ///
    /// If the iterator is leaked, so are the values from the start of the range on.
    ///
    /// ```
    /// let mut stack = toft_pools::Stack::fixed(4);
    /// stack.extend(['a', 'b', 'c', 'd']);
    /// assert!(stack.drain(1..3).eq(['b', 'c']));
    /// assert_eq!(stack, ['a', 'd']);
    /// ```
    ///
    /// # Panics
    /// The range is not within the stack.
    #[track_caller]
    pub fn drain(&mut self, range: impl RangeBounds<usize>) -> Drain<'_, T, L, M> {
        let at = resolve_range(range, self.len);
        Drain::new(self, at)
    }
}
