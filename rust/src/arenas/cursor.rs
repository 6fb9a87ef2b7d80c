//! Cursors: the arena's cursor in registers, for hot loops; and packed text.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::mut_from_ref)] // the returned references are to new memory

use core::alloc::Layout;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::{align_of, size_of, MaybeUninit};
use core::panic::Location;
use core::ptr::NonNull;

use crate::base::abi_types::{Head, Place, Range};
use crate::base::error::{unwrap_infallible, AllocError, ErrorMode};
use crate::base::policy::round8;
use crate::memory::arena::Arena;
use crate::memory::construct::{copy, Construct};
use crate::provider::{self, Caller};

/// The claimed rest of an arena's current block. Cursor and limit are members of this value, which the compiler keeps
/// in registers, so that an allocation neither loads nor stores them. Dropping it returns the rest of the block.
///
/// While it exists, other allocations from the arena are served from another block, by slow calls. Allocations of the
/// cursor live as long as the arena is borrowed, not only as long as the cursor. A second cursor of the same arena
/// works, but slowly. Calls panic if the arena has no memory; their variants `try_...` return an error.
///
/// ```
/// let arena = toft::Arena::new();
/// let mut cursor = arena.cursor();
/// let squares: Vec<&mut u64> = (0..1000).map(|i| cursor.alloc(i * i)).collect();
/// drop(cursor);
/// assert_eq!(*squares[999], 998_001);
/// ```
#[derive(Debug)]
pub struct Cursor<'a> {
    cursor: *mut u8,
    limit: *mut u8,
    /// 0: nothing is claimed.
    claim: usize,
    head: NonNull<Head>,
    arena: PhantomData<&'a Arena>,
}

impl Arena {
    /// Claims the rest of the current block: [`Cursor`].
    #[inline]
    pub fn cursor(&self) -> Cursor<'_> {
        let range = self.own().and_then(|a| a.claim_fast());
        let Range { cursor, limit, claim } = range.unwrap_or_else(|| {
            let mut range = Range::EMPTY;
            // SAFETY: the arena is alive; the range is new.
            unsafe { (self.table().claim)(self.head().as_ptr(), &mut range, 0, 1) };
            range
        });
        Cursor { cursor, limit, claim, head: self.head(), arena: PhantomData }
    }
}

/// Allocates by a new or extended claim. Returns the range by value, so that the caller's stays in registers.
#[cold]
#[inline(never)]
unsafe fn more(head: NonNull<Head>, mut range: Range, layout: Layout, at: Place) -> (*mut u8, Range) {
    // SAFETY: the caller's contract: a live head, and the range of its claim or none.
    unsafe {
        let table = &*(*head.as_ptr()).ops.get();
        if core::ptr::eq(table, provider::OPS) {
            let (head, caller) = (head.as_ptr(), Caller { location: Some(at), site: 0, drops: false });
            let p = if range.claim == 0 {
                provider::alloc_for(head, layout.size(), layout.align(), 0, caller)
            } else {
                provider::claim_for(head, &mut range, layout.size(), layout.align(), caller)
            };
            return (p.map_or(core::ptr::null_mut(), NonNull::as_ptr), range);
        }
        let p = if range.claim == 0 {
            (table.alloc)(head.as_ptr(), layout.size(), layout.align(), 0, 0)
        } else {
            (table.claim)(head.as_ptr(), &mut range, layout.size(), layout.align())
        };
        (p.cast(), range)
    }
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    #[track_caller]
    fn reserve_one<T, E: ErrorMode>(&mut self) -> Result<NonNull<T>, E> {
        if size_of::<T>() == 0 {
            return Ok(NonNull::dangling());
        }
        let mut p = self.cursor;
        if align_of::<T>() > 8 {
            p = p.with_addr(p.addr().wrapping_add(align_of::<T>() - 1) & !(align_of::<T>() - 1));
        }
        // As in `abi::alloc_aligned`: the sign tells whether the padding passed the limit.
        let left = self.limit.addr().wrapping_sub(p.addr());
        let fits = if align_of::<T>() > 8 { left as isize >= size_of::<T>() as isize } else { left >= size_of::<T>() };
        if fits {
            self.cursor = p.wrapping_add(round8(size_of::<T>()));
            // SAFETY: within the block.
            return Ok(unsafe { NonNull::new_unchecked(p.cast()) });
        }
        let range = Range { cursor: self.cursor, limit: self.limit, claim: self.claim };
        // SAFETY: the arena is alive while 'a is; the range is this cursor's.
        let (p, range) = unsafe { more(self.head, range, Layout::new::<T>(), Location::caller()) };
        let Some(p) = NonNull::new(p.cast()) else { return Err(E::out_of_memory(Layout::new::<T>())) };
        self.cursor = range.cursor;
        self.limit = range.limit;
        Ok(p)
    }

    #[inline(always)]
    #[track_caller]
    fn value<T, E: ErrorMode>(&mut self, value: T) -> Result<&'a mut T, E> {
        let p = self.reserve_one::<T, E>()?;
        // SAFETY: new memory for a T, which lives while the arena is borrowed.
        unsafe {
            p.as_ptr().write(value);
            Ok(&mut *p.as_ptr())
        }
    }

    /// Moves `value` into the arena. It is not dropped.
    #[inline(always)]
    #[track_caller]
    pub fn alloc<T>(&mut self, value: T) -> &'a mut T {
        unwrap_infallible(self.value(value))
    }

    /// As [`alloc`](Cursor::alloc), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc<T>(&mut self, value: T) -> Result<&'a mut T, AllocError> {
        self.value(value)
    }

    /// Returns uninitialised memory for a T.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(*arena.cursor().alloc_uninit().write(7), 7);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_uninit<T>(&mut self) -> &'a mut MaybeUninit<T> {
        // SAFETY: new memory for a T.
        unsafe { &mut *unwrap_infallible(self.reserve_one::<MaybeUninit<T>, _>()).as_ptr() }
    }

    /// As [`alloc_uninit`](Cursor::alloc_uninit), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_uninit<T>(&mut self) -> Result<&'a mut MaybeUninit<T>, AllocError> {
        // SAFETY: new memory for a T.
        Ok(unsafe { &mut *self.reserve_one::<MaybeUninit<T>, _>()?.as_ptr() })
    }
}

