//! The memory of a collection: an array of unused elements that grows at the arena's tip.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem::{align_of, size_of, ManuallyDrop};
use core::ptr::NonNull;

use crate::abi::{self, round8, Head};
use crate::bumpalo::{AllocErr, Bump};
use crate::construct::Construct;
use crate::error::{unwrap_infallible, ErrorMode};
use crate::policy::CAP;

/// Room for `room` of T at `at`. For types without a size there is always room.
pub struct Buffer<'bump, T> {
    at: NonNull<T>,
    room: usize,
    bump: &'bump Bump,
    holds: PhantomData<T>,
}

impl<'bump, T> Buffer<'bump, T> {
    const NO_ROOM: usize = if size_of::<T>() == 0 { usize::MAX } else { 0 };

    /// What the first growth takes, or the last would be as long as many others before it.
    const LEAST: usize = match size_of::<T>() {
        0 => 0,
        1 => 8,
        2..=1024 => 4,
        _ => 1,
    };

    #[inline(always)]
    #[track_caller]
    pub fn new(bump: &'bump Bump) -> Self {
        Buffer { at: NonNull::dangling(), room: Self::NO_ROOM, bump, holds: PhantomData }
    }

    #[inline(always)]
    #[track_caller]
    pub fn with_room(room: usize, bump: &'bump Bump) -> Self {
        if size_of::<T>() == 0 || room == 0 {
            return Self::new(bump);
        }
        let at = unwrap_infallible(bump.as_ref().reserve_slice::<T, _>(room, false));
        Buffer { at, room, bump, holds: PhantomData }
    }

    /// # Safety
    /// What [`into_parts`](Buffer::into_parts) returned; or an allocation of that arena with that much room, which is
    /// nobody else's.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn from_parts(at: NonNull<T>, room: usize, bump: &'bump Bump) -> Self {
        Buffer { at, room: if size_of::<T>() == 0 { usize::MAX } else { room }, bump, holds: PhantomData }
    }

    #[inline(always)]
    #[track_caller]
    pub fn into_parts(self) -> (NonNull<T>, usize, &'bump Bump) {
        let this = ManuallyDrop::new(self);
        (this.at, this.room, this.bump)
    }

    #[inline(always)]
    #[track_caller]
    pub fn at(&self) -> *mut T {
        self.at.as_ptr()
    }

    #[inline(always)]
    #[track_caller]
    pub fn room(&self) -> usize {
        self.room
    }

    #[inline(always)]
    #[track_caller]
    pub fn bump(&self) -> &'bump Bump {
        self.bump
    }

    #[inline(always)]
    #[track_caller]
    fn head(&self) -> NonNull<Head> {
        self.bump.as_ref().head()
    }

    /// In the arena. It fits an `isize`, as the room was allocated.
    #[inline(always)]
    #[track_caller]
    fn bytes(&self) -> usize {
        if size_of::<T>() == 0 {
            return 0;
        }
        self.room * size_of::<T>()
    }

    /// Is it the arena's newest allocation? Where there is no memory it may be taken for one.
    #[inline(always)]
    #[track_caller]
    fn is_newest(&self) -> bool {
        // SAFETY: the arena is alive.
        let cursor = unsafe { (*self.head().as_ptr()).cursor.get() };
        cursor.addr().wrapping_sub(self.at.addr().get()) == round8(self.bytes())
    }

    // ---- growing ----

    /// Room for `more` beside the `len` that are used, and for as many again, so that pushing takes constant time.
    #[inline(always)]
    #[track_caller]
    pub fn reserve<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        if self.room - len < more {
            self.grow_by(len, more)?;
        }
        Ok(())
    }

    /// Room for `more` beside the `len` that are used.
    #[inline(always)]
    #[track_caller]
    pub fn reserve_exact<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        if self.room - len < more {
            let Some(need) = len.checked_add(more) else { return Err(E::overflow()) };
            self.set_room(need)?;
        }
        Ok(())
    }

    /// Room for one more, there being none.
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub fn grow_by_one(&mut self) {
        unwrap_infallible(self.grow(self.room, 1))
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn grow_by<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        self.grow(len, more)
    }

    /// Twice the room; if that is refused, what is needed.
    #[inline(always)]
    #[track_caller]
    fn grow<E: ErrorMode>(&mut self, len: usize, more: usize) -> Result<(), E> {
        let Some(need) = len.checked_add(more) else { return Err(E::overflow()) };
        let roomy = need.max(self.room.saturating_mul(2)).max(Self::LEAST);
        match self.set_room::<AllocErr>(roomy) {
            Ok(()) => Ok(()),
            Err(AllocErr) => self.set_room(need),
        }
    }

    /// `room` is not 0, and T has a size.
    #[inline]
    #[track_caller]
    fn set_room<E: ErrorMode>(&mut self, room: usize) -> Result<(), E> {
        let Ok(layout) = Layout::array::<T>(room) else { return Err(E::overflow()) };
        // SAFETY: an allocation of the arena of that size, or nothing.
        let at = unsafe { raw_realloc(self.head(), self.at.as_ptr().cast(), self.bytes(), layout) };
        self.at = at.ok_or_else(|| E::out_of_memory(layout))?.cast();
        self.room = room;
        Ok(())
    }

    // ---- giving back ----

    /// No more room than for `len`, if the rest can be given back.
    #[track_caller]
    pub fn shrink(&mut self, len: usize) {
        if size_of::<T>() == 0 || len == self.room {
            return;
        }
        if len == 0 {
            self.give_back();
            (self.at, self.room) = (NonNull::dangling(), 0);
        } else {
            let _ = self.set_room::<AllocErr>(len);
        }
    }

    /// The `len` that are used, for good, and the rest back if that is quick.
    #[inline(always)]
    #[track_caller]
    pub fn into_used(self, len: usize) -> NonNull<T> {
        if len == 0 {
            return NonNull::dangling(); // and the buffer is dropped
        }
        if size_of::<T>() != 0 && self.is_newest() {
            let used = len * size_of::<T>();
            // SAFETY: an allocation of the arena of that size. Less of it is where it was; if that is refused, nothing
            // is.
            let _ = unsafe { abi::resize(self.head(), self.at().cast(), self.bytes(), used, align_of::<T>()) };
        }
        self.into_parts().0
    }

    /// Small ones that are not the newest are not worth a call: nothing would come of it.
    #[inline(always)]
    #[track_caller]
    fn give_back(&mut self) {
        let bytes = self.bytes();
        if bytes != 0 && (self.is_newest() || bytes > CAP / 4 - 8) {
            // SAFETY: an allocation of the arena of that size, which nobody uses any more.
            unsafe { abi::free(self.head(), self.at.as_ptr().cast(), bytes) };
        }
    }
}

impl<T> Drop for Buffer<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.give_back();
    }
}

/// One for all types.
///
/// # Safety
/// `at` is an allocation of the arena of `old` bytes with `layout`'s alignment, or `old` is 0; `layout`'s size is not.
#[inline(never)]
#[track_caller]
unsafe fn raw_realloc(head: NonNull<Head>, at: *mut u8, old: usize, layout: Layout) -> Option<NonNull<u8>> {
    // SAFETY: the caller's contract.
    unsafe {
        if old == 0 {
            abi::alloc_aligned(head, layout.size(), layout.align())
        } else {
            abi::resize(head, at, old, layout.size(), layout.align())
        }
    }
}
