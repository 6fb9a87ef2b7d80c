//! The iterators of `OrderedMap::extract_if` and `OrderedSet::extract_if`.
//!
//! Each removal leaves a whole tree, so nothing has to be repaired when an iterator is leaked, or after a panic.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;
use core::ops::{Bound, RangeBounds};

use super::map::OrderedMap;
use super::set::OrderedSet;
use super::tree::{end, len, start, value_at_mut, Position, Tree};
use crate::columnar::Columnar;
use crate::field_layout::{Columns, FieldLayout, Rows};
use toft::{Heap, Memory};

/// Pairs of a map that are removed: [`OrderedMap::extract_if`]. Pairs that were not visited when it is dropped stay in
/// the map.
#[must_use = "it removes nothing until it is iterated; retain drops pairs"]
pub struct ExtractIf<'a, K, V, R, F, L: FieldLayout<V> = Rows, M: Memory = Heap> {
    tree: &'a mut Tree<K, V, L, M>,
    /// The next position to visit; `None` after the last one.
    next: Option<Position>,
    range: R,
    accepts: F,
}

// SAFETY: it borrows the tree exclusively; positions are those of the tree.
unsafe impl<K, V, R: Send, F: Send, L: FieldLayout<V>, M: Memory> Send for ExtractIf<'_, K, V, R, F, L, M> where
    Tree<K, V, L, M>: Send
{
}
// SAFETY: a shared reference gives no access to pairs.
unsafe impl<K, V, R: Sync, F: Sync, L: FieldLayout<V>, M: Memory> Sync for ExtractIf<'_, K, V, R, F, L, M> where
    Tree<K, V, L, M>: Sync
{
}

/// Elements of a set that are removed: [`OrderedSet::extract_if`].
#[must_use = "it removes nothing until it is iterated; retain drops elements"]
pub struct ExtractElementsIf<'a, T, R, F, M: Memory = Heap>(ExtractIf<'a, T, (), R, F, Rows, M>);

impl<K, V, L: FieldLayout<V>, M: Memory> Tree<K, V, L, M> {
    /// Removes the pair at a position, and returns it with the position of the key after it.
    ///
    /// # Safety
    /// There is a key at the position.
    unsafe fn remove_and_next(&mut self, Position { leaf, i }: Position) -> ((K, V), Option<Position>) {
        // SAFETY: the caller's contract. A removal moves keys between the leaf and one of its neighbours, and may free
        // the leaf or the one after it, but not the one before it, from which the next key is counted.
        unsafe {
            let before = (*leaf.as_ptr()).prev;
            let mut offset = i - start(leaf) + before.map_or(0, |before| len(before));
            let pair = self.remove_at(Position { leaf, i });
            let mut node = before.or(self.root.map(|_| self.first));
            while let Some(leaf) = node {
                if offset < len(leaf) {
                    return (pair, Some(Position { leaf, i: start(leaf) + offset }));
                }
                offset -= len(leaf);
                node = (*leaf.as_ptr()).next;
            }
            (pair, None)
        }
    }
}

