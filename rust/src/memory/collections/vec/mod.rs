//! A growing array in an arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod buffer;
mod drain;
mod edit;
mod extend;
mod extract_if;
mod into_iter;
mod splice;
mod traits;

pub use drain::Drain;
pub use extract_if::ExtractIf;
pub use into_iter::IntoIter;
pub use splice::Splice;

use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::{self, NonNull};
use core::slice;

use super::TryReserveError;
use crate::base::error::{unwrap_infallible, AllocError};
use crate::memory::arena::Arena;
use crate::memory::boxed::Box;
use crate::memory::buffer::{Array, Buffer};
use crate::memory::by_layout::Memory;

/// A growing array in an arena, by default an [`Arena`], or in other [`Memory`]: the standard library's `Vec`.
///
/// It grows in place while it is the arena's newest allocation, and moves otherwise, to twice the capacity. The memory
/// that it leaves stays in use until the arena is reset. Elements are dropped with the vector, unless it becomes a slice
/// of the arena ([`into_slice`](Vec::into_slice)).
///
/// Calls that need memory panic if the arena has none; and those that take an index or a range, if it is out of bounds.
///
/// ```
/// let arena = toft::Arena::new();
/// let mut stack = toft::collections::Vec::new_in(&arena);
/// stack.push('a');
/// stack.push('b');
/// assert_eq!(stack.pop(), Some('b'));
/// let rest: &[char] = stack.into_slice();
/// assert_eq!(rest, ['a']);
/// ```
pub struct Vec<'m, T: 'm, A: Memory = Arena> {
    buffer: Buffer<Array<T>, &'m A>,
    len: usize,
}

