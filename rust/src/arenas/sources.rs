//! Further sources: pages of the system, one block that grows in reserved addresses, and a limit around another source.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::base::error::AllocError;
use crate::base::os;
use crate::base::policy::{BLOCK_MIN, MAX_REQUEST};
use crate::base::source::Source;
use crate::system::heap::or_without_caches;
use crate::system::sanitizers::{scan_begin, scan_end};

/// A source of whole pages from the system, without a cache. When the system refuses pages, the caches of the heap and
/// of pages are returned to it, and the pages are requested once more.
///
/// ```
/// use toft::{Options, Pages};
/// let arena = Options::new().source(Pages::huge()).reserve(8 << 20).create()?;
/// arena.alloc_slice_fill(1 << 20, 0u64);
/// # Ok::<(), toft::AllocError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pages {
    huge: bool,
}

impl Pages {
    /// Pages of the usual size.
    pub const fn new() -> Pages {
        Pages { huge: false }
    }

    /// Huge pages for blocks of 2 MiB and more, if the system has them.
    pub const fn huge() -> Pages {
        Pages { huge: true }
    }
}

// SAFETY: the system's pages are valid until they are unmapped.
unsafe impl Source for Pages {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        or_without_caches(|| os::map(size, self.huge)).map(|block| scan_begin(block, size))
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        scan_end(block, size);
        // SAFETY: the caller's contract.
        unsafe { os::unmap(block, size) }
    }
}

/// A source with one block, in a range of reserved addresses: memory is committed as the block grows, and the block
/// never moves, so an arena stays in one piece.
///
/// ```
/// use toft::{Options, Reserve};
/// let arena = Options::new().source(Reserve::new(256 << 20)?).create()?;
/// let a = arena.alloc([1u8; 100_000]).as_ptr() as usize;
/// let b = arena.alloc([2u8; 100_000]).as_ptr() as usize;
/// assert_eq!(b - a, 100_000);
/// # Ok::<(), toft::AllocError>(())
/// ```
#[derive(Debug)]
pub struct Reserve {
    base: NonNull<u8>,
    max: usize,
    committed: Cell<usize>,
    taken: Cell<bool>,
}

/// The minimum to commit, to save system calls.
const STEP: usize = 64 << 10;

impl Reserve {
    /// Reserves `max` bytes of addresses, rounded up to pages, without memory.
    ///
    /// # Errors
    /// If the addresses are not available, or `max` is 0 or above a quarter of all addresses.
    pub fn new(max: usize) -> Result<Reserve, AllocError> {
        if max == 0 || max > MAX_REQUEST {
            return Err(AllocError);
        }
        let max = max.max(BLOCK_MIN).next_multiple_of(os::page_size());
        let base = or_without_caches(|| os::reserve(max)).ok_or(AllocError)?;
        Ok(Reserve { base: scan_begin(base, max), max, committed: Cell::new(0), taken: Cell::new(false) })
    }

    /// Commits memory from the base up to at least `want` bytes.
    fn commit(&self, want: usize) -> bool {
        let to = want.next_multiple_of(os::page_size());
        let has = self.committed.get();
        if to > self.max {
            return false;
        }
        if to > has {
            let to = to.max(has + STEP).min(self.max);
            // SAFETY: within the reserved range.
            let commit = || unsafe { os::commit(self.base.add(has), to - has) }.then_some(());
            if or_without_caches(commit).is_none() {
                return false;
            }
            self.committed.set(to);
        }
        true
    }

    fn decommit(&self, from: usize) {
        let from = from.next_multiple_of(os::page_size());
        if from < self.committed.get() {
            // SAFETY: within the reserved range, and not used.
            unsafe { os::decommit(self.base.add(from), self.committed.get() - from) };
            self.committed.set(from);
        }
    }
}

// SAFETY: it owns its addresses, and is not `Sync`.
unsafe impl Send for Reserve {}

impl Drop for Reserve {
    fn drop(&mut self) {
        scan_end(self.base, self.max);
        // SAFETY: reserved by `new`; the arena on it has been released.
        unsafe { os::unmap(self.base, self.max) }
    }
}

// SAFETY: the block is taken once at a time, and its memory is committed up to the requested size.
unsafe impl Source for Reserve {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        if self.taken.get() || !self.commit(size) {
            return None;
        }
        self.taken.set(true);
        Some(self.base)
    }

    unsafe fn put(&self, _block: NonNull<u8>, _size: usize) {
        self.decommit(0);
        self.taken.set(false);
    }

    unsafe fn extend(&self, _block: NonNull<u8>, size: usize, want: usize) -> bool {
        if want < size {
            self.decommit(want);
        }
        self.commit(want)
    }

    fn extends(&self) -> bool {
        true
    }
}

/// A limit around another source, which several arenas may share: on the sum of the bytes that they hold. So that none
/// keeps what another one needs, they return blocks at once instead of keeping them
/// ([`shares_limit`](Source::shares_limit)); [`Keep::All`](crate::Keep::All) keeps blocks nonetheless.
///
/// ```
/// use toft::{Limited, Pages, Scope};
/// let source = Limited::new(Pages::new(), 1 << 20);
/// let arena = Scope::from_source(&source)?;
/// assert!(arena.try_alloc_slice_fill(2 << 20, 0u8).is_err());
/// assert_eq!(source.used(), 4096);
/// # Ok::<(), toft::AllocError>(())
/// ```
#[derive(Debug)]
pub struct Limited<S> {
    inner: S,
    limit: usize,
    used: AtomicUsize,
}

impl<S: Source> Limited<S> {
    /// Limits `inner` to `limit` bytes at a time.
    pub const fn new(inner: S, limit: usize) -> Limited<S> {
        Limited { inner, limit, used: AtomicUsize::new(0) }
    }

    /// Returns the bytes of the blocks taken and not returned.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn charge(&self, size: usize) -> bool {
        let mut used = self.used.load(Ordering::Relaxed);
        while let Some(sum) = used.checked_add(size).filter(|sum| *sum <= self.limit) {
            match self.used.compare_exchange_weak(used, sum, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => used = now,
            }
        }
        false
    }

    fn discharge(&self, size: usize) {
        let before = self.used.fetch_sub(size, Ordering::Relaxed);
        debug_assert!(size <= before);
    }
}

// SAFETY: the inner source's blocks.
unsafe impl<S: Source> Source for Limited<S> {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        if !self.charge(size) {
            return None;
        }
        let block = self.inner.take(size);
        if block.is_none() {
            self.discharge(size);
        }
        block
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.inner.put(block, size) };
        self.discharge(size);
    }

    unsafe fn extend(&self, block: NonNull<u8>, size: usize, want: usize) -> bool {
        let more = want.saturating_sub(size);
        if more != 0 && !self.charge(more) {
            return false;
        }
        // SAFETY: the caller's contract.
        let done = unsafe { self.inner.extend(block, size, want) };
        self.discharge(if done { size.saturating_sub(want) } else { more });
        done
    }

    fn extends(&self) -> bool {
        self.inner.extends()
    }

    fn shares_limit(&self) -> bool {
        true
    }

    fn refused(&self, size: usize) -> bool {
        self.inner.refused(size)
    }
}
