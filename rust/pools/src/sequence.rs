//! What stacks, queues and lists have in common, as macros: each method is one of the type, with its documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// Constructors, `reserve` and the traits of the standard library. The type has the methods of `constructors!`, `len`, and
/// `fill`, which appends values to adjacent free slots and returns the next one.
macro_rules! sequence {
    ($Name:ident, $noun:literal, $push:ident, $add:literal, $refused:literal) => {
        use crate::columnar::Columnar;
        use crate::contiguous::columns_eq;
        use crate::field_layout::{Columns, FieldLayout, Rows};
        use toft::Memory;

        crate::constructors::constructors! {
            $Name, $noun, "1";
            heap [T] $Name<T>;
            rows [T, M: Memory] $Name<T, Rows, M>;
            columns [T: Columnar] $Name<T, Columns>, [T: Columnar, M: Memory] $Name<T, Columns, M>, $add;
            any [T, L: FieldLayout<T>, M: Memory] $Name<T, L, M>
        }

        impl<T, L: FieldLayout<T>, M: Memory> $Name<T, L, M> {
            /// Whether there are no values.
            ///
            /// ```
            #[doc = concat!("assert!(toft_pools::", stringify!($Name), "::<u8>::fixed(1).is_empty());")]
            /// ```
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The memory that the slots are allocated in.
            ///
            /// ```
            #[doc = concat!("assert_eq!(toft_pools::", stringify!($Name), "::<u8>::fixed(1).memory(), &toft::Heap);")]
            /// ```
            pub fn memory(&self) -> &M {
                self.slots.memory()
            }

            /// Reserves memory for `more` further values.
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::<u8>::fixed(3);")]
            /// values.reserve(3);
            /// assert_eq!(values.capacity(), 3);
            /// ```
            ///
            /// # Panics
            #[doc = concat!("If the ", $noun, " is fixed and its capacity is too small, or ", $refused, ".")]
            #[track_caller]
            pub fn reserve(&mut self, more: usize) {
                if self.try_reserve(more).is_err() {
                    crate::capacity_error::capacity_panic()
                }
            }
        }

        impl<T, L: FieldLayout<T>, M: Memory + Default> Default for $Name<T, L, M> {
            fn default() -> Self {
                Self::any_in(M::default())
            }
        }

        impl<T, L: FieldLayout<T>, M: Memory + Default> FromIterator<T> for $Name<T, L, M> {
            #[track_caller]
            fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
                let mut sequence = Self::default();
                sequence.extend(values);
                sequence
            }
        }

        impl<T, L: FieldLayout<T>, M: Memory> Extend<T> for $Name<T, L, M> {
            /// At the end.
            ///
            /// # Panics
            #[doc = concat!("As [`", stringify!($push), "`](Self::", stringify!($push), ").")]
            #[track_caller]
            fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
                let mut values = values.into_iter();
                if !self.is_fixed() {
                    self.reserve(values.size_hint().0);
                }
                while let Some(value) = self.fill(&mut values) {
                    self.$push(value);
                }
            }
        }

        impl<'a, T: Copy + 'a, L: FieldLayout<T>, M: Memory> Extend<&'a T> for $Name<T, L, M> {
            #[track_caller]
            fn extend<I: IntoIterator<Item = &'a T>>(&mut self, values: I) {
                self.extend(values.into_iter().copied());
            }
        }

        // Comparisons, `Debug` and `Hash`: of rows by value, of columns by the references to the fields.
        impl<T: core::fmt::Debug, M: Memory> core::fmt::Debug for $Name<T, Rows, M> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_list().entries(self.iter()).finish()
            }
        }

        impl<T: Columnar, M: Memory> core::fmt::Debug for $Name<T, Columns, M>
        where
            for<'a> T::Ref<'a>: core::fmt::Debug,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_list().entries(self.iter()).finish()
            }
        }

        impl<T: PartialEq, M: Memory> PartialEq for $Name<T, Rows, M> {
            fn eq(&self, other: &Self) -> bool {
                self.len() == other.len() && self.iter().eq(other.iter())
            }
        }

        impl<T: Columnar, M: Memory> PartialEq for $Name<T, Columns, M>
        where
            for<'a> T::Ref<'a>: PartialEq,
        {
            fn eq(&self, other: &Self) -> bool {
                self.len() == other.len() && self.iter().zip(other.iter()).all(|(a, b)| columns_eq::<T>(a, b))
            }
        }

        impl<T: Eq, M: Memory> Eq for $Name<T, Rows, M> {}

        impl<T: Columnar, M: Memory> Eq for $Name<T, Columns, M> where for<'a> T::Ref<'a>: Eq {}

        impl<T: PartialOrd, M: Memory> PartialOrd for $Name<T, Rows, M> {
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                self.iter().partial_cmp(other.iter())
            }
        }

        impl<T: Ord, M: Memory> Ord for $Name<T, Rows, M> {
            fn cmp(&self, other: &Self) -> core::cmp::Ordering {
                self.iter().cmp(other.iter())
            }
        }

        impl<T: core::hash::Hash, M: Memory> core::hash::Hash for $Name<T, Rows, M> {
            fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
                self.len().hash(state);
                self.iter().for_each(|value| value.hash(state));
            }
        }
    };
}
pub(crate) use sequence;