impl<'m, T: 'm, A: Memory> Vec<'m, T, A> {
    // ---- creation ----

    /// Creates an empty vector. It takes no memory yet.
    #[inline]
    pub fn new_in(memory: &'m A) -> Vec<'m, T, A> {
        Vec { buffer: Buffer::new(memory), len: 0 }
    }

    /// Creates an empty vector for `capacity` elements.
    #[inline]
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, memory: &'m A) -> Vec<'m, T, A> {
        Vec { buffer: Buffer::with_capacity(capacity, memory), len: 0 }
    }

    /// Collects an iterator.
    #[inline]
    #[track_caller]
    pub fn from_iter_in<I: IntoIterator<Item = T>>(iter: I, memory: &'m A) -> Vec<'m, T, A> {
        let iter = iter.into_iter();
        let mut vec = Vec::with_capacity_in(iter.size_hint().0, memory);
        vec.extend(iter);
        vec
    }

    /// Creates a vector of its parts.
    ///
    /// # Safety
    /// `ptr`, `length` and `capacity` are those of a vector in `memory` that was forgotten; or of an allocation of
    /// `memory` with the size and alignment of `capacity` elements, which no other code uses and of which `length`
    /// elements are initialised.
    pub unsafe fn from_raw_parts_in(ptr: *mut T, length: usize, capacity: usize, memory: &'m A) -> Vec<'m, T, A> {
        // SAFETY: the caller's contract.
        unsafe { Vec { buffer: Buffer::of(NonNull::new_unchecked(ptr), capacity, memory), len: length } }
    }

    /// Creates a vector of the elements of an array.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(toft::collections::Vec::from_array_in([1, 2], &arena), [1, 2]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn from_array_in<const N: usize>(elements: [T; N], memory: &'m A) -> Vec<'m, T, A> {
        let mut vec: Vec<T, A> = Vec::with_capacity_in(N, memory);
        // SAFETY: the capacity suffices.
        unsafe { vec.as_mut_ptr().cast::<[T; N]>().write(elements) };
        vec.len = N;
        vec
    }

    // ---- capacity ----

    /// Returns the arena.
    #[inline]
    pub fn arena(&self) -> &'m A {
        self.buffer.memory()
    }

    /// Returns the number of elements that it can hold without growing.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Makes room for `additional` more elements; at least doubles the capacity if it grows.
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        unwrap_infallible(self.buffer.reserve(self.len, additional))
    }

    /// Makes room for `additional` more elements.
    #[inline]
    #[track_caller]
    pub fn reserve_exact(&mut self, additional: usize) {
        unwrap_infallible(self.buffer.reserve_exact(self.len, additional))
    }

    /// As [`reserve`](Vec::reserve), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.buffer.reserve(self.len, additional)
    }

    /// As [`reserve_exact`](Vec::reserve_exact), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_reserve_exact(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.buffer.reserve_exact(self.len, additional)
    }

    /// Frees the unused capacity, if the arena can free it.
    #[track_caller]
    pub fn shrink_to_fit(&mut self) {
        self.buffer.shrink(self.len)
    }

    /// Frees the capacity above `capacity`, or above the length if that is larger, if the arena can free it.
    #[track_caller]
    pub fn shrink_to(&mut self, capacity: usize) {
        self.buffer.shrink(capacity.max(self.len))
    }

    /// Returns the unused capacity. [`set_len`](Vec::set_len) makes its first elements, once initialised, the vector's.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut v = toft::collections::Vec::with_capacity_in(4, &arena);
    /// v.spare_capacity_mut()[0].write(7);
    /// // SAFETY: the first element is initialised.
    /// unsafe { v.set_len(1) };
    /// assert_eq!(v, [7]);
    /// ```
    #[inline]
    pub fn spare_capacity_mut(&mut self) -> &mut [MaybeUninit<T>] {
        let len = self.len;
        // SAFETY: within the capacity; uninitialised memory may have any bytes.
        unsafe { slice::from_raw_parts_mut(self.as_mut_ptr().add(len).cast(), self.capacity() - len) }
    }

    // ---- conversions ----

    /// Returns the address of the first element, the length and the capacity, without dropping the elements.
    /// [`from_raw_parts_in`](Vec::from_raw_parts_in) makes a vector of them.
    ///
    /// ```
    /// use toft::collections::Vec;
    /// let arena = toft::Arena::new();
    /// let (ptr, length, capacity) = arena.vec_from_iter([1, 2]).into_raw_parts();
    /// // SAFETY: they are a vector's in this arena.
    /// assert_eq!(unsafe { Vec::from_raw_parts_in(ptr, length, capacity, &arena) }, [1, 2]);
    /// ```
    #[inline]
    #[must_use = "the elements are leaked unless a vector is made of the parts"]
    pub fn into_raw_parts(self) -> (*mut T, usize, usize) {
        let len = self.len;
        let (at, capacity, _) = self.into_buffer().into_parts();
        (at.cast().as_ptr(), len, capacity)
    }

    /// As [`into_slice`](Vec::into_slice), by the standard library's name.
    #[inline]
    #[track_caller]
    pub fn leak(self) -> &'m mut [T] {
        self.into_slice()
    }

    /// Returns the elements for as long as the arena is borrowed. They are not dropped.
    #[inline]
    #[track_caller]
    pub fn into_slice(self) -> &'m mut [T] {
        let len = self.len;
        // SAFETY: as many are initialised, and no other code uses them; the memory lives for 'm.
        unsafe { slice::from_raw_parts_mut(self.into_buffer().into_used(len).as_ptr(), len) }
    }

    /// Returns the elements in a box, which drops them.
    #[inline]
    #[track_caller]
    pub fn into_boxed_slice(self) -> Box<'m, [T]> {
        // SAFETY: no other code uses the elements.
        unsafe { Box::from_raw(self.into_slice()) }
    }

    /// Returns the memory. The elements are not dropped.
    #[inline(always)]
    fn into_buffer(self) -> Buffer<Array<T>, &'m A> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again.
        unsafe { ptr::read(&this.buffer) }
    }

    // ---- fallible additions ----

    /// Appends an element, or returns an error if there is no memory; `value` is dropped then.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(64).create()?;
    /// let mut v = tight.vec();
    /// while v.try_push(v.len() as u64).is_ok() {}
    /// assert!((1..=8).contains(&v.len()) && v[0] == 0);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_push(&mut self, value: T) -> Result<(), AllocError> {
        self.try_reserve(1).map_err(|_| AllocError)?;
        self.push(value);
        Ok(())
    }

    /// Appends the elements of an iterator. If there is no memory it returns an error; the elements appended before stay.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(64).create()?;
    /// let mut v = tight.vec();
    /// assert!(v.try_extend(0u64..).is_err());
    /// assert!(!v.is_empty());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[track_caller]
    pub fn try_extend(&mut self, iter: impl IntoIterator<Item = T>) -> Result<(), AllocError> {
        let mut iter = iter.into_iter();
        while let Some(value) = iter.next() {
            if self.len() == self.capacity() {
                let (least, most) = iter.size_hint();
                let more = least.saturating_add(1);
                // Exact size hints are trusted; lower bounds may be far too high (`0..`).
                let more = if most == Some(least) { more } else { 1 };
                self.try_reserve(more).map_err(|_| AllocError)?;
            }
            self.push(value);
        }
        Ok(())
    }

    // ---- queries ----

    /// Returns the elements.
    #[inline(always)]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: as many are initialised.
        unsafe { slice::from_raw_parts(self.as_ptr(), self.len) }
    }

    /// Returns the elements, exclusively.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as many are initialised.
        unsafe { slice::from_raw_parts_mut(self.as_mut_ptr(), self.len) }
    }

    /// Returns the address of the first element; dangling if no memory was allocated.
    #[inline(always)]
    pub fn as_ptr(&self) -> *const T {
        self.buffer.at()
    }

    /// As [`as_ptr`](Vec::as_ptr), for writes.
    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.buffer.at()
    }

    /// Returns the number of elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no element.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Sets the number of elements.
    ///
    /// # Safety
    /// `new_len` is at most the capacity, and as many elements are initialised.
    #[inline(always)]
    pub unsafe fn set_len(&mut self, new_len: usize) {
        debug_assert!(new_len <= self.capacity());
        self.len = new_len;
    }
}

