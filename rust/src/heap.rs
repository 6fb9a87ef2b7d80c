//! The heap as a source of blocks, and the thread's cache on top of it: initialised arenas and blocks. Fresh memory
//! costs page faults, 10 to 25 times as much as kept memory, so the cache saves most of an arena's time. Each thread
//! has a cache of its own, without a lock, which is freed at thread exit.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

#[cfg(feature = "std")]
use crate::policy::CAP;

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

/// Larger blocks are whole pages: malloc would map and unmap them one by one, and as small pages.
#[cfg(feature = "std")]
fn take_fresh(size: usize, align: usize) -> Option<NonNull<u8>> {
    if size < CAP {
        take_global(size, align)
    } else if cache::SPLITS && size == cache::HALF && cache::accepts(size) {
        // Half of a huge page; the other half goes to the cache.
        let pair = crate::os::map(crate::os::HUGE_PAGE, true)?;
        // SAFETY: the second half, which is unused.
        unsafe { cache::put(pair.add(size), size, LINE) };
        Some(pair)
    } else {
        crate::os::map(size, true)
    }
}

/// As [`put`], past the thread's cache.
///
/// # Safety
/// As for [`put`].
#[cfg(feature = "std")]
unsafe fn put_fresh(block: NonNull<u8>, size: usize, align: usize) {
    // SAFETY: the caller's contract: it came from `take_fresh` with that size and alignment.
    unsafe {
        if size < CAP {
            put_global(block, size, align);
        } else {
            crate::os::unmap(block, size);
        }
    }
}

pub fn take(size: usize) -> Option<NonNull<u8>> {
    take_aligned(size, LINE)
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
    unsafe { put_fresh(block, size, LINE) }
}

/// Offset in an arena's first block of the word that links cached arenas. The provider's state has a spare one there.
pub const READY_LINK: usize = 5 * size_of::<usize>();

/// Recyclers take blocks of whole units, aligned to a unit.
pub const UNIT: usize = 32 << 10;

/// Blocks of 1 MiB or more are aligned to pages and cached as `LINE`: a larger alignment is not guaranteed.
#[cfg(feature = "std")]
pub fn take_aligned(size: usize, align: usize) -> Option<NonNull<u8>> {
    let align = if size < CAP { align } else { LINE };
    cache::take(size, align).or_else(|| take_fresh(size, align))
}

