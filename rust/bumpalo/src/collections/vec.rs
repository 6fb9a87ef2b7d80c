//! A growing array in an arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cmp::Ordering;
use core::ops::{Deref, DerefMut, Index, IndexMut, RangeBounds};
use core::slice::{self, SliceIndex};

use toft::collections as native;
#[doc(inline)]
pub use toft::collections::vec::{Drain, IntoIter, Splice};

pub use super::drain_filter::DrainFilter;
use super::CollectionAllocErr;
use crate::forward::{forward_mut, forward_ref};
use crate::Bump;

/// A growing array in an arena: [`toft::collections::Vec`] under bumpalo's names.
///
/// ```
/// use toft_bumpalo::{collections::Vec, Bump};
///
/// let bump = Bump::new();
/// let mut stack = Vec::new_in(&bump);
/// stack.push('a');
/// stack.push('b');
/// assert_eq!(stack.pop(), Some('b'));
/// let rest: &[char] = stack.into_bump_slice();
/// assert_eq!(rest, ['a']);
/// ```
#[repr(transparent)]
pub struct Vec<'bump, T: 'bump>(pub(crate) native::Vec<'bump, T>);

impl<'bump, T: 'bump> Vec<'bump, T> {
    /// Creates an empty vector. It takes no memory yet.
    #[inline(always)]
    pub fn new_in(bump: &'bump Bump) -> Vec<'bump, T> {
        Vec(native::Vec::new_in(bump.as_ref()))
    }

    /// Creates an empty vector for `capacity` elements.
    #[inline(always)]
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, bump: &'bump Bump) -> Vec<'bump, T> {
        Vec(native::Vec::with_capacity_in(capacity, bump.as_ref()))
    }

    /// Collects an iterator.
    #[inline(always)]
    #[track_caller]
    pub fn from_iter_in<I: IntoIterator<Item = T>>(iter: I, bump: &'bump Bump) -> Vec<'bump, T> {
        Vec(native::Vec::from_iter_in(iter, bump.as_ref()))
    }

    /// The body of [`vec!`](crate::vec).
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn __of<const N: usize>(bump: &'bump Bump, elements: [T; N]) -> Vec<'bump, T> {
        Vec(native::Vec::from_array_in(elements, bump.as_ref()))
    }

    /// Creates a vector of its parts.
    ///
    /// # Safety
    /// As for [`toft::collections::Vec::from_raw_parts_in`].
    #[inline(always)]
    pub unsafe fn from_raw_parts_in(ptr: *mut T, length: usize, capacity: usize, bump: &'bump Bump) -> Vec<'bump, T> {
        // SAFETY: the caller's contract.
        Vec(unsafe { native::Vec::from_raw_parts_in(ptr, length, capacity, bump.as_ref()) })
    }

    /// Returns its arena.
    #[inline(always)]
    pub fn bump(&self) -> &'bump Bump {
        Bump::from_ref(self.0.arena())
    }

    forward_ref! { self, "Vec":
        fn capacity() -> usize;
        fn as_slice() -> &[T];
        fn as_ptr() -> *const T;
        fn len() -> usize;
        fn is_empty() -> bool;
    }

    forward_mut! { self, "Vec":
        fn reserve(additional: usize);
        fn reserve_exact(additional: usize);
        fn shrink_to_fit();
        fn truncate(len: usize);
        fn as_mut_slice() -> &mut [T];
        fn as_mut_ptr() -> *mut T;
        fn swap_remove(index: usize) -> T;
        fn insert(index: usize, element: T);
        fn remove(index: usize) -> T;
        fn retain<F>(f: F) where [F: FnMut(&T) -> bool];
        fn retain_mut<F>(f: F) where [F: FnMut(&mut T) -> bool];
        fn dedup_by<F>(same_bucket: F) where [F: FnMut(&mut T, &mut T) -> bool];
        fn push(value: T);
        fn pop() -> Option<T>;
        fn pop_if(predicate: impl FnOnce(&mut T) -> bool) -> Option<T>;
        fn drain<R>(range: R) -> Drain<'_, 'bump, T> where [R: RangeBounds<usize>];
        fn clear();
        fn resize(new_len: usize, value: T) where [T: Clone];
        fn extend_from_slice(other: &[T]) where [T: Clone];
        fn extend_from_slice_copy(other: &[T]) where [T: Copy];
        fn dedup() where [T: PartialEq];
    }

    /// Removes the elements that `filter` accepts, and returns them by an iterator, which drops those that it did not
    /// return.
    #[inline(always)]
    pub fn drain_filter<F>(&mut self, filter: F) -> DrainFilter<'_, 'bump, T, F>
    where
        F: FnMut(&mut T) -> bool,
    {
        DrainFilter::new(&mut self.0, filter)
    }

    /// Appends copies of several slices. The vector grows at most once.
    #[track_caller]
    pub fn extend_from_slices_copy(&mut self, slices: &[&[T]])
    where
        T: Copy,
    {
        let sum = slices.iter().try_fold(0usize, |sum, slice| sum.checked_add(slice.len()));
        self.reserve(sum.expect("toft: out of memory: capacity overflow"));
        slices.iter().for_each(|slice| self.extend_from_slice_copy(slice));
    }

    /// As [`reserve`](Vec::reserve), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), CollectionAllocErr> {
        Ok(self.0.try_reserve(additional)?)
    }

    /// As [`reserve_exact`](Vec::reserve_exact), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_reserve_exact(&mut self, additional: usize) -> Result<(), CollectionAllocErr> {
        Ok(self.0.try_reserve_exact(additional)?)
    }

    /// Returns the elements for as long as the arena is borrowed. They are not dropped.
    #[inline(always)]
    pub fn into_bump_slice(self) -> &'bump [T] {
        self.0.into_slice()
    }

    /// As [`into_bump_slice`](Vec::into_bump_slice), exclusively.
    #[inline(always)]
    pub fn into_bump_slice_mut(self) -> &'bump mut [T] {
        self.0.into_slice()
    }

    /// Returns the elements in a box.
    #[cfg(feature = "boxed")]
    #[inline(always)]
    pub fn into_boxed_slice(self) -> crate::boxed::Box<'bump, [T]> {
        self.0.into_boxed_slice().into()
    }

    /// Sets the length.
    ///
    /// # Safety
    /// As for [`toft::collections::Vec::set_len`].
    #[inline(always)]
    pub unsafe fn set_len(&mut self, new_len: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.0.set_len(new_len) }
    }

    /// Drops all but the first of adjacent elements with equal keys.
    #[inline(always)]
    pub fn dedup_by_key<F, K>(&mut self, key: F)
    where
        F: FnMut(&mut T) -> K,
        K: PartialEq,
    {
        self.0.dedup_by_key(key)
    }

    /// Moves all elements of another vector to the end of this one.
    #[inline(always)]
    #[track_caller]
    pub fn append(&mut self, other: &mut Self) {
        self.0.append(&mut other.0)
    }

    /// Moves the elements from `at` on to a vector of their own.
    #[inline(always)]
    #[track_caller]
    pub fn split_off(&mut self, at: usize) -> Self {
        Vec(self.0.split_off(at))
    }

    /// As [`drain`](Vec::drain), and inserts the elements of another iterator there when the returned one is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn splice<R, I>(&mut self, range: R, replace_with: I) -> Splice<'_, 'bump, I::IntoIter>
    where
        R: RangeBounds<usize>,
        I: IntoIterator<Item = T>,
    {
        self.0.splice(range, replace_with)
    }
}