impl<'m, T: 'm, A: Memory, const N: usize> Vec<'m, [T; N], A> {
    /// Returns the elements of all arrays, which stay where they are.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(arena.vec_from_iter([[1, 2], [3, 4]]).into_flattened(), [1, 2, 3, 4]);
    /// ```
    ///
    /// # Panics
    /// If the elements have no size and are more than `usize::MAX`.
    #[track_caller]
    pub fn into_flattened(self) -> Vec<'m, T, A> {
        let memory = self.arena();
        let (at, len, capacity) = self.into_raw_parts();
        let len = len.checked_mul(N).expect("toft: more elements than a vector can hold");
        // SAFETY: the same elements in the same memory. The capacity of elements without a size is not used.
        unsafe { Vec::from_raw_parts_in(at.cast(), len, capacity.wrapping_mul(N), memory) }
    }
}

/// The error is the vector, if it has another length.
impl<'m, T: 'm, A: Memory, const N: usize> TryFrom<Vec<'m, T, A>> for [T; N] {
    type Error = Vec<'m, T, A>;

    fn try_from(mut vec: Vec<'m, T, A>) -> Result<[T; N], Vec<'m, T, A>> {
        if vec.len != N {
            return Err(vec);
        }
        vec.len = 0;
        // SAFETY: as many elements were initialised, and are not the vector's any more.
        Ok(unsafe { vec.as_ptr().cast::<[T; N]>().read() })
    }
}

impl<T, A: Memory> Drop for Vec<'_, T, A> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the elements are dropped once, and the buffer after them.
        unsafe { ptr::drop_in_place(ptr::slice_from_raw_parts_mut(self.buffer.at(), self.len)) }
    }
}
