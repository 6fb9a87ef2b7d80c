//! Size classes: each allocates from a span, and holds a few freed pieces for its next requests.
//!
//! A freed piece that adjoins the span extends it; others are held, linked through their own bytes. When a class holds
//! as many as it may, a freed piece replaces the span, which is kept for later or passed to its block. A class takes
//! memory from blocks that all share, so that a small heap has no block for each size; after 256 KiB it fills blocks of
//! its own, in which every hole fits. Blocks count what classes keep as live; `flush` passes all of it to the blocks.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::{null_mut, NonNull};

use super::block::{self, LINE};
use super::range::Range;
use super::state::{Class, State, Units, SHARED};
use super::supply::Supply;

/// Requests up to this have a size class.
const CLASS_MAX: usize = 4096;
/// Up to this the classes are the multiples of 8; then each power of two has eight.
const EXACT_MAX: usize = 128;
/// Freed pieces that a class holds, and their bytes.
const HELD_MAX: usize = 64;
const HELD_BYTES_MAX: usize = 65536;
/// Spans that a class keeps beside its own.
const RESTS_MAX: u32 = 16;
/// Bytes taken from the shared range at once: an eighth of what the class has taken, between these limits.
const GRANT_MIN: usize = 512;
const GRANT_MAX: usize = 8192;
/// A class that took this much fills blocks of its own, in which every hole fits.
const OWN_MIN: usize = 256 << 10;

/// The index of a request's class, and its bytes. `None`: it has none.
#[inline(always)]
pub const fn of(size: usize, align: usize) -> Option<(usize, usize)> {
    if size.wrapping_sub(1) >= CLASS_MAX || align > LINE {
        return None;
    }
    if size <= EXACT_MAX {
        return Some(((size - 1) / 8, (size + 7) & !7));
    }
    let shift = 28 - (size as u32 - 1).leading_zeros();
    let step = (size - 1) >> shift;
    Some((step + 8 * (shift as usize - 3), (step + 1) << shift))
}

/// Where a request is served, and the bytes that it takes.
pub enum Kind {
    /// With the index of its class.
    Class(usize, usize),
    Medium(usize),
    Large(usize),
}

/// A size of 0 counts as 1.
#[inline(always)]
pub fn kind(size: usize, align: usize) -> Kind {
    match of(size.max(1), align) {
        Some((k, bytes)) => Kind::Class(k, bytes),
        None if block::is_direct(size, align) => Kind::Medium(block::rounded_size(size)),
        None => Kind::Large(block::rounded_size(size)),
    }
}

impl Class {
    pub fn clear(&self) {
        self.range.clear();
        self.held.set(null_mut());
        self.held_bytes.set(0);
        self.rest_count.set(0);
        self.rests.set(null_mut());
        self.granted.set(0);
    }

    /// Keeps the span for later. `false`: it is short, or enough are kept.
    fn keep_span(&self, bytes: usize) -> bool {
        let keeps = self.range.left() > bytes.max(16) && self.rest_count.get() < RESTS_MAX;
        if keeps {
            let p = self.range.cursor.get();
            // SAFETY: a span has the provenance of its block, and is not used; two addresses fit.
            unsafe { p.cast::<(*mut u8, usize)>().write_unaligned((self.rests.get(), self.range.limit.get())) };
            self.rests.set(p);
            self.rest_count.set(self.rest_count.get() + 1);
        }
        keeps
    }

    /// Replaces the span, which is empty, by the newest kept one.
    fn take_span(&self) -> bool {
        let p = self.rests.get();
        if !p.is_null() {
            // SAFETY: a kept span starts with these.
            let (next, end) = unsafe { p.cast::<(*mut u8, usize)>().read_unaligned() };
            self.rests.set(next);
            self.rest_count.set(self.rest_count.get() - 1);
            self.range.set_span(p, end - p.addr());
        }
        !p.is_null()
    }

