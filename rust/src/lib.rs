//! Region allocation: bump arenas, scopes, per-frame and pooled arenas, and recyclers.
//!
//! An *arena* (region, bump allocator) allocates by moving a pointer and frees everything at once. Single values are not
//! freed, so an allocation costs a compare and an add, and freeing ten thousand values costs one reset:
//!
//! ```
//! let mut arena = toft::Arena::new();
//! let point = arena.alloc((1, 2));
//! point.0 += 1;
//! arena.reset(); // `point` is freed here: the borrow checker refuses later uses
//! ```
//!
//! # Which type to use
//!
//! | memory is freed | type |
//! |---|---|
//! | all at once, by one thread | [`Arena`]; in part, [`Arena::scope`]; values that borrow, [`Scope`]; with destructors, [`Arena::boxed`], [`Arena::alloc_drop`] |
//! | all at once, with growing [`collections`] in it | [`Arena::vec`], [`Arena::string`], maps and sets |
//! | together with a value that borrows it (self-referential) | [`Owner`] with [`root!`] |
//! | with the last of the collections in it | [`RcArena`], [`ArcArena`]: counted handles |
//! | at the end of each frame, per thread | [`Frames`]; of long-lived threads: [`SharedFrames`]; dropped in steps: [`SteppedFrames`] |
//! | at the end of a request | [`Leases`] (an arena pool), [`Lease`]; moved with its value to other threads: [`Parcel`]; shared by futures: [`TaskArena`] |
//! | all at once, filled by many threads | [`SharedArena`], [`Local`] |
//! | object by object, for containers that churn | [`Recycler`], [`SyncRecycler`] |
//!
//! Coming from bumpalo: the crate `toft-bumpalo` has its names, so that a program moves by one line of its `Cargo.toml`.
//! Typed pools, free lists and structures of arrays (SoA) are in the crate `toft-pools`.
//!
//! All arenas have the same allocating calls, those of [`Allocate`]; code for any of them takes `&impl Allocate`. To give
//! memory of another kind these calls, implement [`Memory`].
//!
//! [`Options`], [`Source`], [`Pages`], [`Reserve`] and [`Limited`] say where blocks come from, and [`cache`] what a thread
//! keeps for its next arenas. [`set_metered`](Arena::set_metered), [`set_sampling`](Arena::set_sampling) and
//! [`set_checked`](Arena::set_checked) account for memory and detect misuse, switched on while the program runs. [`abi`]
//! shares arenas with C, C++, Go and Julia. For hot loops there are [`Arena::cursor`], [`Arena::alloc_batch`] and
//! [`Arena::pack`].
//!
//! # What it costs
//!
//! Allocating a type whose alignment is at most 8 is a load of the cursor, a compare with the limit and a store of the
//! new cursor. Larger alignments add two instructions. The newest allocation grows and shrinks in place, so a `Vec` at
//! the cursor never copies. [`reset`](Arena::reset) keeps the memory that recent rounds needed, so a steady workload
//! makes no slow call. A new arena comes initialised from the thread's cache.
//!
//! Every allocation starts at a multiple of 8; [`Arena::pack`] avoids that padding for strings.
//!
//! # Errors
//!
//! A call that allocates panics if there is no memory or the budget does not allow the request; its variant `try_...`
//! returns [`AllocError`] and changes nothing. The library does not print, exit or abort, with two exceptions: if the
//! environment of the process switches checks on (`TOFT_CHECKED`), [findings](Finding) are written to the standard
//! error or to a file, and `TOFT_CHECKED=abort` aborts after the first one; and without `std` a panic in a destructor
//! that the arena runs aborts, since it cannot be caught.
//!
//! # Panics
//!
//! User code runs while values are constructed: closures, `Clone` and `Default`, iterators, formatting traits. If it
//! panics, or returns an error that ends the call, the values constructed so far are dropped, and their memory is freed
//! if it is the newest allocation. This holds for every type and call; `tests/panics.rs` tests all of them. Padding, and
//! the former memory of a slice or text that moved while it grew, stays in use until
//! the reset.
//!
//! A panic of a destructor that the arena runs is resumed after all memory is freed. A panic of a hook (`on_finding`,
//! [`Arena::on_refusal`]) is caught and not resumed.
//!
//! # Collections
//!
//! `&Arena` is an allocator, and so is a counted handle, [`RcArena`]: with the feature `allocator-api2` that of
//! allocator-api2, for its `Vec` and `Box` and for hashbrown's maps; when it [is stable](https://github.com/rust-lang/rust/pull/156882),
//! that of the standard library, for its `Vec` and `Box`, and with the feature `nightly` for all of its collections. A
//! collection in an arena may grow while scopes of the arena are open.
//!
#![cfg_attr(feature = "allocator-api2", doc = "```")]
#![cfg_attr(not(feature = "allocator-api2"), doc = "```ignore")]
//! use allocator_api2::vec::Vec;
//!
//! let arena = toft::Arena::new();
//! let mut words = Vec::new_in(&arena);
//! for word in "grows at the tip of the arena".split(' ') {
//!     words.push(word);
//! }
//! assert_eq!(words.len(), 7);
//! ```
//!
//! **Not as a global allocator**, not even for a part of the program: `#[global_allocator]` must serve every thread,
//! and its memory may be freed after the end of any scope, by code that does not know of the scope (a library's cache,
//! thread-local values). Resetting an arena under such a value would allow a use after free in safe code, so there is
//! no such type. Types of values in an arena carry its lifetime.
//!
//! # Features
//!
//! Without features the crate has no dependencies, and compiles in 1.7 times the time of bump-scope. Parts that not every
//! program needs are features:
//!
//! * `frames`: [`Frames`], [`SharedFrames`], [`SteppedFrames`]. `leases`: [`Leases`], [`Parcel`], [`TaskArena`]. `shared`:
//!   [`SharedArena`]. `recycler`: [`Recycler`], [`SyncRecycler`].
//! * `diagnostics`: tags, phases, reports, samples and checked arenas; with `frames`, summaries and snapshots of frames.
//!   Without it `TOFT_CHECKED` has no effect.
//! * `full`: all of these.
//! * `allocator-api2`: its version 0.2, the only one that hashbrown 0.15 to 0.17 and bumpalo 3.20 take.
//!   `allocator-api2-03`, `allocator-api2-04`: for its own `Vec` and `Box` of these versions. `nightly`: see above.
//!   `hashbrown`: maps and sets of hashbrown 0.17 in an arena, [`collections`]; those of 0.15 and 0.16 take `&Arena`.
//! * `serde`: reports and snapshots can be serialised.
//! * `std`, on by default: the thread's cache, pages of the system, resumed panics of destructors. Without it the crate
//!   is `no_std` with `alloc`, and blocks come from the global allocator.
//!
//! # Unsafe code
//!
//! The arithmetic on sizes is in a file that forbids unsafe code (`policy.rs`). The state of an arena consists of
//! cells, so that no exclusive reference to it exists, and pointers into a block derive from the block's own pointer.
//! README.md lists which tool has checked which claim.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_std]
// On the compiler that stabilises it the feature still has its name, and warns.
#![cfg_attr(feature = "nightly", feature(allocator_api), allow(stable_features))]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Each part of the crate uses some of what the layers below it have.
#![cfg_attr(not(feature = "full"), allow(dead_code))]
#![deny(missing_debug_implementations)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(any(kani, test))]
#[macro_use]
#[path = "../tests/unit/contract.rs"]
mod contract;

