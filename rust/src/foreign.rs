//! A scope of an arena that was made elsewhere, by the ABI alone: the scope claims the room, and its own arena takes its
//! blocks from the claim as it goes on.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::mem::size_of;
use core::ptr::NonNull;

use crate::abi::{self, Head, Mark, Range};
use crate::policy::{BLOCK_MIN, INITIAL_START};
use crate::provider;
use crate::source::Source;

/// At the beginning of the scope's memory.
pub struct Outer {
    head: NonNull<Head>,
    /// Before the claim.
    mark: Mark,
    range: Cell<Range>,
    /// Where the last claim began: so much of the scope can be given back whatever happened meanwhile.
    claim_start: Cell<*mut u8>,
    /// The epoch when the claim went on last. Another one says that somebody was served aside since.
    epoch_seen: Cell<usize>,
    /// Somebody was: what they got lies above the mark, and must stay.
    shared: Cell<bool>,
}

/// `size` bytes at a multiple of 64, and a claim of what room there is behind them. Where somebody else holds a claim:
/// the bytes alone, and the range stays empty.
///
/// # Safety
/// `head` is that of a live arena, and the range is that of its claim or empty.
unsafe fn take(
    head: NonNull<Head>,
    range: &mut Range,
    claim_start: &Cell<*mut u8>,
    size: usize,
) -> Option<NonNull<u8>> {
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
    // SAFETY: whoever has the head keeps it alive.
    unsafe { (*head.as_ptr()).epoch.get() & !1 }
}

/// A scope's arena, and what its end needs. `None`: no memory, or the arena is closed.
///
/// # Safety
/// `head` is that of a live arena, which stays so until [`end`].
pub unsafe fn begin(head: NonNull<Head>) -> Option<(provider::ArenaPtr, NonNull<Outer>)> {
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

/// Gives everything back, if the scope had the claim and nobody else was served meanwhile. Else the last claim alone: what
/// the scope took before waits for what is around it.
///
/// # Safety
/// `outer` is of [`begin`], and the scope's arena is released.
pub unsafe fn end(outer: NonNull<Outer>) {
    // SAFETY: the caller's contract. The outer is read before its memory goes.
    unsafe {
        outer.as_ref().check_epoch();
        let Outer { head, mark, range, claim_start, shared, .. } = outer.read();
        let mut range = range.into_inner();
        if range.claim == 0 {
            return; // somebody else's claim is open, or was
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
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        self.check_epoch();
        let mut range = self.range.replace(Range::EMPTY);
        // SAFETY: the range is of the claim.
        let p = unsafe { take(self.head, &mut range, &self.claim_start, size) };
        self.range.set(range);
        self.epoch_seen.set(epoch(self.head));
        p
    }

    /// With the scope.
    unsafe fn put(&self, _block: NonNull<u8>, _size: usize) {}
}
