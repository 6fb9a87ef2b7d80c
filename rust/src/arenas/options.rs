//! Options for the creation of arenas.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use core::fmt;
use core::ptr::NonNull;

#[cfg(feature = "std")]
use crate::arenas::budget::{Budget, Share};
use crate::base::error::{or_panic, AllocError};
use crate::base::source::{Portion, Source};
use crate::memory::arena::Arena;
use crate::provider::{self, Settings};

/// Options for the creation of an arena, beyond [`Arena::new`].
///
/// ```
/// use toft::Options;
/// let arena = Options::new().reserve(1 << 20).budget(8 << 20).create()?;
/// assert!(arena.try_alloc_slice_fill(9 << 20, 0u8).is_err());
/// # Ok::<(), toft::AllocError>(())
/// ```
#[derive(Default)]
#[must_use = "nothing is made before `create`"]
pub struct Options {
    reserve: usize,
    budget: Option<u64>,
    source: Option<Box<dyn Source + Send>>,
    /// The source, if it is a budget that counts live bytes: the arena gets a share of it.
    #[cfg(feature = "std")]
    counts_live: Option<Budget>,
}

impl Options {
    /// As [`Arena::new`].
    pub const fn new() -> Options {
        Options {
            reserve: 0,
            budget: None,
            source: None,
            #[cfg(feature = "std")]
            counts_live: None,
        }
    }

    /// For rounds of about this many bytes: the first allocation takes one block for all of it.
    pub fn reserve(mut self, bytes: usize) -> Options {
        self.reserve = bytes;
        self
    }

    /// Limits the bytes allocated at a time, exactly: [`Arena::set_budget`].
    pub fn budget(mut self, bytes: u64) -> Options {
        self.budget = Some(bytes);
        self
    }

    /// Takes blocks from this source, which the arena owns. To borrow one: [`Scope::from_source`](crate::Scope).
    pub fn source(mut self, source: impl Source + Send + 'static) -> Options {
        #[cfg(feature = "std")]
        {
            let budget = (&source as &dyn core::any::Any).downcast_ref::<Budget>();
            self.counts_live = budget.filter(|budget| budget.live_limit().is_some()).cloned();
        }
        self.source = Some(Box::new(source));
        self
    }

    /// Creates the arena.
    ///
    /// ```
    /// assert!(toft::Options::new().reserve(usize::MAX).create().is_err());
    /// ```
    ///
    /// # Errors
    /// If there is no memory, or `reserve` is above `isize::MAX / 2`.
    pub fn create(mut self) -> Result<Arena, AllocError> {
        let (source, portion) = self.parts();
        let budget = self.budget.unwrap_or(u64::MAX);
        let settings = Settings { source, reserve: self.reserve, budget, owns_source: source.is_some(), portion };
        // SAFETY: the arena owns the source and drops it.
        match unsafe { provider::create_with(&settings) } {
            Some(a) => Ok(Arena::made(a)),
            None => {
                if let Some(source) = source {
                    // SAFETY: no arena owns it.
                    drop(unsafe { Box::from_raw(source.as_ptr()) });
                }
                Err(AllocError)
            }
        }
    }
}

type Parts = (Option<NonNull<dyn Source>>, Option<NonNull<dyn Portion>>);

impl Options {
    /// The arena's source, a box; and a part of that, if a limit on live bytes is shared.
    fn parts(&mut self) -> Parts {
        #[cfg(feature = "std")]
        if let Some(budget) = self.counts_live.take() {
            let share = NonNull::from(Box::leak(Box::new(Share::new(budget))));
            return (Some(share), Some(share));
        }
        // SAFETY: a box is not null.
        let leak = |source: Box<dyn Source>| unsafe { NonNull::new_unchecked(Box::into_raw(source)) };
        (self.source.take().map(|source| leak(source)), None)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("reserve", &self.reserve)
            .field("budget", &self.budget)
            .field("source", &self.source.is_some())
            .finish()
    }
}

impl Arena {
    /// Creates an arena for rounds of about `bytes`: the first allocation takes one block for all of it.
    ///
    /// ```
    /// let arena = toft::Arena::with_capacity(1_000_000);
    /// for i in 0..125_000u64 {
    ///     arena.alloc(i);
    /// }
    /// assert_eq!(arena.stats().source_calls, 2); // the initial block, and one for all
    /// ```
    ///
    /// # Panics
    /// If there is no memory, or `bytes` is above `isize::MAX / 2`.
    pub fn with_capacity(bytes: usize) -> Arena {
        or_panic(Options::new().reserve(bytes).create())
    }
}
