//! The allocating calls: one body each, for every kind of arena, as methods of the types and of the trait [`Allocate`].
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::mut_from_ref)] // the returned references are to new memory

use core::alloc::Layout;
use core::fmt;
use core::mem::{needs_drop, MaybeUninit};
use core::ptr::NonNull;

use crate::base::error::{unwrap_infallible, AllocError, InitError};
use crate::collections::{String, Vec};
use crate::memory::arena::Arena;
use crate::memory::boxed::Box;
use crate::memory::by_layout::Memory;
use crate::memory::construct::{exclusive, exclusive_each, init_error, owned, Construct};

/// Pairs of calls with one body: `fn name | try_name[generics](self, ...) -> result = finish(new memory)`. The first
/// panics if there is no memory, the second returns an error.
macro_rules! call_pairs {
    (
        #[$inline:meta] [$vis:vis]
        $($(#[$doc:meta])* fn $name:ident | $try_name:ident[$($generics:tt)*]($this:ident $(, $arg:ident: $of:ty)*) ->
            $result:ty = $finish:ident, $new:expr;)*
    ) => {
        $(
            $(#[$doc])*
            #[$inline]
            #[track_caller]
            $vis fn $name<$($generics)*>(&$this $(, $arg: $of)*) -> $result {
                // SAFETY: new and initialised, or of a type that need not be; it lives while the arena is borrowed, and
                // no other code uses or drops it.
                unsafe { $finish(unwrap_infallible($new)) }
            }

            #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), "), with an error instead of ")]
            #[doc = "the panic."]
            #[$inline]
            #[track_caller]
            $vis fn $try_name<$($generics)*>(&$this $(, $arg: $of)*) -> Result<$result, AllocError> {
                // SAFETY: as above.
                Ok(unsafe { $finish($new?) })
            }
        )*
    };
}
pub(crate) use call_pairs;

/// The methods, for a trait or an `impl` block. `$made` is the line of the examples that makes an arena; `$l` is the
/// lifetime of the results.
macro_rules! allocating_methods {
    ($vis:vis, $made:literal, $l:lifetime) => {
        // ---- values, batches, slices, text, boxes ----

        $crate::memory::allocate::call_pairs! {
            #[inline(always)] [$vis]

            /// Moves `value` into the arena. It is not dropped: `boxed` returns a box that drops it.
            ///
            /// ```
            #[doc = $made]
            /// let x = arena.alloc(41);
            /// *x += 1;
            /// assert_eq!(*x, 42);
            /// ```
            fn alloc | try_alloc[T](self, value: T) ->
                &$l mut T = exclusive, Construct::value(self, || value, needs_drop::<T>());

            /// Constructs a value in the arena, without a copy from the stack. `make` may use the arena itself. For panics of
            /// `make`, here and in all calls that run user code, see the [rule](crate#panics).
            ///
            /// ```
            #[doc = $made]
            /// let pair = arena.alloc_with(|| (arena.alloc(1), 2));
            /// assert_eq!((*pair.0, pair.1), (1, 2));
            /// ```
            fn alloc_with | try_alloc_with[T](self, make: impl FnOnce() -> T) ->
                &$l mut T = exclusive, Construct::value(self, make, needs_drop::<T>());

            /// Returns uninitialised memory for a T.
            ///
            /// ```
            #[doc = $made]
            /// let x = arena.alloc_uninit::<[u64; 100]>().write([7; 100]);
            /// assert_eq!(x[99], 7);
            /// ```
            fn alloc_uninit | try_alloc_uninit[T](self) ->
                &$l mut MaybeUninit<T> = exclusive, Construct::reserve_one::<MaybeUninit<T>, _>(self, false);

            /// Returns zeroed memory for a T: call `assume_init_mut` if zeroes are a valid T.
            ///
            /// ```
            #[doc = $made]
            /// let table = arena.alloc_zeroed::<[u32; 256]>();
            /// // SAFETY: zeroes are numbers.
            /// assert_eq!(unsafe { table.assume_init_mut() }[255], 0);
            /// ```
            fn alloc_zeroed | try_alloc_zeroed[T](self) ->
                &$l mut MaybeUninit<T> = exclusive, Construct::zeroed::<T, _>(self, 1).map(NonNull::cast);

            /// Moves `N` values into the arena, adjacent, by one allocation. Each is borrowed separately, and none is dropped.
            ///
            /// Only the batch starts at a multiple of 8, so small values take no more than their size. Values of several types are
            /// a tuple: `let (a, b) = arena.alloc((1, 'x'))`. If their number is known at run time only, they are a slice.
            ///
            /// ```
            #[doc = $made]
            /// let [left, right] = arena.alloc_batch([1u16, 2]);
            /// std::mem::swap(left, right);
            /// assert_eq!((*left, *right), (2, 1));
            /// ```
            fn alloc_batch | try_alloc_batch[T, const N: usize](self, values: [T; N]) ->
                [&$l mut T; N] = exclusive_each, Construct::value(self, || values, needs_drop::<T>());

            /// Constructs `N` values in the arena, from their index. The memory is reserved first, so `make` may use the arena.
            ///
            /// ```
            #[doc = $made]
            /// let [x, y, z] = arena.alloc_batch_with(|i| i * 10);
            /// assert_eq!((*x, *y, *z), (0, 10, 20));
            /// ```
            fn alloc_batch_with | try_alloc_batch_with[T, const N: usize](self, make: impl FnMut(usize) -> T) ->
                [&$l mut T; N] = exclusive_each, Construct::value(self, || core::array::from_fn(make), needs_drop::<T>());

            /// Copies a slice into the arena.
            ///
            /// ```
            #[doc = $made]
            /// assert_eq!(arena.alloc_slice_copy(&[1, 2, 3]), &[1, 2, 3]);
            /// ```
            fn alloc_slice_copy | try_alloc_slice_copy[T: Copy](self, src: &[T]) ->
                &$l mut [T] = exclusive, Construct::copied(self, src);

            /// Clones each element of a slice into the arena.
            ///
            /// ```
            #[doc = $made]
            /// assert_eq!(arena.alloc_slice_clone(&[Some(1), None]), &[Some(1), None]);
            /// ```
            fn alloc_slice_clone | try_alloc_slice_clone[T: Clone](self, src: &[T]) ->
                &$l mut [T] = exclusive, Construct::filled(self, src.len(), |i| src[i].clone());

            /// Returns `n` clones of a value.
            ///
            /// ```
            #[doc = $made]
            /// assert_eq!(arena.alloc_slice_fill(3, 'x'), &['x'; 3]);
            /// ```
            fn alloc_slice_fill | try_alloc_slice_fill[T: Clone](self, n: usize, value: T) ->
                &$l mut [T] = exclusive, Construct::filled(self, n, |_| value.clone());

            /// Returns `n` values, made from their index. For panics of `make` see the [rule](crate#panics).
            ///
            /// ```
            #[doc = $made]
            /// assert_eq!(arena.alloc_slice_fill_with(4, |i| i * i), &[0, 1, 4, 9]);
            /// ```
            fn alloc_slice_fill_with | try_alloc_slice_fill_with[T](self, n: usize, make: impl FnMut(usize) -> T) ->
                &$l mut [T] = exclusive, Construct::filled(self, n, make);

            /// Returns `n` values of `T::default()`.
            ///
            /// ```
            #[doc = $made]
            /// assert_eq!(arena.alloc_slice_default::<Option<u8>>(2), &[None, None]);
            /// ```
            fn alloc_slice_default | try_alloc_slice_default[T: Default](self, n: usize) ->
                &$l mut [T] = exclusive, Construct::filled(self, n, |_| T::default());

            /// Returns uninitialised memory for `n` of T.
            ///
            /// ```
            #[doc = $made]
            /// let slots = arena.alloc_uninit_slice::<u32>(4);
            /// assert_eq!(*slots[2].write(3), 3);
            /// ```
            fn alloc_uninit_slice | try_alloc_uninit_slice[T](self, n: usize) ->
                &$l mut [MaybeUninit<T>] = exclusive, Construct::uninit(self, n);

            /// Returns zeroed memory for `n` of T.
            ///
            /// ```
            #[doc = $made]
            /// let slots = arena.alloc_zeroed_slice::<u16>(100);
            /// // SAFETY: zeroes are numbers.
            /// assert!(slots.iter().all(|slot| unsafe { slot.assume_init() } == 0));
            /// ```
            fn alloc_zeroed_slice | try_alloc_zeroed_slice[T](self, n: usize) ->
                &$l mut [MaybeUninit<T>] = exclusive, Construct::zeroed(self, n);

            /// Copies a string, to a multiple of 8. [`Arena::pack`](crate::Arena::pack) stores strings without padding.
            ///
            /// ```
            #[doc = $made]
            /// let s = arena.alloc_str("a word");
            /// s.make_ascii_uppercase();
            /// assert_eq!(s, "A WORD");
            /// ```
            fn alloc_str | try_alloc_str[](self, s: &str) -> &$l mut str = exclusive, Construct::text(self, s);

            /// Moves `value` into the arena, in a box that drops it.
            ///
            /// ```
            #[doc = $made]
            /// let names = arena.boxed(vec!["a".to_string()]);
            /// assert_eq!(names.len(), 1);
            /// ```
            fn boxed | try_boxed[T](self, value: T) -> Box<$l, T> = owned, Construct::value(self, || value, false);
        }

        $crate::memory::allocate::call_pairs! {
            #[inline] [$vis]

            /// Collects an iterator of any length: the slice grows in place, and moves if the iterator allocates here.
            ///
            /// ```
            #[doc = $made]
            /// let odd = arena.alloc_slice_from_iter((0..10).filter(|i| i % 2 == 1));
            /// assert_eq!(odd, &[1, 3, 5, 7, 9]);
            /// ```
            fn alloc_slice_from_iter | try_alloc_slice_from_iter[T](self, iter: impl IntoIterator<Item = T>) ->
                &$l mut [T] = exclusive, Construct::collected(self, iter.into_iter(), needs_drop::<T>());

            /// Collects an iterator into a box that drops the elements.
            ///
            /// ```
            #[doc = $made]
            /// let words = arena.boxed_slice("a b".split(' ').map(String::from));
            /// assert_eq!(words[1], "b");
            /// ```
            fn boxed_slice | try_boxed_slice[T](self, iter: impl IntoIterator<Item = T>) ->
                Box<$l, [T]> = owned, Construct::collected(self, iter.into_iter(), false);

            /// Copies a string into a box.
            ///
            /// ```
            #[doc = $made]
            /// assert_eq!(&*arena.boxed_str("a word"), "a word");
            /// ```
            fn boxed_str | try_boxed_str[](self, s: &str) -> Box<$l, str> = owned, Construct::text(self, s);
        }

        /// Constructs a value that may fail; a failure allocates nothing.
        ///
        /// ```
        #[doc = $made]
        /// assert_eq!(arena.alloc_try_with(|| "7".parse::<u32>()), Ok(&mut 7));
        /// assert!(arena.alloc_try_with(|| "x".parse::<u32>()).is_err());
        /// ```
        #[inline(always)]
        #[track_caller]
        $vis fn alloc_try_with<T, E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&$l mut T, E> {
            // SAFETY: new and initialised; it lives while the arena is borrowed. The same holds below.
            Ok(unsafe { exclusive(unwrap_infallible(Construct::tried(self, make)?)) })
        }

        /// As [`alloc_try_with`](Self::alloc_try_with), with an error instead of the panic.
        #[inline(always)]
        #[track_caller]
        $vis fn try_alloc_try_with<T, E>(
            &self,
            make: impl FnOnce() -> Result<T, E>,
        ) -> Result<&$l mut T, InitError<E>> {
            // SAFETY: as above.
            init_error(Construct::tried(self, make)).map(|p| unsafe { exclusive(p) })
        }

        /// Returns `n` values, made from their index, or the first error; the values made before it are dropped then.
        ///
        /// ```
        #[doc = $made]
        /// assert_eq!(arena.alloc_slice_try_fill_with(2, |i| Ok::<_, ()>(i)), Ok(&mut [0, 1][..]));
        /// assert_eq!(arena.alloc_slice_try_fill_with(2, |i| if i == 0 { Ok(i) } else { Err(i) }), Err(1));
        /// ```
        #[inline(always)]
        #[track_caller]
        $vis fn alloc_slice_try_fill_with<T, E>(
            &self,
            n: usize,
            make: impl FnMut(usize) -> Result<T, E>,
        ) -> Result<&$l mut [T], E> {
            // SAFETY: as above.
            Ok(unsafe { exclusive(unwrap_infallible(Construct::filled_until(self, n, make)?)) })
        }

        /// As [`alloc_slice_try_fill_with`](Self::alloc_slice_try_fill_with), with an error instead of the panic.
        #[inline(always)]
        #[track_caller]
        $vis fn try_alloc_slice_try_fill_with<T, E>(
            &self,
            n: usize,
            make: impl FnMut(usize) -> Result<T, E>,
        ) -> Result<&$l mut [T], InitError<E>> {
            // SAFETY: as above.
            init_error(Construct::filled_until(self, n, make)).map(|p| unsafe { exclusive(p) })
        }

        /// Returns memory of a layout. For a size of 0: an address that must not be read.
        ///
        /// ```
        #[doc = $made]
        /// let layout = std::alloc::Layout::from_size_align(10_000, 4096).unwrap();
        /// assert_eq!(arena.alloc_layout(layout).addr().get() % 4096, 0);
        /// ```
        #[inline(always)]
        #[track_caller]
        $vis fn alloc_layout(&self, layout: Layout) -> NonNull<u8> {
            unwrap_infallible(Construct::bytes(self, layout))
        }

        /// As [`alloc_layout`](Self::alloc_layout), with an error instead of the panic.
        #[inline(always)]
        #[track_caller]
        $vis fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
            Construct::bytes(self, layout)
        }

        /// Returns formatted text; [`format_in!`](crate::format_in) calls it. It panics if a formatting trait returns an error.
        ///
        /// ```
        #[doc = $made]
        /// assert_eq!(arena.alloc_fmt(format_args!("{:>4}", 7)), "   7");
        /// ```
        #[track_caller]
        $vis fn alloc_fmt(&self, args: fmt::Arguments<'_>) -> &$l mut str {
            // SAFETY: as above.
            unsafe { exclusive(unwrap_infallible(Construct::formatted(self, args))) }
        }

        /// As [`alloc_fmt`](Self::alloc_fmt), with an error instead of the panic.
        #[track_caller]
        $vis fn try_alloc_fmt(&self, args: fmt::Arguments<'_>) -> Result<&$l mut str, AllocError> {
            // SAFETY: as above.
            Ok(unsafe { exclusive(Construct::formatted(self, args)?) })
        }

        // ---- collections ----

        /// Creates an empty vector that grows in this arena. It takes no memory yet.
        ///
        /// ```
        #[doc = $made]
        /// let mut stack = arena.vec();
        /// stack.push(1);
        /// stack.push(2);
        /// assert_eq!(stack.pop(), Some(2));
        /// let rest: &mut [i32] = stack.into_slice(); // as long as the arena is borrowed
        /// assert_eq!(rest, [1]);
        /// ```
        #[inline]
        #[track_caller]
        $vis fn vec<T>(&self) -> Vec<'_, T, Self>
        where
            Self: Sized,
        {
            Vec::new_in(self)
        }

        /// Creates an empty vector for `capacity` elements.
        ///
        /// ```
        #[doc = $made]
        /// assert_eq!(arena.vec_with_capacity::<u64>(10).capacity(), 10);
        /// ```
        #[inline]
        #[track_caller]
        $vis fn vec_with_capacity<T>(&self, capacity: usize) -> Vec<'_, T, Self>
        where
            Self: Sized,
        {
            Vec::with_capacity_in(capacity, self)
        }

        /// As [`vec_with_capacity`](Self::vec_with_capacity), with an error instead of the panic.
        #[inline]
        #[track_caller]
        $vis fn try_vec_with_capacity<T>(&self, capacity: usize) -> Result<Vec<'_, T, Self>, AllocError>
        where
            Self: Sized,
        {
            let mut vec = self.vec();
            vec.try_reserve_exact(capacity).map_err(|_| AllocError)?;
            Ok(vec)
        }

        /// Collects an iterator into a vector.
        ///
        /// ```
        #[doc = $made]
        /// let mut words = arena.vec_from_iter("b a".split(' '));
        /// words.sort();
        /// assert_eq!(words, ["a", "b"]);
        /// ```
        #[inline]
        #[track_caller]
        $vis fn vec_from_iter<T>(&self, iter: impl IntoIterator<Item = T>) -> Vec<'_, T, Self>
        where
            Self: Sized,
        {
            Vec::from_iter_in(iter, self)
        }

        /// As [`vec_from_iter`](Self::vec_from_iter), with an error instead of the panic.
        #[inline]
        #[track_caller]
        $vis fn try_vec_from_iter<T>(&self, iter: impl IntoIterator<Item = T>) -> Result<Vec<'_, T, Self>, AllocError>
        where
            Self: Sized,
        {
            let mut vec = self.vec();
            vec.try_extend(iter)?;
            Ok(vec)
        }

        /// Creates an empty string that grows in this arena. It takes no memory yet.
        ///
        /// ```
        #[doc = $made]
        /// let mut line = arena.string();
        /// line.push_str("frame ");
        /// line.push('7');
        /// let line: &str = line.into_str(); // as long as the arena is borrowed
        /// assert_eq!(line, "frame 7");
        /// ```
        #[inline]
        #[track_caller]
        $vis fn string(&self) -> String<'_, Self>
        where
            Self: Sized,
        {
            String::new_in(self)
        }

        /// Creates an empty string for `capacity` bytes.
        ///
        /// ```
        #[doc = $made]
        /// assert!(arena.string_with_capacity(10).capacity() >= 10);
        /// ```
        #[inline]
        #[track_caller]
        $vis fn string_with_capacity(&self, capacity: usize) -> String<'_, Self>
        where
            Self: Sized,
        {
            String::with_capacity_in(capacity, self)
        }

        /// As [`string_with_capacity`](Self::string_with_capacity), with an error instead of the panic.
        #[inline]
        #[track_caller]
        $vis fn try_string_with_capacity(&self, capacity: usize) -> Result<String<'_, Self>, AllocError>
        where
            Self: Sized,
        {
            let mut string = self.string();
            string.try_reserve_exact(capacity).map_err(|_| AllocError)?;
            Ok(string)
        }

        /// Copies a string into one that can grow.
        ///
        /// ```
        #[doc = $made]
        /// let mut name = arena.string_from("Tofte");
        /// name.push('!');
        /// assert_eq!(name, "Tofte!");
        /// ```
        #[inline]
        #[track_caller]
        $vis fn string_from(&self, s: &str) -> String<'_, Self>
        where
            Self: Sized,
        {
            String::from_str_in(s, self)
        }

        /// As [`string_from`](Self::string_from), with an error instead of the panic.
        #[inline]
        #[track_caller]
        $vis fn try_string_from(&self, s: &str) -> Result<String<'_, Self>, AllocError>
        where
            Self: Sized,
        {
            let mut string = self.try_string_with_capacity(s.len())?;
            string.push_str(s);
            Ok(string)
        }
    };
}
#[cfg(all(feature = "std", any(feature = "leases", feature = "shared")))]
pub(crate) use allocating_methods;

/// Allocation of values, slices, text, boxes and collections, in every arena and in all other [`Memory`].
///
/// The calls panic if there is no memory or the budget does not allow the request; their variants `try_...` return
/// [`AllocError`] and change nothing: values passed to them, and values constructed so far, are dropped then. References
/// and boxes live as long as the arena is borrowed.
///
/// ```
/// let tight = toft::Options::new().budget(16).create()?;
/// assert_eq!(tight.try_alloc(7)?, &7);
/// assert!(tight.try_alloc_slice_fill(usize::MAX, 0u64).is_err()); // no size wraps
/// assert_eq!(tight.stats().live, 8);
/// # Ok::<(), toft::AllocError>(())
/// ```
///
/// The arenas have the same calls as methods, so that only generic code needs the trait:
///
/// ```
/// use toft::Allocate;
///
/// fn squares<A: Allocate>(arena: &A) -> &mut [usize] {
///     arena.alloc_slice_fill_with(4, |i| i * i)
/// }
/// assert_eq!(squares(&toft::Arena::new()), squares(&toft::SharedArena::new()));
/// ```
///
/// It is implemented for every [`Memory`], and so for no other type: the bodies exist once, and cannot be replaced by
/// ones that return references to memory of a shorter life. To add an allocating type, implement [`Memory`].
pub trait Allocate: Memory {
    allocating_methods!(, "use toft::Allocate; let arena = toft::Arena::new();", '_);
}

impl<M: Memory + ?Sized> Allocate for M {}

/// Allocation; the same calls as [`Allocate`]. They panic if there is no memory or the budget does not allow the
/// request; their variants `try_...` return [`AllocError`], and drop the values passed or constructed.
impl Arena {
    allocating_methods!(pub, "let arena = toft::Arena::new();", '_);
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
#[macro_export]
macro_rules! try_format_in {
    ($arena:expr, $($args:tt)*) => {
        $arena.try_alloc_fmt(::core::format_args!($($args)*))
    };
}
