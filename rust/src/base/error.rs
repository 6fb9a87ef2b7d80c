//! Errors, and how allocating calls fail: one generic body serves the panicking call and the one that returns an error.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::alloc::Layout;
use core::fmt;

/// The arena could not serve a request: there is no memory, its budget does not allow it, or the size is above the
/// limit of any arena. Nothing changed.
///
/// ```
/// let tight = toft::Options::new().budget(0).create()?;
/// let error = tight.try_alloc(1).unwrap_err();
/// assert_eq!(error.to_string(), "the arena has no memory for this request, or its budget does not allow it");
/// # Ok::<(), toft::AllocError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AllocError;

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the arena has no memory for this request, or its budget does not allow it")
    }
}

impl core::error::Error for AllocError {}

/// The error of `try_alloc_try_with`: the arena's, or that of the closure that makes the value.
///
/// ```
/// use toft::InitError;
/// let arena = toft::Arena::new();
/// let refused = arena.try_alloc_try_with(|| Err::<u8, _>("no"));
/// assert_eq!(refused, Err(InitError::Init("no")));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitError<E> {
    /// The arena could not serve the request.
    Alloc(AllocError),
    /// The closure's own error.
    Init(E),
}

impl<E: fmt::Display> fmt::Display for InitError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InitError::Alloc(e) => e.fmt(f),
            InitError::Init(e) => e.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for InitError<E> {}

impl<E> From<AllocError> for InitError<E> {
    fn from(e: AllocError) -> Self {
        InitError::Alloc(e)
    }
}

/// How a failed request ends: with `Never` the call panics, else it returns an error.
pub(crate) trait ErrorMode: Sized {
    fn out_of_memory(layout: Layout) -> Self;
    fn overflow() -> Self;
    /// No destructor can be registered now.
    fn closed() -> Self {
        Self::overflow()
    }
}

pub(crate) enum Never {}

impl ErrorMode for Never {
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn out_of_memory(layout: Layout) -> Never {
        panic!("toft: out of memory: {} bytes aligned to {}, or over the budget", layout.size(), layout.align())
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn overflow() -> Never {
        panic!("toft: out of memory: capacity overflow")
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn closed() -> Never {
        panic!("toft: out of memory: for a destructor, over the budget, or a cursor of the arena is open")
    }
}

impl ErrorMode for AllocError {
    #[inline(always)]
    fn out_of_memory(_: Layout) -> AllocError {
        AllocError
    }

    #[inline(always)]
    fn overflow() -> AllocError {
        AllocError
    }
}

/// The value, or a panic with the error's text: of calls that make an arena or a table.
#[inline(always)]
#[track_caller]
pub(crate) fn or_panic<T>(result: Result<T, AllocError>) -> T {
    match result {
        Ok(value) => value,
        Err(e) => panic!("toft: {e}"),
    }
}

/// The value of a call that fails by panic only.
#[inline(always)]
pub(crate) fn unwrap_infallible<T>(result: Result<T, Never>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}