    /// Removes the newest held piece.
    #[inline]
    fn take_held(&self, bytes: usize) -> Option<NonNull<u8>> {
        let p = NonNull::new(self.held.get())?;
        // SAFETY: a held piece begins with the address of the next.
        self.held.set(unsafe { p.cast::<*mut u8>().read() });
        self.held_bytes.set(self.held_bytes.get() - bytes as u32);
        Some(p)
    }
}

impl State {
    #[inline(always)]
    pub fn class(&self, k: usize) -> &Class {
        // SAFETY: all indices are below `RANGES`.
        unsafe { self.classes.get_unchecked(k) }
    }

    pub fn activate(&self, k: usize) {
        self.active.set(self.active.get() | 1 << k);
    }

    /// Visits the classes in use.
    pub fn each_active(&self, mut f: impl FnMut(usize, &Class)) {
        let mut left = self.active.get();
        while left != 0 {
            let k = left.trailing_zeros() as usize;
            f(k, self.class(k));
            left &= left - 1;
        }
    }

    /// Allocates inline; `None`: the slow path is needed, as for a size of 0. `align` is a power of two.
    #[inline(always)]
    pub fn bump(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let (k, bytes) = of(size, align)?;
        let c = &self.class(k).range;
        let p = c.cursor.get();
        let mut slow = bytes > c.left();
        if align > 8 {
            slow |= p.addr() & (align - 1) != 0;
        }
        if slow {
            return None;
        }
        c.cursor.set(p.wrapping_add(bytes));
        // SAFETY: bytes remain, so the span is in a block.
        Some(unsafe { NonNull::new_unchecked(p) })
    }

    /// Frees inline an allocation that adjoins its class's span: containers free in ascending or descending order of
    /// addresses. `false`: the slow path is needed. No block starts where another ends.
    ///
    /// # Safety
    /// The `size` bytes at `at` are an allocation of this state with this layout, and are not used any more.
    #[inline(always)]
    pub unsafe fn free(&self, at: usize, size: usize, align: usize) -> bool {
        let Some((k, bytes)) = of(size, align) else { return false };
        let c = &self.class(k).range;
        let cursor = c.cursor.get();
        if at + bytes == cursor.addr() {
            c.cursor.set(cursor.wrapping_sub(bytes));
            return true;
        }
        let extends = at == c.limit.get();
        if extends {
            c.limit.set(at + bytes);
        }
        extends
    }

    /// Frees an allocation that `free` left.
    ///
    /// # Safety
    /// As for [`free`](State::free); `supply` is of this state.
    #[inline]
    pub unsafe fn free_slow(&self, supply: &Supply<'_>, at: usize, size: usize, align: usize) {
        #[cfg(feature = "std")]
        if let Some(checked) = self.checked() {
            return self.free_checked(checked, at, block::rounded_size(size));
        }
        // SAFETY: the caller's contract.
        unsafe {
            match kind(size, align) {
                Kind::Class(k, bytes) => self.free_in_class(&supply.index.units, at, k, bytes),
                Kind::Medium(bytes) => self.free_medium(&supply.index.units, at, bytes),
                Kind::Large(_) => self.larges.free(self, supply, at),
            }
        }
    }

    unsafe fn free_in_class(&self, units: &Units, at: usize, k: usize, bytes: usize) {
        let c = self.class(k);
        // SAFETY: the caller's contract: the block is alive. The caller's pointer may be valid for fewer bytes.
        let p = unsafe { (*units.find(block::unit_of(at)).as_ptr()).base.with_addr(at) };
        let (held, span) = (c.held_bytes.get() as usize, c.range.left());
        if held < (HELD_MAX * bytes).min(HELD_BYTES_MAX) && (held | span) != 0 {
            // SAFETY: the piece has 8 bytes or more.
            unsafe { p.cast::<*mut u8>().write(c.held.replace(p)) };
            c.held_bytes.set((held + bytes) as u32);
            return;
        }
        if !c.keep_span(bytes) {
            self.return_span(units, c);
        }
        self.activate(k); // a class that is not in use comes here first
        c.range.set_span(p, bytes);
    }

