//! The allocating calls of shared arenas and their local parts.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::mut_from_ref)] // the returned reference is to new memory

use core::alloc::Layout;
use core::fmt;
use core::mem::{needs_drop, MaybeUninit};
use core::ptr::NonNull;

use super::{Local, SharedArena};
use crate::base::error::{unwrap_infallible, AllocError, InitError};
use crate::base::source::Source;
use crate::collections::{String, Vec};
use crate::memory::allocate::allocating_methods;
use crate::memory::boxed::Box;
use crate::memory::construct::{exclusive, exclusive_each, init_error, owned, Construct};

/// Allocation; the same calls as [`Allocate`](crate::Allocate).
impl<S: Source> SharedArena<S> {
    allocating_methods!(pub, "let arena = toft::SharedArena::new();", '_);
}

/// Allocation; the same calls as [`Allocate`](crate::Allocate). References and boxes live as long as the shared arena is
/// borrowed, so they outlive this part.
impl<'s, S: Source> Local<'s, S> {
    allocating_methods!(pub, "let shared = toft::SharedArena::new(); let arena = shared.local();", 's);
}
