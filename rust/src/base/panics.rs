//! Panics of user code that the provider calls: destructors, hooks. They must not unwind through the table's functions:
//! the first one is stored, and resumed after everything is freed.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

pub(crate) use catching::{catch, defer, resuming_panics};

#[cfg(feature = "std")]
mod catching {
    use core::cell::Cell;
    use std::any::Any;
    use std::boxed::Box;
    use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

    std::thread_local! {
        static FIRST: Cell<Option<Box<dyn Any + Send>>> = const { Cell::new(None) };
    }

    pub fn defer(f: impl FnOnce()) {
        let Err(panic) = catch_unwind(AssertUnwindSafe(f)) else { return };
        let mut panic = Some(panic);
        let _ = FIRST.try_with(|first| match first.take() {
            None => first.set(panic.take()),
            earlier => first.set(earlier),
        });
        discard(panic); // later panics
    }

    /// Catches and discards a panic of `f`.
    pub fn catch(f: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
            discard(panic);
        }
    }

    /// Drops the value of a panic, which could panic again.
    fn discard<T>(panic: T) {
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            core::mem::forget(again);
        }
    }

    #[cold]
    #[inline(never)]
    pub fn resuming_panics<R>(f: impl FnOnce() -> R) -> R {
        let outer = FIRST.try_with(Cell::take).ok().flatten();
        let result = f();
        resume(outer);
        result
    }

    /// Resumes the panic that was stored since `outer` was taken, and stores that again.
    fn resume(outer: Option<Box<dyn Any + Send>>) {
        let mine = FIRST.try_with(|first| first.replace(outer)).ok().flatten();
        match mine {
            Some(panic) if !std::thread::panicking() => resume_unwind(panic),
            _ => {}
        }
    }
}

// Without std a panic cannot be caught: one in a destructor that the arena runs aborts the program.
#[cfg(not(feature = "std"))]
mod catching {
    pub fn defer(f: impl FnOnce()) {
        f()
    }

    pub fn catch(f: impl FnOnce()) {
        f()
    }

    pub fn resuming_panics<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}
