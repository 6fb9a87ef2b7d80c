//! Construction of values, slices and text: one body for every kind of [`Memory`], and for the panicking call and its
//! `try_` variant.
//!
//! If user code panics or fails during the construction (a closure, `Clone`, `Default`, an iterator, a formatting
//! trait), the values constructed so far are dropped, and then the memory is freed, if it is the newest allocation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::fmt;
use core::mem::{align_of, needs_drop, size_of, ManuallyDrop, MaybeUninit};
use core::ptr::{self, NonNull};

use crate::base::error::{AllocError, ErrorMode, InitError};
use crate::memory::boxed::Box;
use crate::memory::buffer::{refused, Array, Buffer};
use crate::memory::by_layout::{CallSite, Memory};

/// Construction in memory, valid at least as long as `self` is borrowed.
pub(crate) trait Construct: Memory {
    /// The address of values without a size.
    #[inline(always)]
    fn dangling<T>(&self) -> NonNull<T> {
        let align = align_of::<T>().max(self.__min_align());
        // SAFETY: an alignment is not 0.
        unsafe { NonNull::new_unchecked(ptr::without_provenance_mut(align)) }
    }

    #[inline(always)]
    #[track_caller]
    fn bytes<E: ErrorMode>(&self, layout: Layout) -> Result<NonNull<u8>, E> {
        self.__allocate(layout, CallSite::caller(false)).map_err(|AllocError| E::out_of_memory(layout))
    }

    /// Memory for a T.
    #[inline(always)]
    #[track_caller]
    fn reserve_one<T, E: ErrorMode>(&self, drops: bool) -> Result<NonNull<T>, E> {
        if size_of::<T>() == 0 {
            return Ok(self.dangling());
        }
        match self.__allocate_typed(Layout::new::<T>(), CallSite::caller(drops)) {
            Ok(p) => Ok(p.cast()),
            Err(AllocError) => Err(E::out_of_memory(Layout::new::<T>())),
        }
    }

    /// Memory for `n` of T.
    #[inline(always)]
    #[track_caller]
    fn reserve_slice<T, E: ErrorMode>(&self, n: usize, drops: bool) -> Result<NonNull<T>, E> {
        let Ok(layout) = Layout::array::<T>(n) else { return Err(E::overflow()) };
        if size_of::<T>() == 0 {
            return Ok(self.dangling());
        }
        match self.__allocate_typed(layout, CallSite::caller(drops)) {
            Ok(p) => Ok(p.cast()),
            Err(AllocError) => Err(E::out_of_memory(layout)),
        }
    }

    /// Constructs a value. The memory is reserved before `make` runs, which may allocate from `self` itself.
    #[inline(always)]
    #[track_caller]
    fn value<T, E: ErrorMode>(&self, make: impl FnOnce() -> T, drops: bool) -> Result<NonNull<T>, E> {
        let p = self.reserve_one::<T, E>(drops)?;
        let unused = Reserved { arena: self, at: p.cast(), layout: Layout::new::<T>() };
        // SAFETY: new memory for a T.
        unsafe { p.write(make()) };
        core::mem::forget(unused);
        Ok(p)
    }

    /// Constructs a value that may fail, and then allocates.
    #[inline(always)]
    #[track_caller]
    fn tried<T, F, E: ErrorMode>(&self, make: impl FnOnce() -> Result<T, F>) -> Result<Result<NonNull<T>, E>, F> {
        let value = make()?;
        Ok(self.value(|| value, needs_drop::<T>()))
    }

    #[inline(always)]
    #[track_caller]
    fn copied<T: Copy, E: ErrorMode>(&self, src: &[T]) -> Result<NonNull<[T]>, E> {
        let p = self.reserve_slice::<T, E>(src.len(), false)?;
        // SAFETY: new memory for this many.
        unsafe { copy(src.as_ptr(), p.as_ptr(), src.len()) };
        Ok(NonNull::slice_from_raw_parts(p, src.len()))
    }

    /// Constructs `n` values from their index.
    #[inline(always)]
    #[track_caller]
    fn filled<T, E: ErrorMode>(&self, n: usize, mut make: impl FnMut(usize) -> T) -> Result<NonNull<[T]>, E> {
        let p = self.reserve_slice::<T, E>(n, needs_drop::<T>())?;
        // SAFETY: new memory for n of T.
        let made = unsafe { PartialSlice::of(self, p, n) }.fill(|i| Ok::<T, core::convert::Infallible>(make(i)));
        match made {
            Ok(made) => Ok(made),
            Err(never) => match never {},
        }
    }

    /// As [`filled`](Construct::filled), up to the first error of `make`.
    #[inline(always)]
    #[track_caller]
    fn filled_until<T, F, E: ErrorMode>(
        &self,
        n: usize,
        make: impl FnMut(usize) -> Result<T, F>,
    ) -> Result<Result<NonNull<[T]>, E>, F> {
        let p = match self.reserve_slice::<T, E>(n, needs_drop::<T>()) {
            Ok(p) => p,
            Err(e) => return Ok(Err(e)),
        };
        // SAFETY: new memory for n of T.
        unsafe { PartialSlice::of(self, p, n) }.fill(make).map(Ok)
    }