impl<'bump, T: 'bump> From<native::Vec<'bump, T>> for Vec<'bump, T> {
    fn from(vec: native::Vec<'bump, T>) -> Self {
        Vec(vec)
    }
}

impl<'bump, T: 'bump> From<Vec<'bump, T>> for native::Vec<'bump, T> {
    fn from(vec: Vec<'bump, T>) -> Self {
        vec.0
    }
}

#[cfg(feature = "boxed")]
impl<'bump, T: 'bump> From<Vec<'bump, T>> for crate::boxed::Box<'bump, [T]> {
    fn from(vec: Vec<'bump, T>) -> Self {
        vec.into_boxed_slice()
    }
}

// ---- what the standard library's `Vec` does as a slice ----

impl<T> Deref for Vec<'_, T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T> DerefMut for Vec<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T, I: SliceIndex<[T]>> Index<I> for Vec<'_, T> {
    type Output = I::Output;
    #[inline(always)]
    #[track_caller]
    fn index(&self, index: I) -> &I::Output {
        &self.as_slice()[index]
    }
}

impl<T, I: SliceIndex<[T]>> IndexMut<I> for Vec<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: I) -> &mut I::Output {
        &mut self.as_mut_slice()[index]
    }
}

/// In the same arena.
impl<'bump, T: 'bump + Clone> Clone for Vec<'bump, T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Vec(self.0.clone())
    }

    #[track_caller]
    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0)
    }
}