impl<'a, K, V, R: RangeBounds<K>, F, L: FieldLayout<V>, M: Memory> ExtractIf<'a, K, V, R, F, L, M> {
    #[track_caller]
    fn new(tree: &'a mut Tree<K, V, L, M>, range: R, accepts: F) -> Self
    where
        K: Ord,
    {
        let mut positions = tree.walk_range(&range);
        ExtractIf { next: positions.next(), tree, range, accepts }
    }

    /// Removes the next pair that is accepted. If the function panics, it is called again for its pair.
    #[inline]
    fn advance(&mut self, mut accepts: impl FnMut(&mut F, Position, L::Raw<u32>) -> bool) -> Option<(K, V)>
    where
        K: Ord,
    {
        while let Some(position) = self.next {
            // SAFETY: there is a key.
            let key = unsafe { Tree::<K, V, L, M>::key_at(position) };
            let is_within = match self.range.end_bound() {
                Bound::Included(last) => key <= last,
                Bound::Excluded(end) => key < end,
                Bound::Unbounded => true,
            };
            if !is_within {
                self.next = None;
                break;
            }
            if accepts(&mut self.accepts, position, self.tree.raw()) {
                // SAFETY: there is a key.
                let (pair, next) = unsafe { self.tree.remove_and_next(position) };
                self.next = next;
                return Some(pair);
            }
            let Position { leaf, i } = position;
            // SAFETY: a leaf of the tree, and the one after it, which has keys.
            self.next = unsafe {
                match i + 1 < end(leaf) {
                    true => Some(Position { leaf, i: i + 1 }),
                    false => (*leaf.as_ptr()).next.map(|leaf| Position { leaf, i: start(leaf) }),
                }
            };
        }
        None
    }
}

impl<K, V, M: Memory> OrderedMap<K, V, Rows, M> {
    /// Removes the pairs whose keys are in a range and for which `accepts` returns true, and returns them by an
    /// iterator, which calls it for one pair after another. The function may change the values that stay.
    ///
    /// If the function panics, its pair stays in the map.
    ///
    /// ```
    /// let mut map: toft_pools::OrderedMap<_, _> = (0..8).map(|i| (i, i * 10)).collect();
    /// assert!(map.extract_if(3.., |key, _| key % 2 == 0).eq([(4, 40), (6, 60)]));
    /// assert!(map.keys().eq(&[0, 1, 2, 3, 5, 7]));
    /// ```
    ///
    /// # Panics
    /// As [`range`](OrderedMap::range).
    #[track_caller]
    pub fn extract_if<F, R>(&mut self, range: R, accepts: F) -> ExtractIf<'_, K, V, R, F, Rows, M>
    where
        K: Ord,
        R: RangeBounds<K>,
        F: FnMut(&K, &mut V) -> bool,
    {
        ExtractIf::new(&mut self.tree, range, accepts)
    }
}

impl<K, V: Columnar, M: Memory> OrderedMap<K, V, Columns, M> {
    /// Removes the pairs whose keys are in a range and for which `accepts` returns true, as a map of rows does.
    ///
    /// # Panics
    /// As [`range`](OrderedMap::range).
    #[track_caller]
    pub fn extract_if<F, R>(&mut self, range: R, accepts: F) -> ExtractIf<'_, K, V, R, F, Columns, M>
    where
        K: Ord,
        R: RangeBounds<K>,
        F: FnMut(&K, V::Mut<'_>) -> bool,
    {
        ExtractIf::new(&mut self.tree, range, accepts)
    }
}

impl<T, M: Memory> OrderedSet<T, M> {
    /// Removes the elements that are in a range and for which `accepts` returns true, and returns them by an iterator.
    /// See [`OrderedMap::extract_if`].
    ///
    /// ```
    /// let mut set = toft_pools::OrderedSet::from_sorted(0..8);
    /// assert!(set.extract_if(3.., |element| element % 2 == 0).eq([4, 6]));
    /// assert!(set.iter().eq(&[0, 1, 2, 3, 5, 7]));
    /// ```
    ///
    /// # Panics
    /// As [`range`](OrderedMap::range).
    #[track_caller]
    pub fn extract_if<F, R>(&mut self, range: R, accepts: F) -> ExtractElementsIf<'_, T, R, F, M>
    where
        T: Ord,
        R: RangeBounds<T>,
        F: FnMut(&T) -> bool,
    {
        ExtractElementsIf(ExtractIf::new(&mut self.map.tree, range, accepts))
    }
}

macro_rules! iterator {
    ([$($generics:tt)*] $of:ty, $item:ty, |$this:ident| $next:expr, $len:expr) => {
        impl<$($generics)*> Iterator for $of {
            type Item = $item;

            fn next(&mut self) -> Option<$item> {
                let $this = self;
                $next
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                let $this = self;
                (0, Some($len))
            }
        }

        impl<$($generics)*> FusedIterator for $of {}
    };
}

iterator!(
    [K: Ord, V, R: RangeBounds<K>, F: FnMut(&K, &mut V) -> bool, M: Memory] ExtractIf<'_, K, V, R, F, Rows, M>,
    (K, V),
    |this| this.advance(|accepts, position, raw| {
        // SAFETY: there are a key and a value, to which no other reference exists until the function returns.
        unsafe {
            accepts(Tree::<K, V, Rows, M>::key_at(position), value_at_mut::<K, V, Rows>(raw, position))
        }
    }),
    this.tree.len()
);
iterator!(
    [K: Ord, V: Columnar, R: RangeBounds<K>, F: FnMut(&K, V::Mut<'_>) -> bool, M: Memory]
    ExtractIf<'_, K, V, R, F, Columns, M>,
    (K, V),
    |this| this.advance(|accepts, position, raw| {
        // SAFETY: there are a key and a value, to which no other reference exists until the function returns.
        unsafe {
            accepts(Tree::<K, V, Columns, M>::key_at(position), value_at_mut::<K, V, Columns>(raw, position))
        }
    }),
    this.tree.len()
);
iterator!(
    [T: Ord, R: RangeBounds<T>, F: FnMut(&T) -> bool, M: Memory] ExtractElementsIf<'_, T, R, F, M>,
    T,
    |this| this
        .0
        .advance(|accepts, position, _| {
            // SAFETY: there is a key.
            accepts(unsafe { Tree::<T, (), Rows, M>::key_at(position) })
        })
        .map(|(element, ())| element),
    this.0.tree.len()
);

impl<K, V, R, F, L: FieldLayout<V>, M: Memory> fmt::Debug for ExtractIf<'_, K, V, R, F, L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtractIf").finish_non_exhaustive()
    }
}

impl<T, R, F, M: Memory> fmt::Debug for ExtractElementsIf<'_, T, R, F, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtractIf").finish_non_exhaustive()
    }
}
