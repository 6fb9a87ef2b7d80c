//! The iterators of a map, in the order of its keys.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::borrow::Borrow;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ops::RangeBounds;

use super::leaf_range::LeafRange;
use super::map::OrderedMap;
use super::tree::{value_at, value_at_mut, Position, Tree};
use crate::field_layout::{FieldLayout, Rows};
use toft::{Heap, Memory};

/// The positions and values that all iterators have.
struct Pairs<V, L: FieldLayout<V>> {
    leaf_range: LeafRange,
    raw: L::Raw<u32>,
}

impl<V, L: FieldLayout<V>> Pairs<V, L> {
    fn new<K, M: Memory>(tree: &Tree<K, V, L, M>, leaf_range: LeafRange) -> Self {
        Pairs { leaf_range, raw: tree.raw() }
    }
}

impl<V, L: FieldLayout<V>> Clone for Pairs<V, L> {
    fn clone(&self) -> Self {
        Pairs { leaf_range: self.leaf_range, raw: self.raw }
    }
}

#[inline(always)]
unsafe fn key<'a, K, V: 'a, L: FieldLayout<V>>(position: Position) -> &'a K {
    // SAFETY: the caller's contract.
    unsafe { Tree::<K, V, L, Heap>::key_at(position) }
}

/// Defines an iterator by its item for a position, over all pairs, whose number it knows, or over a range.
macro_rules! iter {
    (
        $(#[$doc:meta])* $name:ident { $($remaining:ident)? }, $item:ty,
        ($raw:ident, $position:ident) $make:expr, $of:ty
    ) => {
        $(#[$doc])*
        pub struct $name<'a, K, V, L: FieldLayout<V> = Rows> {
            pairs: Pairs<V, L>,
            $($remaining: usize,)?
            of: PhantomData<$of>,
        }

        impl<'a, K: 'a, V: 'a, L: FieldLayout<V>> Iterator for $name<'a, K, V, L> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let ($raw, $position) = (self.pairs.raw, self.pairs.leaf_range.next()?);
                $(self.$remaining -= 1;)?
                // SAFETY: there is a key; each position is returned once, and the map is borrowed as the item's type
                // says.
                Some(unsafe { $make })
            }

            $(
                fn size_hint(&self) -> (usize, Option<usize>) {
                    (self.$remaining, Some(self.$remaining))
                }

                fn count(self) -> usize {
                    self.$remaining
                }
            )?

            fn last(mut self) -> Option<Self::Item> {
                self.next_back()
            }

            fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, init: B, mut f: F) -> B {
                let mut sum = init;
                let $raw = self.pairs.raw;
                while let Some((leaf, start, end)) = self.pairs.leaf_range.next_leaf() {
                    for i in start..end {
                        let $position = Position { leaf, i };
                        // SAFETY: see next.
                        sum = f(sum, unsafe { $make });
                    }
                }
                sum
            }
        }

        impl<'a, K: 'a, V: 'a, L: FieldLayout<V>> DoubleEndedIterator for $name<'a, K, V, L> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                let ($raw, $position) = (self.pairs.raw, self.pairs.leaf_range.next_back()?);
                $(self.$remaining -= 1;)?
                // SAFETY: see next.
                Some(unsafe { $make })
            }
        }

        $(
            impl<'a, K: 'a, V: 'a, L: FieldLayout<V>> ExactSizeIterator for $name<'a, K, V, L> {
                fn len(&self) -> usize {
                    self.$remaining
                }
            }
        )?
        impl<'a, K: 'a, V: 'a, L: FieldLayout<V>> FusedIterator for $name<'a, K, V, L> {}

        impl<K, V, L: FieldLayout<V>> fmt::Debug for $name<'_, K, V, L> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))?;
                $(write!(f, "({} remaining)", self.$remaining)?;)?
                Ok(())
            }
        }
    };
}

