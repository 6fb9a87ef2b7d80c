//! The ordered set: a map with values of type `()`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::borrow::Borrow;
use core::fmt;
use core::iter::FusedIterator;
use core::ops::RangeBounds;

use super::capacity::capacity;
use super::into_iter;
use super::iter;
use super::map::OrderedMap;
use super::tree::{Position, Tree};
use crate::capacity_error::CapacityError;
use crate::field_layout::Rows;

/// A set whose elements are in order, with the interface of [`BTreeSet`](alloc::collections::BTreeSet).
///
/// It is an [`OrderedMap`] without values: its documentation applies here.
///
/// ```
/// use toft_pools::OrderedSet;
///
/// let mut primes = OrderedSet::from([7, 2, 5, 3]);
/// assert!(primes.insert(11));
/// assert!(!primes.insert(2));
/// assert!(primes.remove(&7));
/// assert_eq!(primes.range(3..).copied().collect::<Vec<_>>(), [3, 5, 11]);
/// ```
pub struct OrderedSet<T, M: Memory = Heap> {
    pub(super) map: OrderedMap<T, (), Rows, M>,
}

capacity!(OrderedSet, "set", "elements", [map.tree], [T, M: Memory] [T, M], "OrderedSet::<u8>");
crate::constructors::constructors! {
    OrderedSet, "set", "1";
    heap [T] OrderedSet<T>;
    rows [T, M: Memory] OrderedSet<T, M>;
}

impl<T> OrderedSet<T> {
    /// A set of elements in ascending order. O(n).
    ///
    /// ```
    /// assert_eq!(toft_pools::OrderedSet::from_sorted(0..1000).len(), 1000);
    /// ```
    ///
    /// # Panics
    /// An element is not greater than the one before, or there is no memory.
    #[track_caller]
    pub fn from_sorted(elements: impl IntoIterator<Item = T>) -> Self
    where
        T: Ord,
    {
        Self::from_sorted_in(elements, Heap)
    }
}

impl<T, M: Memory> OrderedSet<T, M> {
    pub(super) fn any_in(memory: M) -> Self {
        OrderedSet { map: OrderedMap::any_in(memory) }
    }

    /// As [`from_sorted`](OrderedSet::from_sorted), in any memory.
    ///
    /// ```
    /// assert_eq!(toft_pools::OrderedSet::from_sorted_in([1, 2], toft::Heap).len(), 2);
    /// ```
    ///
    /// # Panics
    /// An element is not greater than the one before, or there is no memory.
    #[track_caller]
    pub fn from_sorted_in(elements: impl IntoIterator<Item = T>, memory: M) -> Self
    where
        T: Ord,
    {
        OrderedSet { map: OrderedMap::from_sorted_in(elements.into_iter().map(|element| (element, ())), memory) }
    }

    /// Whether the set has an element.
    ///
    /// ```
    /// let set = toft_pools::OrderedSet::from(["a".to_string()]);
    /// assert!(set.contains("a"));
    /// ```
    #[inline]
    pub fn contains<Q: Ord + ?Sized>(&self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.map.contains_key(element)
    }

    /// The element of the set that is equal.
    ///
    /// ```
    /// let set = toft_pools::OrderedSet::from(["a".to_string()]);
    /// assert_eq!(set.get("a"), Some(&"a".to_string()));
    /// ```
    pub fn get<Q: Ord + ?Sized>(&self, element: &Q) -> Option<&T>
    where
        T: Borrow<Q>,
    {
        self.map.get_key_value(element).map(|pair| pair.0)
    }

    /// The smallest element. O(1).
    ///
    /// ```
    /// assert_eq!(toft_pools::OrderedSet::from([2, 1]).first(), Some(&1));
    /// ```
    pub fn first(&self) -> Option<&T> {
        self.map.first_key_value().map(|pair| pair.0)
    }

    /// The greatest element. O(1).
    ///
    /// ```
    /// assert_eq!(toft_pools::OrderedSet::from([2, 1]).last(), Some(&2));
    /// ```
    pub fn last(&self) -> Option<&T> {
        self.map.last_key_value().map(|pair| pair.0)
    }

    /// Removes and returns the smallest element.
    ///
    /// ```
    /// assert_eq!(toft_pools::OrderedSet::from([2, 1]).pop_first(), Some(1));
    /// ```
    pub fn pop_first(&mut self) -> Option<T> {
        self.map.pop_first().map(|pair| pair.0)
    }

