//! The heap as a source of blocks, and the thread's cache on top of it: initialised arenas, and blocks. Fresh memory
//! costs page faults, 10 to 25 times what kept memory costs: this is where most of an arena's time can be saved. No
//! locks: each thread has its own, returned when the thread ends.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

#[cfg(feature = "std")]
use crate::policy::CAP;
use crate::provider::ArenaPtr;

/// What an arena's blocks are aligned to. Recyclers ask for more, and each gets back what it put.
const LINE: usize = 64;

/// Blocks below 1 MiB are the global allocator's.
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

/// Larger ones are whole pages: malloc would map and unmap them one by one, and in small pages.
#[cfg(feature = "std")]
fn take_fresh(size: usize, align: usize) -> Option<NonNull<u8>> {
    if size < CAP {
        take_global(size, align)
    } else if cache::SPLITS && size == cache::HALF && cache::accepts(size) {
        // Half of a huge page; its other half waits in the cache.
        let pair = crate::os::map(crate::os::HUGE_PAGE, true)?;
        // SAFETY: the second half of it, which nobody has.
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
/// `block` came from [`take`] with that size, and is used no more.
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

/// A block of 1 MiB or more is as aligned as pages are, and one of `LINE` then: an alignment above is a wish.
#[cfg(feature = "std")]
pub fn take_aligned(size: usize, align: usize) -> Option<NonNull<u8>> {
    let align = if size < CAP { align } else { LINE };
    cache::take(size, align).or_else(|| take_fresh(size, align))
}

/// # Safety
/// `block` came from [`take_aligned`] with that size and alignment, and is used no more.
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

    pub fn take_arena() -> Option<ArenaPtr> {
        None
    }

    pub fn accepts_arena() -> bool {
        false
    }

    pub unsafe fn put_arena(_arena: ArenaPtr) {}
}
#[cfg(not(feature = "std"))]
pub use uncached::*;

#[cfg(feature = "std")]
pub mod cache {
    //! What each thread keeps: initialised arenas and blocks, in all up to a limit.
    use super::*;
    use crate::policy::{BLOCK_MIN, MIB};
    use core::cell::Cell;
    use core::sync::atomic::{AtomicUsize, Ordering};

    /// Sizes from 4 KiB to 16 MiB, by power of two.
    const BINS: usize = 13;
    /// Blocks of a bin looked at for one of exactly the size.
    const PROBES_MAX: usize = 16;
    pub const HALF: usize = crate::os::HUGE_PAGE / 2;
    const HALF_BIN: usize = 8;
    const SMALL: usize = 64 << 10;
    /// Can a mapping be cut?
    pub const SPLITS: bool = crate::os::SPLITS;

    static LIMIT: AtomicUsize = AtomicUsize::new(4 * MIB);

    /// In a block that waits.
    struct Cached {
        next: Option<NonNull<Cached>>,
        size: usize,
        align: usize,
    }

    struct Cache {
        /// Fresh arenas, linked by `synced`, which is of no use in a fresh arena at rest.
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

    impl Drop for Cache {
        fn drop(&mut self) {
            self.trim();
        }
    }

    /// `None` when the thread has ended its cache: what is released later goes to the system.
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

        /// Takes the first of a bin that suits.
        fn unlink(&self, bin: usize, suits: impl Fn(&Cached) -> bool) -> Option<NonNull<u8>> {
            let head = self.bins.get(bin)?;
            let mut before: Option<NonNull<Cached>> = None;
            let mut at = head.get();
            for _ in 0..PROBES_MAX {
                let b = at?;
                // SAFETY: what waits in a bin begins with a Cached, and is this cache's alone.
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

        /// Both halves of a huge page in the cache: off with them, in one piece. One by one, the first would split it.
        fn drop_pair(&self) -> bool {
            let mut at = self.bins[HALF_BIN].get();
            for _ in 0..PROBES_MAX {
                let Some(high) = at else { return false };
                // SAFETY: what waits in a bin begins with a Cached, and is this cache's alone.
                let (next, size) = unsafe { (high.as_ref().next, high.as_ref().size) };
                if size == HALF && high.addr().get() % crate::os::HUGE_PAGE == HALF {
                    let below = high.addr().get() - HALF;
                    let at = |b: &Cached| core::ptr::from_ref(b).addr();
                    if let Some(low) = self.unlink(HALF_BIN, |b| b.size == HALF && at(b) == below) {
                        self.unlink(HALF_BIN, |b| at(b) == high.addr().get());
                        // SAFETY: both halves of one huge page, which nobody has.
                        unsafe { crate::os::unmap(low, crate::os::HUGE_PAGE) };
                        return true;
                    }
                }
                at = next;
            }
            false
        }

        /// A cache full of large blocks would leave none to small ones, of which there are more: one of 1 MiB or more
        /// goes, the largest first, for one of 64 KiB or less. Ready arenas count as such.
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
            // SAFETY: what waits in a bin begins with a Cached; it came from `take_fresh`.
            unsafe {
                let Cached { next, size, align } = b.read();
                self.bins[bin].set(next);
                self.sub_bytes(size);
                put_fresh(b.cast(), size, align);
            }
        }

        /// # Safety
        /// `block` is free memory of `size` bytes that this cache may have.
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
            while let Some(a) = self.take_arena() {
                // SAFETY: an arena in the cache is a block of the heap.
                unsafe { put_fresh(NonNull::new_unchecked(a.base()), BLOCK_MIN, LINE) };
            }
            for bin in 0..BINS {
                while let Some(b) = self.bins[bin].get() {
                    // SAFETY: it is the first of its bin.
                    unsafe { self.drop_first(bin, b) };
                }
            }
        }

        #[inline(always)]
        fn take_arena(&self) -> Option<ArenaPtr> {
            let base = NonNull::new(self.ready.get())?;
            // SAFETY: what waits there is a fresh arena.
            let a = unsafe { ArenaPtr::of(base.as_ptr().cast()) };
            self.ready.set(a.synced.get());
            self.sub_bytes(BLOCK_MIN);
            a.synced.set(a.initial_start());
            Some(a)
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

    /// An initialised arena, if one waits.
    #[inline(always)]
    pub fn take_arena() -> Option<ArenaPtr> {
        with(Cache::take_arena).flatten()
    }

    /// May an arena wait?
    #[inline(always)]
    pub fn accepts_arena() -> bool {
        with(|c| c.accepts(BLOCK_MIN) || c.evict_large(BLOCK_MIN)).unwrap_or(false)
    }

    /// # Safety
    /// The arena is fresh, on the heap, and nothing is allocated in it; [`accepts_arena`] allowed it.
    #[inline(always)]
    pub unsafe fn put_arena(a: ArenaPtr) {
        a.head.epoch.set(a.head.epoch.get() + 2); // marks of it are stale
        with(|c| {
            a.synced.set(c.ready.get());
            c.ready.set(a.base());
            c.add_bytes(BLOCK_MIN);
        });
    }

    /// Sets how many bytes each thread may keep, and returns what was set before: 4 MiB at first.
    ///
    /// What a thread holds above it stays until it is used or [`trim`]med. Thread-safe.
    pub fn set_limit(bytes: usize) -> usize {
        LIMIT.swap(bytes, Ordering::Relaxed)
    }

    /// The bytes that this thread keeps now.
    pub fn held() -> usize {
        with(|c| c.bytes.get()).unwrap_or(0)
    }

    /// Returns all that this thread keeps to the system. A thread that ends does so by itself.
    pub fn trim() {
        with(Cache::trim);
    }
}