/// Length and capacity of a sequence with positions: the type has the methods `len`, `capacity`, `grow`, `truncate` and
/// `shrink_to`.
macro_rules! indexed {
    ($Name:ident, $noun:literal) => {
        impl<T, L: FieldLayout<T>, M: Memory> $Name<T, L, M> {
            /// Whether the capacity is fixed.
            ///
            /// ```
            #[doc = concat!("assert!(toft_pools::", stringify!($Name), "::<u8>::fixed(3).is_fixed());")]
            /// ```
            pub fn is_fixed(&self) -> bool {
                self.fixed
            }

            /// As [`reserve`](Self::reserve), with an error instead of a panic.
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::<u8>::fixed(2);")]
            /// assert!(values.try_reserve(2).is_ok() && values.try_reserve(3).is_err());
            /// ```
            ///
            /// # Errors
            #[doc = concat!("The ", $noun, " is fixed and its capacity is too small, or there is no memory.")]
            pub fn try_reserve(&mut self, more: usize) -> Result<(), toft::AllocError> {
                if more > self.capacity() - self.len() {
                    self.grow(more)?;
                }
                Ok(())
            }

            #[doc = concat!("Returns unused memory. Nothing happens if the ", $noun, " is fixed, or if there is no memory")]
            /// for the smaller copy.
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::<u8>::with_capacity(9);")]
            /// values.shrink_to_fit();
            /// assert_eq!(values.capacity(), 0);
            /// ```
            pub fn shrink_to_fit(&mut self) {
                self.shrink_to(0);
            }

            /// Drops all values. The capacity stays the same.
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::fixed(2);")]
            /// values.extend([1, 2]);
            /// values.clear();
            /// assert!(values.is_empty() && values.capacity() >= 2);
            /// ```
            pub fn clear(&mut self) {
                self.truncate(0);
            }
        }
    };
}
pub(crate) use indexed;

/// `Index` and `IndexMut` of rows, by what `get` takes.
macro_rules! index_by {
    ($Name:ident, $by:ty, $missing:literal) => {
        impl<T, M: Memory> core::ops::Index<$by> for $Name<T, Rows, M> {
            type Output = T;

            /// # Panics
            #[doc = concat!("The ", $missing, ".")]
            #[inline]
            #[track_caller]
            fn index(&self, by: $by) -> &T {
                match self.get(by) {
                    Some(value) => value,
                    None => missing(),
                }
            }
        }

        impl<T, M: Memory> core::ops::IndexMut<$by> for $Name<T, Rows, M> {
            #[inline]
            #[track_caller]
            fn index_mut(&mut self, by: $by) -> &mut T {
                match self.get_mut(by) {
                    Some(value) => value,
                    None => missing(),
                }
            }
        }

        #[cold]
        #[inline(never)]
        #[track_caller]
        fn missing() -> ! {
            panic!(concat!("toft: the ", $missing))
        }
    };
}
pub(crate) use index_by;