/// # Safety
/// `block` came from [`take_aligned`] with that size and alignment, and is not used any more.
#[cfg(feature = "std")]
pub unsafe fn put_aligned(block: NonNull<u8>, size: usize, align: usize) {
    let align = if size < CAP { align } else { LINE };
    // SAFETY: the caller's contract.
    unsafe {
        if !cache::put(block, size, align) {
            put_fresh(block, size, align);
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
    //! The cache of each thread: initialised arenas and blocks, up to a total limit.
    use super::*;
    use crate::policy::{BLOCK_MIN, MIB};
    use core::cell::Cell;
    use core::sync::atomic::{AtomicUsize, Ordering};

    /// Bins for sizes from 4 KiB to 16 MiB, by power of two.
    const BINS: usize = 13;
    /// Blocks of a bin tested for the exact size.
    const PROBES_MAX: usize = 16;
    pub const HALF: usize = crate::os::HUGE_PAGE / 2;
    const HALF_BIN: usize = 8;
    const SMALL: usize = 64 << 10;
    /// Whether part of a mapping can be unmapped.
    pub const SPLITS: bool = crate::os::SPLITS;

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
        bins: [Cell<Option<NonNull<Cached>>>; BINS],
    }

    std::thread_local! {
        static CACHE: Cache = const {
            Cache {
                ready: Cell::new(core::ptr::null_mut()),
                bytes: Cell::new(0),
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
            self.trim();
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
            self.bytes.set(self.bytes.get() - size);
        }

        fn take(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
            self.unlink(bin(size), |b| b.size == size && b.align == align)
        }

        /// Unlinks the first matching block of a bin.
        fn unlink(&self, bin: usize, suits: impl Fn(&Cached) -> bool) -> Option<NonNull<u8>> {
            let head = self.bins.get(bin)?;
            let mut before: Option<NonNull<Cached>> = None;
            let mut at = head.get();
            for _ in 0..PROBES_MAX {
                let b = at?;
                // SAFETY: a block in a bin begins with a Cached, and is exclusively this cache's.
                let (next, size, suits) = unsafe { (b.as_ref().next, b.as_ref().size, suits(b.as_ref())) };
                if suits {
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

        /// Unmaps two cached halves of a huge page in one piece; unmapping one half would split it into small pages.
        fn drop_pair(&self) -> bool {
            let mut at = self.bins[HALF_BIN].get();
            for _ in 0..PROBES_MAX {
                let Some(high) = at else { return false };
                // SAFETY: a block in a bin begins with a Cached, and is exclusively this cache's.
                let (next, size) = unsafe { (high.as_ref().next, high.as_ref().size) };
                if size == HALF && high.addr().get() % crate::os::HUGE_PAGE == HALF {
                    let below = high.addr().get() - HALF;
                    let at = |b: &Cached| core::ptr::from_ref(b).addr();
                    if let Some(low) = self.unlink(HALF_BIN, |b| b.size == HALF && at(b) == below) {
                        self.unlink(HALF_BIN, |b| at(b) == high.addr().get());
                        // SAFETY: both halves of one huge page, unlinked.
                        unsafe { crate::os::unmap(low, crate::os::HUGE_PAGE) };
                        return true;
                    }
                }
                at = next;
            }
            false
        }

        /// Frees a block of 1 MiB or more, the largest first, for one of 64 KiB or less: a cache full of large blocks
        /// would have no space for the more frequent small ones. Ready arenas count as small.
        #[cold]
        fn evict_large(&self, size: usize) -> bool {
            if size > SMALL {
                return false;
            }
            for bin in (HALF_BIN..BINS).rev() {
                let Some(b) = self.bins[bin].get() else { continue };
                if !(SPLITS && bin == HALF_BIN && self.drop_pair()) {
                    // SAFETY: it is the first of its bin.
                    unsafe { self.drop_first(bin, b) };
                }
                return self.accepts(size);
            }
            false
        }

        /// # Safety
        /// `b` is the first of the bin.
        unsafe fn drop_first(&self, bin: usize, b: NonNull<Cached>) {
            // SAFETY: a block in a bin begins with a Cached; it came from `take_fresh`.
            unsafe {
                let Cached { next, size, align } = b.read();
                self.bins[bin].set(next);
                self.sub_bytes(size);
                put_fresh(b.cast(), size, align);
            }
        }

        /// # Safety
        /// `block` is free memory of `size` bytes that this cache may own.
        unsafe fn link(&self, block: NonNull<u8>, size: usize, align: usize) {
            let bin = &self.bins[bin(size)];
            let b = block.cast::<Cached>();
            // SAFETY: the caller's contract.
            unsafe { b.write(Cached { next: bin.get(), size, align }) };
            bin.set(Some(b));
            self.add_bytes(size);
        }

        unsafe fn put(&self, block: NonNull<u8>, size: usize, align: usize) -> bool {
            let fits = self.accepts(size)
                || (SPLITS && size == HALF && self.drop_pair() && self.accepts(size))
                || self.evict_large(size);
            if !fits || bin(size) >= BINS {
                return false;
            }
            // SAFETY: the caller's contract.
            unsafe { self.link(block, size, align) };
            true
        }

        fn trim(&self) {
            while let Some(base) = self.take_arena() {
                // SAFETY: an arena in the cache is a block of the heap.
                unsafe { put_fresh(base, BLOCK_MIN, LINE) };
            }
            for bin in 0..BINS {
                while let Some(b) = self.bins[bin].get() {
                    // SAFETY: it is the first of its bin.
                    unsafe { self.drop_first(bin, b) };
                }
            }
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

    pub fn accepts(size: usize) -> bool {
        with(|c| c.accepts(size)).unwrap_or(false)
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

    /// Whether the cache accepts an arena; frees larger blocks for it.
    #[inline(always)]
    pub fn accepts_arena() -> bool {
        with(|c| c.accepts(BLOCK_MIN) || c.evict_large(BLOCK_MIN)).unwrap_or(false)
    }

    /// # Safety
    /// `base` is the block of a pristine arena on the heap, which is empty and not used until it is taken; the word at
    /// [`READY_LINK`] belongs to the cache until then. [`accepts_arena`] returned true.
    #[inline(always)]
    pub unsafe fn put_arena(base: NonNull<u8>) {
        with(|c| {
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

    /// Returns this thread's cache to the system, as the thread's end does.
    pub fn trim() {
        with(Cache::trim);
    }
}
