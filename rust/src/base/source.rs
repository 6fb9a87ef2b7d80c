//! Sources: where the blocks of arenas come from.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

/// A source of memory blocks for arenas.
///
/// An arena takes blocks of a multiple of 4096 bytes and returns each with the size that it was taken with. The source
/// is called on the thread that uses the arena, and must not use that arena.
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
/// `take` returns memory of at least `size` bytes at a multiple of 64, valid for reads and writes on the arena's thread
/// and used by no other code until it is returned by `put`, even if the source is moved. No function unwinds.
/// `refused` may run on any thread while other threads call the source, even if the source is not `Sync`.
pub unsafe trait Source {
    /// Takes a block of `size` bytes. `None`: no memory.
    fn take(&self, size: usize) -> Option<NonNull<u8>>;

    /// Returns a block.
    ///
    /// # Safety
    /// `block` came from `take` of this source with `size`, or was extended to it, and is not used any more.
    unsafe fn put(&self, block: NonNull<u8>, size: usize);

    /// Resizes a block in place. `false`: impossible, nothing changed.
    ///
    /// # Safety
    /// `block` has `size` bytes of this source; when it shrinks, the bytes above `want` are not used any more.
    unsafe fn extend(&self, block: NonNull<u8>, size: usize, want: usize) -> bool {
        let _ = (block, size, want);
        false
    }

    /// Whether [`extend`](Source::extend) may succeed. Such a source provides one block for an arena, which grows.
    /// Constant.
    fn extends(&self) -> bool {
        false
    }

    /// Whether what one arena holds may be refused to other users of the source, as of [`Limited`](crate::Limited).
    /// Arenas on such a source return blocks at once instead of keeping them: at a rewind, and at a reset that keeps
    /// what [recent](crate::Keep::Recent) rounds needed. Constant.
    fn shares_limit(&self) -> bool {
        false
    }

    /// Called when a request of an object fails since the source refused blocks, down to one of `size` bytes. Returns
    /// whether the request is to be tried once more, as the callback of a [`Budget`](crate::Budget) may decide. Objects
    /// of many threads call it without their lock: see the safety contract.
    fn refused(&self, size: usize) -> bool {
        let _ = size;
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

    fn shares_limit(&self) -> bool {
        (**self).shares_limit()
    }

    fn refused(&self, size: usize) -> bool {
        (**self).refused(size)
    }
}

/// What an arena has of a limit on live bytes that several arenas share: its slow path takes and returns bytes of it.
pub(crate) trait Portion {
    /// The bytes that the limit counts for the arena.
    fn granted(&self) -> u64;

    /// Returns what an arena with `used` live bytes, at most [`granted`](Portion::granted), does not need.
    fn update(&self, used: u64);

    /// Grants at least so many bytes. `false`: refused.
    fn grow(&self, wanted: u64) -> bool;

    /// Whether bytes that were refused since the last call may be granted now. It may call back to the program.
    fn may_retry(&self) -> bool;
}
