//! Create and release. The fast way through both ends: an arena that never saw a slow call is still as it was made, so
//! releasing it is a push on the thread's cache and creating the next one a pop.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::blocks::put;
use super::ops::run_cleanups;
use super::state::*;
use crate::heap;
use crate::hook::call_source;
use crate::policy::{self, BLOCK_MIN, INITIAL_START, MAX_REQUEST};
#[cfg(feature = "std")]
use crate::process::checks;
use crate::source::Source;

#[cfg(not(feature = "std"))]
fn checks() -> bool {
    false
}

/// What an arena is made with, beside its home.
pub struct Settings {
    /// `None`: the heap.
    pub source: Option<NonNull<dyn Source>>,
    pub reserve: usize,
    pub budget: u64,
    /// The source is a box, which ends with the arena.
    pub owns_source: bool,
}

/// The first epoch of the next arena. An arena must refuse the marks of one that was released at its address, so first
/// epochs are far apart, and above what released arenas came to.
static EPOCHS: AtomicUsize = AtomicUsize::new(0);
const EPOCH_STEP: usize = 1 << (usize::BITS / 4);

fn first_epoch() -> usize {
    EPOCHS.fetch_add(EPOCH_STEP, Ordering::Relaxed) | 2
}

/// An arena on the heap.
#[inline]
pub fn create() -> Option<ArenaPtr> {
    heap::take_arena().or_else(create_slow)
}

#[cold]
#[inline(never)]
fn create_slow() -> Option<ArenaPtr> {
    create_on(None)
}

fn create_on(source: Option<NonNull<dyn Source>>) -> Option<ArenaPtr> {
    let (base, flags) = match source {
        None => (heap::take(BLOCK_MIN), CACHEABLE),
        // SAFETY: the source outlives the arena.
        Some(source) => unsafe {
            call_source(|| (source.as_ref().take(BLOCK_MIN), if source.as_ref().extends() { EXTENDS } else { 0 }))
        },
    };
    let base = base?;
    if base.addr().get() & 63 != 0 {
        // SAFETY: just taken.
        unsafe { put(source, base, BLOCK_MIN) };
        return None;
    }
    // SAFETY: a block of the source, which is ours.
    created(unsafe { ArenaPtr::write(base, BLOCK_MIN, source, flags, None, first_epoch()) })
}

/// Checked, where the whole process is. `None`: there is no memory for that.
fn created(a: ArenaPtr) -> Option<ArenaPtr> {
    if checks() {
        a.sync_in();
        if a.set_checked(true) != crate::abi::OK {
            a.release_instruments();
            a.put_initial();
            return None;
        }
        a.end_op();
    }
    Some(a)
}

/// An arena by its settings.
///
/// # Safety
/// The source outlives the arena; or it is a box, which the arena ends.
pub unsafe fn create_with(settings: &Settings) -> Option<ArenaPtr> {
    if settings.reserve > MAX_REQUEST {
        return None;
    }
    let a = if settings.source.is_none() { create()? } else { create_on(settings.source)? };
    a.sync_in();
    a.budget.set(settings.budget);
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

/// An arena in memory of the caller's; `None`: too small.
///
/// # Safety
/// The buffer is valid for reads and writes, and nobody else's, until the arena is released.
pub unsafe fn create_in(
    buffer: NonNull<u8>,
    size: usize,
    overflow: Option<Option<NonNull<dyn Source>>>,
) -> Option<ArenaPtr> {
    let skip = policy::pad(buffer.addr().get(), 64);
    if size < skip + INITIAL_START {
        return None;
    }
    // SAFETY: within the buffer, by the caller's contract; and at a multiple of 64.
    unsafe {
        let base = buffer.add(skip);
        created(ArenaPtr::write(
            base,
            (size - skip) & !7,
            overflow.flatten(),
            if overflow.is_some() { BORROWED } else { BORROWED | FIXED },
            None,
            first_epoch(),
        ))
    }
}

impl ArenaPtr {
    /// Home itself, as it was made: to the cache, or to where it came from.
    fn put_initial(self) {
        let epoch = (self.head.epoch.get() & !1) + 2;
        if epoch > EPOCHS.load(Ordering::Relaxed) {
            EPOCHS.fetch_max(epoch, Ordering::Relaxed);
        }
        if self.is(BORROWED) {
            return;
        }
        // SAFETY: home is a block of the source; the arena ends with it.
        unsafe {
            let base = NonNull::new_unchecked(self.base());
            if self.is(CACHEABLE) && !checks() && heap::accepts_arena() {
                heap::put_arena(ArenaPtr::write(base, BLOCK_MIN, None, CACHEABLE, None, epoch));
            } else {
                let (source, owned) = (self.source.get(), self.is(OWNS_SOURCE));
                put(source, base, self.initial_size.get());
                if let (Some(source), true) = (source, owned) {
                    drop(Box::from_raw(source.as_ptr()));
                }
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn release_slow(self) {
        if self.is(PRISTINE) {
            match self.parent.get() {
                None => self.put_initial(),
                Some(parent) => self.end_scope(parent),
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
            self.end_scope(parent);
            return;
        }
        let slow = self.slow();
        while slow.newest.get() != self.initial() {
            let b = slow.newest.get();
            slow.newest.set(b.next.get().unwrap_or(self.initial()));
            self.put(b);
        }
        self.put_spares(0);
        let log = self.take_block_log(self.initial());
        self.release_instruments();
        if !self.quarantine(self.initial(), log) {
            self.put_initial();
        }
        #[cfg(feature = "std")]
        crate::hook::deliver(); // nothing is left that a hook could meet
    }

    /// All cleanups run, all memory goes back, the head too. Ignored while the arena is closed.
    #[inline]
    pub fn release(self) {
        if self.flags.get() == PRISTINE | CACHEABLE && heap::accepts_arena() {
            self.head.cursor.set(self.initial_start());
            // SAFETY: as it was made, on the heap.
            unsafe { heap::put_arena(self) };
        } else if !self.end_pristine_scope() {
            self.release_slow();
        }
    }
}
