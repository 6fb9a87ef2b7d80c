//! A growing array in an arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod drain;
mod edit;
mod extend;
mod filter;
mod into_iter;
mod splice;
mod traits;

pub use drain::Drain;
pub use filter::DrainFilter;
pub use into_iter::IntoIter;
pub use splice::Splice;

use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};
use core::slice;

use super::buffer::Buffer;
use super::CollectionAllocErr;
use crate::boxed::Box;
use crate::bumpalo::Bump;
use crate::error::unwrap_infallible;

/// A growing array in an arena: the standard library's `Vec`, made with a reference to a [`Bump`].
///
/// It grows in place while it is the arena's newest allocation, and is moved by doubling otherwise. What it leaves when
/// it moves stays used until the arena is reset. Elements are dropped with it, unless it becomes a slice of the arena
/// ([`into_bump_slice`](Vec::into_bump_slice)).
///
/// Calls that need memory panic if the arena has none; and those that take an index or a range, if it is out of bounds.
///
/// ```
/// use toft::bumpalo::{collections::Vec, Bump};
///
/// let bump = Bump::new();
/// let mut stack = Vec::new_in(&bump);
/// stack.push('a');
/// stack.push('b');
/// assert_eq!(stack.pop(), Some('b'));
/// let rest: &[char] = stack.into_bump_slice();
/// assert_eq!(rest, ['a']);
/// ```
pub struct Vec<'bump, T: 'bump> {
    buffer: Buffer<'bump, T>,
    len: usize,
}

