//! [bumpalo]'s names for [Toft](toft)'s arenas. A program written for bumpalo 3 moves by one line of its `Cargo.toml`:
//!
//! ```toml
//! bumpalo = { package = "toft-bumpalo", version = "0.1", features = ["collections"] }
//! ```
//!
//! Its dependencies move by `[patch.crates-io]`; the README shows the package that this needs.
//!
//! ```
//! use toft_bumpalo::{self as bumpalo, collections::Vec, Bump};
//!
//! let bump = Bump::new();
//! let mut words = Vec::new_in(&bump);
//! words.extend(["plots", "of", "land"]);
//! let line = bumpalo::format!(in &bump, "{} {}", words.len(), words.join(" "));
//! assert_eq!(line, "3 plots of land");
//! ```
//!
//! [`Bump`] is an [`Arena`]: [`AsRef`] and [`Bump::from_ref`] convert references, so a program can use Toft's own calls
//! one by one. Boxes and collections convert to and from Toft's by `From`.
//!
//! Names and features are those of bumpalo 3.20: `collections`, `boxed`, `allocator-api2`, `allocator_api`, `serde`,
//! `std`. Two are added: `cache`, on by default, uses the thread's cache of blocks, and needs the standard library;
//! `next` has what bumpalo's repository has and 3.20 lacks: `emplace...`, raw checkpoints, and `Allocator` for `Bump` by value.
//!
//! # What differs
//!
//! * Each allocation takes a multiple of 8 bytes; in bumpalo, a multiple of `MIN_ALIGN`.
//! * The later of two allocations has the higher address: [`Bump::iter_allocated_chunks`].
//! * A limit counts allocated bytes, exactly, and not blocks: [`Bump::set_allocation_limit`],
//!   [`Bump::allocated_bytes`].
//! * An empty `Bump` has a block of 4096 bytes, which comes from the thread's cache and returns to it. [`Bump::reset`]
//!   keeps what recent rounds needed, not the largest block.
//! * [`Bump::alloc_try_with`] makes the value first and allocates afterwards, so an error takes no memory.
//! * `boxed::Box::pin_in` takes types that are `Unpin`.
//! * A collection that ends frees its memory if it is the newest, as does the unused capacity of `into_bump_slice`.
//!
//! [bumpalo]: https://docs.rs/bumpalo
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_std]
// `allocator_api` stays a feature of the compiler that other versions may accept.
#![cfg_attr(feature = "allocator_api", feature(allocator_api), allow(stable_features))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_debug_implementations)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod allocate;
mod allocator;
#[cfg(feature = "boxed")]
pub mod boxed;
mod chunks;
#[cfg(feature = "collections")]
pub mod collections;
#[cfg(feature = "next")]
mod emplace;
#[cfg(any(feature = "collections", feature = "next"))]
mod forward;
#[cfg(feature = "collections")]
mod macros;

#[doc(hidden)]
pub extern crate alloc as core_alloc;

use toft::{Arena, Options};

pub use chunks::{ChunkIter, ChunkRawIter};
#[cfg(feature = "next")]
pub use emplace::{Emplace, EmplaceSlice, EmplaceStr, RawCheckpoint};
#[doc(inline)]
pub use toft::{AllocError as AllocErr, InitError as AllocOrInitError};

/// An [`Arena`] with bumpalo's calls. Every allocation is aligned to `MIN_ALIGN`, and to 8, at the least.
///
/// It belongs to one thread at a time: it is `Send`, not `Sync`. Destructors of values in it do not run; a
/// [`boxed::Box`] runs its value's. Calls that allocate panic when there is no memory or the limit does not allow more;
/// each has a twin, `try_...`, that returns an error and changes nothing.
///
/// ```
/// use toft_bumpalo::Bump;
///
/// let mut bump = Bump::new();
/// let origin = bump.alloc((0, 0));
/// origin.0 += 1;
/// assert_eq!(*origin, (1, 0));
/// bump.reset();
/// ```
#[derive(Debug)]
#[repr(transparent)]
pub struct Bump<const MIN_ALIGN: usize = 1> {
    arena: Arena,
}