/// `retain` and `retain_mut`. Each exists once for each layout: a closure that takes `L::Mut<'_>` of any layout would
/// require `T: 'static`. The type has a method `filter`, which passes the index of a slot with a value.
macro_rules! retain {
    ($Name:ident) => {
        use crate::columnar::Columnar;
        use crate::field_layout::{Columns, FieldLayout, Rows};
        use toft::Memory;

        impl<T, M: Memory> $Name<T, Rows, M> {
            /// Keeps the values for which `keep` returns true, in their order, and drops the others. O(n).
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::fixed(4);")]
            /// values.extend([1, 2, 3, 4]);
            /// values.retain(|&value| value % 2 == 0);
            /// assert!(values.iter().eq(&[2, 4]));
            /// ```
            pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
                self.retain_mut(|value| keep(value));
            }

            /// As `retain`; the function may change the values.
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::fixed(4);")]
            /// values.extend([1, 2, 3, 4]);
            /// values.retain_mut(|value| {
            ///     *value += 1;
            ///     *value % 2 == 0
            /// });
            /// assert!(values.iter().eq(&[2, 4]));
            /// ```
            pub fn retain_mut(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
                // SAFETY: the slot has a value.
                self.filter(|raw, i| keep(unsafe { <Rows as FieldLayout<T>>::get_mut(raw, i) }));
            }
        }

        impl<T: Columnar, M: Memory> $Name<T, Columns, M> {
            /// Keeps the values for which `keep` returns true, in their order, and drops the others. O(n).
            ///
            /// ```
            /// # #[cfg(feature = "derive")] {
            #[doc = concat!("use toft_pools::{Columns, ", stringify!($Name), "};")]
            ///
            /// #[derive(toft_pools::Columnar)]
            /// struct Item {
            ///     number: u32,
            /// }
            ///
            #[doc = concat!("let mut values: ", stringify!($Name), "<Item, Columns> = Default::default();")]
            /// values.extend((1..5).map(|number| Item { number }));
            /// values.retain(|item| item.number % 2 == 0);
            /// assert_eq!(values.len(), 2);
            /// # }
            /// ```
            pub fn retain(&mut self, mut keep: impl FnMut(T::Ref<'_>) -> bool) {
                // SAFETY: the slot has a value.
                self.filter(|raw, i| keep(unsafe { T::get(raw.0, i) }));
            }

            /// As `retain`; the function may change the values.
            ///
            /// ```
            /// # #[cfg(feature = "derive")] {
            #[doc = concat!("use toft_pools::{Columns, ", stringify!($Name), "};")]
            ///
            /// #[derive(toft_pools::Columnar)]
            /// struct Item {
            ///     number: u32,
            /// }
            ///
            #[doc = concat!("let mut values: ", stringify!($Name), "<Item, Columns> = Default::default();")]
            /// values.extend((1..5).map(|number| Item { number }));
            /// values.retain_mut(|item| {
            ///     *item.number += 1;
            ///     *item.number > 2
            /// });
            /// assert_eq!(values.len(), 3);
            /// # }
            /// ```
            pub fn retain_mut(&mut self, mut keep: impl FnMut(T::Mut<'_>) -> bool) {
                // SAFETY: the slot has a value.
                self.filter(|raw, i| keep(unsafe { T::get_mut(raw.0, i) }));
            }
        }
    };
}
pub(crate) use retain;

/// The types `Iter` and `IterMut` of the module `$module`, and what returns them. `$At` is the slots in their order,
/// which the collection's method `in_order` returns; `$G` is the data beside a value.
macro_rules! reference_iterators {
    ($Name:ident, $module:literal, $G:ty, $At:ty) => {
        use crate::contiguous::{debug_remaining, View, ViewMut};
        use crate::field_layout::{FieldLayout, Rows};
        use toft::{Heap, Memory};

        #[doc = concat!("The values of a [`", stringify!($Name), "`]: its `iter()`.")]
        ///
        /// ```
        #[doc = concat!("use toft_pools::", $module, "::{Iter, ", stringify!($Name), "};")]
        #[doc = concat!("let mut values = ", stringify!($Name), "::fixed(2);")]
        /// values.extend([1, 2]);
        /// let iter: Iter<i32> = values.iter();
        /// assert_eq!(iter.len(), 2);
        /// ```
        pub struct Iter<'a, T, L: FieldLayout<T> = Rows> {
            view: View<'a, T, L, $G>,
            at: $At,
        }

        impl<T, L: FieldLayout<T>> Iter<'_, T, L> {
            /// # Safety
            /// The slots have values, which nothing changes during the lifetime.
            #[inline]
            pub(super) unsafe fn new(raw: L::Raw<$G>, at: $At) -> Self {
                // SAFETY: the caller's contract.
                Iter { view: unsafe { View::new(raw) }, at }
            }
        }

        impl<T, L: FieldLayout<T>> Clone for Iter<'_, T, L> {
            fn clone(&self) -> Self {
                Iter { view: self.view.clone(), at: self.at.clone() }
            }
        }

        #[doc = concat!("The values of a [`", stringify!($Name), "`], mutable: its `iter_mut()`.")]
        ///
        /// ```
        #[doc = concat!("use toft_pools::", $module, "::{IterMut, ", stringify!($Name), "};")]
        #[doc = concat!("let mut values = ", stringify!($Name), "::fixed(2);")]
        /// values.extend([1, 2]);
        /// let iter: IterMut<i32> = values.iter_mut();
        /// assert_eq!(iter.len(), 2);
        /// ```
        pub struct IterMut<'a, T, L: FieldLayout<T> = Rows> {
            view: ViewMut<'a, T, L, $G>,
            at: $At,
        }

        impl<T, L: FieldLayout<T>> IterMut<'_, T, L> {
            /// # Safety
            /// The slots have values, to which no other reference exists during the lifetime.
            #[inline]
            pub(super) unsafe fn new(raw: L::Raw<$G>, at: $At) -> Self {
                // SAFETY: the caller's contract.
                IterMut { view: unsafe { ViewMut::new(raw) }, at }
            }
        }

        debug_remaining! {
            ['a, T: 'a, L: FieldLayout<T> + 'a] Iter<'a, T, L>, "Iter";
            ['a, T: 'a, L: FieldLayout<T> + 'a] IterMut<'a, T, L>, "IterMut";
            [T, L: FieldLayout<T>, M: Memory] IntoIter<T, L, M>, "IntoIter";
        }

        impl<T, L: FieldLayout<T>, M: Memory> $Name<T, L, M> {
            /// The values in their order.
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::fixed(2);")]
            /// values.extend([1, 2]);
            /// assert!(values.iter().rev().eq(&[2, 1]));
            /// ```
            #[inline]
            pub fn iter(&self) -> Iter<'_, T, L> {
                // SAFETY: the values are borrowed with the collection.
                unsafe { Iter::new(self.slots.raw(), self.in_order()) }
            }

            /// The values in their order, mutable.
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::fixed(2);")]
            /// values.extend([1, 2]);
            /// values.iter_mut().for_each(|value| *value *= 10);
            /// assert!(values.iter().eq(&[10, 20]));
            /// ```
            #[inline]
            pub fn iter_mut(&mut self) -> IterMut<'_, T, L> {
                // SAFETY: see iter.
                unsafe { IterMut::new(self.slots.raw(), self.in_order()) }
            }
        }

        impl<'a, T, L: FieldLayout<T>, M: Memory> IntoIterator for &'a $Name<T, L, M> {
            type Item = L::Ref<'a>;
            type IntoIter = Iter<'a, T, L>;

            fn into_iter(self) -> Iter<'a, T, L> {
                self.iter()
            }
        }

        impl<'a, T, L: FieldLayout<T>, M: Memory> IntoIterator for &'a mut $Name<T, L, M> {
            type Item = L::Mut<'a>;
            type IntoIter = IterMut<'a, T, L>;

            fn into_iter(self) -> IterMut<'a, T, L> {
                self.iter_mut()
            }
        }
    };
}
pub(crate) use reference_iterators;

