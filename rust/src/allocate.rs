//! Allocation of values, slices and text in an [`Arena`]. Each call has a variant that returns an error; `construct.rs`
//! has one generic body for both.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::mut_from_ref)] // the returned reference is to new memory

use core::alloc::Layout;
use core::fmt;
use core::mem::{align_of, needs_drop, size_of, MaybeUninit};
use core::panic::Location;
use core::ptr::NonNull;
use core::slice;

use crate::abi;
use crate::arena::Arena;
use crate::construct::{construct_methods, CallSite, Construct};
use crate::error::{unwrap_infallible, AllocError, ErrorMode, InitError};

// ---- implementation ----

impl Construct for Arena {
    const REPORTS_LEAKS: bool = true;

    // A size of 0 is not a special case: the address is the cursor, and must not be read.
    #[inline(always)]
    fn raw_alloc(&self, layout: Layout, site: CallSite) -> Option<NonNull<u8>> {
        // SAFETY: the arena is alive and this thread's; a layout meets the requirements of `alloc_aligned`.
        unsafe { abi::alloc_aligned_by(self.head(), layout.size(), layout.align(), site.location, site.drops) }
    }

    #[inline(always)]
    unsafe fn raw_free(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { abi::free(self.head(), p.as_ptr(), layout.size()) }
    }

    #[inline(always)]
    unsafe fn raw_realloc(&self, p: NonNull<u8>, old: Layout, new: Layout, site: CallSite) -> Option<NonNull<u8>> {
        // SAFETY: the caller's contract.
        unsafe {
            abi::resize_by(self.head(), p.as_ptr(), old.size(), new.size(), new.align(), site.location, site.drops)
        }
    }

    /// Size and alignment are constants here: with an alignment up to 8 this is one compare and one add.
    #[inline(always)]
    #[track_caller]
    fn reserve_one<T, E: ErrorMode>(&self, drops: bool) -> Result<NonNull<T>, E> {
        if size_of::<T>() == 0 {
            return Ok(NonNull::dangling());
        }
        // SAFETY: the arena is alive and this thread's.
        let p = unsafe {
            if align_of::<T>() <= 8 {
                abi::alloc_by(self.head(), size_of::<T>(), Location::caller(), drops)
            } else {
                abi::alloc_aligned_by(self.head(), size_of::<T>(), align_of::<T>(), Location::caller(), drops)
            }
        };
        match p {
            Some(p) => Ok(p.cast()),
            None => Err(E::out_of_memory(Layout::new::<T>())),
        }
    }

    #[inline(always)]
    #[track_caller]
    fn reserve_slice<T, E: ErrorMode>(&self, n: usize, drops: bool) -> Result<NonNull<T>, E> {
        let Ok(layout) = Layout::array::<T>(n) else { return Err(E::overflow()) };
        if size_of::<T>() == 0 {
            return Ok(NonNull::dangling());
        }
        // SAFETY: the arena is alive and this thread's.
        let p = unsafe {
            if align_of::<T>() <= 8 {
                abi::alloc_by(self.head(), layout.size(), Location::caller(), drops)
            } else {
                abi::alloc_aligned_by(self.head(), layout.size(), layout.align(), Location::caller(), drops)
            }
        };
        match p {
            Some(p) => Ok(p.cast()),
            None => Err(E::out_of_memory(layout)),
        }
    }
}

construct_methods!([] Arena);

impl Arena {
    #[inline(always)]
    #[track_caller]
    fn uninit<T, E: ErrorMode>(&self, n: usize) -> Result<&mut [MaybeUninit<T>], E> {
        // SAFETY: new memory for n of T; dangling if it has no bytes.
        Ok(unsafe { slice::from_raw_parts_mut(self.reserve_slice::<T, E>(n, false)?.as_ptr().cast(), n) })
    }

    #[inline(always)]
    #[track_caller]
    fn zeroed<T, E: ErrorMode>(&self, n: usize) -> Result<&mut [MaybeUninit<T>], E> {
        let slice = self.uninit::<T, E>(n)?;
        // SAFETY: memory for n of T; uninitialised ones may have any bytes.
        unsafe { slice.as_mut_ptr().write_bytes(0, n) };
        Ok(slice)
    }
}

// ---- values ----

impl Arena {
    /// Moves `value` into the arena. It is not dropped: see [`boxed`](Arena::boxed) and [`alloc_drop`](Arena::alloc_drop).
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let x = arena.alloc(41);
    /// *x += 1;
    /// assert_eq!(*x, 42);
    /// ```
    ///
    /// # Panics
    /// If the arena has no memory, as all calls here without `try`.
    #[inline(always)]
    #[track_caller]
    pub fn alloc<T>(&self, value: T) -> &mut T {
        unwrap_infallible(self.alloc_no_drop(|| value))
    }

