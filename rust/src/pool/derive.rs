//! The derive and its manual.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// Doc
#[doc(inline)]
pub use toft_derive::Columnar;
