//! A thread's part of a shared arena.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::cell::Cell;
use core::fmt;
use core::ptr::{null_mut, NonNull};

use super::{rounded_size, SharedArena};
use crate::base::error::AllocError;
use crate::base::policy::{is_request, round8};
use crate::base::source::Source;
use crate::memory::by_layout::{memory_by_call_site, resize_in_place_or_move, Allocated, CallSite, Heap, Memory};

const LOCAL_FIRST: usize = 2 << 10;
const LOCAL_MAX: usize = 32 << 10;

/// A part of a [`SharedArena`] for one thread: it allocates by moving a cursor of its own. Allocations live as long as
/// the arena is borrowed, so they outlive the part.
///
/// ```
/// let arena = toft::SharedArena::new();
/// let sums: Vec<u64> = std::thread::scope(|scope| {
///     let threads: Vec<_> = (0..4u64)
///         .map(|n| {
///             let local = arena.local();
///             scope.spawn(move || (0..1000).map(|i| *local.alloc(n * i)).sum())
///         })
///         .collect();
///     threads.into_iter().map(|thread| thread.join().unwrap()).collect()
/// });
/// assert_eq!(sums, [0, 499_500, 999_000, 1_498_500]);
/// ```
pub struct Local<'s, S: Source = Heap> {
    arena: &'s SharedArena<S>,
    cursor: Cell<*mut u8>,
    limit: Cell<usize>,
    /// Size of the next piece.
    next: Cell<usize>,
}

impl<'s, S: Source> Local<'s, S> {
    pub(super) const fn new(arena: &'s SharedArena<S>) -> Local<'s, S> {
        Local { arena, cursor: Cell::new(null_mut()), limit: Cell::new(0), next: Cell::new(LOCAL_FIRST) }
    }

    #[cold]
    #[inline(never)]
    fn alloc_slow(&self, layout: Layout) -> Option<NonNull<u8>> {
        if !is_request(layout.size(), layout.align()) {
            return None;
        }
        let (size, align, next) = (rounded_size(layout).max(8), layout.align().max(8), self.next.get());
        // SAFETY: both meet `is_request`, whose limit is half of a layout's.
        let layout = unsafe { Layout::from_size_align_unchecked(size, align) };
        debug_assert!(self.cursor.get().addr() <= self.limit.get() && self.limit.get() % 8 == 0);
        debug_assert!((LOCAL_FIRST..=LOCAL_MAX).contains(&next));
        if let Some(p) = self.bump(layout) {
            return Some(p); // the size was 0
        }
        self.next.set((2 * next).min(LOCAL_MAX));
        if size + align > next / 4 {
            return self.arena.alloc_bytes(layout); // the rest of the piece serves smaller requests
        }
        // If no other thread has allocated since, the new piece continues the old one.
        self.return_rest();
        let (p, remaining) = self.arena.range(size + align - 8, next, 8)?;
        self.cursor.set(p.as_ptr());
        self.limit.set(p.addr().get() + remaining);
        self.bump(layout)
    }

    #[inline(always)]
    fn bump(&self, layout: Layout) -> Option<NonNull<u8>> {
        let (p, remaining) = (self.cursor.get(), self.limit.get() - self.cursor.get().addr());
        let pad = if layout.align() <= 8 { 0 } else { p.addr().wrapping_neg() & (layout.align() - 1) };
        // The remaining bytes are a multiple of 8, so a size that fits does so rounded up. 0 takes the slow path.
        if pad > remaining || layout.size().wrapping_sub(1) >= remaining - pad {
            return None;
        }
        let p = p.wrapping_add(pad);
        self.cursor.set(p.wrapping_add(round8(layout.size())));
        // SAFETY: bytes remain, so there is a piece.
        Some(unsafe { NonNull::new_unchecked(p) })
    }

    /// Returns the rest of the piece, if it is the newest allocation of the arena.
    fn return_rest(&self) {
        let (cursor, limit) = (self.cursor.get().addr(), self.limit.get());
        if let Some(block) = self.arena.current.block() {
            if cursor != limit && block.free_newest(cursor, limit) {
                self.cursor.set(null_mut());
                self.limit.set(0);
            }
        }
    }
}

// SAFETY: the memory is that of the shared arena, which is borrowed for longer than this value lives.
unsafe impl<S: Source> Memory for Local<'_, S> {
    memory_by_call_site!(inline(always));

    #[inline(always)]
    fn __allocate(&self, layout: Layout, _: CallSite) -> Allocated {
        match self.bump(layout) {
            Some(p) => Ok(p),
            None => self.alloc_slow(layout).ok_or(AllocError),
        }
    }

    #[inline]
    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        let (cursor, size) = (self.cursor.get(), rounded_size(layout).max(8));
        if p.addr().get() + size == cursor.addr() {
            self.cursor.set(cursor.wrapping_sub(size));
        } else {
            // SAFETY: the caller's contract; it may be the arena's newest allocation.
            unsafe { self.arena.deallocate(p, layout) };
        }
    }

    resize_in_place_or_move!(inline);
}

impl<S: Source> Local<'_, S> {
    /// # Safety
    /// As for `SharedArena::resize_in_place`.
    #[inline]
    unsafe fn resize_in_place(&self, p: NonNull<u8>, old: Layout, new: Layout) -> bool {
        let (cursor, was, now) = (self.cursor.get(), rounded_size(old).max(8), rounded_size(new).max(8));
        if p.addr().get() + was != cursor.addr() {
            // SAFETY: as above.
            return unsafe { self.arena.resize_in_place(p, old, new) };
        }
        let stays = now <= was || now - was <= self.limit.get() - cursor.addr();
        if stays {
            self.cursor.set(cursor.wrapping_sub(was).wrapping_add(now));
        }
        stays
    }
}

// SAFETY: the piece is exclusively this value's; the arena is `Sync` if its source is `Send`.
unsafe impl<S: Source + Send> Send for Local<'_, S> {}

impl<S: Source> Drop for Local<'_, S> {
    fn drop(&mut self) {
        self.return_rest();
    }
}

impl<S: Source> fmt::Debug for Local<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.limit.get() - self.cursor.get().addr();
        f.debug_struct("Local").field("left", &left).finish_non_exhaustive()
    }
}
