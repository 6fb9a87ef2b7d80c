//! The constructors of all collections, as a macro. Those of one name exist for one layout and key, so that the compiler
//! infers both.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// The type has the methods `any_in`, which returns an empty collection that grows, `try_reserve`, and `fix`, which allocates
/// memory for that many values in an empty collection and keeps it from growing. Passed are its name, the word for it, a value
/// for the examples, and the kinds of the type: rows on the heap, rows in any memory, columns in both, and
/// any.
macro_rules! constructors {
    (
        $Name:ident, $noun:literal, $value:literal;
        heap [$($h:tt)*] $Heap:ty;
        rows [$($r:tt)*] $Rows:ty;
        $(columns [$($c:tt)*] $HeapColumns:ty, [$($m:tt)*] $Columns:ty, $add:literal;)?
        $(any [$($a:tt)*] $Any:ty)?
    ) => {
        impl<$($h)*> $Heap {
            #[doc = concat!("An empty ", $noun, " on the heap, which grows. It has allocated nothing yet.")]
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::new();")]
            #[doc = concat!("values.extend([", $value, "]);")]
            /// assert_eq!(values.len(), 1);
            /// ```
            pub fn new() -> Self {
                Self::new_in(toft::Heap)
            }

            /// As [`new`](Self::new), with memory for `n` values.
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::with_capacity(100);")]
            #[doc = concat!("values.extend([", $value, "]);")]
            /// ```
            ///
            /// # Panics
            /// There is no memory.
            #[track_caller]
            pub fn with_capacity(n: usize) -> Self {
                Self::with_capacity_in(n, toft::Heap)
            }

            #[doc = concat!("An empty ", $noun, " on the heap of at most `n` values, which never grows.")]
            ///
            /// ```
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::fixed(1);")]
            #[doc = concat!("values.extend([", $value, "]);")]
            /// assert!(values.is_fixed() && values.try_reserve(1).is_err());
            /// ```
            ///
            /// # Panics
            /// There is no memory, or keys cannot address that many slots.
            #[track_caller]
            pub fn fixed(n: usize) -> Self {
                Self::fixed_in(n, toft::Heap)
            }
        }

        impl<$($r)*> $Rows {
            /// As [`new`](Self::new), in this memory.
            ///
            /// ```
            /// let arena = toft::Arena::new();
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::new_in(&arena);")]
            #[doc = concat!("values.extend([", $value, "]);")]
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::with_capacity_in(9, &arena);")]
            #[doc = concat!("values.extend([", $value, "]);")]
            /// ```
            pub fn new_in(memory: M) -> Self {
                Self::any_in(memory)
            }

            /// As [`with_capacity`](Self::with_capacity), in this memory.
            ///
            /// # Panics
            /// There is no memory.
            #[track_caller]
            pub fn with_capacity_in(n: usize, memory: M) -> Self {
                crate::capacity_error::unwrap_capacity(Self::try_with_capacity_in(n, memory))
            }

            /// As [`with_capacity_in`](Self::with_capacity_in), with an error instead of a panic.
            ///
            /// # Errors
            /// There is no memory.
            pub fn try_with_capacity_in(n: usize, memory: M) -> Result<Self, toft::AllocError> {
                let mut new = Self::any_in(memory);
                new.try_reserve(n)?;
                Ok(new)
            }

            /// As [`fixed`](Self::fixed), in this memory.
            ///
            /// ```
            /// let arena = toft::Arena::new();
            #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::fixed_in(1, &arena);")]
            #[doc = concat!("values.extend([", $value, "]);")]
            /// ```
            ///
            /// # Panics
            /// There is no memory, or keys cannot address that many slots.
            #[track_caller]
            pub fn fixed_in(n: usize, memory: M) -> Self {
                crate::capacity_error::unwrap_capacity(Self::try_fixed_in(n, memory))
            }

            /// As [`fixed_in`](Self::fixed_in), with an error instead of a panic.
            ///
            /// # Errors
            /// There is no memory, or keys cannot address that many slots.
            pub fn try_fixed_in(n: usize, memory: M) -> Result<Self, toft::AllocError> {
                let mut new = Self::any_in(memory);
                new.fix(n)?;
                Ok(new)
            }
        }

        $(
            impl<$($c)*> $HeapColumns {
                #[doc = concat!("An empty ", $noun, " of columns on the heap, which grows.")]
                ///
                /// ```
                /// # #[cfg(feature = "derive")] {
                /// #[derive(toft_pools::Columnar)]
                /// struct Item {
                ///     number: u32,
                /// }
                ///
                /// let arena = toft::Arena::new();
                #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::columns_in(&arena);")]
                #[doc = concat!("values.", $add, ";")]
                #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::columns();")]
                #[doc = concat!("values.", $add, ";")]
                /// assert_eq!(values.len(), 1);
                /// # }
                /// ```
                pub fn columns() -> Self {
                    Self::any_in(toft::Heap)
                }
            }

            impl<$($m)*> $Columns {
                /// As [`columns`](Self::columns), in this memory.
                pub fn columns_in(memory: M) -> Self {
                    Self::any_in(memory)
                }
            }
        )?

        $(
            impl<$($a)*> $Any {
                #[doc = concat!("A ", $noun, " of at most `n` values, which never grows, of the layout and the key of its type.")]
                ///
                /// ```
                #[doc = concat!("let mut values = toft_pools::", stringify!($Name), "::new();")]
                #[doc = concat!("values.extend([", $value, "]);")]
                #[doc = concat!("values = toft_pools::", stringify!($Name), "::any_fixed_in(9, toft::Heap);")]
                /// assert!(values.is_empty());
                /// ```
                ///
                /// # Panics
                /// There is no memory, or keys cannot address that many slots.
                #[track_caller]
                pub fn any_fixed_in(n: usize, memory: M) -> Self {
                    crate::capacity_error::unwrap_capacity(Self::try_any_fixed_in(n, memory))
                }

                /// As [`any_fixed_in`](Self::any_fixed_in), with an error instead of a panic.
                ///
                /// # Errors
                /// There is no memory, or keys cannot address that many slots.
                pub fn try_any_fixed_in(n: usize, memory: M) -> Result<Self, toft::AllocError> {
                    let mut new = Self::any_in(memory);
                    new.fix(n)?;
                    Ok(new)
                }
            }
        )?
    };
}
pub(crate) use constructors;

