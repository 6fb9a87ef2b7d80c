//! Implementations that several types have: `Debug`, `Default`, and the exclusive calls of guards.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// `Debug` by the statistics.
macro_rules! debug_by_stats {
    ([$($generics:tt)*] $of:ty, $name:literal) => {
        impl<$($generics)*> core::fmt::Debug for $of {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct($name).field("stats", &self.stats()).finish_non_exhaustive()
            }
        }
    };
}

macro_rules! default_by_new {
    ($($of:ty),*) => {
        $(impl Default for $of {
            fn default() -> Self {
                Self::new()
            }
        })*
    };
}

/// The calls that need exclusive access, of a guard that does not expose `&mut Arena`.
macro_rules! exclusive_calls {
    () => {
        /// As [`Arena::reset`].
        #[inline]
        pub fn reset(&mut self) {
            self.arena.reset();
        }

        /// As [`Arena::reset_with`].
        pub fn reset_with(&mut self, keep: $crate::Keep) {
            self.arena.reset_with(keep);
        }

        /// As [`Arena::trim`].
        pub fn trim(&mut self, keep: usize) {
            self.arena.trim(keep);
        }

        /// As [`Arena::scope_mut`].
        #[inline]
        pub fn scope_mut<R>(&mut self, f: impl FnOnce(&Arena) -> R) -> R {
            self.arena.scope_mut(f)
        }
    };
}

pub(crate) use {debug_by_stats, default_by_new, exclusive_calls};
