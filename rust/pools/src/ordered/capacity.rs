//! Creation and memory of ordered maps and sets, as a macro: each method is one of the type, with its documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// Unwraps a result. (Not in a closure, so that the location of the panic is the caller's.)
#[inline(always)]
#[track_caller]
pub(super) fn unwrap_capacity<T, E>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(_) => capacity_overflow(),
    }
}

/// The panic of a call that cannot return an error.
#[cold]
#[track_caller]
fn capacity_overflow() -> ! {
    panic!("toft: the map is full, or there is no memory")
}

/// The type has the method `new_in`. Passed are the words for it and its keys, the tree's place in it, its parameters on the
/// heap, those in any memory, and types with keys and values of `u8` for the examples.
macro_rules! creation_and_memory {
    (
        $Name:ident, $noun:literal, $keys:literal, [$($tree:ident).+], [$($heap:ident),+], [$($any:tt)+] [$($named:tt)+],
        $example:literal, $example_in:literal
    ) => {
        use toft::{AllocError, Heap, Memory};

        impl<$($heap),+> $Name<$($heap),+> {
            #[doc = concat!("An empty ", $noun, " on the heap, which has allocated nothing yet.")]
            ///
            /// ```
            #[doc = concat!("assert_eq!(toft_pools::", $example, "::new().memory_use(), 0);")]
            /// ```
            pub fn new() -> Self {
                Self::new_in(Heap)
            }

            #[doc = concat!("An empty ", $noun, " with memory for `n` ", $keys, ", inserted in any order.")]
            ///
            /// ```
            #[doc = concat!("assert!(toft_pools::", $example, "::with_capacity(100).memory_use() >= 100);")]
            /// ```
            ///
            /// # Panics
            /// There is no memory for them.
            #[track_caller]
            pub fn with_capacity(n: usize) -> Self {
                Self::with_capacity_in(n, Heap)
            }

            #[doc = concat!("An empty ", $noun, " of at most `n` ", $keys, ", which never grows:")]
            #[doc = concat!("[`insert`](", stringify!($Name), "::insert) of one more panics.")]
            ///
            /// ```
            #[doc = concat!("assert_eq!(toft_pools::", $example, "::fixed(9).fixed_capacity(), Some(9));")]
            /// ```
            ///
            /// # Panics
            /// There is no memory for them.
            #[track_caller]
            pub fn fixed(n: usize) -> Self {
                Self::fixed_in(n, Heap)
            }
        }

        impl<$($any)+> $Name<$($named)+> {
            #[doc = concat!("An empty ", $noun, " of any kind with memory for `n` ", $keys, ", inserted in any order.")]
            ///
            /// ```
            /// use toft_pools::{Heap, OrderedMap, OrderedSet, Rows};
            #[doc = concat!("assert!(", $example_in, "::with_capacity_in(100, Heap).memory_use() >= 100);")]
            /// ```
            ///
            /// # Panics
            /// There is no memory for them.
            #[track_caller]
            pub fn with_capacity_in(n: usize, memory: M) -> Self {
                let mut new = Self::new_in(memory);
                new.reserve(n);
                new
            }

            #[doc = concat!("A ", $noun, " of any kind of at most `n` ", $keys, ".")]
            #[doc = concat!("See [`fixed`](", stringify!($Name), "::fixed).")]
            ///
            /// ```
            /// use toft_pools::{Heap, OrderedMap, OrderedSet, Rows};
            #[doc = concat!("assert_eq!(", $example_in, "::fixed_in(9, Heap).fixed_capacity(), Some(9));")]
            /// ```
            ///
            /// # Panics
            /// There is no memory for them.
            #[track_caller]
            pub fn fixed_in(n: usize, memory: M) -> Self {
                super::capacity::unwrap_capacity(Self::try_fixed_in(n, memory))
            }

            /// As [`fixed_in`](Self::fixed_in), with an error instead of a panic.
            ///
            /// ```
            /// use toft_pools::{Heap, OrderedMap, OrderedSet, Rows};
            #[doc = concat!("assert!(", $example_in, "::try_fixed_in(usize::MAX, Heap).is_err());")]
            /// ```
            pub fn try_fixed_in(n: usize, memory: M) -> Result<Self, AllocError> {
                let mut new = Self::new_in(memory);
                new.$($tree).+.fix(n)?;
                Ok(new)
            }

            #[doc = concat!("The number of ", $keys, ".")]
            ///
            /// ```
            #[doc = concat!("assert_eq!(toft_pools::", $example, "::new().len(), 0);")]
            /// ```
            #[inline]
            pub fn len(&self) -> usize {
                self.$($tree).+.len()
            }

            #[doc = concat!("Whether there are no ", $keys, ".")]
            ///
            /// ```
            #[doc = concat!("assert!(toft_pools::", $example, "::new().is_empty());")]
            /// ```
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            #[doc = concat!("The largest number of ", $keys, ", if it is [`fixed`](", stringify!($Name), "::fixed); ")]
            #[doc = concat!("`None`: the ", $noun, " grows.")]
            ///
            /// ```
            #[doc = concat!("assert_eq!(toft_pools::", $example, "::fixed(9).fixed_capacity(), Some(9));")]
            #[doc = concat!("assert_eq!(toft_pools::", $example, "::new().fixed_capacity(), None);")]
            /// ```
            pub fn fixed_capacity(&self) -> Option<usize> {
                Some(self.$($tree).+.fixed_capacity()).filter(|limit| *limit != usize::MAX)
            }

            /// Whether the capacity is fixed.
            ///
            /// ```
            #[doc = concat!("assert!(toft_pools::", $example, "::fixed(9).is_fixed());")]
            /// ```
            pub fn is_fixed(&self) -> bool {
                self.fixed_capacity().is_some()
            }

            #[doc = concat!("The memory that the ", $noun, " is allocated in.")]
            ///
            /// ```
            #[doc = concat!("assert_eq!(toft_pools::", $example, "::new().memory(), &toft::Heap);")]
            /// ```
            pub fn memory(&self) -> &M {
                self.$($tree).+.memory()
            }

            #[doc = concat!("The bytes that the ", $noun, " has allocated.")]
            ///
            /// ```
            #[doc = concat!("assert_eq!(toft_pools::", $example, "::new().memory_use(), 0);")]
            /// ```
            pub fn memory_use(&self) -> usize {
                self.$($tree).+.bytes()
            }

            #[doc = concat!("Reserves memory for `more` further ", $keys, ", inserted in any order.")]
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", $example, "::new();")]
            /// values.reserve(10);
            /// assert!(values.memory_use() > 0);
            /// ```
            ///
            /// # Panics
            #[doc = concat!("There is no memory for them, or the ", $noun, " is fixed and may not have so many.")]
            #[track_caller]
            pub fn reserve(&mut self, more: usize) {
                super::capacity::unwrap_capacity(self.try_reserve(more))
            }

            /// As [`reserve`](Self::reserve), with an error instead of a panic.
            ///
            /// ```
            #[doc = concat!("assert!(toft_pools::", $example, "::new().try_reserve(usize::MAX).is_err());")]
            /// ```
            pub fn try_reserve(&mut self, more: usize) -> Result<(), AllocError> {
                self.$($tree).+.reserve(more)
            }

            /// Compacts the leaves and returns unused memory, unless there is no memory for the smaller copy. O(n). Nothing
            /// changes if the capacity is fixed.
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", $example, "::with_capacity(1000);")]
            /// values.shrink_to_fit();
            /// assert_eq!(values.memory_use(), 0);
            /// ```
            pub fn shrink_to_fit(&mut self) {
                self.$($tree).+.shrink()
            }

            #[doc = concat!("Drops all ", $keys, ". The memory is kept.")]
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", $example, "::with_capacity(9);")]
            /// values.clear();
            /// assert!(values.is_empty() && values.memory_use() > 0);
            /// ```
            pub fn clear(&mut self) {
                self.$($tree).+.clear()
            }
        }
    };
}
pub(super) use creation_and_memory;