iter!(
    /// Pairs, in the order of their keys: [`OrderedMap::iter`].
    Iter { remaining }, (&'a K, L::Ref<'a>),
    (raw, position) (key::<K, V, L>(position), value_at::<K, V, L>(raw, position)),
    &'a (K, V)
);
iter!(
    /// Pairs with mutable values: [`OrderedMap::iter_mut`].
    IterMut { remaining }, (&'a K, L::Mut<'a>),
    (raw, position) (key::<K, V, L>(position), value_at_mut::<K, V, L>(raw, position)),
    (&'a K, &'a mut V)
);
iter!(
    /// Keys, in their order: [`OrderedMap::keys`].
    Keys { remaining }, &'a K, (_raw, position) key::<K, V, L>(position), &'a (K, V)
);
iter!(
    /// Values, in the order of their keys: [`OrderedMap::values`].
    Values { remaining }, L::Ref<'a>, (raw, position) value_at::<K, V, L>(raw, position), &'a (K, V)
);
iter!(
    /// Mutable values: [`OrderedMap::values_mut`].
    ValuesMut { remaining }, L::Mut<'a>, (raw, position) value_at_mut::<K, V, L>(raw, position), (&'a K, &'a mut V)
);
iter!(
    /// Pairs whose keys are in a range: [`OrderedMap::range`].
    Range {}, (&'a K, L::Ref<'a>),
    (raw, position) (key::<K, V, L>(position), value_at::<K, V, L>(raw, position)),
    &'a (K, V)
);
iter!(
    /// Pairs whose keys are in a range, with mutable values: [`OrderedMap::range_mut`].
    RangeMut {}, (&'a K, L::Mut<'a>),
    (raw, position) (key::<K, V, L>(position), value_at_mut::<K, V, L>(raw, position)),
    (&'a K, &'a mut V)
);

/// Traits of the iterators of shared references.
macro_rules! shared {
    ($($name:ident)*) => {$(
        // SAFETY: their items are `Send`.
        unsafe impl<K: Sync, V, L: FieldLayout<V>> Send for $name<'_, K, V, L> where L::Parts: Sync {}
        // SAFETY: their items are `Sync`.
        unsafe impl<K: Sync, V, L: FieldLayout<V>> Sync for $name<'_, K, V, L> where L::Parts: Sync {}
    )*};
}

macro_rules! clone {
    ($($name:ident { $($remaining:ident)? })*) => {$(
        impl<K, V, L: FieldLayout<V>> Clone for $name<'_, K, V, L> {
            fn clone(&self) -> Self {
                $name { pairs: self.pairs.clone(), $($remaining: self.$remaining,)? of: PhantomData }
            }
        }
    )*};
}

macro_rules! exclusive {
    ($($name:ident)*) => {$(
        // SAFETY: their items are `Send`.
        unsafe impl<K: Sync, V, L: FieldLayout<V>> Send for $name<'_, K, V, L> where L::Parts: Send {}
        // SAFETY: a shared reference gives no access to the items.
        unsafe impl<K: Sync, V, L: FieldLayout<V>> Sync for $name<'_, K, V, L> where L::Parts: Sync {}
    )*};
}

shared!(Iter Keys Values Range);
clone!(Iter { remaining } Keys { remaining } Values { remaining } Range {});
exclusive!(IterMut ValuesMut RangeMut);

impl<K, V, L: FieldLayout<V>, M: Memory> OrderedMap<K, V, L, M> {
    fn pairs(&self) -> Pairs<V, L> {
        Pairs::new(&self.tree, self.tree.leaf_range())
    }