    #[inline(always)]
    #[track_caller]
    fn uninit<T, E: ErrorMode>(&self, n: usize) -> Result<NonNull<[MaybeUninit<T>]>, E> {
        Ok(NonNull::slice_from_raw_parts(self.reserve_slice::<MaybeUninit<T>, E>(n, false)?, n))
    }

    #[inline(always)]
    #[track_caller]
    fn zeroed<T, E: ErrorMode>(&self, n: usize) -> Result<NonNull<[MaybeUninit<T>]>, E> {
        let slice = self.uninit::<T, E>(n)?;
        // SAFETY: memory for n of T; uninitialised ones may have any bytes.
        unsafe { slice.cast::<T>().write_bytes(0, n) };
        Ok(slice)
    }

    /// Collects an iterator. Grows in place unless the iterator allocates from `self` too.
    #[inline]
    #[track_caller]
    fn collected<T, E: ErrorMode>(&self, iter: impl Iterator<Item = T>, drops: bool) -> Result<NonNull<[T]>, E> {
        let (least, most) = iter.size_hint();
        let mut slice = GrowingSlice::<Self, T>::new(self, drops);
        slice.grow::<E>(if most == Some(least) { least } else { least.max(1) })?;
        for value in iter {
            if slice.len == slice.capacity() {
                slice.grow::<E>((slice.capacity() * 2).max(4))?;
            }
            // SAFETY: the capacity exceeds the length.
            unsafe { slice.at().add(slice.len).write(value) };
            slice.len += 1;
        }
        Ok(slice.done())
    }

    #[inline(always)]
    #[track_caller]
    fn text<E: ErrorMode>(&self, s: &str) -> Result<NonNull<str>, E> {
        let bytes = self.copied::<u8, E>(s.as_bytes())?;
        // SAFETY: not null; a str has the layout of its bytes, which are copied from a str.
        Ok(unsafe { NonNull::new_unchecked(bytes.as_ptr() as *mut str) })
    }

    #[track_caller]
    fn formatted<E: ErrorMode>(&self, args: fmt::Arguments<'_>) -> Result<NonNull<str>, E> {
        if let Some(s) = args.as_str() {
            return self.text(s);
        }
        let mut text = Text { slice: GrowingSlice::new(self, false), refused: None::<E> };
        let done = fmt::write(&mut text, args);
        if let Some(e) = text.refused {
            return Err(e);
        }
        assert!(done.is_ok(), "toft: a formatting trait implementation returned an error");
        // SAFETY: not null; bytes of strings.
        Ok(unsafe { NonNull::new_unchecked(text.slice.done().as_ptr() as *mut str) })
    }
}

impl<M: Memory + ?Sized> Construct for M {}

/// Copies `n` of T. Of 4 to 32 bytes, both halves are copied, which may overlap: this takes less time than a call.
///
/// # Safety
/// As for [`ptr::copy_nonoverlapping`].
#[inline(always)]
pub(crate) unsafe fn copy<T: Copy>(from: *const T, to: *mut T, n: usize) {
    // SAFETY: the caller's contract; a half is not larger than n.
    let part = |at: usize, n: usize| unsafe { ptr::copy_nonoverlapping(from.add(at), to.add(at), n) };
    let halves = |half: usize| {
        part(0, half);
        part(n - half, half);
    };
    let bytes = if size_of::<T>() == 1 { n } else { 0 };
    if (8..=16).contains(&bytes) {
        halves(8);
    } else if (4..8).contains(&bytes) {
        halves(4);
    } else if (17..=32).contains(&bytes) {
        halves(16);
    } else {
        part(0, n);
    }
}

/// The reference to a new value.
///
/// # Safety
/// No other reference to it exists; it lives for `'a`.
#[inline(always)]
pub(crate) unsafe fn exclusive<'a, T: ?Sized>(p: NonNull<T>) -> &'a mut T {
    // SAFETY: the caller's contract.
    unsafe { &mut *p.as_ptr() }
}

/// As [`exclusive`], with a reference for each value.
///
/// # Safety
/// As for [`exclusive`].
#[inline(always)]
pub(crate) unsafe fn exclusive_each<'a, T, const N: usize>(p: NonNull<[T; N]>) -> [&'a mut T; N] {
    // SAFETY: the caller's contract.
    unsafe { exclusive(p) }.each_mut()
}

/// A box of a new value.
///
/// # Safety
/// As for [`exclusive`]; and no other code drops it.
#[inline(always)]
pub(crate) unsafe fn owned<'a, T: ?Sized>(p: NonNull<T>) -> Box<'a, T> {
    // SAFETY: the caller's contract.
    unsafe { Box::from_raw(p.as_ptr()) }
}

/// An error of the closure that makes a value, or of the arena.
#[inline(always)]
pub(crate) fn init_error<T, F>(result: Result<Result<T, AllocError>, F>) -> Result<T, InitError<F>> {
    match result {
        Ok(made) => made.map_err(InitError::Alloc),
        Err(e) => Err(InitError::Init(e)),
    }
}