mod arenas;
mod base;
#[cfg(feature = "diagnostics")]
mod diagnostics;
mod interface;
mod memory;
mod provider;
#[cfg(feature = "recycler")]
mod recycler;
mod system;
#[cfg(feature = "std")]
mod threads;

#[cfg(feature = "std")]
pub use arenas::budget::{Budget, BudgetOptions};
pub use arenas::cursor::{Cursor, Pack};
pub use arenas::lazy::LazyArena;
pub use arenas::options::Options;
pub use arenas::owner::{Owner, Root};
pub use arenas::promote::Promote;
#[cfg(feature = "region")]
pub use arenas::region::{Checkpoint, CheckpointInfo, Region, RegionMemory, Restorable, StaleCheckpoint};
pub use arenas::scope::Scope;
#[cfg(feature = "std")]
pub use arenas::sources::{Limited, Pages, Reserve};
#[doc(hidden)]
pub use base::assertions::verifies as __verifies;
#[cfg(feature = "std")]
pub use base::budget_report::{BudgetReport, LiveReport};
pub use base::error::{AllocError, InitError};
#[cfg(feature = "diagnostics")]
pub use base::finding::{Finding, Site, Written};
#[cfg(feature = "diagnostics")]
pub use base::report::{PhaseReport, Report, SiteReport, TagReport};
pub use base::source::Source;
#[cfg(all(feature = "std", feature = "diagnostics", feature = "frames"))]
pub use diagnostics::snapshot::{Snapshot, Summary, ThreadSnapshot};
#[cfg(feature = "diagnostics")]
pub use diagnostics::switches::{Allocation, Phase, Refusal, SwitchError, Tag};
pub use interface::abi;
#[cfg(all(feature = "std", feature = "shared"))]
pub use interface::counted::ArcArena;
pub use interface::counted::{Counted, Counter, RcArena};
pub use memory::allocate::Allocate;
pub use memory::arena::{Arena, BlockInfo, Borrowed, Keep, Mark, RewindError, Stats};
pub use memory::boxed::Box;
#[doc(hidden)]
pub use memory::by_layout::{dangling as __dangling, CallSite as __CallSite};
pub use memory::by_layout::{Blocks, Heap, Memory};
pub use memory::collections;
pub use memory::collections::CollectIn;
#[cfg(all(feature = "std", feature = "recycler"))]
pub use recycler::SyncRecycler;
#[cfg(feature = "recycler")]
pub use recycler::{Recycler, RecyclerStats};
#[cfg(all(feature = "std", feature = "diagnostics"))]
pub use system::hook::on_finding;
#[cfg(all(feature = "std", feature = "frames"))]
pub use threads::frames::{Frames, SteppedFrames};
#[cfg(all(feature = "std", feature = "leases"))]
pub use threads::lease::{Lease, LeaseStats, Leases};
#[cfg(all(feature = "std", feature = "leases"))]
pub use threads::parcel::Parcel;
#[cfg(all(feature = "std", feature = "shared"))]
pub use threads::shared::{Local, SharedArena};
#[cfg(all(feature = "std", feature = "frames"))]
pub use threads::shared_frames::{FrameParty, SharedFrames};
#[cfg(all(feature = "std", feature = "leases"))]
pub use threads::task::TaskArena;

#[doc(hidden)]
pub mod __alloc {
    pub use alloc::vec;
}

#[doc(hidden)]
pub mod __buffer {
    //! For toft-pools. It may change in any release.
    pub use crate::memory::buffer::{grow_amortised, least_capacity, reallocate, Buffer, Elements};
}

#[cfg(feature = "std")]
pub mod cache {
    //! The caches from which arenas on the heap take their memory, and to which they return it.
    //!
    //! Each thread keeps arenas, and blocks below 1 MiB, up to 4 MiB in all, and returns them to the system when it
    //! ends. Larger blocks are pages that all threads share: the process keeps as many as were in use at once in the
    //! current or the previous window of half a second, up to 256 MiB, and returns the surplus when a thread next takes
    //! or returns blocks. In an idle process a [background thread](set_background_thread) does so, if it is switched on;
    //! above 32 MiB whole huge pages are freed lazily, so that the system takes them when it needs memory.
    pub use crate::system::background::set_background_thread;
    pub use crate::system::heap::cache::{held, set_limit, trim};
    pub use crate::system::page_cache::{held as pages_held, set_page_limit, set_page_window};
}

// The examples of README.md are tests.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../README.md")]
struct Readme;