    /// All pairs, in the order of their keys.
    ///
    /// ```
    /// let map = toft_pools::OrderedMap::from([(3, 'c'), (1, 'a'), (2, 'b')]);
    /// assert_eq!(map.iter().map(|(_, value)| value).collect::<String>(), "abc");
    /// ```
    pub fn iter(&self) -> Iter<'_, K, V, L> {
        Iter { pairs: self.pairs(), remaining: self.len(), of: PhantomData }
    }

    /// All pairs in the order of their keys, with mutable values.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([("a", 1), ("b", 2)]);
    /// for (key, value) in map.iter_mut() {
    ///     if *key != "a" {
    ///         *value += 10;
    ///     }
    /// }
    /// assert_eq!(map["b"], 12);
    /// ```
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V, L> {
        IterMut { pairs: self.pairs(), remaining: self.len(), of: PhantomData }
    }

    /// All keys, in their order.
    ///
    /// ```
    /// let map = toft_pools::OrderedMap::from([(2, "b"), (1, "a")]);
    /// assert_eq!(map.keys().copied().collect::<Vec<_>>(), [1, 2]);
    /// ```
    pub fn keys(&self) -> Keys<'_, K, V, L> {
        Keys { pairs: self.pairs(), remaining: self.len(), of: PhantomData }
    }

    /// All values, in the order of their keys.
    ///
    /// ```
    /// let map = toft_pools::OrderedMap::from([(1, "hello"), (2, "goodbye")]);
    /// assert_eq!(map.values().copied().collect::<Vec<_>>(), ["hello", "goodbye"]);
    /// ```
    pub fn values(&self) -> Values<'_, K, V, L> {
        Values { pairs: self.pairs(), remaining: self.len(), of: PhantomData }
    }

    /// All values in the order of their keys, mutable.
    ///
    /// ```
    /// let mut map = toft_pools::OrderedMap::from([(1, 10), (2, 20)]);
    /// map.values_mut().for_each(|value| *value += 1);
    /// assert_eq!(map.into_values().collect::<Vec<_>>(), [11, 21]);
    /// ```
    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V, L> {
        ValuesMut { pairs: self.pairs(), remaining: self.len(), of: PhantomData }
    }

    /// The pairs whose keys are in a range. The ends are found in O(log n).
    ///
    /// ```
    /// use core::ops::Bound::{Excluded, Included};
    /// let map: toft_pools::OrderedMap<_, _> = (0..100).map(|i| (i, i * i)).collect();
    /// assert_eq!(map.range(4..6).collect::<Vec<_>>(), [(&4, &16), (&5, &25)]);
    /// assert_eq!(map.range((Excluded(4), Included(5))).next_back(), Some((&5, &25)));
    /// ```
    ///
    /// # Panics
    /// The start of the range is greater than its end, or both are equal and excluded.
    #[track_caller]
    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> Range<'_, K, V, L>
    where
        K: Borrow<Q>,
    {
        Range { pairs: Pairs::new(&self.tree, self.tree.walk_range(&range)), of: PhantomData }
    }

    /// The pairs whose keys are in a range, with mutable values.
    ///
    /// ```
    /// let mut map: toft_pools::OrderedMap<_, _> = ["Ann", "Bob", "Cay"].map(|name| (name, 0)).into();
    /// for (_, balance) in map.range_mut("B".."C") {
    ///     *balance += 100;
    /// }
    /// assert_eq!(map.values().sum::<i32>(), 100);
    /// ```
    ///
    /// # Panics
    /// As [`range`](OrderedMap::range).
    #[track_caller]
    pub fn range_mut<Q: Ord + ?Sized, R: RangeBounds<Q>>(&mut self, range: R) -> RangeMut<'_, K, V, L>
    where
        K: Borrow<Q>,
    {
        RangeMut { pairs: Pairs::new(&self.tree, self.tree.walk_range(&range)), of: PhantomData }
    }
}

impl<'a, K, V, L: FieldLayout<V>, M: Memory> IntoIterator for &'a OrderedMap<K, V, L, M> {
    type Item = (&'a K, L::Ref<'a>);
    type IntoIter = Iter<'a, K, V, L>;

    fn into_iter(self) -> Iter<'a, K, V, L> {
        self.iter()
    }
}

impl<'a, K, V, L: FieldLayout<V>, M: Memory> IntoIterator for &'a mut OrderedMap<K, V, L, M> {
    type Item = (&'a K, L::Mut<'a>);
    type IntoIter = IterMut<'a, K, V, L>;

    fn into_iter(self) -> IterMut<'a, K, V, L> {
        self.iter_mut()
    }
}

impl<K, V> Default for Iter<'_, K, V> {
    fn default() -> Self {
        let none = Tree::<K, V, Rows, Heap>::new_in(Heap);
        Iter { pairs: Pairs::new(&none, LeafRange::empty()), remaining: 0, of: PhantomData }
    }
}