    /// Removes and returns the greatest element.
    ///
    /// ```
    /// assert_eq!(toft_pools::OrderedSet::from([2, 1]).pop_last(), Some(2));
    /// ```
    pub fn pop_last(&mut self) -> Option<T> {
        self.map.pop_last().map(|pair| pair.0)
    }

    /// Inserts an element. Returns false if the set has an equal one, which is not replaced.
    ///
    /// ```
    /// let mut set = toft_pools::OrderedSet::new();
    /// assert!(set.insert(1));
    /// assert!(!set.insert(1));
    /// ```
    ///
    /// # Panics
    /// The element is new, and the set is fixed and full, or there is no memory.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, element: T) -> bool
    where
        T: Ord,
    {
        self.map.insert(element, ()).is_none()
    }

    /// As [`insert`](OrderedSet::insert), with an error that returns the element instead of a panic.
    ///
    /// ```
    /// use toft_pools::CapacityError;
    /// let mut set = toft_pools::OrderedSet::fixed(1);
    /// assert_eq!(set.try_insert(1), Ok(true));
    /// assert_eq!(set.try_insert(2), Err(CapacityError(2)));
    /// ```
    #[inline]
    pub fn try_insert(&mut self, element: T) -> Result<bool, CapacityError<T>>
    where
        T: Ord,
    {
        match self.map.try_insert(element, ()) {
            Ok(old) => Ok(old.is_none()),
            Err(CapacityError((element, ()))) => Err(CapacityError(element)),
        }
    }

    /// Inserts an element and returns the equal one that it replaces.
    ///
    /// ```
    /// let mut set = toft_pools::OrderedSet::from([vec![1]]);
    /// assert_eq!(set.replace(Vec::with_capacity(9)), None);
    /// assert_eq!(set.replace(Vec::new()).unwrap().capacity(), 9);
    /// ```
    ///
    /// # Panics
    /// As [`insert`](OrderedSet::insert).
    #[track_caller]
    pub fn replace(&mut self, element: T) -> Option<T>
    where
        T: Ord,
    {
        self.map.replace_key(element)
    }

    /// Removes an element. Returns false if the set does not have it.
    ///
    /// ```
    /// let mut set = toft_pools::OrderedSet::from([1]);
    /// assert!(set.remove(&1));
    /// assert!(!set.remove(&1));
    /// ```
    #[inline]
    pub fn remove<Q: Ord + ?Sized>(&mut self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.map.remove(element).is_some()
    }

    /// Removes and returns the element that is equal.
    ///
    /// ```
    /// let mut set = toft_pools::OrderedSet::from(["a".to_string()]);
    /// assert_eq!(set.take("a"), Some("a".to_string()));
    /// ```
    pub fn take<Q: Ord + ?Sized>(&mut self, element: &Q) -> Option<T>
    where
        T: Borrow<Q>,
    {
        self.map.remove_entry(element).map(|pair| pair.0)
    }

    /// Keeps the elements for which the closure returns true, and drops the others. See [`OrderedMap::retain`].
    ///
    /// ```
    /// let mut set = toft_pools::OrderedSet::from_sorted(1..7);
    /// set.retain(|element| element % 2 == 0);
    /// assert_eq!(set, toft_pools::OrderedSet::from([2, 4, 6]));
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.map.retain(|element, _| keep(element))
    }

    /// Moves all elements of another set into this one. Of equal elements, this set's stay.
    ///
    /// ```
    /// let mut a = toft_pools::OrderedSet::from([1, 2]);
    /// let mut b = toft_pools::OrderedSet::from([2, 3]);
    /// a.append(&mut b);
    /// assert!(b.is_empty());
    /// assert_eq!(a, toft_pools::OrderedSet::from([1, 2, 3]));
    /// ```
    ///
    /// # Panics
    /// As [`insert`](OrderedSet::insert). The element that did not fit is dropped, and the other set has the remaining
    /// ones.
    #[track_caller]
    pub fn append<N: Memory>(&mut self, other: &mut OrderedSet<T, N>)
    where
        T: Ord,
    {
        self.map.append(&mut other.map)
    }

    /// Moves an element and all greater ones to a new set. See [`OrderedMap::split_off`].
    ///
    /// ```
    /// let mut low = toft_pools::OrderedSet::from_sorted(0..10);
    /// let high = low.split_off(&7);
    /// assert_eq!((low.len(), high.len()), (7, 3));
    /// ```
    ///
    /// # Panics
    /// There is no memory: nothing changed.
    #[track_caller]
    pub fn split_off<Q: Ord + ?Sized>(&mut self, element: &Q) -> Self
    where
        T: Borrow<Q>,
        M: Clone,
    {
        OrderedSet { map: self.map.split_off(element) }
    }

    /// All elements, in their order.
    ///
    /// ```
    /// let set = toft_pools::OrderedSet::from([3, 1, 2]);
    /// assert_eq!(set.iter().copied().collect::<Vec<_>>(), [1, 2, 3]);
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self.map.keys())
    }

    /// The elements in a range. The ends are found in O(log n).
    ///
    /// ```
    /// let set = toft_pools::OrderedSet::from([3, 5, 8]);
    /// assert_eq!(set.range(4..).next(), Some(&5));
    /// ```
    ///
    /// # Panics
    /// The start of the range is greater than its end, or both are equal and excluded.
    #[track_caller]
    pub fn range<Q: Ord + ?Sized, R: RangeBounds<Q>>(&self, range: R) -> Range<'_, T>
    where
        T: Borrow<Q>,
    {
        Range(self.map.range(range))
    }

    /// Verifies the invariants of the tree, for tests.
    #[doc(hidden)]
    pub fn check(&self)
    where
        T: Ord,
    {
        self.map.check()
    }
}

