//! The heap as a source of blocks, and the thread's cache on top of it: initialised arenas and blocks. Fresh memory
//! costs page faults, 10 to 25 times as much as kept memory, so the cache saves most of an arena's time. Each thread
//! has a cache of its own, without a lock, which is freed at thread exit.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

#[cfg(feature = "std")]
use crate::base::policy::CAP;
#[cfg(feature = "std")]
use crate::system::background;
#[cfg(feature = "std")]
use crate::system::page_cache;
#[cfg(feature = "std")]
use crate::system::sanitizers::{scan_begin, scan_end};

/// Alignment of an arena's blocks. Recyclers request more, and get blocks of the same alignment back.
const LINE: usize = 64;

/// Blocks below 1 MiB come from the global allocator.
fn layout(size: usize, align: usize) -> Layout {
    // SAFETY: a power of two; sizes are at most policy::MAX_REQUEST and some pages.
    unsafe { Layout::from_size_align_unchecked(size, align) }
}

fn take_global(size: usize, align: usize) -> Option<NonNull<u8>> {
    // SAFETY: the size is not 0.
    NonNull::new(unsafe { alloc::alloc::alloc(layout(size, align)) })
}

unsafe fn put_global(block: NonNull<u8>, size: usize, align: usize) {
    // SAFETY: the caller's contract: it came from `take_global` with that size and alignment.
    unsafe { alloc::alloc::dealloc(block.as_ptr(), layout(size, align)) }
}

pub fn take(size: usize) -> Option<NonNull<u8>> {
    take_aligned(size, LINE)
}

/// What `take` returns: the process may be at a limit of memory, so after a refusal this thread's cache and the cache of
/// pages are returned to the system, and `take` is called once more.
#[inline]
pub fn or_without_caches<T>(take: impl Fn() -> Option<T>) -> Option<T> {
    take().or_else(|| {
        return_caches();
        take()
    })
}

/// # Safety
/// `block` came from [`take`] with that size, and is not used any more.
pub unsafe fn put(block: NonNull<u8>, size: usize) {
    // SAFETY: the caller's contract.
    unsafe { put_aligned(block, size, LINE) }
}

/// As [`put`], past the thread's cache.
///
/// # Safety
/// As for [`put`].
#[cfg(feature = "std")]
pub unsafe fn put_uncached(block: NonNull<u8>, size: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if size < CAP {
            put_global(block, size, LINE);
        } else {
            put_pages(block, size);
        }
    }
}

/// # Safety
/// `block` came from [`take_aligned`] with that size, of 1 MiB or more, and is not used any more.
#[cfg(feature = "std")]
unsafe fn put_pages(block: NonNull<u8>, size: usize) {
    scan_end(block, size);
    // SAFETY: the caller's contract.
    unsafe { page_cache::put(block, size) };
    background::pages_came();
}

/// Offset in an arena's first block of the word that links cached arenas. The provider's state has a spare one there.
pub const READY_LINK: usize = 5 * size_of::<usize>();

/// Recyclers take blocks of whole units, aligned to a unit.
pub const UNIT: usize = 32 << 10;

/// Blocks of 1 MiB or more are pages, which malloc would map too, but as small ones. They are aligned to pages: a larger
/// alignment is not guaranteed.
#[cfg(feature = "std")]
pub fn take_aligned(size: usize, align: usize) -> Option<NonNull<u8>> {
    if size >= CAP {
        return or_without_caches(|| page_cache::take(size)).map(|block| scan_begin(block, size));
    }
    cache::take(size, align).or_else(|| or_without_caches(|| take_global(size, align)))
}

#[cfg(feature = "std")]
#[cold]
fn return_caches() {
    cache::trim();
}

#[cfg(not(feature = "std"))]
fn return_caches() {}

/// # Safety
/// `block` came from [`take_aligned`] with that size and alignment, and is not used any more.
#[cfg(feature = "std")]
pub unsafe fn put_aligned(block: NonNull<u8>, size: usize, align: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if size >= CAP {
            put_pages(block, size);
        } else if !cache::put(block, size, align) {
            put_global(block, size, align);
        }
    }
}

#[cfg(feature = "std")]
pub use cache::{accepts_arena, put_arena, take_arena};

#[cfg(not(feature = "std"))]
mod uncached {
    use super::*;

    pub fn take_aligned(size: usize, align: usize) -> Option<NonNull<u8>> {
        take_global(size, align)
    }