impl Bump<1> {
    /// An arena with one block of 4096 bytes. The thread's cache makes it cheap: a few nanoseconds.
    ///
    /// # Panics
    /// If there is no memory.
    #[inline]
    pub fn new() -> Bump {
        Bump::with_min_align()
    }

    /// As [`new`](Bump::new), with an error instead of the panic.
    #[inline]
    pub fn try_new() -> Result<Bump, AllocErr> {
        Bump::try_with_min_align_and_capacity(0)
    }

    /// An arena whose first block has room for `capacity` bytes, up to 64 MiB; beyond that it grows.
    ///
    /// The block is taken by the first allocation that needs it.
    ///
    /// # Panics
    /// If there is no memory, or `capacity` is above `isize::MAX / 2`.
    pub fn with_capacity(capacity: usize) -> Bump {
        Bump::with_min_align_and_capacity(capacity)
    }

    /// As [`with_capacity`](Bump::with_capacity), with an error instead of the panic.
    pub fn try_with_capacity(capacity: usize) -> Result<Bump, AllocErr> {
        Bump::try_with_min_align_and_capacity(capacity)
    }

    /// An arena by bumpalo's name: for bumpalo's collections in an arena or a scope that is there already.
    ///
    /// ```
    /// use toft_bumpalo::{collections::Vec, Bump};
    ///
    /// let arena = toft::Arena::new();
    /// let sum = arena.scope(|scope| {
    ///     let numbers = Vec::from_iter_in(1..=10, Bump::from_ref(scope));
    ///     numbers.iter().sum::<i32>()
    /// });
    /// assert_eq!((sum, arena.stats().live), (55, 0));
    /// ```
    #[inline(always)]
    pub fn from_ref(arena: &Arena) -> &Bump {
        // SAFETY: a Bump is an arena and nothing else (repr(transparent)).
        unsafe { &*core::ptr::from_ref(arena).cast::<Bump>() }
    }
}

impl<const MIN_ALIGN: usize> Bump<MIN_ALIGN> {
    /// As [`Bump::new`], with every allocation aligned to `MIN_ALIGN`.
    ///
    /// ```
    /// use toft_bumpalo::Bump;
    ///
    /// let bump = Bump::<16>::with_min_align();
    /// assert_eq!(bump.alloc(1u8) as *const u8 as usize % 16, 0);
    /// ```
    ///
    /// # Panics
    /// If there is no memory, or `MIN_ALIGN` is not 1, 2, 4, 8 or 16.
    #[inline]
    pub fn with_min_align() -> Self {
        Self::with_min_align_and_capacity(0)
    }

    /// As [`Bump::with_capacity`], with every allocation aligned to `MIN_ALIGN`.
    ///
    /// # Panics
    /// As `with_capacity`, and if `MIN_ALIGN` is not 1, 2, 4, 8 or 16.
    #[inline]
    pub fn with_min_align_and_capacity(capacity: usize) -> Self {
        match Self::try_with_min_align_and_capacity(capacity) {
            Ok(bump) => bump,
            Err(e) => panic!("toft: {e}"),
        }
    }

    /// As [`with_min_align_and_capacity`](Bump::with_min_align_and_capacity), with an error instead of the panic for
    /// want of memory.
    ///
    /// # Panics
    /// If `MIN_ALIGN` is not 1, 2, 4, 8 or 16.
    #[inline]
    pub fn try_with_min_align_and_capacity(capacity: usize) -> Result<Self, AllocErr> {
        assert!(matches!(MIN_ALIGN, 1 | 2 | 4 | 8 | 16), "toft: MIN_ALIGN is not 1, 2, 4, 8 or 16");
        let arena = match capacity {
            0 => Arena::try_new()?,
            _ => Options::new().reserve(capacity).create()?,
        };
        Ok(Bump { arena })
    }

    /// `MIN_ALIGN`. Allocations are aligned to 8 in any case.
    #[inline]
    pub fn min_align(&self) -> usize {
        MIN_ALIGN
    }

    // ---- the limit ----

