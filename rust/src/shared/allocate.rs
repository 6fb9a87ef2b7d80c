//! The allocating calls of shared arenas and their local parts.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::mut_from_ref)] // the returned reference is to new memory

use core::alloc::Layout;
use core::fmt;
use core::ptr::NonNull;

use super::{Local, SharedArena};
use crate::construct::Construct;
use crate::error::{unwrap_infallible, AllocError};
use crate::source::Source;

macro_rules! allocating {
    ([$($generics:tt)*] $of:ty, $made:literal, $self_:lifetime, $lives:lifetime) => {
        impl<$($generics)*> $of {
            /// Moves a value into the arena. It is not dropped.
            ///
            /// ```
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// let pair = arena.alloc((1, 2));
            /// pair.0 += 1;
            /// assert_eq!(*pair, (2, 2));
            /// ```
            ///
            /// # Panics
            /// If there is no memory, as all calls here without `try`.
            #[inline]
            #[track_caller]
            pub fn alloc<T>(&$self_ self, value: T) -> &$lives mut T {
                self.alloc_with(|| value)
            }

            /// As `alloc`, with an error instead of the panic.
            ///
            /// ```
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// assert_eq!(*arena.try_alloc(7)?, 7);
            /// # Ok::<(), toft::AllocError>(())
            /// ```
            #[inline]
            pub fn try_alloc<T>(&$self_ self, value: T) -> Result<&$lives mut T, AllocError> {
                self.try_alloc_with(|| value)
            }

            /// Constructs a value in the arena. `make` may allocate from the arena itself.
            ///
            /// ```
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// let both = arena.alloc_with(|| arena.alloc(7));
            /// assert_eq!(**both, 7);
            /// ```
            #[inline]
            #[track_caller]
            pub fn alloc_with<T>(&$self_ self, make: impl FnOnce() -> T) -> &$lives mut T {
                // SAFETY: new and initialised; it lives as long as the arena is borrowed.
                unsafe { unwrap_infallible(Construct::value(self, make, false)).as_mut() }
            }

            /// As `alloc_with`, with an error instead of the panic; `make` does not run then.
            ///
            /// ```
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// assert_eq!(*arena.try_alloc_with(|| 7)?, 7);
            /// # Ok::<(), toft::AllocError>(())
            /// ```
            #[inline]
            pub fn try_alloc_with<T>(&$self_ self, make: impl FnOnce() -> T) -> Result<&$lives mut T, AllocError> {
                // SAFETY: as above.
                Construct::value(self, make, false).map(|mut p| unsafe { p.as_mut() })
            }

            /// Returns uninitialised memory of a layout.
            ///
            /// ```
            /// use std::alloc::Layout;
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// let p = arena.alloc_layout(Layout::from_size_align(100, 256).unwrap());
            /// assert_eq!(p.as_ptr() as usize % 256, 0);
            /// ```
            #[inline]
            #[track_caller]
            pub fn alloc_layout(&self, layout: Layout) -> NonNull<u8> {
                unwrap_infallible(self.bytes(layout))
            }

            /// As `alloc_layout`, with an error instead of the panic.
            ///
            /// ```
            /// use std::alloc::Layout;
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// assert!(arena.try_alloc_layout(Layout::from_size_align(8, 1 << 62).unwrap()).is_err());
            /// ```
            #[inline]
            pub fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
                self.bytes(layout)
            }

            /// Copies a slice.
            ///
            /// ```
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// assert_eq!(arena.alloc_slice_copy(&[1, 2]), [1, 2]);
            /// ```
            #[inline]
            #[track_caller]
            pub fn alloc_slice_copy<T: Copy>(&$self_ self, src: &[T]) -> &$lives mut [T] {
                // SAFETY: as above.
                unsafe { unwrap_infallible(self.copied(src)).as_mut() }
            }

            /// As `alloc_slice_copy`, with an error instead of the panic.
            ///
            /// ```
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// assert_eq!(arena.try_alloc_slice_copy(&[1, 2])?, [1, 2]);
            /// # Ok::<(), toft::AllocError>(())
            /// ```
            #[inline]
            pub fn try_alloc_slice_copy<T: Copy>(&$self_ self, src: &[T]) -> Result<&$lives mut [T], AllocError> {
                // SAFETY: as above.
                self.copied(src).map(|mut p| unsafe { p.as_mut() })
            }

            /// Returns `n` values, made from their index. For panics of `make` see the [rule](crate#panics).
            ///
            /// ```
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// assert_eq!(arena.alloc_slice_fill_with(3, |i| i * i), [0, 1, 4]);
            /// ```
            #[inline]
            #[track_caller]
            pub fn alloc_slice_fill_with<T>(&$self_ self, n: usize, make: impl FnMut(usize) -> T) -> &$lives mut [T] {
                // SAFETY: as above.
                unsafe { unwrap_infallible(self.filled(n, make)).as_mut() }
            }

            /// As `alloc_slice_fill_with`, with an error instead of the panic.
            ///
            /// ```
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// assert!(arena.try_alloc_slice_fill_with(usize::MAX, |i| i).is_err());
            /// ```
            #[inline]
            pub fn try_alloc_slice_fill_with<T>(
                &$self_ self,
                n: usize,
                make: impl FnMut(usize) -> T,
            ) -> Result<&$lives mut [T], AllocError> {
                // SAFETY: as above.
                self.filled(n, make).map(|mut p| unsafe { p.as_mut() })
            }

            /// Copies a string.
            ///
            /// ```
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// assert_eq!(arena.alloc_str("a word"), "a word");
            /// ```
            #[inline]
            #[track_caller]
            pub fn alloc_str(&$self_ self, s: &str) -> &$lives mut str {
                // SAFETY: a copy of a string's bytes.
                unsafe { core::str::from_utf8_unchecked_mut(self.alloc_slice_copy(s.as_bytes())) }
            }

            /// As `alloc_str`, with an error instead of the panic.
            ///
            /// ```
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// assert_eq!(arena.try_alloc_str("a word")?, "a word");
            /// # Ok::<(), toft::AllocError>(())
            /// ```
            #[inline]
            pub fn try_alloc_str(&$self_ self, s: &str) -> Result<&$lives mut str, AllocError> {
                // SAFETY: as above.
                self.try_alloc_slice_copy(s.as_bytes()).map(|s| unsafe { core::str::from_utf8_unchecked_mut(s) })
            }

            /// Returns formatted text; [`format_in!`](crate::format_in) calls it.
            ///
            /// ```
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// assert_eq!(toft::format_in!(arena, "{} and {}", 1, 2), "1 and 2");
            /// ```
            ///
            /// # Panics
            /// If there is no memory, or a formatting trait returns an error.
            #[track_caller]
            pub fn alloc_fmt(&$self_ self, args: fmt::Arguments<'_>) -> &$lives mut str {
                // SAFETY: bytes of strings, for as long as the arena is borrowed.
                unsafe { core::str::from_utf8_unchecked_mut(unwrap_infallible(self.formatted(args)).as_mut()) }
            }

            /// As `alloc_fmt`, with an error instead of the first panic.
            ///
            /// ```
            /// let shared = toft::SharedArena::new();
            #[doc = concat!("let arena = ", $made, ";")]
            /// assert_eq!(toft::try_format_in!(arena, "{:>3}", 7)?, "  7");
            /// # Ok::<(), toft::AllocError>(())
            /// ```
            #[track_caller]
            pub fn try_alloc_fmt(&$self_ self, args: fmt::Arguments<'_>) -> Result<&$lives mut str, AllocError> {
                // SAFETY: as above.
                self.formatted(args).map(|mut p| unsafe { core::str::from_utf8_unchecked_mut(p.as_mut()) })
            }
        }
    };
}

allocating!(['s, S: Source] SharedArena<S>, "&shared", 's, 's);
allocating!(['s, 'a, S: Source] Local<'s, S>, "shared.local()", 'a, 's);