    /// As [`alloc`](Arena::alloc), with an error instead of the panic; `value` is dropped then.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert_eq!(tight.try_alloc([1u8; 16])?, &[1; 16]);
    /// assert_eq!(tight.try_alloc(1u8), Err(toft::AllocError));
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc<T>(&self, value: T) -> Result<&mut T, AllocError> {
        self.alloc_no_drop(|| value)
    }

    /// Constructs a value in the arena, without a copy from the stack. `make` may use the arena itself. For panics of
    /// `make`, here and in all calls that run user code, see the [rule](crate#panics).
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let pair = arena.alloc_with(|| (arena.alloc(1), 2));
    /// assert_eq!((*pair.0, pair.1), (1, 2));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_with<T>(&self, make: impl FnOnce() -> T) -> &mut T {
        unwrap_infallible(self.alloc_no_drop(make))
    }

    /// As [`alloc_with`](Arena::alloc_with), with an error instead of the panic; `make` does not run then.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert_eq!(tight.try_alloc_with(|| [7u8; 16])?.len(), 16);
    /// assert!(tight.try_alloc_with(|| -> u8 { unreachable!() }).is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_with<T>(&self, make: impl FnOnce() -> T) -> Result<&mut T, AllocError> {
        self.alloc_no_drop(make)
    }

    /// Constructs a value that may fail; a failure allocates nothing.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(arena.alloc_try_with(|| "7".parse::<u32>()), Ok(&mut 7));
    /// assert!(arena.alloc_try_with(|| "x".parse::<u32>()).is_err());
    /// assert_eq!(arena.stats().live, 8);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_try_with<T, E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&mut T, E> {
        let value = make()?;
        Ok(self.alloc(value))
    }

    /// As [`alloc_try_with`](Arena::alloc_try_with), with an error instead of the panic.
    ///
    /// ```
    /// use toft::InitError;
    /// let tight = toft::Options::new().budget(16).create().unwrap();
    /// assert!(matches!(tight.try_alloc_try_with(|| "x".parse::<u64>()), Err(InitError::Init(_))));
    /// assert_eq!(tight.try_alloc_try_with(|| Ok::<_, ()>([0u8; 17])), Err(InitError::Alloc(toft::AllocError)));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_try_with<T, E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&mut T, InitError<E>> {
        let value = make().map_err(InitError::Init)?;
        self.try_alloc(value).map_err(InitError::Alloc)
    }

    /// Returns uninitialised memory for a T.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let x = arena.alloc_uninit::<[u64; 100]>().write([7; 100]);
    /// assert_eq!(x[99], 7);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_uninit<T>(&self) -> &mut MaybeUninit<T> {
        // SAFETY: new memory for a T.
        unsafe { &mut *unwrap_infallible(self.reserve_one::<MaybeUninit<T>, _>(false)).as_ptr() }
    }

    /// As [`alloc_uninit`](Arena::alloc_uninit), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert_eq!(*tight.try_alloc_uninit::<u128>()?.write(1), 1);
    /// assert!(tight.try_alloc_uninit::<u128>().is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_uninit<T>(&self) -> Result<&mut MaybeUninit<T>, AllocError> {
        // SAFETY: new memory for a T.
        Ok(unsafe { &mut *self.reserve_one::<MaybeUninit<T>, _>(false)?.as_ptr() })
    }

    /// Returns zeroed memory for a T: call `assume_init_mut` if zeroes are a valid T.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let table = arena.alloc_zeroed::<[u32; 256]>();
    /// // SAFETY: zeroes are numbers.
    /// let table = unsafe { table.assume_init_mut() };
    /// assert_eq!(table[255], 0);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_zeroed<T>(&self) -> &mut MaybeUninit<T> {
        &mut unwrap_infallible(self.zeroed(1))[0]
    }

    /// As [`alloc_zeroed`](Arena::alloc_zeroed), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert!(tight.try_alloc_zeroed::<[u8; 16]>().is_ok());
    /// assert!(tight.try_alloc_zeroed::<u8>().is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_zeroed<T>(&self) -> Result<&mut MaybeUninit<T>, AllocError> {
        Ok(&mut self.zeroed(1)?[0])
    }

    /// Returns memory of any layout. For a size of 0: an address that must not be read.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let arena = toft::Arena::new();
    /// let page = arena.alloc_layout(Layout::from_size_align(10_000, 4096).unwrap());
    /// assert_eq!(page.addr().get() % 4096, 0);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_layout(&self, layout: Layout) -> NonNull<u8> {
        unwrap_infallible(self.bytes(layout))
    }

    /// As [`alloc_layout`](Arena::alloc_layout), with an error instead of the panic.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert!(tight.try_alloc_layout(Layout::new::<[u64; 2]>()).is_ok());
    /// assert!(tight.try_alloc_layout(Layout::new::<u8>()).is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        self.bytes(layout)
    }
}

