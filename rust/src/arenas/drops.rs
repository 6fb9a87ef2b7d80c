//! Values that the arena drops before their memory is freed. A panic of a destructor must not unwind through the
//! table's functions: the first one is stored, and resumed after everything is freed.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::mut_from_ref)] // the returned references are to new memory

use core::alloc::Layout;
use core::ffi::c_void;
use core::pin::Pin;
use core::ptr::NonNull;

use crate::arenas::scope::Scope;
use crate::base::abi_types as abi;
use crate::base::error::{unwrap_infallible, AllocError, ErrorMode};
use crate::base::panics::defer as defer_panic;
use crate::memory::arena::Arena;
use crate::memory::construct::{exclusive, Construct};
use crate::provider;

unsafe extern "C" fn drop_value<T>(p: *mut c_void) {
    // SAFETY: a cleanup runs once, with the address of a T that `alloc_dropped` wrote, which is not used any more.
    defer_panic(|| unsafe { p.cast::<T>().drop_in_place() });
}

/// A value that may borrow from what ends before its memory is freed, if its scope is leaked: then it is not dropped.
struct Scoped<T> {
    scope: provider::RawArena,
    value: T,
}

unsafe extern "C" fn drop_scoped<T>(p: *mut c_void) {
    let scoped = p.cast::<Scoped<T>>();
    // SAFETY: as in `drop_value`; the scope is the arena that runs this cleanup.
    if !unsafe { (*scoped).scope.is_leaked() } {
        // SAFETY: as in `drop_value`.
        defer_panic(|| unsafe { (&raw mut (*scoped).value).drop_in_place() });
    }
}

impl Arena {
    /// Allocates the cleanup first: if that fails, the caller still owns the value and drops it.
    #[inline]
    #[track_caller]
    fn alloc_registered<T, E: ErrorMode>(&self, end: unsafe extern "C" fn(*mut c_void), value: T) -> Result<&mut T, E> {
        // SAFETY: the arena is alive.
        let (mark, node) = unsafe {
            (abi::mark(self.head()), (self.table().cleanup)(self.head().as_ptr(), None, core::ptr::null_mut()))
        };
        let Some(node) = NonNull::new(node) else { return Err(E::closed()) };
        let value = match Construct::value(self, || value, false) {
            Ok(value) => value,
            Err(e) => {
                // SAFETY: above the mark there is only the cleanup, which has no function.
                unsafe { abi::rewind(self.head(), mark) };
                return Err(e);
            }
        };
        // SAFETY: the cleanup and the value are the arena's, and no other reference to them exists.
        unsafe {
            (*node.as_ptr()).arg = value.as_ptr().cast();
            (*node.as_ptr()).function = Some(end);
            Ok(&mut *value.as_ptr())
        }
    }

    #[inline]
    #[track_caller]
    fn alloc_dropped<T: Send + 'static, E: ErrorMode>(&self, value: T) -> Result<&mut T, E> {
        if core::mem::needs_drop::<T>() {
            self.alloc_registered(drop_value::<T>, value)
        } else {
            // SAFETY: new and initialised; it lives while the arena is borrowed.
            Ok(unsafe { exclusive(Construct::value(self, || value, false)?) })
        }
    }

    #[inline]
    #[track_caller]
    fn alloc_pinned<T: Send + 'static, E: ErrorMode>(&self, value: T) -> Result<Pin<&mut T>, E> {
        if !self.own().is_some_and(|a| a.leaks_whole()) {
            return Err(E::out_of_memory(Layout::new::<T>()));
        }
        // SAFETY: the cleanup drops it before its memory is freed; if the arena is leaked, so is its memory.
        Ok(unsafe { Pin::new_unchecked(self.alloc_dropped(value)?) })
    }

    /// Moves `value` into the arena, which drops it before its memory is freed: by a reset, the end of the scope, or
    /// dropping the arena. Values are dropped in reverse order.
    ///
    /// [`Scope::alloc_drop`] takes values that borrow or are not `Send`. A destructor's panic is resumed after the
    /// others.
    ///
    /// ```
    /// use std::sync::Arc;
    /// let shared = Arc::new(1);
    /// let mut arena = toft::Arena::new();
    /// arena.alloc_drop(shared.clone());
    /// assert_eq!(Arc::strong_count(&shared), 2);
    /// arena.reset();
    /// assert_eq!(Arc::strong_count(&shared), 1);
    /// ```
    ///
    /// # Panics
    /// If the arena has no memory, or a cursor of it is open.
    #[inline]
    #[track_caller]
    pub fn alloc_drop<T: Send + 'static>(&self, value: T) -> &mut T {
        unwrap_infallible(self.alloc_dropped(value))
    }

    /// As [`alloc_drop`](Arena::alloc_drop), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_alloc_drop<T: Send + 'static>(&self, value: T) -> Result<&mut T, AllocError> {
        self.alloc_dropped(value)
    }

    /// As [`alloc_drop`](Arena::alloc_drop), pinned: the memory is not reused before the value is dropped.
    ///
    /// Refused in an arena in a caller's buffer, on a borrowed source, or from another language: leaking such an arena
    /// does not leak its memory, which would violate the guarantee of `Pin`.
    #[inline]
    #[track_caller]
    pub fn alloc_pin<T: Send + 'static>(&self, value: T) -> Pin<&mut T> {
        unwrap_infallible(self.alloc_pinned(value))
    }

    /// As [`alloc_pin`](Arena::alloc_pin), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_alloc_pin<T: Send + 'static>(&self, value: T) -> Result<Pin<&mut T>, AllocError> {
        self.alloc_pinned(value)
    }
}

impl<'a> Scope<'a> {
    #[inline]
    #[track_caller]
    fn alloc_scoped<T: 'a, E: ErrorMode>(&self, value: T) -> Result<&mut T, E> {
        match self.own() {
            Some(scope) if core::mem::needs_drop::<T>() => {
                Ok(&mut self.alloc_registered(drop_scoped::<T>, Scoped { scope, value })?.value)
            }
            // A scope's arena is always of this crate.
            // SAFETY: new and initialised; it lives while the scope is borrowed.
            _ => Ok(unsafe { exclusive(Construct::value(&**self, || value, false)?) }),
        }
    }

    /// As [`Arena::alloc_drop`], for values that need not be `Send` and may borrow what lives for `'a`.
    ///
    /// # Panics
    /// If the arena has no memory, or a cursor of it is open.
    #[inline]
    #[track_caller]
    pub fn alloc_drop<T: 'a>(&self, value: T) -> &mut T {
        unwrap_infallible(self.alloc_scoped(value))
    }

    /// As [`alloc_drop`](Scope::alloc_drop), with an error instead of the panic.
    #[inline]
    #[track_caller]
    pub fn try_alloc_drop<T: 'a>(&self, value: T) -> Result<&mut T, AllocError> {
        self.alloc_scoped(value)
    }
}
