//! What a call answers that has no slot for a value.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;

/// The value that found no slot: the pool is fixed and all of its slots have values, its indices cannot number more, or
/// there is no memory. Nothing changed.
///
/// ```
/// use toft_pools::{CapacityError, Stack};
///
/// let mut stack = Stack::fixed(1);
/// assert_eq!(stack.try_push("first"), Ok(()));
/// let refused = stack.try_push("second");
/// assert_eq!(refused, Err(CapacityError("second")));
/// assert_eq!(refused.unwrap_err().to_string(), "there is no slot for the value");
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

// Not derived: an error is to be shown whether the value can be or not.
impl<T> fmt::Debug for CapacityError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CapacityError(..)")
    }
}

impl<T> fmt::Display for CapacityError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no slot for the value")
    }
}

impl<T> core::error::Error for CapacityError<T> {}

/// How a call ends that cannot say no.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn capacity_panic() -> ! {
    panic!("toft: there is no slot for the value: all have values and can be no more, or there is no memory")
}
