//! Ranges of adjacent slots: references to them, iteration, dropping, growth. Stack, queue and list share this.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::marker::PhantomData;
use core::ops::{Bound, ControlFlow, Range, RangeBounds};

use super::field_layout::FieldLayout;

/// The values of slots, shared.
pub(super) struct View<'a, T, L: FieldLayout<T>, G: Copy = ()>(L::Raw<G>, PhantomData<&'a T>);

/// The values of slots, exclusive.
pub(super) struct ViewMut<'a, T, L: FieldLayout<T>, G: Copy = ()>(L::Raw<G>, PhantomData<&'a mut T>);

// SAFETY: as a reference to the values.
unsafe impl<T, L: FieldLayout<T>, G: Copy + Sync> Send for View<'_, T, L, G> where L::Parts: Sync {}
// SAFETY: see above.
unsafe impl<T, L: FieldLayout<T>, G: Copy + Sync> Sync for View<'_, T, L, G> where L::Parts: Sync {}
// SAFETY: as an exclusive reference to the values.
unsafe impl<T, L: FieldLayout<T>, G: Copy + Send> Send for ViewMut<'_, T, L, G> where L::Parts: Send {}
// SAFETY: see above.
unsafe impl<T, L: FieldLayout<T>, G: Copy + Sync> Sync for ViewMut<'_, T, L, G> where L::Parts: Sync {}

impl<T, L: FieldLayout<T>, G: Copy> Clone for View<'_, T, L, G> {
    #[inline(always)]
    fn clone(&self) -> Self {
        View(self.0, PhantomData)
    }
}

impl<'a, T, L: FieldLayout<T>, G: Copy> View<'a, T, L, G> {
    /// # Safety
    /// The values that are read do not change during `'a`.
    #[inline(always)]
    pub(super) unsafe fn new(raw: L::Raw<G>) -> Self {
        View(raw, PhantomData)
    }

    #[inline(always)]
    pub(super) fn raw(&self) -> L::Raw<G> {
        self.0
    }

    /// # Safety
    /// The slot has a value.
    #[inline(always)]
    pub(super) unsafe fn get(&self, i: usize) -> L::Ref<'a> {
        // SAFETY: the caller's contract, and `new`'s.
        unsafe { L::get(self.0, i) }
    }
}

impl<'a, T, L: FieldLayout<T>, G: Copy> ViewMut<'a, T, L, G> {
    /// # Safety
    /// No other reference exists during `'a` to the values that are read.
    #[inline(always)]
    pub(super) unsafe fn new(raw: L::Raw<G>) -> Self {
        ViewMut(raw, PhantomData)
    }

    #[inline(always)]
    pub(super) fn raw(&self) -> L::Raw<G> {
        self.0
    }

    /// # Safety
    /// The slot has a value, which was not returned before.
    #[inline(always)]
    pub(super) unsafe fn get(&mut self, i: usize) -> L::Mut<'a> {
        // SAFETY: the caller's contract, and `new`'s.
        unsafe { L::get_mut(self.0, i) }
    }
}

/// The slots of a ring buffer in order: a range up to the end of the memory, then one at its beginning.
#[derive(Clone)]
pub(crate) struct SlotRanges {
    pub(crate) front: Range<usize>,
    pub(crate) back: Range<usize>,
}

impl Iterator for SlotRanges {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.front.is_empty() {
            self.front = core::mem::take(&mut self.back);
        }
        self.front.next()
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<usize> {
        if n >= self.front.len() {
            let skipped = self.front.len();
            self.front = core::mem::replace(&mut self.back, 0..0);
            return self.front.nth(n - skipped);
        }
        self.front.nth(n)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.front.len() + self.back.len();
        (len, Some(len))
    }

    #[inline]
    fn fold<A, F: FnMut(A, usize) -> A>(self, start: A, mut f: F) -> A {
        let middle = self.front.fold(start, &mut f);
        self.back.fold(middle, f)
    }
}

impl DoubleEndedIterator for SlotRanges {
    #[inline]
    fn next_back(&mut self) -> Option<usize> {
        match self.back.next_back() {
            None => {
                core::mem::swap(&mut self.front, &mut self.back);
                self.back.next_back()
            }
            found => found,
        }
    }

    #[inline]
    fn nth_back(&mut self, n: usize) -> Option<usize> {
        if n >= self.back.len() {
            let skipped = self.back.len();
            self.back = core::mem::replace(&mut self.front, 0..0);
            return self.back.nth_back(n - skipped);
        }
        self.back.nth_back(n)
    }

    #[inline]
    fn rfold<A, F: FnMut(A, usize) -> A>(self, start: A, mut f: F) -> A {
        let middle = self.back.rfold(start, &mut f);
        self.front.rfold(middle, f)
    }
}

impl ExactSizeIterator for SlotRanges {}

/// Drops the values of these slots. If a destructor panics, the others are dropped as well, as for a slice.
///
/// # Safety
/// They have values, to which no reference exists; the slots have no values afterwards.
#[inline]
pub(super) unsafe fn drop_all<T, L: FieldLayout<T>, G: Copy>(raw: L::Raw<G>, slots: impl Iterator<Item = usize>) {
    struct Rest<T, L: FieldLayout<T>, G: Copy, I: Iterator<Item = usize>>(L::Raw<G>, I, PhantomData<T>);

    impl<T, L: FieldLayout<T>, G: Copy, I: Iterator<Item = usize>> Rest<T, L, G, I> {
        #[inline]
        fn run(&mut self) {
            for i in self.1.by_ref() {
                // SAFETY: the contract of `drop_all`; each slot is returned once.
                unsafe { L::drop_in_place(self.0, i) }
            }
        }
    }

    impl<T, L: FieldLayout<T>, G: Copy, I: Iterator<Item = usize>> Drop for Rest<T, L, G, I> {
        fn drop(&mut self) {
            self.run();
        }
    }

    if core::mem::needs_drop::<T>() {
        Rest::<T, L, G, _>(raw, slots, PhantomData).run();
    }
}

