//! Where blocks come from.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

/// Memory for arenas, by the block.
///
/// An arena asks its source for blocks of a multiple of 4096 bytes and returns each with the size it was taken with. The
/// source is called on the thread that uses the arena, and must not use the arena that asks.
///
/// ```
/// use core::alloc::Layout;
/// use core::cell::Cell;
/// use core::ptr::NonNull;
/// use toft::{Scope, Source};
///
/// /// The global allocator, with a count of the bytes that are out.
/// struct Counting(Cell<usize>);
///
/// // SAFETY: the global allocator's blocks are valid and aligned until they are put back.
/// unsafe impl Source for Counting {
///     fn take(&self, size: usize) -> Option<NonNull<u8>> {
///         let block = unsafe { std::alloc::alloc(Layout::from_size_align(size, 64).ok()?) };
///         self.0.set(self.0.get() + size);
///         NonNull::new(block)
///     }
///     unsafe fn put(&self, block: NonNull<u8>, size: usize) {
///         self.0.set(self.0.get() - size);
///         unsafe { std::alloc::dealloc(block.as_ptr(), Layout::from_size_align_unchecked(size, 64)) }
///     }
/// }
///
/// let source = Counting(Cell::new(0));
/// let arena = Scope::from_source(&source)?;
/// arena.alloc([0u8; 10_000]);
/// assert!(source.0.get() >= 10_000);
/// drop(arena);
/// assert_eq!(source.0.get(), 0);
/// # Ok::<(), toft::AllocError>(())
/// ```
///
/// # Safety
/// `take` returns memory of at least `size` bytes at a multiple of 64, valid for reads and writes by whoever has the
/// arena and used by nobody else, until it is `put` back, even if the source is moved. No function unwinds.
pub unsafe trait Source {
    /// A block of `size` bytes, or `None`: there is none.
    fn take(&self, size: usize) -> Option<NonNull<u8>>;

    /// Takes a block back.
    ///
    /// # Safety
    /// `block` came from `take` of this source with `size`, or was extended to it, and is used no more.
    unsafe fn put(&self, block: NonNull<u8>, size: usize);

    /// Makes a block larger or smaller without moving it. `false`: it is as it was.
    ///
    /// # Safety
    /// `block` has `size` bytes of this source; when it shrinks, the bytes above `want` are used no more.
    unsafe fn extend(&self, block: NonNull<u8>, size: usize, want: usize) -> bool {
        let _ = (block, size, want);
        false
    }

    /// Whether [`extend`](Source::extend) may succeed. Such a source gives an arena one block for good, which grows. The
    /// answer never changes.
    fn extends(&self) -> bool {
        false
    }
}

// SAFETY: the same source.
unsafe impl<S: Source + ?Sized> Source for &S {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        (**self).take(size)
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { (**self).put(block, size) }
    }

    unsafe fn extend(&self, block: NonNull<u8>, size: usize, want: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { (**self).extend(block, size, want) }
    }

    fn extends(&self) -> bool {
        (**self).extends()
    }
}
