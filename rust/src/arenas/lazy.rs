//! An arena that its first use creates.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::OnceCell;

use crate::base::error::{or_panic, AllocError};
use crate::memory::arena::Arena;

/// An arena in a field, which the first use creates: no memory until then, and a value in a constant.
///
/// ```
/// use toft::LazyArena;
///
/// struct Parser {
///     line: u32,
///     memory: LazyArena,
/// }
/// let mut parser = Parser { line: 1, memory: LazyArena::new() };
/// assert!(!parser.memory.is_created());
/// let name = parser.memory.get().alloc_str("a node");
/// assert_eq!(name, "a node");
/// parser.memory.reset();
/// assert_eq!((parser.line, parser.memory.get().stats().live), (1, 0));
/// ```
#[derive(Debug, Default)]
pub struct LazyArena(OnceCell<Arena>);

impl LazyArena {
    /// Without an arena.
    pub const fn new() -> LazyArena {
        LazyArena(OnceCell::new())
    }

    /// Returns the arena, and creates it if there is none.
    ///
    /// # Panics
    /// If there is no memory.
    #[inline]
    pub fn get(&self) -> &Arena {
        match self.0.get() {
            Some(arena) => arena,
            None => or_panic(self.try_get()),
        }
    }

    /// As [`get`](LazyArena::get).
    ///
    /// # Errors
    /// If there is no memory.
    #[cold]
    pub fn try_get(&self) -> Result<&Arena, AllocError> {
        if self.0.get().is_none() {
            _ = self.0.set(Arena::try_new()?);
        }
        self.0.get().ok_or(AllocError)
    }

    /// Returns the arena exclusively, and creates it if there is none.
    ///
    /// ```
    /// let mut lazy = toft::LazyArena::new();
    /// lazy.get_mut().trim(0);
    /// assert!(lazy.is_created());
    /// ```
    ///
    /// # Panics
    /// If there is no memory.
    pub fn get_mut(&mut self) -> &mut Arena {
        _ = self.get();
        self.0.get_mut().expect("it was created")
    }

    /// Whether there is an arena.
    pub fn is_created(&self) -> bool {
        self.0.get().is_some()
    }

    /// As [`Arena::reset`]; nothing happens without an arena.
    pub fn reset(&mut self) {
        if let Some(arena) = self.0.get_mut() {
            arena.reset();
        }
    }

    /// Takes the arena out; its drop frees the memory.
    ///
    /// ```
    /// let mut lazy = toft::LazyArena::new();
    /// assert!(lazy.take().is_none());
    /// lazy.get();
    /// assert!(lazy.take().is_some() && !lazy.is_created());
    /// ```
    pub fn take(&mut self) -> Option<Arena> {
        self.0.take()
    }
}