impl<K, V, M: Memory> OrderedMap<K, V, Rows, M> {
    /// Replaces the equal key, or inserts the key.
    #[track_caller]
    fn replace_key(&mut self, key: K) -> Option<K>
    where
        K: Ord,
        V: Default,
    {
        match self.tree.find(&key) {
            // SAFETY: there is a key at the position.
            Some(position) => Some(unsafe { Tree::<K, V, Rows, M>::replace_key(position, key) }),
            None => {
                self.insert(key, V::default());
                None
            }
        }
    }
}

impl<K, V, M: Memory> Tree<K, V, Rows, M> {
    /// # Safety
    /// There is a key at the position, and the tree is borrowed exclusively.
    unsafe fn replace_key(position: Position, key: K) -> K {
        // SAFETY: the caller's contract.
        unsafe { super::node::NodeLayout::<K, V, Rows>::keys(position.leaf).add(position.i).replace(key) }
    }
}

/// Defines an iterator by that of the map. The generics are passed as declared and as used.
macro_rules! iter {
    ($(#[$doc:meta])* $name:ident [$($given:tt)*] [$($of:tt)*] [$($named:tt)*] $inner:ty, $item:ty, $take:expr) => {
        $(#[$doc])*
        pub struct $name<$($given)*>($inner);

        impl<$($of)*> Iterator for $name<$($named)*> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<$item> {
                self.0.next().map($take)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }

            fn last(mut self) -> Option<$item> {
                self.next_back()
            }

            fn fold<B, F: FnMut(B, $item) -> B>(self, init: B, f: F) -> B {
                self.0.map($take).fold(init, f)
            }
        }

        impl<$($of)*> DoubleEndedIterator for $name<$($named)*> {
            #[inline]
            fn next_back(&mut self) -> Option<$item> {
                self.0.next_back().map($take)
            }
        }

        impl<$($of)*> FusedIterator for $name<$($named)*> {}

        impl<$($of)*> fmt::Debug for $name<$($named)*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    };
}

iter!(
    /// The elements of a set, in their order: [`OrderedSet::iter`].
    Iter ['a, T] ['a, T] ['a, T] iter::Keys<'a, T, ()>, &'a T, |element| element
);
iter!(
    /// The elements of a set that are in a range: [`OrderedSet::range`].
    Range ['a, T] ['a, T] ['a, T] iter::Range<'a, T, ()>, &'a T, |pair| pair.0
);
iter!(
    /// The elements of a set by value, in order. Dropping the iterator drops the remaining ones.
    ///
    /// ```
    /// let set = toft_pools::OrderedSet::from([2, 1]);
    /// assert_eq!(set.into_iter().collect::<Vec<_>>(), [1, 2]);
    /// ```
    IntoIter [T, M: Memory = Heap] [T, M: Memory] [T, M] into_iter::IntoIter<T, (), Rows, M>, T, |pair| pair.0
);

impl<T> ExactSizeIterator for Iter<'_, T> {}
impl<T, M: Memory> ExactSizeIterator for IntoIter<T, M> {}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter(self.0.clone())
    }
}

impl<T> Clone for Range<'_, T> {
    fn clone(&self) -> Self {
        Range(self.0.clone())
    }
}

impl<T, M: Memory> IntoIterator for OrderedSet<T, M> {
    type Item = T;
    type IntoIter = IntoIter<T, M>;

    fn into_iter(self) -> IntoIter<T, M> {
        IntoIter(self.map.into_iter())
    }
}

impl<'a, T, M: Memory> IntoIterator for &'a OrderedSet<T, M> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
