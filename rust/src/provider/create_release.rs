//! Create and release of arenas. An arena without a slow call is still in its initial state, so releasing it is a push
//! onto the thread's cache, and creating the next one is a pop.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::blocks::put;
use super::ops::{run_cleanups, OPS};
use super::state::*;
use crate::base::abi_types::Head;
use crate::base::policy::{self, BLOCK_MIN, INITIAL_START, MAX_REQUEST};
use crate::base::source::{Portion, Source};
use crate::system::heap;
use crate::system::hook::call_source;
#[cfg(all(feature = "std", feature = "diagnostics"))]
use crate::system::process::switches;

#[cfg(not(all(feature = "std", feature = "diagnostics")))]
fn switches() -> Option<()> {
    None
}

pub struct Settings {
    /// `None`: the heap.
    pub source: Option<NonNull<dyn Source>>,
    pub reserve: usize,
    pub budget: u64,
    /// The source is a box, which the arena drops on release.
    pub owns_source: bool,
    /// A part of that source: the arena's of a shared limit on live bytes.
    pub portion: Option<NonNull<dyn Portion>>,
}

/// The first epoch of the next arena. An arena must refuse marks of a released arena at the same address, so first
/// epochs are far apart, and above the last epochs of released arenas.
static EPOCHS: AtomicUsize = AtomicUsize::new(0);
const EPOCH_STEP: usize = 1 << (usize::BITS / 4);

fn first_epoch() -> usize {
    EPOCHS.fetch_add(EPOCH_STEP, Ordering::Relaxed) | 2
}

#[inline(always)]
fn take_cached() -> Option<RawArena> {
    let base = heap::take_arena()?;
    // SAFETY: the cache contains pristine arenas, whose `synced` linked them.
    let a = unsafe { RawArena::of(base.as_ptr().cast()) };
    a.synced.set(a.initial_start());
    Some(a)
}

/// Creates an arena on the heap.
#[inline]
pub fn create() -> Option<RawArena> {
    take_cached().or_else(create_slow)
}

#[cold]
#[inline(never)]
fn create_slow() -> Option<RawArena> {
    create_on(None)
}

fn create_on(source: Option<NonNull<dyn Source>>) -> Option<RawArena> {
    let (base, flags) = match source {
        None => (heap::take(BLOCK_MIN), CACHEABLE),
        // SAFETY: the source outlives the arena.
        Some(source) => unsafe {
            call_source(|| {
                let source = source.as_ref();
                let flag = |is: bool, flag| if is { flag } else { 0 };
                let flags = flag(source.extends(), EXTENDS) | flag(source.shares_limit(), SHARES_LIMIT);
                let take = || source.take(BLOCK_MIN);
                (take().or_else(|| source.refused(BLOCK_MIN).then(take).flatten()), flags)
            })
        },
    };
    let base = base?;
    if base.addr().get() & 63 != 0 {
        // SAFETY: just taken.
        unsafe { put(source, base, BLOCK_MIN) };
        return None;
    }
    // SAFETY: a block of the source, owned by this arena.
    created(unsafe { RawArena::write(base, BLOCK_MIN, source, flags, None, first_epoch()) })
}

/// Switches on the checks and meters that the environment sets for all arenas. `None`: no memory for the checks.
fn created(a: RawArena) -> Option<RawArena> {
    #[cfg(all(feature = "std", feature = "diagnostics"))]
    if let Some(settings) = switches() {
        a.sync_in();
        a.begin_process_meters(settings);
        let checks = settings.checks && !(settings.by_sanitizer && a.is(BORROWED));
        if checks && a.set_checked(true) != crate::base::abi_types::OK {
            a.release_instruments();
            a.put_initial();
            return None;
        }
        a.end_op();
    }
    Some(a)
}

/// Creates an arena. `None`: no memory.
///
/// # Safety
/// The source outlives the arena; or it is a box that the arena may drop.
pub unsafe fn create_with(settings: &Settings) -> Option<RawArena> {
    if settings.reserve > MAX_REQUEST {
        return None;
    }
    let a = if settings.source.is_none() { create()? } else { create_on(settings.source)? };
    a.sync_in();
    a.budget.set(settings.budget);
    if settings.portion.is_some() {
        a.slow().portion.set(settings.portion);
        a.raise(COUNTS_LIVE);
    }
    let checked = a.is(CHECKED);
    let first = policy::merged_size(settings.reserve as u64 + 512);
    if settings.reserve != 0 && first > BLOCK_MIN && !a.is(EXTENDS) {
        a.slow().first_size.set(first); // P11
        a.make_initial_current(true);
        if checked {
            a.begin_round();
        }
    }
    if settings.owns_source {
        a.raise(OWNS_SOURCE);
    }
    a.set_limit();
    Some(a)
}

/// Creates an arena in the caller's memory. `None`: it is too small.
///
/// # Safety
/// The buffer is valid for reads and writes, and used by no other code, until the arena is released.
pub unsafe fn create_in(
    buffer: NonNull<u8>,
    size: usize,
    overflow: Option<Option<NonNull<dyn Source>>>,
) -> Option<RawArena> {
    let skip = policy::pad(buffer.addr().get(), 64);
    if size < skip + INITIAL_START {
        return None;
    }
    // SAFETY: within the buffer, by the caller's contract; and at a multiple of 64.
    unsafe {
        let base = buffer.add(skip);
        created(RawArena::write(
            base,
            (size - skip) & !7,
            overflow.flatten(),
            if overflow.is_some() { BORROWED } else { BORROWED | FIXED },
            None,
            first_epoch(),
        ))
    }
}