/// Moves values to free slots in their order, until either end. `count` rises by the number of moved values, also if the
/// iterator panics. Returns the value for which there was no slot.
///
/// # Safety
/// The slots are within the capacity, and have no values.
#[inline(always)]
pub(super) unsafe fn fill<T, L: FieldLayout<T>>(
    raw: L::Raw<()>,
    slots: Range<usize>,
    count: &mut usize,
    values: &mut impl Iterator<Item = T>,
) -> Option<T> {
    /// Its members can be in registers, where `count` cannot.
    struct Filled<'a>(&'a mut usize, usize);

    impl Drop for Filled<'_> {
        #[inline(always)]
        fn drop(&mut self) {
            *self.0 = self.0.wrapping_add(self.1);
        }
    }

    debug_assert!(slots.start <= slots.end);
    let mut filled = Filled(count, 0);
    let rest = values.try_for_each(|value| {
        if filled.1 == slots.len() {
            return ControlFlow::Break(value);
        }
        // SAFETY: the caller's contract.
        unsafe { L::write(raw, slots.start + filled.1, value) }
        filled.1 += 1;
        ControlFlow::Continue(())
    });
    rest.break_value()
}

/// The positions of a range.
#[track_caller]
pub(super) fn resolve_range(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&i) => i,
        Bound::Excluded(&i) => i.checked_add(1).expect("toft: the range begins after the largest number"),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&i) => i.checked_add(1).expect("toft: the range ends after the largest number"),
        Bound::Excluded(&i) => i,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "toft: the range {start}..{end} is not within the {len} values");
    start..end
}

/// Implements the traits of a double-ended iterator whose field `at` iterates over indices of slots.
macro_rules! double_ended_iterator {
    ([$($generics:tt)*] $type:ty, $item:ty, |$this:ident, $i:ident| $get:expr) => {
        $crate::contiguous::draining_iterator! {
            [$($generics)*] $type, $item, |$this, $i| $get;
            {
                #[inline]
                fn nth(&mut self, n: usize) -> Option<Self::Item> {
                    let $i = self.at.nth(n)?;
                    let $this = self;
                    // SAFETY: see next.
                    Some(unsafe { $get })
                }

                #[inline]
                fn count(self) -> usize {
                    self.at.len()
                }

                #[inline]
                fn last(mut self) -> Option<Self::Item> {
                    self.next_back()
                }

                #[inline]
                #[allow(unused_mut)]
                fn fold<A, F: FnMut(A, Self::Item) -> A>(mut self, start: A, mut f: F) -> A {
                    let at = self.at.clone();
                    let $this = &mut self;
                    // SAFETY: see next.
                    at.fold(start, |a, $i| f(a, unsafe { $get }))
                }
            }
            {
                #[inline]
                fn nth_back(&mut self, n: usize) -> Option<Self::Item> {
                    let $i = self.at.nth_back(n)?;
                    let $this = self;
                    // SAFETY: see next.
                    Some(unsafe { $get })
                }

                #[inline]
                #[allow(unused_mut)]
                fn rfold<A, F: FnMut(A, Self::Item) -> A>(mut self, start: A, mut f: F) -> A {
                    let at = self.at.clone();
                    let $this = &mut self;
                    // SAFETY: see next.
                    at.rfold(start, |a, $i| f(a, unsafe { $get }))
                }
            }
        }
    };
}
pub(crate) use double_ended_iterator;

/// The same for an iterator that returns values, with the standard library's `nth` and `fold`: values that are skipped
/// are dropped.
macro_rules! draining_iterator {
    (
        [$($generics:tt)*] $type:ty, $item:ty, |$this:ident, $i:ident| $get:expr
        $(; {$($methods:tt)*} {$($methods_back:tt)*})?
    ) => {
        impl<$($generics)*> Iterator for $type {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let $i = self.at.next()?;
                let $this = self;
                // SAFETY: the slot has a value, and is returned once.
                Some(unsafe { $get })
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                self.at.size_hint()
            }

            $($($methods)*)?
        }

        impl<$($generics)*> DoubleEndedIterator for $type {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                let $i = self.at.next_back()?;
                let $this = self;
                // SAFETY: the slot has a value, and is returned once.
                Some(unsafe { $get })
            }

            $($($methods_back)*)?
        }

        impl<$($generics)*> ExactSizeIterator for $type {}
        impl<$($generics)*> core::iter::FusedIterator for $type {}
    };
}
pub(crate) use draining_iterator;

/// `Debug` of an iterator that cannot read its values: their number.
macro_rules! debug_remaining {
    ($([$($generics:tt)*] $type:ty, $name:literal;)*) => {$(
        impl<$($generics)*> core::fmt::Debug for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct($name).field("remaining", &self.len()).finish()
            }
        }
    )*};
}
pub(crate) use debug_remaining;

/// Whether two values in columns are equal. Both references have one lifetime, which `PartialEq` requires.
pub(super) fn columns_eq<'a, T>(a: T::Ref<'a>, b: T::Ref<'a>) -> bool
where
    T: super::Columnar + 'a,
    T::Ref<'a>: PartialEq,
{
    a == b
}
