//! Scopes of arenas of other providers, by the ABI only: the scope claims a range, and its own arena takes its blocks
//! from the claim.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::mem::size_of;
use core::ptr::NonNull;

use crate::base::abi_types::{self as abi, Head, Mark, Range, Start};
use crate::base::policy::{BLOCK_MIN, INITIAL_START};
use crate::base::source::Source;
use crate::provider;

/// State of the scope, at the start of its memory.
pub struct Outer {
    head: NonNull<Head>,
    /// Before the claim.
    mark: Mark,
    range: Cell<Range>,
    /// The start of the last claim: these bytes can be freed in any case.
    claim_start: Cell<*mut u8>,
    /// The epoch at the last extension of the claim. Another value shows that other code has allocated since.
    epoch_seen: Cell<usize>,
    /// Whether other code has allocated above the mark: those bytes must stay.
    shared: Cell<bool>,
}

/// Takes `size` bytes at a multiple of 64, and claims what remains behind them. If another claim is open, takes the
/// bytes only, and leaves the range empty.
///
/// # Safety
/// `head` is that of a live arena, and the range is that of its claim or empty.
unsafe fn take(head: NonNull<Head>, range: &mut Range, claim_start: &Cell<*mut u8>, size: usize) -> Start {
    // SAFETY: the caller's contract.
    unsafe {
        let table = &*(*head.as_ptr()).ops.get();
        let p = NonNull::new((table.claim)(head.as_ptr(), range, size, 64).cast::<u8>());
        match p {
            Some(p) => {
                claim_start.set(if p.as_ptr().wrapping_add(size) == range.cursor { p.as_ptr() } else { range.cursor })
            }
            None if range.claim == 0 => return NonNull::new((table.alloc)(head.as_ptr(), size, 64, 0, 0).cast()),
            None => (),
        }
        p
    }
}

fn epoch(head: NonNull<Head>) -> usize {
    // SAFETY: the callers keep the head alive.
    unsafe { (*head.as_ptr()).epoch.get() & !1 }
}

/// Begins a scope. Returns its arena, and the argument of [`end`]. `None`: no memory, or the arena is closed.
///
/// # Safety
/// `head` is that of an arena that is alive until [`end`].
pub unsafe fn begin(head: NonNull<Head>) -> Option<(provider::RawArena, NonNull<Outer>)> {
    // SAFETY: the caller's contract. The memory is new.
    unsafe {
        let mark = abi::mark(head);
        let (mut range, claim_start) = (Range::EMPTY, Cell::new(core::ptr::null_mut()));
        let outer = take(head, &mut range, &claim_start, size_of::<Outer>().next_multiple_of(64))?.cast::<Outer>();
        let refused = Cell::new(range.claim == 0);
        let mut initial = NonNull::new(range.cursor);
        let mut size = range.limit.addr() - range.cursor.addr();
        if size >= INITIAL_START + 512 {
            range.cursor = range.limit;
        } else {
            initial = take(head, &mut range, &claim_start, BLOCK_MIN);
            size = BLOCK_MIN;
        }
        let epoch_seen = Cell::new(epoch(head));
        outer.write(Outer { head, mark, range: Cell::new(range), claim_start, epoch_seen, shared: refused });
        let source: NonNull<dyn Source> = outer;
        let arena = initial.and_then(|initial| provider::create_in(initial, size, Some(Some(source))));
        if arena.is_none() {
            end(outer);
        }
        Some((arena?, outer))
    }
}

/// Ends the scope: frees all its bytes, if it had the claim and no other code has allocated since; else those of the
/// last claim only, and the outer arena frees the rest.
///
/// # Safety
/// `outer` is from [`begin`], and the scope's arena is released.
pub unsafe fn end(outer: NonNull<Outer>) {
    // SAFETY: the caller's contract. `outer` is read before its memory is freed.
    unsafe {
        outer.as_ref().check_epoch();
        let Outer { head, mark, range, claim_start, shared, .. } = outer.read();
        let mut range = range.into_inner();
        if range.claim == 0 {
            return; // another claim is or was open
        }
        range.cursor = claim_start.get();
        ((*(*head.as_ptr()).ops.get()).give)(head.as_ptr(), &mut range);
        if !shared.get() {
            abi::rewind(head, mark);
        }
    }
}

impl Outer {
    fn check_epoch(&self) {
        self.shared.set(self.shared.get() || self.epoch_seen.get() != epoch(self.head));
    }
}

// SAFETY: the memory is the claim's until the scope ends; nothing here unwinds.
unsafe impl Source for Outer {
    fn take(&self, size: usize) -> Start {
        self.check_epoch();
        let mut range = self.range.replace(Range::EMPTY);
        // SAFETY: the range is that of the claim.
        let p = unsafe { take(self.head, &mut range, &self.claim_start, size) };
        self.range.set(range);
        self.epoch_seen.set(epoch(self.head));
        p
    }

    /// The scope's end returns the memory.
    unsafe fn put(&self, _block: NonNull<u8>, _size: usize) {}
}
