//! What the code that a derive generates requires of the finished type, whose fields an attribute macro after the derive
//! may have changed.
// SPDX-License-Identifier: MIT OR Apache-2.0

use proc_macro2::TokenStream;
use quote::{format_ident, quote, ToTokens};

/// An arm of a match on a mutable reference to the type, for a struct or a variant. It compiles if the fields are these,
/// in any order: their number, since the pattern is exhaustive, and their types, since no reference to a value coerces
/// to a pointer to another sized type. The references in it require that the type is not packed.
pub fn arm(path: TokenStream, members: &[impl ToTokens], types: &[impl ToTokens]) -> TokenStream {
    let values: Vec<_> = (0..members.len()).map(|i| format_ident!("__value_{i}")).collect();
    quote! {
        #path { #(#members: #values),* } => {
            #(let _: *mut #types = #values;)*
        }
    }
}