    /// Passes the span of a class to its block.
    fn return_span(&self, units: &Units, c: &Class) {
        if c.granted.get() < OWN_MIN {
            c.granted.set(c.granted.get().saturating_sub(c.range.left()));
        }
        self.drop_span(units, &c.range);
    }

    /// Passes what the classes have to the blocks, so that blocks without live objects are empty.
    pub fn flush(&self, units: &Units) {
        self.each_active(|k, c| {
            self.return_span(units, c);
            while c.take_span() {
                self.return_span(units, c);
            }
            while let Some(p) = c.take_held(bytes_of(k)) {
                // SAFETY: a held piece is in a block of this state, and not used.
                unsafe { self.give(units, p.addr().get(), bytes_of(k)) };
            }
        });
    }

    /// Allocates a held piece, when the span is used up. `None`: none is left, or the alignment is large.
    #[inline]
    pub fn reuse(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let (k, bytes) = of(size, align).filter(|_| align <= 8)?;
        self.class(k).take_held(bytes)
    }

    /// Allocates from the held pieces or a span; else from the range that all share, or from blocks of the class, with
    /// more as the next span.
    pub fn alloc_in_class(&self, supply: &Supply<'_>, k: usize, bytes: usize, align: usize) -> Option<NonNull<u8>> {
        let (c, units) = (self.class(k), &supply.index.units);
        self.activate(k);
        let is_aligned = c.held.get().addr() & (align - 1) == 0;
        if let Some(p) = is_aligned.then(|| c.take_held(bytes)).flatten() {
            return Some(p);
        }
        loop {
            if let Some(p) = self.alloc_in_span(units, &c.range, bytes, align) {
                return Some(p);
            }
            self.return_span(units, c);
            if !c.take_span() {
                break;
            }
        }
        let granted = c.granted.get();
        let shared = &self.class(SHARED).range;
        let p = if granted < OWN_MIN {
            self.fill(supply, SHARED, bytes, align)?
        } else if let Some(p) = self.fill(supply, k, bytes, align) {
            return Some(p);
        } else {
            // The source refuses a block of its own.
            let p = self.alloc_in_span(units, shared, bytes, align);
            p.or_else(|| self.alloc_in_hole(units, shared, bytes, align))?
        };
        let more = (granted / 8).clamp(GRANT_MIN, GRANT_MAX).min(shared.left()) / bytes * bytes;
        c.range.set_span(shared.cursor.get(), more);
        shared.cursor.set(shared.cursor.get().wrapping_add(more));
        c.granted.set(granted + bytes + more);
        Some(p)
    }

    /// Resizes an allocation of shared blocks in place: one that grows must be the newest in its class's span.
    /// `false`: impossible. Sizes are those of the allocations.
    ///
    /// # Safety
    /// The bytes at `at` behind `now` are of an allocation of this state, and not used any more.
    #[inline]
    pub unsafe fn resize(&self, units: &Units, at: usize, was: usize, now: usize) -> bool {
        let newest = of(was, 1).map(|(k, _)| &self.class(k).range).filter(|s| s.cursor.get().addr() == at + was);
        let fits = now <= was + newest.map_or(0, Range::left);
        match newest {
            Some(span) if fits => span.cursor.set(span.cursor.get().wrapping_add(now).wrapping_sub(was)),
            // SAFETY: the caller's contract.
            None if now < was => unsafe { self.give(units, at + now, was - now) },
            _ => {}
        }
        fits
    }
}

/// Bytes of each object of a class.
fn bytes_of(k: usize) -> usize {
    let shift = if k < 16 { 3 } else { 2 + k / 8 };
    (k - 8 * (shift - 3) + 1) << shift
}