    /// The limit that was set; `None`: there is none.
    pub fn allocation_limit(&self) -> Option<usize> {
        match self.arena.stats().budget {
            u64::MAX => None,
            limit => Some(usize::try_from(limit).unwrap_or(usize::MAX)),
        }
    }

    /// Limits the bytes that may be allocated at a time; `None`: no limit.
    ///
    /// This is the arena's [budget](Arena::set_budget). It counts bytes that are allocated and not freed, exactly,
    /// and holds for the block at hand, too. bumpalo counts the blocks, and compares only when it takes a new one. Blocks
    /// may hold more than the limit allows: [`toft::Limited`] is a source that counts those.
    ///
    /// ```
    /// let bump = toft_bumpalo::Bump::new();
    /// bump.set_allocation_limit(Some(100));
    /// assert!(bump.try_alloc([0u8; 100]).is_err()); // 104, as a multiple of 8
    /// assert!(bump.try_alloc([0u8; 96]).is_ok());
    /// assert!(bump.try_alloc(0).is_err());
    /// ```
    ///
    /// # Panics
    /// If a scope or cursor of the arena is open.
    pub fn set_allocation_limit(&self, limit: Option<usize>) {
        if self.arena.set_budget(limit.map(|bytes| bytes as u64)).is_err() {
            panic!("toft: the limit cannot change while a scope or a cursor is open");
        }
    }

    // ---- giving back ----

    /// Frees every allocation, and keeps the memory that recent rounds needed for the next. Takes time linear in blocks.
    ///
    /// ```
    /// let mut bump = toft_bumpalo::Bump::new();
    /// for round in 0..10 {
    ///     for i in 0..1000 {
    ///         bump.alloc(round * i);
    ///     }
    ///     bump.reset();
    /// }
    /// ```
    #[inline]
    pub fn reset(&mut self) {
        self.arena.reset();
    }

    // ---- looking ----

    /// Bytes that the current block has left, or the first one will have.
    ///
    /// ```
    /// let bump = toft_bumpalo::Bump::with_capacity(10_000);
    /// assert!(bump.chunk_capacity() >= 10_000);
    /// ```
    pub fn chunk_capacity(&self) -> usize {
        self.arena.remaining()
    }

    /// Bytes that are allocated and not freed, paddings included: the limit counts these.
    ///
    /// bumpalo counts what its blocks have left, too. What is held of the heap is
    /// [`allocated_bytes_including_metadata`](Bump::allocated_bytes_including_metadata).
    ///
    /// ```
    /// let mut bump = toft_bumpalo::Bump::new();
    /// bump.alloc_slice_fill_copy(5, 0u32);
    /// assert_eq!(bump.allocated_bytes(), 24);
    /// bump.reset();
    /// assert_eq!(bump.allocated_bytes(), 0);
    /// assert!(bump.allocated_bytes_including_metadata() >= 4096);
    /// ```
    pub fn allocated_bytes(&self) -> usize {
        self.arena.stats().live as usize
    }

    /// Bytes that this arena holds of the heap or its source, used or not, with its own records. Linear in blocks.
    pub fn allocated_bytes_including_metadata(&self) -> usize {
        self.arena.stats().reserved as usize
    }
}

impl<const MIN_ALIGN: usize> Default for Bump<MIN_ALIGN> {
    fn default() -> Self {
        Self::with_min_align()
    }
}

/// All of the arena's calls.
impl<const MIN_ALIGN: usize> AsRef<Arena> for Bump<MIN_ALIGN> {
    #[inline(always)]
    fn as_ref(&self) -> &Arena {
        &self.arena
    }
}

/// An arena of any make: one with a source of its own, say.
impl<const MIN_ALIGN: usize> From<Arena> for Bump<MIN_ALIGN> {
    fn from(arena: Arena) -> Self {
        Bump { arena }
    }
}

impl<const MIN_ALIGN: usize> From<Bump<MIN_ALIGN>> for Arena {
    fn from(bump: Bump<MIN_ALIGN>) -> Arena {
        bump.arena
    }
}
