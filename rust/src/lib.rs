//! Arenas: allocate by moving a pointer, give everything back at once. The crate `toft-pools` has what comes and goes one by one.
//!
//! ```
//! use toft::Arena;
//!
//! let mut arena = Arena::new();
//! for round in 0..3 {
//!     let point = arena.alloc((round, 2));
//!     point.0 += 1;
//!     let text = toft::format_in!(arena, "({}, {})", point.0, point.1);
//!     assert_eq!(text.len(), 6);
//!     arena.reset(); // `point` and `text` are gone: to use them from here on does not compile
//! }
//! ```
//!
//! # What is here
//!
//! | | |
//! |---|---|
//! | [`Arena`] | values, slices, text, any layout; reset, budgets, statistics |
//! | [`Arena::scope`], [`scope_guard`](Arena::scope_guard), [`scope_mut`](Arena::scope_mut) | part of an arena's life, given back at its end |
//! | [`collections`] | growing vectors, strings, maps and sets in an arena: [`Arena::vec`], [`Arena::string`] |
//! | [`Arena::alloc_batch`] | several values by one allocation, each borrowed by itself |
//! | [`Arena::cursor`] | the cursor in registers, for hot loops |
//! | [`Arena::pack`] | strings side by side |
//! | [`Arena::alloc_drop`], [`alloc_pin`](Arena::alloc_pin) | values that are dropped when their memory is given back |
//! | [`Box`], [`unsize!`] | values that are dropped with their box; trait objects |
//! | [`Box::promote`] | a value to a longer-lived arena, with its destructor |
//! | [`Scope`] | an arena that borrows: a buffer, a source, what its values point to |
//! | [`Owner`], [`root!`] | an arena and a value that borrows it, in one |
//! | [`Frames`] | an arena for each thread, all emptied together when the frame ends |
//! | [`Buffered`] | frames that overlap: the last N, with what each published |
//! | [`Leases`], [`Lease`], [`Parcel`] | arenas from a cache that threads share; a value and its arena, to hand on |
//! | [`TaskArena`] | an arena that the futures of a task share |
//! | [`SharedArena`], [`Local`] | an arena that many threads fill at once, without a lock |
//! | [`Recycler`], [`SyncRecycler`] | memory that is freed piece by piece, for containers that churn: on one thread, on all |
//! | [`Options`], [`Source`], [`Pages`], [`Reserve`], [`Limited`] | where blocks come from |
//! | [`set_metered`](Arena::set_metered), [`set_sampling`](Arena::set_sampling), [`set_checked`](Arena::set_checked) | where memory goes, and what goes wrong: switched on while the program runs |
//! | [`cache`] | what a thread keeps for its next arenas |
//! | [`bumpalo`] | all of this under the names of bumpalo: a program moves by one `use` |
//! | [`abi`] | arenas shared with C, C++, Go and Julia |
//!
//! # What it costs
//!
//! `alloc` of a type whose alignment is at most 8 is a load of the cursor, a compare with the limit and a store of the
//! new cursor. Larger alignments add two instructions. The last allocation can grow and shrink in place, so a `Vec` at the
//! arena's tip never copies. `reset` keeps what recent rounds needed: a steady program makes no slow call. A new arena
//! comes from the thread's cache, initialised.
//!
//! Every allocation starts at a multiple of 8; what that wastes on text, [`Arena::pack`] saves.
//!
//! # Errors
//!
//! A call that allocates panics when there is no memory or the budget does not allow it; its twin, `try_...`, returns
//! [`AllocError`] and changes nothing. Nothing here prints, exits or aborts, with two exceptions: where the environment of the
//! process switches checks on (`TOFT_CHECKED`), [findings](Finding) are written to the standard error or to a file, and
//! `TOFT_CHECKED=abort` aborts after the first one; and without `std` a panic in a destructor that the arena runs aborts,
//! since it cannot be caught there.
//!
//! # Panics
//!
//! Code of the program runs while values are made: closures, `Clone` and `Default`, iterators, formatting traits. If it
//! panics, or returns an error that ends the call, then what was made is dropped, and the memory is given back if it is the
//! newest allocation. That is the rule for every type here and every call, those of [`bumpalo`] included; `tests/panics.rs`
//! tries them all. What alignment skipped, and what a growing slice or text left behind when it moved, stays in use until the
//! reset.
//!
//! A panic of a destructor that the arena runs goes on when everything is given back. One of a hook
//! (`on_finding`, [`Arena::on_refusal`]) ends there.
//!
//! # Collections
//!
//! `&Arena` is an allocator: of allocator-api2 with the feature `allocator-api2`, for its `Vec` and `Box` and for
//! hashbrown's maps on a stable compiler; of the standard library with the feature `nightly`, for all of its collections.
//! A collection in an arena may grow while scopes of it are open.
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
//! **Not as a global allocator**, not for a scope of the program either: `#[global_allocator]` must serve every thread, and
//! what it serves may be freed after any scope's end, by code that does not know of it (a library's cache, a thread's
//! locals). An arena that is reset under such a value would be used after its end from safe code, so there is no such type
//! here. What can be in an arena says so in its type.
//!
//! # Features
//!
//! * `std`, on by default: the thread's cache, pages of the system, panics of destructors carried on. Without it the crate is
//!   `no_std` with `alloc`, and blocks come from the global allocator.
//! * `allocator-api2`, `nightly`: see above.
//! * `hashbrown`: its maps and sets in an arena, [`collections`]; and `allocator-api2`.
//! * `serde`: reports and snapshots can be stored. Without these the crate depends on nothing.
//!
//! # Unsafe code
//!
//! Arithmetic on sizes lives in a file that forbids it (`policy.rs`). The state of an arena consists of cells, so that no
//! reference to it is ever exclusive, and pointers into a block derive from the block's own. README.md says which tool has
//! checked which claim.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_std]
// What of it is stable by 1.100 is stable there under the old name too, and warns of it.
#![cfg_attr(feature = "nightly", feature(allocator_api, cfg_version), allow(stable_features))]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_debug_implementations)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod abi;
mod allocate;
#[cfg(any(feature = "allocator-api2", feature = "nightly"))]
mod allocator;
#[cfg(feature = "nightly")]
mod allocator_clone;
mod arena;
mod batch;
mod boxed;
#[cfg(feature = "std")]
mod buffered;
pub mod bumpalo;
pub mod collections;
mod construct;
mod cursor;
mod diagnostics;
mod drops;
mod error;
mod foreign;
#[cfg(feature = "std")]
mod frames;
mod heap;
#[cfg(feature = "std")]
mod hook;
#[cfg(not(feature = "std"))]
#[path = "hook_bare.rs"]
mod hook;
#[cfg(feature = "std")]
mod lease;
#[cfg(feature = "std")]
mod lock;
mod memory;
mod options;
#[cfg(feature = "std")]
mod os;
mod owner;
#[cfg(feature = "std")]
mod parcel;
mod policy;
#[cfg(feature = "std")]
mod process;
mod promote;
mod provider;
mod recycler;
mod report;
mod scope;
#[cfg(feature = "std")]
mod shared;
#[cfg(feature = "std")]
mod snapshot;
mod source;
#[cfg(feature = "std")]
mod sources;
#[cfg(feature = "std")]
mod task;