/// The iterators of a collection whose slots are adjacent: those above, and `IntoIter`.
macro_rules! slot_iterators {
    ($Name:ident, $module:literal, $At:ty) => {
        use crate::contiguous::{double_ended_iterator, draining_iterator, drop_all};
        use crate::sequence::reference_iterators;
        use crate::slots::Slots;

        reference_iterators!($Name, $module, (), $At);

        double_ended_iterator!(
            ['a, T: 'a, L: FieldLayout<T> + 'a] Iter<'a, T, L>, L::Ref<'a>, |this, i| this.view.get(i)
        );
        double_ended_iterator!(
            ['a, T: 'a, L: FieldLayout<T> + 'a] IterMut<'a, T, L>, L::Mut<'a>, |this, i| this.view.get(i)
        );

        #[doc = concat!("A [`", stringify!($Name), "`] by value, in order: its `into_iter()`.")]
        /// Dropping the iterator drops the remaining values.
        ///
        /// ```
        #[doc = concat!("use toft_pools::", $module, "::{IntoIter, ", stringify!($Name), "};")]
        #[doc = concat!("let mut values = ", stringify!($Name), "::fixed(2);")]
        /// values.extend([1, 2]);
        /// let mut iter: IntoIter<i32> = values.into_iter();
        /// assert_eq!((iter.next_back(), iter.next(), iter.next()), (Some(2), Some(1), None));
        /// ```
        pub struct IntoIter<T, L: FieldLayout<T> = Rows, M: Memory = Heap> {
            slots: Slots<T, L, (), M>,
            at: $At,
        }

        impl<T, L: FieldLayout<T>, M: Memory> Drop for IntoIter<T, L, M> {
            fn drop(&mut self) {
                // SAFETY: these slots have values and are not read again.
                unsafe { drop_all::<T, L, ()>(self.slots.raw(), self.at.clone()) }
            }
        }

        draining_iterator!(
            [T, L: FieldLayout<T>, M: Memory] IntoIter<T, L, M>, T, |this, i| L::read(this.slots.raw(), i)
        );

        impl<T, L: FieldLayout<T>, M: Memory> IntoIterator for $Name<T, L, M> {
            type Item = T;
            type IntoIter = IntoIter<T, L, M>;

            fn into_iter(self) -> IntoIter<T, L, M> {
                let this = core::mem::ManuallyDrop::new(self);
                // SAFETY: the collection is not used again, and not dropped.
                IntoIter { slots: unsafe { core::ptr::read(&this.slots) }, at: this.in_order() }
            }
        }
    };
}
pub(crate) use slot_iterators;
