//! Values in memory that somebody gives by the layout: what a shared arena and its parts have in common.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};

use crate::error::Refuse;

/// Memory that nobody else has, for as long as this is borrowed at the least.
pub trait Room {
    fn obtain(&self, layout: Layout) -> Option<NonNull<u8>>;

    /// Takes it back, if it is the newest.
    ///
    /// # Safety
    /// `p` came of `obtain` or `refit` with that layout, and is used no more.
    unsafe fn return_(&self, p: NonNull<u8>, layout: Layout);

    /// Makes it larger or smaller where it stands. `false`: it is as it was.
    ///
    /// # Safety
    /// As for [`return_`](Room::return_), of the bytes behind `new`.
    unsafe fn fits(&self, p: NonNull<u8>, old: Layout, new: Layout) -> bool;

    /// In place, or a copy.
    ///
    /// # Safety
    /// `p` came of `obtain` or `refit` with the layout `old`, and is used no more but at the address that is returned.
    #[inline]
    unsafe fn refit(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the caller's contract; what is new is apart from what is old.
        unsafe {
            if p.addr().get() & (new.align() - 1) == 0 && self.fits(p, old, new) {
                return Some(p);
            }
            let to = self.obtain(new)?;
            to.as_ptr().copy_from_nonoverlapping(p.as_ptr(), old.size().min(new.size()));
            self.return_(p, old);
            Some(to)
        }
    }

    #[inline(always)]
    fn bytes<E: Refuse>(&self, layout: Layout) -> Result<NonNull<u8>, E> {
        self.obtain(layout).ok_or_else(|| E::refuse(layout))
    }

    #[inline(always)]
    fn rooms<T, E: Refuse>(&self, n: usize) -> Result<NonNull<T>, E> {
        let Ok(layout) = Layout::array::<T>(n) else { return Err(E::overflow()) };
        if size_of::<T>() == 0 {
            return Ok(NonNull::dangling());
        }
        Ok(self.bytes::<E>(layout)?.cast())
    }

    /// The memory is taken before `make` runs, which may allocate here itself, and gets other memory.
    #[inline(always)]
    fn value<T, E: Refuse>(&self, make: impl FnOnce() -> T) -> Result<NonNull<T>, E> {
        let p = self.rooms::<T, E>(1)?;
        // SAFETY: new memory for a T.
        unsafe { p.write(make()) };
        Ok(p)
    }

    #[inline(always)]
    fn copied<T: Copy, E: Refuse>(&self, src: &[T]) -> Result<NonNull<[T]>, E> {
        let p = self.rooms::<T, E>(src.len())?;
        // SAFETY: new memory for as many.
        unsafe { ptr::copy_nonoverlapping(src.as_ptr(), p.as_ptr(), src.len()) };
        Ok(NonNull::slice_from_raw_parts(p, src.len()))
    }

    fn filled<T, E: Refuse>(&self, n: usize, mut make: impl FnMut(usize) -> T) -> Result<NonNull<[T]>, E> {
        /// What is made when `make` panics.
        struct Made<T>(NonNull<T>, usize);
        impl<T> Drop for Made<T> {
            fn drop(&mut self) {
                // SAFETY: so many are written, and nobody has them.
                unsafe { ptr::slice_from_raw_parts_mut(self.0.as_ptr(), self.1).drop_in_place() }
            }
        }
        let mut made = Made(self.rooms::<T, E>(n)?, 0);
        while made.1 < n {
            // SAFETY: new memory for n of T.
            unsafe { made.0.add(made.1).write(make(made.1)) };
            made.1 += 1;
        }
        Ok(NonNull::slice_from_raw_parts(ManuallyDrop::new(made).0, n))
    }

    fn formatted<E: Refuse>(&self, args: fmt::Arguments<'_>) -> Result<NonNull<[u8]>, E> {
        if let Some(s) = args.as_str() {
            return self.copied(s.as_bytes());
        }
        let mut text = Text { room: self, at: NonNull::dangling(), len: 0, has: 0, refused: None::<E> };
        let done = fmt::write(&mut text, args);
        if let Some(e) = text.refused.take() {
            return Err(e);
        }
        assert!(done.is_ok(), "toft: a formatting trait implementation returned an error");
        // Its end is given back, if it is the newest; if it cannot be, it is as it was.
        let (at, len) = (text.at, text.len);
        if len == 0 || text.resize(len).is_err() {
            text.at = at;
        }
        Ok(NonNull::slice_from_raw_parts(ManuallyDrop::new(text).at, len))
    }
}

/// Text that grows, in place while nobody else allocates.
struct Text<'a, R: Room + ?Sized, E> {
    room: &'a R,
    at: NonNull<u8>,
    len: usize,
    has: usize,
    refused: Option<E>,
}

fn bytes_of(n: usize) -> Layout {
    // SAFETY: no text has more than isize::MAX bytes, which `resize` sees to; any size will do for an alignment of 1.
    unsafe { Layout::from_size_align_unchecked(n, 1) }
}

impl<R: Room + ?Sized, E: Refuse> Text<'_, R, E> {
    fn resize(&mut self, to: usize) -> Result<(), E> {
        let Ok(new) = Layout::array::<u8>(to) else { return Err(E::overflow()) };
        if to == self.has {
            return Ok(());
        }
        let p = if self.has == 0 {
            self.room.obtain(new)
        } else {
            // SAFETY: `at` has `has` bytes of the room, and is forgotten.
            unsafe { self.room.refit(self.at, bytes_of(self.has), new) }
        };
        self.at = p.ok_or_else(|| E::refuse(new))?;
        self.has = to;
        Ok(())
    }
}

impl<R: Room + ?Sized, E: Refuse> fmt::Write for Text<'_, R, E> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let need = self.len + s.len(); // below usize::MAX: both are of isize::MAX at most
        if need > self.has {
            if let Err(e) = self.resize(need.max(2 * self.has).max(32)) {
                self.refused = Some(e);
                return Err(fmt::Error);
            }
        }
        // SAFETY: there is room for it.
        unsafe { self.at.as_ptr().add(self.len).copy_from_nonoverlapping(s.as_ptr(), s.len()) };
        self.len = need;
        Ok(())
    }
}

impl<R: Room + ?Sized, E> Drop for Text<'_, R, E> {
    fn drop(&mut self) {
        if self.has != 0 {
            // SAFETY: it is not used any more.
            unsafe { self.room.return_(self.at, bytes_of(self.has)) };
        }
    }
}
