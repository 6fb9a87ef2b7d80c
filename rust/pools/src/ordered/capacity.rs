//! Size and memory of ordered maps and sets, as a macro: each method is one of the type, with its documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// Passed are the words for the type and its keys, the tree's place in it, its parameters, and a type with keys and values of
/// `u8` for the examples.
macro_rules! capacity {
    (
        $Name:ident, $noun:literal, $keys:literal, [$($tree:ident).+], [$($any:tt)+] [$($named:tt)+], $example:literal
    ) => {
        use toft::{AllocError, Heap, Memory};

        impl<$($any)+> $Name<$($named)+> {
            pub(super) fn fix(&mut self, n: usize) -> Result<(), AllocError> {
                self.$($tree).+.fix(n)
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
                crate::capacity_error::unwrap_capacity(self.try_reserve(more))
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
pub(super) use capacity;
