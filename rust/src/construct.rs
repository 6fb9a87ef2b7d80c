//! Construction of values, slices and text in arenas: one body for all kinds of arenas, which implement the raw calls.
//!
//! If user code panics or fails during the construction (a closure, `Clone`, `Default`, an iterator, a formatting
//! trait), the values constructed so far are dropped, and then the memory is freed, if it is the newest allocation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::fmt;
use core::mem::{align_of, needs_drop, size_of, ManuallyDrop};
use core::panic::Location;
use core::ptr::{self, NonNull};

use crate::error::ErrorMode;

/// What checked arenas record of an allocation.
#[derive(Clone, Copy)]
pub(crate) struct CallSite {
    pub location: &'static Location<'static>,
    /// The value has a destructor that will not run.
    pub drops: bool,
}

impl CallSite {
    #[inline(always)]
    #[track_caller]
    pub fn caller(drops: bool) -> CallSite {
        CallSite { location: Location::caller(), drops }
    }
}

/// Raw memory by layout, valid at least as long as `self` is borrowed, and construction in it.
pub(crate) trait Construct {
    /// Whether a checked arena reports values whose destructors did not run.
    const REPORTS_LEAKS: bool = false;

    /// Whether any memory can be freed, not only the newest allocation.
    #[allow(dead_code)] // unused without a feature for allocators
    const FREES: bool = false;

    fn raw_alloc(&self, layout: Layout, site: CallSite) -> Option<NonNull<u8>>;

    /// Frees memory, if it is the newest allocation.
    ///
    /// # Safety
    /// `p` came from `raw_alloc` or `raw_realloc` with that layout, and is not used any more.
    unsafe fn raw_free(&self, p: NonNull<u8>, layout: Layout);

    /// Resizes in place, or moves. `None`: refused, nothing changed.
    ///
    /// # Safety
    /// `p` came from `raw_alloc` or `raw_realloc` with the layout `old`, and is not used any more except at the
    /// returned address.
    unsafe fn raw_realloc(&self, p: NonNull<u8>, old: Layout, new: Layout, site: CallSite) -> Option<NonNull<u8>>;

    /// Moves to new memory: for [`raw_realloc`](Construct::raw_realloc), if resizing in place is impossible.
    ///
    /// # Safety
    /// As for `raw_realloc`.
    #[inline]
    unsafe fn realloc_by_copy(&self, p: NonNull<u8>, old: Layout, new: Layout, site: CallSite) -> Option<NonNull<u8>> {
        let to = self.raw_alloc(new, site)?;
        // SAFETY: the caller's contract; new memory does not overlap the old.
        unsafe {
            to.copy_from_nonoverlapping(p, old.size().min(new.size()));
            self.raw_free(p, old);
        }
        Some(to)
    }

    /// The address of values without a size.
    #[inline(always)]
    fn dangling<T>() -> NonNull<T> {
        NonNull::dangling()
    }

    #[inline(always)]
    #[track_caller]
    fn bytes<E: ErrorMode>(&self, layout: Layout) -> Result<NonNull<u8>, E> {
        match self.raw_alloc(layout, CallSite::caller(false)) {
            Some(p) => Ok(p),
            None => Err(E::out_of_memory(layout)),
        }
    }

    /// Memory for a T.
    #[inline(always)]
    #[track_caller]
    fn reserve_one<T, E: ErrorMode>(&self, drops: bool) -> Result<NonNull<T>, E> {
        if size_of::<T>() == 0 {
            return Ok(Self::dangling());
        }
        match self.raw_alloc(Layout::new::<T>(), CallSite::caller(drops)) {
            Some(p) => Ok(p.cast()),
            None => Err(E::out_of_memory(Layout::new::<T>())),
        }
    }