// ---- slices ----

impl Arena {
    /// Copies a slice into the arena.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(arena.alloc_slice_copy(&[1, 2, 3]), &[1, 2, 3]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_copy<T: Copy>(&self, src: &[T]) -> &mut [T] {
        unwrap_infallible(self.copied(src))
    }

    /// As [`alloc_slice_copy`](Arena::alloc_slice_copy), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert_eq!(tight.try_alloc_slice_copy(&[1u64, 2])?, &[1, 2]);
    /// assert!(tight.try_alloc_slice_copy(&[3u64]).is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_copy<T: Copy>(&self, src: &[T]) -> Result<&mut [T], AllocError> {
        self.copied(src)
    }

    /// Clones each element of a slice into the arena.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let names = arena.alloc_slice_clone(&[Some("a"), None]);
    /// assert_eq!(names[1].take(), None);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_clone<T: Clone>(&self, src: &[T]) -> &mut [T] {
        unwrap_infallible(self.filled(src.len(), |i| src[i].clone()))
    }

    /// As [`alloc_slice_clone`](Arena::alloc_slice_clone), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert_eq!(tight.try_alloc_slice_clone(&[1u64, 2])?, &[1, 2]);
    /// assert!(tight.try_alloc_slice_clone(&[3u64]).is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_clone<T: Clone>(&self, src: &[T]) -> Result<&mut [T], AllocError> {
        self.filled(src.len(), |i| src[i].clone())
    }

    /// Returns `n` clones of a value.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(arena.alloc_slice_fill(3, 'x'), &['x'; 3]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_fill<T: Clone>(&self, n: usize, value: T) -> &mut [T] {
        unwrap_infallible(self.filled(n, |_| value.clone()))
    }

    /// As [`alloc_slice_fill`](Arena::alloc_slice_fill), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert!(tight.try_alloc_slice_fill(usize::MAX, 0u64).is_err()); // no size wraps
    /// assert_eq!(tight.try_alloc_slice_fill(2, 5u64)?, &[5, 5]);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_fill<T: Clone>(&self, n: usize, value: T) -> Result<&mut [T], AllocError> {
        self.filled(n, |_| value.clone())
    }

    /// Returns `n` values, made from their index. For panics of `make` see the [rule](crate#panics).
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(arena.alloc_slice_fill_with(4, |i| i * i), &[0, 1, 4, 9]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_fill_with<T>(&self, n: usize, make: impl FnMut(usize) -> T) -> &mut [T] {
        unwrap_infallible(self.filled(n, make))
    }

    /// As [`alloc_slice_fill_with`](Arena::alloc_slice_fill_with), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert_eq!(tight.try_alloc_slice_fill_with(2, |i| i as u64)?, &[0, 1]);
    /// assert!(tight.try_alloc_slice_fill_with(1, |i| i).is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_fill_with<T>(&self, n: usize, make: impl FnMut(usize) -> T) -> Result<&mut [T], AllocError> {
        self.filled(n, make)
    }

    /// Returns `n` values of `T::default()`.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(arena.alloc_slice_default::<Option<u8>>(2), &[None, None]);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_slice_default<T: Default>(&self, n: usize) -> &mut [T] {
        unwrap_infallible(self.filled(n, |_| T::default()))
    }

    /// As [`alloc_slice_default`](Arena::alloc_slice_default), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert_eq!(tight.try_alloc_slice_default::<u64>(2)?, &[0, 0]);
    /// assert!(tight.try_alloc_slice_default::<u64>(1).is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_slice_default<T: Default>(&self, n: usize) -> Result<&mut [T], AllocError> {
        self.filled(n, |_| T::default())
    }

    /// Collects an iterator of any length: the slice grows in place, and moves if the iterator allocates here.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let odd = arena.alloc_slice_from_iter((0..10).filter(|i| i % 2 == 1));
    /// assert_eq!(odd, &[1, 3, 5, 7, 9]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_slice_from_iter<T>(&self, iter: impl IntoIterator<Item = T>) -> &mut [T] {
        unwrap_infallible(self.collected(iter.into_iter(), needs_drop::<T>()))
    }

    /// As [`alloc_slice_from_iter`](Arena::alloc_slice_from_iter), with an error instead of the panic. The yielded
    /// values are dropped then.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert!(tight.try_alloc_slice_from_iter(0u64..).is_err()); // ended by the budget
    /// assert_eq!(tight.try_alloc_slice_from_iter((0u64..).take(2))?, &[0, 1]);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_alloc_slice_from_iter<T>(&self, iter: impl IntoIterator<Item = T>) -> Result<&mut [T], AllocError> {
        self.collected(iter.into_iter(), needs_drop::<T>())
    }

    /// Returns uninitialised memory for `n` of T.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let slots = arena.alloc_uninit_slice::<u32>(4);
    /// let third = slots[2].write(3);
    /// assert_eq!(*third, 3);
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_uninit_slice<T>(&self, n: usize) -> &mut [MaybeUninit<T>] {
        unwrap_infallible(self.uninit(n))
    }

    /// As [`alloc_uninit_slice`](Arena::alloc_uninit_slice), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert_eq!(tight.try_alloc_uninit_slice::<u64>(2)?.len(), 2);
    /// assert!(tight.try_alloc_uninit_slice::<u64>(1).is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_uninit_slice<T>(&self, n: usize) -> Result<&mut [MaybeUninit<T>], AllocError> {
        self.uninit(n)
    }

    /// Returns zeroed memory for `n` of T.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let slots = arena.alloc_zeroed_slice::<u16>(100);
    /// // SAFETY: zeroes are numbers.
    /// assert!(slots.iter().all(|slot| unsafe { slot.assume_init() } == 0));
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_zeroed_slice<T>(&self, n: usize) -> &mut [MaybeUninit<T>] {
        unwrap_infallible(self.zeroed(n))
    }

    /// As [`alloc_zeroed_slice`](Arena::alloc_zeroed_slice), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert_eq!(tight.try_alloc_zeroed_slice::<u64>(2)?.len(), 2);
    /// assert!(tight.try_alloc_zeroed_slice::<u64>(1).is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_zeroed_slice<T>(&self, n: usize) -> Result<&mut [MaybeUninit<T>], AllocError> {
        self.zeroed(n)
    }
}

