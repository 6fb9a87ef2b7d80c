//! An attribute that replaces a type after the macros before it have read the fields, as any attribute macro may.
// SPDX-License-Identifier: MIT OR Apache-2.0

use proc_macro::TokenStream;

/// Replaces the item by the tokens in the attribute.
#[proc_macro_attribute]
pub fn becomes(replacement: TokenStream, _item: TokenStream) -> TokenStream {
    replacement
}