    pub unsafe fn put_aligned(block: NonNull<u8>, size: usize, align: usize) {
        // SAFETY: the caller's contract.
        unsafe { put_global(block, size, align) }
    }

    pub fn take_arena() -> Option<NonNull<u8>> {
        None
    }

    pub fn accepts_arena() -> bool {
        false
    }

    pub unsafe fn put_arena(_base: NonNull<u8>) {}
}
#[cfg(not(feature = "std"))]
pub use uncached::*;

#[cfg(feature = "std")]
pub mod cache {
    //! The cache of each thread: initialised arenas and blocks below 1 MiB, up to a total limit.
    use super::*;
    use crate::base::policy::{BLOCK_MIN, MIB};
    use core::cell::Cell;
    use core::sync::atomic::{AtomicUsize, Ordering};

    /// Bins for sizes from 4 KiB to below 1 MiB, by power of two.
    const BINS: usize = 8;
    /// Blocks of a bin tested for the exact size.
    const PROBES_MAX: usize = 16;
    /// Blocks taken or put until the cache of pages is aged: pages that are due go back to the system also if this
    /// thread uses none.
    const AGE: usize = 64;

    static LIMIT: AtomicUsize = AtomicUsize::new(4 * MIB);

    /// Stored in a cached block.
    struct Cached {
        next: Option<NonNull<Cached>>,
        size: usize,
        align: usize,
    }

    struct Cache {
        /// Pristine arenas, linked by the word at `READY_LINK`.
        ready: Cell<*mut u8>,
        /// Bytes, ready arenas included.
        bytes: Cell<usize>,
        /// Blocks taken and put.
        blocks: Cell<usize>,
        bins: [Cell<Option<NonNull<Cached>>>; BINS],
    }

    std::thread_local! {
        static CACHE: Cache = const {
            Cache {
                ready: Cell::new(core::ptr::null_mut()),
                bytes: Cell::new(0),
                blocks: Cell::new(0),
                bins: [const { Cell::new(None) }; BINS],
            }
        };
    }

    /// # Safety
    /// `base` is the block of an arena.
    #[inline(always)]
    unsafe fn link_of(base: NonNull<u8>) -> *mut *mut u8 {
        // SAFETY: within the block.
        unsafe { base.as_ptr().add(READY_LINK).cast() }
    }

    impl Drop for Cache {
        fn drop(&mut self) {
            self.empty();
        }
    }

    /// `None` after the thread's cache is destroyed: memory released later goes to the system.
    #[inline(always)]
    fn with<R>(f: impl FnOnce(&Cache) -> R) -> Option<R> {
        CACHE.try_with(f).ok()
    }

    fn bin(size: usize) -> usize {
        (size / BLOCK_MIN).checked_ilog2().map_or(0, |n| n as usize)
    }

    impl Cache {
        #[inline(always)]
        fn accepts(&self, size: usize) -> bool {
            self.bytes.get() + size <= LIMIT.load(Ordering::Relaxed) // sizes are below usize::MAX / 4
        }

        fn add_bytes(&self, size: usize) {
            self.bytes.set(self.bytes.get() + size);
        }

        fn sub_bytes(&self, size: usize) {
            debug_assert!(size <= self.bytes.get());
            self.bytes.set(self.bytes.get() - size);
        }

        fn count_block(&self) {
            debug_assert!(self.verify());
            self.blocks.set(self.blocks.get() + 1);
            if self.blocks.get() % AGE == 0 {
                page_cache::age();
            }
        }

        /// Unlinks the first matching block of a bin.
        fn take(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
            self.count_block();
            let head = &self.bins[bin(size)];
            let mut before: Option<NonNull<Cached>> = None;
            let mut at = head.get();
            for _ in 0..PROBES_MAX {
                let b = at?;
                // SAFETY: a block in a bin begins with a Cached, and is exclusively this cache's.
                let Cached { next, size: s, align: a } = unsafe { b.read() };
                if s == size && a == align {
                    match before {
                        None => head.set(next),
                        // SAFETY: as above.
                        Some(before) => unsafe { (*before.as_ptr()).next = next },
                    }
                    self.sub_bytes(size);
                    return Some(b.cast());
                }
                before = at;
                at = next;
            }
            None
        }