    /// Memory for `n` of T.
    #[inline(always)]
    #[track_caller]
    fn reserve_slice<T, E: ErrorMode>(&self, n: usize, drops: bool) -> Result<NonNull<T>, E> {
        let Ok(layout) = Layout::array::<T>(n) else { return Err(E::overflow()) };
        if size_of::<T>() == 0 {
            return Ok(Self::dangling());
        }
        match self.raw_alloc(layout, CallSite::caller(drops)) {
            Some(p) => Ok(p.cast()),
            None => Err(E::out_of_memory(layout)),
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

    #[inline(always)]
    #[track_caller]
    fn copied<T: Copy, E: ErrorMode>(&self, src: &[T]) -> Result<NonNull<[T]>, E> {
        let p = self.reserve_slice::<T, E>(src.len(), false)?;
        // SAFETY: new memory for this many.
        unsafe { ptr::copy_nonoverlapping(src.as_ptr(), p.as_ptr(), src.len()) };
        Ok(NonNull::slice_from_raw_parts(p, src.len()))
    }

    /// Constructs `n` values from their index.
    #[inline(always)]
    #[track_caller]
    fn filled<T, E: ErrorMode>(&self, n: usize, mut make: impl FnMut(usize) -> T) -> Result<NonNull<[T]>, E> {
        let p = self.reserve_slice::<T, E>(n, Self::REPORTS_LEAKS && needs_drop::<T>())?;
        // SAFETY: new memory for n of T.
        let made = unsafe { PartialSlice::of(self, p, n) }.fill(|i| Ok::<T, core::convert::Infallible>(make(i)));
        match made {
            Ok(made) => Ok(made),
            Err(never) => match never {},
        }
    }

    /// As [`filled`](Construct::filled), up to the first error of `make`, in memory of `reserve_slice`.
    ///
    /// # Safety
    /// `p` is new memory of `self` for `n` of T.
    #[inline(always)]
    unsafe fn filled_until<T, F>(
        &self,
        p: NonNull<T>,
        n: usize,
        make: impl FnMut(usize) -> Result<T, F>,
    ) -> Result<NonNull<[T]>, F> {
        // SAFETY: the caller's contract.
        unsafe { PartialSlice::of(self, p, n) }.fill(make)
    }

    /// Collects an iterator. Grows in place unless the iterator allocates from `self` too.
    #[inline]
    #[track_caller]
    fn collected<T, E: ErrorMode>(&self, iter: impl Iterator<Item = T>, drops: bool) -> Result<NonNull<[T]>, E> {
        let (least, most) = iter.size_hint();
        let mut slice = GrowingSlice::<Self, T>::new(self, drops);
        slice.grow::<E>(if most == Some(least) { least } else { least.max(1) })?;
        for value in iter {
            if slice.len == slice.capacity {
                slice.grow::<E>((slice.capacity * 2).max(4))?;
            }
            // SAFETY: the capacity exceeds the length.
            unsafe { slice.at.add(slice.len).write(value) };
            slice.len += 1;
        }
        Ok(slice.done())
    }

    #[track_caller]
    fn formatted<E: ErrorMode>(&self, args: fmt::Arguments<'_>) -> Result<NonNull<[u8]>, E> {
        if let Some(s) = args.as_str() {
            return self.copied(s.as_bytes());
        }
        let mut text = Text { slice: GrowingSlice::new(self, false), refused: None::<E> };
        let done = fmt::write(&mut text, args);
        if let Some(e) = text.refused {
            return Err(e);
        }
        assert!(done.is_ok(), "toft: a formatting trait implementation returned an error");
        Ok(text.slice.done())
    }
}

/// The calls of [`Construct`], with results that borrow the arena.
macro_rules! construct_methods {
    ([$($generics:tt)*] $of:ty) => {
        #[allow(clippy::mut_from_ref, dead_code)] // the returned references are to new memory
        impl<$($generics)*> $of {
            /// A value whose destructor is run by the caller.
            #[inline(always)]
            #[track_caller]
            pub(crate) fn value<T, E: ErrorMode>(&self, make: impl FnOnce() -> T) -> Result<&mut T, E> {
                // SAFETY: new and initialised.
                Ok(unsafe { Construct::value(self, make, false)?.as_mut() })
            }

            /// A value that is not dropped.
            #[inline(always)]
            #[track_caller]
            pub(crate) fn alloc_no_drop<T, E: ErrorMode>(&self, make: impl FnOnce() -> T) -> Result<&mut T, E> {
                // SAFETY: as above.
                Ok(unsafe { Construct::value(self, make, Self::REPORTS_LEAKS && core::mem::needs_drop::<T>())?.as_mut() })
            }

            #[inline(always)]
            #[track_caller]
            pub(crate) fn copied<T: Copy, E: ErrorMode>(&self, src: &[T]) -> Result<&mut [T], E> {
                // SAFETY: as above.
                Ok(unsafe { Construct::copied(self, src)?.as_mut() })
            }

            #[inline(always)]
            #[track_caller]
            fn filled<T, E: ErrorMode>(&self, n: usize, make: impl FnMut(usize) -> T) -> Result<&mut [T], E> {
                // SAFETY: as above.
                Ok(unsafe { Construct::filled(self, n, make)?.as_mut() })
            }

            #[inline]
            #[track_caller]
            pub(crate) fn collected<T, E: ErrorMode>(
                &self,
                iter: impl Iterator<Item = T>,
                drops: bool,
            ) -> Result<&mut [T], E> {
                // SAFETY: as above.
                Ok(unsafe { Construct::collected(self, iter, drops)?.as_mut() })
            }

            #[inline(always)]
            #[track_caller]
            fn text<E: ErrorMode>(&self, s: &str) -> Result<&mut str, E> {
                // SAFETY: a copy of a string's bytes.
                Ok(unsafe { core::str::from_utf8_unchecked_mut(self.copied(s.as_bytes())?) })
            }

            #[track_caller]
            fn formatted<E: ErrorMode>(&self, args: core::fmt::Arguments<'_>) -> Result<&mut str, E> {
                // SAFETY: bytes of strings.
                Ok(unsafe { core::str::from_utf8_unchecked_mut(Construct::formatted(self, args)?.as_mut()) })
            }
        }
    };
}
pub(crate) use construct_methods;

/// Frees its memory when it is dropped.
struct Reserved<'a, R: Construct + ?Sized> {
    arena: &'a R,
    at: NonNull<u8>,
    layout: Layout,
}

impl<R: Construct + ?Sized> Drop for Reserved<'_, R> {
    #[inline]
    fn drop(&mut self) {
        if self.layout.size() != 0 {
            // SAFETY: of this arena with that layout, and not used.
            unsafe { self.arena.raw_free(self.at, self.layout) };
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
struct PartialSlice<'a, R: Construct + ?Sized, T> {
    made: Initialized<T>,
    memory: Reserved<'a, R>,
    n: usize,
}

impl<'a, R: Construct + ?Sized, T> PartialSlice<'a, R, T> {
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
struct GrowingSlice<'a, R: Construct + ?Sized, T> {
    arena: &'a R,
    at: NonNull<T>,
    len: usize,
    capacity: usize,
    site: CallSite,
}

impl<'a, R: Construct + ?Sized, T> GrowingSlice<'a, R, T> {
    #[track_caller]
    fn new(arena: &'a R, drops: bool) -> GrowingSlice<'a, R, T> {
        GrowingSlice { arena, at: R::dangling(), len: 0, capacity: 0, site: CallSite::caller(drops) }
    }

    /// Precondition: this much memory was allocated.
    fn layout(capacity: usize) -> Layout {
        // SAFETY: the precondition.
        unsafe { Layout::from_size_align_unchecked(capacity * size_of::<T>(), align_of::<T>()) }
    }

    /// Changes the capacity. Precondition: not below the length.
    fn resize(&mut self, capacity: usize) -> Result<(), Option<Layout>> {
        let Ok(layout) = Layout::array::<T>(capacity) else { return Err(None) };
        if size_of::<T>() != 0 && capacity != self.capacity {
            let p = if self.capacity == 0 {
                self.arena.raw_alloc(layout, self.site)
            } else {
                // SAFETY: of the arena with that layout, and not used otherwise.
                unsafe { self.arena.raw_realloc(self.at.cast(), Self::layout(self.capacity), layout, self.site) }
            };
            self.at = p.ok_or(Some(layout))?.cast();
        }
        self.capacity = capacity;
        Ok(())
    }

    #[track_caller]
    fn grow<E: ErrorMode>(&mut self, capacity: usize) -> Result<(), E> {
        match self.resize(capacity) {
            Ok(()) => Ok(()),
            Err(Some(layout)) => Err(E::out_of_memory(layout)),
            Err(None) => Err(E::overflow()),
        }
    }

    /// Returns the elements. Unused capacity is freed, if the slice is the newest allocation.
    fn done(mut self) -> NonNull<[T]> {
        let len = self.len;
        if len == 0 {
            return NonNull::slice_from_raw_parts(R::dangling(), 0); // the drop frees all of it
        }
        let _ = self.resize(len); // may fail, which changes nothing
        NonNull::slice_from_raw_parts(ManuallyDrop::new(self).at, len)
    }
}

impl<R: Construct + ?Sized, T> Drop for GrowingSlice<'_, R, T> {
    fn drop(&mut self) {
        let has = if size_of::<T>() == 0 { 0 } else { self.capacity };
        let _memory = Reserved { arena: self.arena, at: self.at.cast(), layout: Self::layout(has) };
        drop(Initialized { at: self.at, len: self.len });
    }
}

struct Text<'a, R: Construct + ?Sized, E> {
    slice: GrowingSlice<'a, R, u8>,
    refused: Option<E>,
}

impl<R: Construct + ?Sized, E: ErrorMode> fmt::Write for Text<'_, R, E> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let slice = &mut self.slice;
        if s.len() > slice.capacity - slice.len {
            // Below usize::MAX: both are isize::MAX at most.
            let capacity = (slice.len + s.len()).max(slice.capacity * 2).max(32);
            if let Err(e) = slice.grow(capacity) {
                self.refused = Some(e);
                return Err(fmt::Error);
            }
        }
        // SAFETY: the capacity suffices for s.
        unsafe { slice.at.add(slice.len).copy_from_nonoverlapping(NonNull::from(s).cast(), s.len()) };
        slice.len += s.len();
        Ok(())
    }
}