/// Those of a pool with any key, by slotmap's names.
macro_rules! key_constructors {
    ($Name:ident, [$($bound:tt)*]) => {
        impl<T, K: Key<T>> $Name<T, Rows, K> {
            /// As [`new`](Self::new), with the key of the type: a handle of another size or type, or an index.
            ///
            /// ```
            #[doc = concat!("use toft_pools::{", stringify!($Name), ", Rows};")]
            #[doc = concat!("let mut values = ", stringify!($Name), "::<_, Rows, u32>::with_key();")]
            /// let i: u32 = values.insert('a');
            /// assert_eq!(values[i], 'a');
            /// ```
            pub fn with_key() -> Self {
                Self::any_in(Heap)
            }

            /// As [`with_key`](Self::with_key), with memory for `n` values.
            ///
            /// # Panics
            /// There is no memory.
            #[track_caller]
            pub fn with_capacity_and_key(n: usize) -> Self {
                let mut new = Self::any_in(Heap);
                new.reserve(n);
                new
            }
        }

        impl<T, K: Key<T>, M: $($bound)*> $Name<T, Rows, K, M> {
            /// As [`with_key`](Self::with_key), in this memory.
            ///
            /// ```
            #[doc = concat!("use toft_pools::{", stringify!($Name), ", Rows};")]
            /// let arena = toft::Arena::new();
            #[doc = concat!("let mut values = ", stringify!($Name), "::<_, Rows, u32, _>::with_key_in(&arena);")]
            /// values.insert('a');
            /// ```
            pub fn with_key_in(memory: M) -> Self {
                Self::any_in(memory)
            }
        }
    };
}
pub(crate) use key_constructors;