// ---- text ----

impl Arena {
    /// Copies a string, to a multiple of 8. [`pack`](Arena::pack) stores strings without padding.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let s = arena.alloc_str("a word");
    /// s.make_ascii_uppercase();
    /// assert_eq!(s, "A WORD");
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn alloc_str(&self, s: &str) -> &mut str {
        unwrap_infallible(self.text(s))
    }

    /// As [`alloc_str`](Arena::alloc_str), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert_eq!(tight.try_alloc_str("sixteen letters.")?, "sixteen letters.");
    /// assert!(tight.try_alloc_str("x").is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn try_alloc_str(&self, s: &str) -> Result<&mut str, AllocError> {
        self.text(s)
    }

    /// Returns formatted text; [`format_in!`](crate::format_in) calls it.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(arena.alloc_fmt(format_args!("{:>4}", 7)), "   7");
    /// ```
    ///
    /// # Panics
    /// If the arena has no memory, or a formatting trait returns an error.
    #[track_caller]
    pub fn alloc_fmt(&self, args: fmt::Arguments<'_>) -> &mut str {
        unwrap_infallible(self.formatted(args))
    }

    /// As [`alloc_fmt`](Arena::alloc_fmt), with an error instead of the first panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert_eq!(tight.try_alloc_fmt(format_args!("{}", 7))?, "7");
    /// assert!(tight.try_alloc_fmt(format_args!("{:>99}", 7)).is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[track_caller]
    pub fn try_alloc_fmt(&self, args: fmt::Arguments<'_>) -> Result<&mut str, AllocError> {
        self.formatted(args)
    }
}

/// `format!` into an arena: returns `&mut str`, without a `String`.
///
/// ```
/// let arena = toft::Arena::new();
/// let s: &str = toft::format_in!(arena, "{} + {} = {}", 1, 2, 1 + 2);
/// assert_eq!(s, "1 + 2 = 3");
/// ```
#[macro_export]
macro_rules! format_in {
    ($arena:expr, $($args:tt)*) => {
        $arena.alloc_fmt(::core::format_args!($($args)*))
    };
}

/// As [`format_in!`](crate::format_in), with an error instead of the panic if there is no memory.
///
/// ```
/// let tight = toft::Options::new().budget(16).create()?;
/// assert_eq!(toft::try_format_in!(tight, "{}", 7)?, "7");
/// assert!(toft::try_format_in!(tight, "{:>99}", 7).is_err());
/// # Ok::<(), toft::AllocError>(())
/// ```
#[macro_export]
macro_rules! try_format_in {
    ($arena:expr, $($args:tt)*) => {
        $arena.try_alloc_fmt(::core::format_args!($($args)*))
    };
}