impl RawArena {
    /// Initialises the first part of the state, in `size` bytes at `base`.
    ///
    /// # Safety
    /// `base` is a multiple of 64 and valid for `size` bytes, a multiple of 8 above [`INITIAL_START`], until the arena is released.
    #[inline]
    pub unsafe fn write(
        base: NonNull<u8>,
        size: usize,
        source: Option<NonNull<dyn Source>>,
        flags: u32,
        parent: Option<RawArena>,
        epoch: usize,
    ) -> RawArena {
        debug_assert!(base.addr().get() % 64 == 0 && size % 8 == 0 && size >= INITIAL_START);
        debug_assert!((flags & BORROWED != 0) || size == BLOCK_MIN);
        base.as_ptr().expose_provenance(); // M22
        let at = base.cast::<State>();
        let start = base.as_ptr().wrapping_add(INITIAL_START);
        let end = base.as_ptr().wrapping_add(size);
        // SAFETY: the caller's contract. Field by field, so that the second part is not touched.
        unsafe {
            let s = at.as_ptr();
            (&raw mut (*s).head).write(Head {
                cursor: Cell::new(start),
                ops: Cell::new(OPS),
                limit: Cell::new(end),
                epoch: Cell::new(epoch),
            });
            (&raw mut (*s).end).write(Cell::new(end));
            (&raw mut (*s).synced).write(Cell::new(start));
            (&raw mut (*s).steady_top).write(Cell::new(0));
            (&raw mut (*s).flags).write(Cell::new(PRISTINE | flags));
            (&raw mut (*s).budget).write(Cell::new(u64::MAX));
            (&raw mut (*s).source).write(Cell::new(source));
            (&raw mut (*s).initial_end).write(Cell::new(end));
            (&raw mut (*s).initial_size).write(Cell::new(size));
            (&raw mut (*s).parent).write(Cell::new(parent));
            (&raw mut (*s).sibling).write(Cell::new(None));
        }
        // SAFETY: it was just written.
        unsafe { RawArena::of(at.as_ptr().cast()) }
    }

    /// Returns the initial block: as a ready arena to the cache, or to its source.
    fn put_initial(self) {
        let epoch = (self.head.epoch.get() & !1) + 2;
        if epoch > EPOCHS.load(Ordering::Relaxed) {
            EPOCHS.fetch_max(epoch, Ordering::Relaxed);
        }
        if self.is(BORROWED) {
            return;
        }
        // SAFETY: the initial block is the source's; the arena is not used any more.
        unsafe {
            let base = NonNull::new_unchecked(self.base());
            if self.is(CACHEABLE) && switches().is_none() && heap::accepts_arena() {
                RawArena::write(base, BLOCK_MIN, None, CACHEABLE, None, epoch).put_cached();
            } else {
                let (source, owned) = (self.source.get(), self.is(OWNS_SOURCE));
                put(source, base, self.initial_size.get());
                if let (Some(source), true) = (source, owned) {
                    drop(Box::from_raw(source.as_ptr()));
                }
            }
        }
    }

    /// # Safety
    /// As for [`release`](RawArena::release).
    #[cold]
    #[inline(never)]
    unsafe fn release_slow(self) {
        if self.is(PRISTINE) {
            match self.parent.get() {
                None => self.put_initial(),
                // SAFETY: the caller's contract.
                Some(parent) => unsafe { self.end_scope(parent) },
            }
            return;
        }
        self.sync_in();
        if self.is(CLAIMED | BUSY) {
            self.set_limit();
            return;
        }
        run_cleanups(self, 0);
        if self.is(CHECKED) {
            self.verify_freed();
        }
        self.check_records(0);
        self.poison_all();
        if let Some(parent) = self.parent.get() {
            // SAFETY: the caller's contract.
            unsafe { self.end_scope(parent) };
            return;
        }
        let slow = self.slow();
        while slow.newest.get() != self.initial() {
            let b = slow.newest.get();
            slow.newest.set(b.next.get().unwrap_or(self.initial()));
            // SAFETY: out of the list; the caller's contract.
            unsafe { self.put(b) };
        }
        self.put_spares(0);
        let log = self.take_block_log(self.initial());
        self.release_instruments();
        if !self.quarantine(self.initial(), log) {
            self.put_initial();
        }
        #[cfg(all(feature = "std", feature = "diagnostics"))]
        crate::system::hook::deliver(); // the arena no longer exists, so a hook cannot use it
    }

    /// # Safety
    /// The arena is pristine, on the heap, and empty, and is not used any more; the cache accepts an arena.
    #[inline(always)]
    unsafe fn put_cached(self) {
        debug_assert!(self.flags.get() == PRISTINE | CACHEABLE && self.head.cursor.get() == self.initial_start());
        self.head.epoch.set(self.head.epoch.get() + 2); // makes marks of it stale
                                                        // SAFETY: the caller's contract; a base is not null.
        unsafe { heap::put_arena(NonNull::new_unchecked(self.base())) }
    }

    /// Runs all cleanups, and returns all memory, the head included. Ignored while the arena is closed.
    ///
    /// # Safety
    /// The arena is not used any more.
    #[inline]
    pub unsafe fn release(self) {
        if self.flags.get() == PRISTINE | CACHEABLE && heap::accepts_arena() {
            self.head.cursor.set(self.initial_start());
            // SAFETY: in its initial state, on the heap.
            unsafe { self.put_cached() };
        } else {
            // SAFETY: the caller's contract.
            unsafe {
                if !self.end_pristine_scope() {
                    self.release_slow();
                }
            }
        }
    }
}
