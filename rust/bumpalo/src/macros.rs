//! `vec!` and `format!`. They are exported at the root of the crate.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// A [`Vec`](crate::collections::Vec) of some elements, or of clones of one: as the standard library's, with
/// the arena in front.
///
/// ```
/// use toft_bumpalo::{self as bumpalo, Bump};
///
/// let bump = Bump::new();
/// assert_eq!(bumpalo::vec![in &bump; 1, 2, 3].len(), 3);
/// assert_eq!(bumpalo::vec![in &bump; 7; 2], [7, 7]);
/// let empty: bumpalo::collections::Vec<i32> = bumpalo::vec![in &bump];
/// assert!(empty.is_empty());
/// ```
#[macro_export]
macro_rules! vec {
    (in $bump:expr $(;)?) => {
        $crate::collections::Vec::new_in($bump)
    };
    (in $bump:expr; $element:expr; $n:expr) => {{
        let n = $n;
        let mut vec = $crate::collections::Vec::with_capacity_in(n, $bump);
        if n > 0 {
            vec.resize(n, $element);
        }
        vec
    }};
    (in $bump:expr; $($element:expr),+ $(,)?) => {
        $crate::collections::Vec::__of($bump, [$($element),+])
    };
}

/// A [`String`](crate::collections::String) of formatted text: as the standard library's, with the arena in
/// front. Text that a formatting trait wrote before it returned an error stays.
///
/// ```
/// use toft_bumpalo::{self as bumpalo, Bump};
///
/// let bump = Bump::new();
/// let name = "Mads";
/// assert_eq!(bumpalo::format!(in &bump, "{name} and {}", 1 + 2), "Mads and 3");
/// ```
#[macro_export]
macro_rules! format {
    (in $bump:expr, $($args:tt)*) => {{
        let mut string = $crate::collections::String::new_in($bump);
        let _ = ::core::fmt::Write::write_fmt(&mut string, ::core::format_args!($($args)*));
        string
    }};
}