impl<'bump, T: 'bump> Vec<'bump, T> {
    // ---- making ----

    /// An empty one, which takes no memory yet.
    #[inline]
    #[track_caller]
    pub fn new_in(bump: &'bump Bump) -> Vec<'bump, T> {
        Vec { buffer: Buffer::new(bump), len: 0 }
    }

    /// An empty one with room for `capacity` elements.
    #[inline]
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, bump: &'bump Bump) -> Vec<'bump, T> {
        Vec { buffer: Buffer::with_room(capacity, bump), len: 0 }
    }

    /// All that an iterator yields.
    ///
    /// ```
    /// # use toft::bumpalo::{collections::Vec, Bump};
    /// let bump = Bump::new();
    /// assert_eq!(Vec::from_iter_in("a b c".split(' '), &bump), ["a", "b", "c"]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn from_iter_in<I: IntoIterator<Item = T>>(iter: I, bump: &'bump Bump) -> Vec<'bump, T> {
        let iter = iter.into_iter();
        let mut vec = Vec::with_capacity_in(iter.size_hint().0, bump);
        vec.extend(iter);
        vec
    }

    /// Of its parts.
    ///
    /// # Safety
    /// `ptr`, `length` and `capacity` are those of a `Vec` of `bump` that was forgotten; or an allocation of `bump`
    /// with the size and alignment of `capacity` elements, of which `length` are there, and which is nobody else's.
    #[track_caller]
    pub unsafe fn from_raw_parts_in(ptr: *mut T, length: usize, capacity: usize, bump: &'bump Bump) -> Vec<'bump, T> {
        // SAFETY: the caller's contract.
        unsafe { Vec { buffer: Buffer::from_parts(NonNull::new_unchecked(ptr), capacity, bump), len: length } }
    }

    /// What `vec!` calls.
    #[doc(hidden)]
    #[inline]
    #[track_caller]
    pub fn __of<const N: usize>(bump: &'bump Bump, elements: [T; N]) -> Vec<'bump, T> {
        let mut vec: Vec<T> = Vec::with_capacity_in(N, bump);
        // SAFETY: there is room for all of them.
        unsafe { vec.as_mut_ptr().cast::<[T; N]>().write(elements) };
        vec.len = N;
        vec
    }

    // ---- room ----

    /// The arena.
    #[inline]
    #[track_caller]
    pub fn bump(&self) -> &'bump Bump {
        self.buffer.bump()
    }

    /// Elements that it can hold without growing.
    #[inline]
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.buffer.room()
    }

    /// Room for `additional` more elements, and for further ones to come.
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        unwrap_infallible(self.buffer.reserve(self.len, additional))
    }

    /// Room for `additional` more elements.
    #[inline]
    #[track_caller]
    pub fn reserve_exact(&mut self, additional: usize) {
        unwrap_infallible(self.buffer.reserve_exact(self.len, additional))
    }

    /// As [`reserve`](Vec::reserve), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), CollectionAllocErr> {
        self.buffer.reserve(self.len, additional)
    }

    /// As [`reserve_exact`](Vec::reserve_exact), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_reserve_exact(&mut self, additional: usize) -> Result<(), CollectionAllocErr> {
        self.buffer.reserve_exact(self.len, additional)
    }

    /// Gives back the room that is not used, if the array is the arena's newest allocation.
    #[track_caller]
    pub fn shrink_to_fit(&mut self) {
        self.buffer.shrink(self.len)
    }

    // ---- becoming something else ----

    /// The elements, for as long as the arena is borrowed. They are not dropped any more.
    #[inline]
    #[track_caller]
    pub fn into_bump_slice(self) -> &'bump [T] {
        self.into_bump_slice_mut()
    }

    /// As [`into_bump_slice`](Vec::into_bump_slice), to be changed.
    #[inline]
    #[track_caller]
    pub fn into_bump_slice_mut(self) -> &'bump mut [T] {
        let len = self.len;
        // SAFETY: as many elements are there, and nobody else's now; the memory lives for 'bump.
        unsafe { slice::from_raw_parts_mut(self.into_buffer().into_used(len).as_ptr(), len) }
    }

    /// The elements in a box, which drops them.
    ///
    /// ```
    /// # use toft::bumpalo::{self, boxed::Box, Bump};
    /// let bump = Bump::new();
    /// let boxed: Box<[i32]> = bumpalo::vec![in &bump; 1, 2, 3].into_boxed_slice();
    /// assert_eq!(boxed.len(), 3);
    /// ```
    #[inline]
    #[track_caller]
    pub fn into_boxed_slice(self) -> Box<'bump, [T]> {
        // SAFETY: the elements are nobody else's.
        unsafe { Box::from_raw(self.into_bump_slice_mut()) }
    }

    /// The memory, with no elements any more.
    #[inline(always)]
    #[track_caller]
    fn into_buffer(self) -> Buffer<'bump, T> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again.
        unsafe { ptr::read(&this.buffer) }
    }

    // ---- looking ----

    /// The elements.
    #[inline(always)]
    #[track_caller]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: so many are there.
        unsafe { slice::from_raw_parts(self.as_ptr(), self.len) }
    }

    /// The elements, to be changed.
    #[inline(always)]
    #[track_caller]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: so many are there.
        unsafe { slice::from_raw_parts_mut(self.as_mut_ptr(), self.len) }
    }

    /// The address of the first element; dangling if there was never any.
    #[inline(always)]
    #[track_caller]
    pub fn as_ptr(&self) -> *const T {
        self.buffer.at()
    }

    /// As [`as_ptr`](Vec::as_ptr), to be changed.
    #[inline(always)]
    #[track_caller]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.buffer.at()
    }

    /// How many elements there are.
    #[inline(always)]
    #[track_caller]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline(always)]
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Says how many elements there are.
    ///
    /// # Safety
    /// `new_len` is at most the capacity, and so many elements are there.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn set_len(&mut self, new_len: usize) {
        debug_assert!(new_len <= self.capacity());
        self.len = new_len;
    }
}

impl<T> Drop for Vec<'_, T> {
    #[inline]
    #[track_caller]
    fn drop(&mut self) {
        // SAFETY: the elements are dropped once; the buffer goes after them.
        unsafe { ptr::drop_in_place(ptr::slice_from_raw_parts_mut(self.buffer.at(), self.len)) }
    }
}