toft::__traits_of_target!([T] Vec<'_, T>, [T]);

macro_rules! equal {
    ($other:ty $(, $n:ident)?) => {
        impl<'a, 'b, A: PartialEq<B>, B $(, const $n: usize)?> PartialEq<$other> for Vec<'a, A> {
            #[inline]
            fn eq(&self, other: &$other) -> bool {
                self[..] == other[..]
            }
        }
    };
}

equal!(Vec<'b, B>);
equal!(&'b [B]);
equal!(&'b mut [B]);
equal!([B; N], N);
equal!(&'b [B; N], N);
equal!(&'b mut [B; N], N);

impl<T: Eq> Eq for Vec<'_, T> {}

impl<T: PartialOrd> PartialOrd for Vec<'_, T> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.as_slice().partial_cmp(other)
    }
}

impl<T: Ord> Ord for Vec<'_, T> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other)
    }
}

impl<'bump, T> AsRef<Vec<'bump, T>> for Vec<'bump, T> {
    fn as_ref(&self) -> &Vec<'bump, T> {
        self
    }
}

impl<'bump, T> AsMut<Vec<'bump, T>> for Vec<'bump, T> {
    fn as_mut(&mut self) -> &mut Vec<'bump, T> {
        self
    }
}

impl<'bump, T: 'bump> Extend<T> for Vec<'bump, T> {
    #[inline(always)]
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, iter: I) {
        self.0.extend(iter)
    }
}

impl<'a, 'bump, T: 'a + Copy> Extend<&'a T> for Vec<'bump, T> {
    #[inline(always)]
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, iter: I) {
        self.0.extend(iter)
    }
}

impl<'bump, T: 'bump> IntoIterator for Vec<'bump, T> {
    type Item = T;
    type IntoIter = IntoIter<'bump, T>;

    #[inline(always)]
    fn into_iter(self) -> IntoIter<'bump, T> {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Vec<'_, T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    #[inline(always)]
    fn into_iter(self) -> slice::Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Vec<'_, T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    #[inline(always)]
    fn into_iter(self) -> slice::IterMut<'a, T> {
        self.iter_mut()
    }
}

/// Writes at the end. Fails only if the arena has no memory.
#[cfg(feature = "std")]
impl std::io::Write for Vec<'_, u8> {
    #[inline]
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        std::io::Write::write(&mut self.0, buf)
    }

    #[inline]
    fn write_all(&mut self, buf: &[u8]) -> std::io::Result<()> {
        std::io::Write::write_all(&mut self.0, buf)
    }

    #[inline]
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(feature = "serde")]
impl<T: serde::Serialize> serde::Serialize for Vec<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}
