//! The Toft arena ABI: the head of four words, the table of functions, and the inline paths of clients.
//!
//! Code in another language sees an arena through these structs, as this crate sees arenas of other providers. Rust
//! code that has an [`Arena`](crate::Arena) needs none of it. The layouts are those of `toft_abi.h`, version 1; rules
//! with letters (U2, M4) are those of the specification, `abi/SPEC.md`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

pub use crate::base::abi_types::{
    free, info_of, mark, rewind, Cleanup, Head, InfoOps, Mark, Ops, ProviderInfo, Range, Stats, EARG, EBUSY, ECORRUPT,
    EMARK, ENOMEM, ENOSYS, KEEP_ALL, KEEP_BYTES, KEEP_RECENT, OK, SET_BUDGET, SET_CHECKED, SET_SAMPLE, SET_TAG, STAY,
    VERSION, ZERO,
};
pub use crate::provider::dispatch::{alloc, alloc_aligned, resize};