pub use arena::{Arena, BlockInfo, Borrowed, Keep, Mark, RewindError, Stats};
pub use boxed::Box;
#[cfg(feature = "std")]
pub use buffered::{Buffered, Past};
pub use cursor::{Cursor, Pack};
pub use diagnostics::{Allocation, Phase, Refusal, SwitchError, Tag};
pub use error::{AllocError, InitError};
#[cfg(feature = "std")]
pub use frames::Frames;
#[cfg(feature = "std")]
pub use hook::on_finding;
#[cfg(feature = "std")]
pub use lease::{Lease, LeaseStats, Leases};
pub use memory::{Blocks, Heap, Memory};
pub use options::Options;
pub use owner::{Owner, Root};
#[cfg(feature = "std")]
pub use parcel::Parcel;
pub use promote::Promote;
#[cfg(feature = "std")]
pub use recycler::SyncRecycler;
pub use recycler::{Recycler, RecyclerStats};
pub use report::{Finding, PhaseReport, Report, Site, SiteReport, TagReport, Written};
pub use scope::Scope;
#[cfg(feature = "std")]
pub use shared::{Local, SharedArena};
#[cfg(feature = "std")]
pub use snapshot::{Snapshot, Summary, ThreadSnapshot};
pub use source::Source;
#[cfg(feature = "std")]
pub use sources::{Limited, Pages, Reserve};
#[cfg(feature = "std")]
pub use task::TaskArena;

/// For what `loom/` tries too, with loom's own: looks at a lock that is taken before the processor goes to somebody else.
#[cfg(feature = "std")]
const SPINS: usize = 64;
#[cfg(feature = "std")]
use core::sync::atomic;
#[cfg(feature = "std")]
use std::thread::yield_now;

#[cfg(feature = "std")]
pub mod cache {
    //! The thread's cache of arenas and blocks, from which arenas on the heap take, and to which they return.
    //!
    //! Each thread keeps up to a total of 4 MiB, and returns it when it ends.
    pub use crate::heap::cache::{held, set_limit, trim};
}

// The examples of README.md are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