impl Drop for Cursor<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.claim != 0 {
            let mut range = Range { cursor: self.cursor, limit: self.limit, claim: self.claim };
            // SAFETY: the arena is alive; the range is of its claim.
            unsafe {
                if !crate::provider::own(self.head).is_some_and(|a| a.unclaim_fast(&range)) {
                    ((*(*self.head.as_ptr()).ops.get()).give)(self.head.as_ptr(), &mut range);
                }
            }
        }
    }
}

// ---- packed text ----

/// Strings without padding between them: for the many short strings of a parser this takes 13 to 61 % less memory.
///
/// Takes chunks of 64 bytes to 4 KiB from the arena; the unused part of the last one stays allocated. Calls panic if the
/// arena has no memory; their variants `try_...` return an error.
///
/// ```
/// let arena = toft::Arena::new();
/// let pack = arena.pack();
/// let (a, b) = (pack.alloc_str("ab"), pack.alloc_str("cde"));
/// assert_eq!(b.as_ptr() as usize - a.as_ptr() as usize, 2);
/// assert_eq!((&*a, &*b), ("ab", "cde"));
/// ```
#[derive(Debug)]
pub struct Pack<'a> {
    arena: &'a Arena,
    cursor: Cell<*mut u8>,
    room: Cell<usize>,
    chunk: Cell<usize>,
}

const FIRST_CHUNK: usize = 64;
const LAST_CHUNK: usize = 4096;

impl Arena {
    /// Returns a packer of strings: [`Pack`].
    #[inline]
    pub fn pack(&self) -> Pack<'_> {
        Pack {
            arena: self,
            cursor: Cell::new(NonNull::dangling().as_ptr()),
            room: Cell::new(0),
            chunk: Cell::new(FIRST_CHUNK),
        }
    }
}

impl<'a> Pack<'a> {
    #[inline(always)]
    #[track_caller]
    fn reserve_one<E: ErrorMode>(&self, size: usize) -> Result<NonNull<u8>, E> {
        let p = self.cursor.get();
        if self.room.get() < size {
            return self.more(size);
        }
        self.cursor.set(p.wrapping_add(size));
        self.room.set(self.room.get() - size);
        // SAFETY: dangling, or within the chunk.
        Ok(unsafe { NonNull::new_unchecked(p) })
    }

    /// A string above a quarter of a chunk is allocated separately, so that at most a quarter of a chunk stays unused.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn more<E: ErrorMode>(&self, size: usize) -> Result<NonNull<u8>, E> {
        let chunk = self.chunk.get();
        if size > chunk / 4 {
            return self.arena.reserve_slice::<u8, E>(size, false);
        }
        let Ok(p) = self.arena.reserve_slice::<u8, AllocError>(chunk, false) else {
            return self.arena.reserve_slice::<u8, E>(size, false);
        };
        self.cursor.set(p.as_ptr().wrapping_add(size));
        self.room.set(chunk - size);
        self.chunk.set((2 * chunk).min(LAST_CHUNK));
        Ok(p)
    }

    #[inline(always)]
    #[track_caller]
    fn copied<E: ErrorMode>(&self, bytes: &[u8]) -> Result<&'a mut [u8], E> {
        let p = self.reserve_one::<E>(bytes.len())?;
        // SAFETY: new memory for this many, which lives while the arena is borrowed.
        unsafe {
            copy(bytes.as_ptr(), p.as_ptr(), bytes.len());
            Ok(core::slice::from_raw_parts_mut(p.as_ptr(), bytes.len()))
        }
    }

    /// Copies a string.
    #[inline(always)]
    #[track_caller]
    pub fn alloc_str(&self, s: &str) -> &'a mut str {
        // SAFETY: a copy of a string's bytes.
        unsafe { core::str::from_utf8_unchecked_mut(unwrap_infallible(self.copied(s.as_bytes()))) }
    }

    /// As [`alloc_str`](Pack::alloc_str), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_str(&self, s: &str) -> Result<&'a mut str, AllocError> {
        // SAFETY: a copy of a string's bytes.
        Ok(unsafe { core::str::from_utf8_unchecked_mut(self.copied(s.as_bytes())?) })
    }

    /// Copies bytes, to any address.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(arena.pack().alloc_bytes(&[1, 2, 3]), &[1, 2, 3]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_bytes(&self, bytes: &[u8]) -> &'a mut [u8] {
        unwrap_infallible(self.copied(bytes))
    }

    /// As [`alloc_bytes`](Pack::alloc_bytes), with an error instead of the panic.
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_bytes(&self, bytes: &[u8]) -> Result<&'a mut [u8], AllocError> {
        self.copied(bytes)
    }
}