        /// # Safety
        /// `block` is free memory of `size` bytes that this cache may own.
        unsafe fn put(&self, block: NonNull<u8>, size: usize, align: usize) -> bool {
            self.count_block();
            if !self.accepts(size) {
                return false;
            }
            let bin = &self.bins[bin(size)];
            let b = block.cast::<Cached>();
            // SAFETY: the caller's contract.
            unsafe { b.write(Cached { next: bin.get(), size, align }) };
            bin.set(Some(b));
            self.add_bytes(size);
            true
        }

        /// See `assertions.rs`.
        fn verify(&self) -> bool {
            if !crate::base::assertions::verifies(self.bytes.get() / BLOCK_MIN) {
                return true;
            }
            let (mut bytes, mut ready) = (0, NonNull::new(self.ready.get()));
            while let Some(base) = ready {
                debug_assert!(base.addr().get() % LINE == 0);
                bytes += BLOCK_MIN;
                // SAFETY: the list contains pristine arenas, each with a link at that offset.
                ready = NonNull::new(unsafe { link_of(base).read() });
            }
            for (i, first) in self.bins.iter().enumerate() {
                let mut at = first.get();
                while let Some(block) = at {
                    // SAFETY: a block in a bin begins with a Cached, and is exclusively this cache's.
                    let Cached { next, size, align } = unsafe { block.read() };
                    debug_assert!(bin(size) == i && size < CAP);
                    debug_assert!(align.is_power_of_two() && block.addr().get() % align == 0);
                    (bytes, at) = (bytes + size, next);
                }
            }
            debug_assert!(bytes == self.bytes.get());
            true
        }

        fn empty(&self) {
            while let Some(base) = self.take_arena() {
                // SAFETY: an arena in the cache is a block of the heap.
                unsafe { put_global(base, BLOCK_MIN, LINE) };
            }
            for bin in &self.bins {
                while let Some(b) = bin.get() {
                    // SAFETY: a block in a bin begins with a Cached, and is exclusively this cache's.
                    unsafe {
                        let Cached { next, size, align } = b.read();
                        bin.set(next);
                        self.sub_bytes(size);
                        put_global(b.cast(), size, align);
                    }
                }
            }
            debug_assert!(self.bytes.get() == 0);
        }

        #[inline(always)]
        fn take_arena(&self) -> Option<NonNull<u8>> {
            let base = NonNull::new(self.ready.get())?;
            // SAFETY: the list contains pristine arenas, each with a link at that offset.
            self.ready.set(unsafe { link_of(base).read() });
            self.sub_bytes(BLOCK_MIN);
            Some(base)
        }
    }

    pub fn take(size: usize, align: usize) -> Option<NonNull<u8>> {
        with(|c| c.take(size, align)).flatten()
    }

    pub unsafe fn put(block: NonNull<u8>, size: usize, align: usize) -> bool {
        // SAFETY: the caller's contract.
        with(|c| unsafe { c.put(block, size, align) }).unwrap_or(false)
    }

    /// Takes a cached arena, by the address of its block. The word at [`READY_LINK`] has any value.
    #[inline(always)]
    pub fn take_arena() -> Option<NonNull<u8>> {
        with(Cache::take_arena).flatten()
    }

    /// Whether the cache accepts an arena.
    #[inline(always)]
    pub fn accepts_arena() -> bool {
        with(|c| c.accepts(BLOCK_MIN)).unwrap_or(false)
    }

    /// # Safety
    /// `base` is the block of a pristine arena on the heap, which is empty and not used until it is taken; the word at
    /// [`READY_LINK`] belongs to the cache until then. [`accepts_arena`] returned true.
    #[inline(always)]
    pub unsafe fn put_arena(base: NonNull<u8>) {
        with(|c| {
            debug_assert!(base.as_ptr() != c.ready.get());
            // SAFETY: the caller's contract.
            unsafe { link_of(base).write(c.ready.get()) };
            c.ready.set(base.as_ptr());
            c.add_bytes(BLOCK_MIN);
        });
    }

    /// Sets how many bytes each thread may keep, and returns the previous limit; initially 4 MiB.
    ///
    /// What a thread holds above the limit stays until it is used or [`trim`]med. Thread-safe.
    pub fn set_limit(bytes: usize) -> usize {
        LIMIT.swap(bytes, Ordering::Relaxed)
    }

    /// Returns the bytes in this thread's cache.
    pub fn held() -> usize {
        with(|c| c.bytes.get()).unwrap_or(0)
    }

    /// Returns this thread's cache and the cache of pages to the system.
    pub fn trim() {
        with(Cache::empty);
        page_cache::trim();
    }
}