/// Frees its memory when it is dropped.
struct Reserved<'a, R: Memory + ?Sized> {
    arena: &'a R,
    at: NonNull<u8>,
    layout: Layout,
}

impl<R: Memory + ?Sized> Drop for Reserved<'_, R> {
    #[inline]
    fn drop(&mut self) {
        if self.layout.size() != 0 {
            // SAFETY: of this arena with that layout, and not used.
            unsafe { self.arena.deallocate(self.at, self.layout) };
        }
    }
}

/// Drops its values when it is dropped.
struct Initialized<T> {
    at: NonNull<T>,
    len: usize,
}

impl<T> Drop for Initialized<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `len` values are initialised, and no reference to them exists.
        unsafe { ptr::slice_from_raw_parts_mut(self.at.as_ptr(), self.len).drop_in_place() };
    }
}

/// A slice under construction. The fields are dropped in this order, also if a destructor panics.
struct PartialSlice<'a, R: Memory + ?Sized, T> {
    made: Initialized<T>,
    memory: Reserved<'a, R>,
    n: usize,
}

impl<'a, R: Memory + ?Sized, T> PartialSlice<'a, R, T> {
    /// # Safety
    /// `at` is memory of the arena for `n` of T.
    #[inline(always)]
    unsafe fn of(arena: &'a R, at: NonNull<T>, n: usize) -> PartialSlice<'a, R, T> {
        // SAFETY: this much memory was allocated, so the layout is valid.
        let layout = unsafe { Layout::from_size_align_unchecked(n * size_of::<T>(), align_of::<T>()) };
        PartialSlice { made: Initialized { at, len: 0 }, memory: Reserved { arena, at: at.cast(), layout }, n }
    }

    #[inline(always)]
    fn fill<F>(mut self, mut make: impl FnMut(usize) -> Result<T, F>) -> Result<NonNull<[T]>, F> {
        for i in 0..self.n {
            // SAFETY: there is memory for n.
            unsafe { self.made.at.add(i).write(make(i)?) };
            self.made.len = i + 1;
        }
        let PartialSlice { made, memory, n } = self;
        core::mem::forget(memory);
        Ok(NonNull::slice_from_raw_parts(ManuallyDrop::new(made).at, n))
    }
}

/// A slice that grows, in place while nothing else allocates. If `done` is not called, it is dropped and freed.
struct GrowingSlice<'a, R: Memory + ?Sized, T> {
    /// `drop` deallocates it: a checked arena reports values with a destructor that are only discarded.
    buffer: ManuallyDrop<Buffer<Array<T>, &'a R>>,
    len: usize,
    site: CallSite,
}

impl<'a, R: Memory + ?Sized, T> GrowingSlice<'a, R, T> {
    #[track_caller]
    fn new(arena: &'a R, drops: bool) -> GrowingSlice<'a, R, T> {
        // SAFETY: no elements.
        let buffer = unsafe { Buffer::from_parts(arena.dangling::<T>().cast(), 0, arena) };
        GrowingSlice { buffer: ManuallyDrop::new(buffer), len: 0, site: CallSite::caller(drops) }
    }

    #[inline(always)]
    fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    #[inline(always)]
    fn at(&self) -> NonNull<T> {
        self.buffer.base().cast()
    }

    /// Precondition: the capacity is not below the present one.
    #[track_caller]
    fn grow<E: ErrorMode>(&mut self, capacity: usize) -> Result<(), E> {
        match self.buffer.resize(capacity, self.site) {
            Ok(()) => Ok(()),
            Err(AllocError) => Err(refused::<T, E>(Some(capacity))),
        }
    }

    /// Returns the elements. Unused capacity is freed, if the slice is the newest allocation.
    fn done(mut self) -> NonNull<[T]> {
        if self.len != self.capacity() {
            let _ = self.buffer.resize(self.len, self.site);
        }
        NonNull::slice_from_raw_parts(self.at(), ManuallyDrop::new(self).len)
    }
}

impl<R: Memory + ?Sized, T> Drop for GrowingSlice<'_, R, T> {
    fn drop(&mut self) {
        let buffer = &self.buffer;
        let _memory = Reserved { arena: *buffer.memory(), at: buffer.base(), layout: buffer.layout() };
        drop(Initialized { at: self.at(), len: self.len });
    }
}

struct Text<'a, R: Memory + ?Sized, E> {
    slice: GrowingSlice<'a, R, u8>,
    refused: Option<E>,
}

impl<R: Memory + ?Sized, E: ErrorMode> fmt::Write for Text<'_, R, E> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let slice = &mut self.slice;
        if s.len() > slice.capacity() - slice.len {
            // Below usize::MAX: both are isize::MAX at most.
            let capacity = (slice.len + s.len()).max(slice.capacity() * 2).max(32);
            if let Err(e) = slice.grow(capacity) {
                self.refused = Some(e);
                return Err(fmt::Error);
            }
        }
        // SAFETY: the capacity suffices for s.
        unsafe { slice.at().add(slice.len).copy_from_nonoverlapping(NonNull::from(s).cast(), s.len()) };
        slice.len += s.len();
        Ok(())
    }
}
