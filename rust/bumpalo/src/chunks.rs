//! The walk over the allocations, block by block.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::vec;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::slice;

use toft::BlockInfo;

use crate::Bump;

/// [`Bump::iter_allocated_chunks`].
///
/// ```
/// let mut bump = toft_bumpalo::Bump::new();
/// bump.alloc(7u64);
/// assert_eq!(bump.iter_allocated_chunks().count(), 1);
/// ```
#[derive(Debug)]
pub struct ChunkIter<'a, const MIN_ALIGN: usize = 1> {
    raw: ChunkRawIter<'a, MIN_ALIGN>,
}

/// [`Bump::iter_allocated_chunks_raw`].
///
/// ```
/// let bump = toft_bumpalo::Bump::new();
/// bump.alloc(7u64);
/// // SAFETY: nothing is allocated while it is looked at.
/// let bytes: usize = unsafe { bump.iter_allocated_chunks_raw() }.map(|(_, size)| size).sum();
/// assert_eq!(bytes, 8);
/// ```
pub struct ChunkRawIter<'a, const MIN_ALIGN: usize = 1> {
    blocks: vec::IntoIter<BlockInfo>,
    bump: PhantomData<&'a Bump<MIN_ALIGN>>,
}

impl<const MIN_ALIGN: usize> Bump<MIN_ALIGN> {
    /// The bytes that are allocated, a slice for each block, the newest block first.
    ///
    /// Here blocks are filled upwards: within a slice the **oldest** allocation comes first, where bumpalo has the
    /// newest; and each takes a multiple of 8 bytes. So a slice is an array of `T` only if the size of `T` is a
    /// multiple of 8, its alignment at most 8, and nothing else was allocated. Bytes between allocations are not
    /// initialised.
    ///
    /// ```
    /// let mut bump = toft_bumpalo::Bump::new();
    /// for i in 0..1000u64 {
    ///     bump.alloc(i);
    /// }
    /// let mut sum = 0;
    /// for chunk in bump.iter_allocated_chunks() {
    ///     for word in chunk.chunks_exact(8) {
    ///         // SAFETY: only u64 are allocated, which fill their places.
    ///         sum += unsafe { word.as_ptr().cast::<u64>().read() };
    ///     }
    /// }
    /// assert_eq!(sum, 499_500);
    /// ```
    pub fn iter_allocated_chunks(&mut self) -> ChunkIter<'_, MIN_ALIGN> {
        // SAFETY: no other code uses the arena while the iterator exists.
        ChunkIter { raw: unsafe { self.iter_allocated_chunks_raw() } }
    }

    /// As [`iter_allocated_chunks`](Bump::iter_allocated_chunks), by address and length, while references to what is
    /// allocated are about.
    ///
    /// # Safety
    /// The arena is not used, not reset and not dropped while the iterator is in use. Who reads or writes through the
    /// addresses minds the references to the same bytes.
    pub unsafe fn iter_allocated_chunks_raw(&self) -> ChunkRawIter<'_, MIN_ALIGN> {
        ChunkRawIter { blocks: self.arena.blocks().into_iter(), bump: PhantomData }
    }
}

impl<'a, const MIN_ALIGN: usize> Iterator for ChunkIter<'a, MIN_ALIGN> {
    type Item = &'a [MaybeUninit<u8>];

    fn next(&mut self) -> Option<&'a [MaybeUninit<u8>]> {
        let (at, len) = self.raw.next()?;
        // SAFETY: memory of a block, which the exclusive borrow of the arena keeps as it is for 'a.
        Some(unsafe { slice::from_raw_parts(at.cast(), len) })
    }
}

impl<const MIN_ALIGN: usize> Iterator for ChunkRawIter<'_, MIN_ALIGN> {
    type Item = (*mut u8, usize);

    fn next(&mut self) -> Option<(*mut u8, usize)> {
        let block = self.blocks.find(|b| b.used != 0)?;
        Some((block.start.cast_mut(), block.used))
    }
}

impl<const MIN_ALIGN: usize> FusedIterator for ChunkIter<'_, MIN_ALIGN> {}
impl<const MIN_ALIGN: usize> FusedIterator for ChunkRawIter<'_, MIN_ALIGN> {}

impl<const MIN_ALIGN: usize> fmt::Debug for ChunkRawIter<'_, MIN_ALIGN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkRawIter").finish_non_exhaustive()
    }
}
