//! The error of a call that cannot insert a value, and the panic of the calls that return none.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::fmt;

/// The error of an insertion, with the value: the collection is fixed and full, its keys cannot address more slots, or
/// there is no memory. Nothing has changed.
///
/// ```
/// use toft_pools::{CapacityError, Stack};
///
/// let mut stack = Stack::fixed(1);
/// assert_eq!(stack.try_push("first"), Ok(()));
/// let refused = stack.try_push("second");
/// assert_eq!(refused, Err(CapacityError("second")));
/// assert_eq!(refused.unwrap_err().to_string(), "no capacity for the value");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CapacityError<T>(pub T);

impl<T> CapacityError<T> {
    /// The value.
    ///
    /// ```
    /// assert_eq!(toft_pools::CapacityError("value").into_inner(), "value");
    /// ```
    pub fn into_inner(self) -> T {
        self.0
    }
}

// Not derived: the error implements `Debug` whether the value does or not.
impl<T> fmt::Debug for CapacityError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CapacityError(..)")
    }
}

impl<T> fmt::Display for CapacityError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no capacity for the value")
    }
}

impl<T> core::error::Error for CapacityError<T> {}

/// The panic of a call that cannot return an error.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn capacity_panic() -> ! {
    panic!("toft: the collection is fixed and full, its handles cannot address more slots, or there is no memory")
}

/// Unwraps a result. (Not in a closure, so that the location of the panic is the caller's.)
#[inline(always)]
#[track_caller]
pub(crate) fn unwrap_capacity<T, E>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(_) => capacity_panic(),
    }
}
