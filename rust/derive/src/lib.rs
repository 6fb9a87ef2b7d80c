//! `#[derive(Columnar)]` of the crate `toft-pools` and `#[derive(Freeze)]` of the crate `toft-frozen`, which export and
//! document them.
//!
//! `Columnar` has three steps: `input` parses the struct and its attributes and reports errors; `columns` assigns fields to
//! columns; `views`, `traits` and `methods` generate the code.
//! `finished` generates, for both, what the code requires of the type itself.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod columns;
mod finished;
mod freeze;
mod input;
mod methods;
mod names;
mod traits;
mod views;

use proc_macro::TokenStream;

/// Implements `Columnar` and generates its structs of references and slices. Documented at `toft_pools::Columnar`.
#[proc_macro_derive(Columnar, attributes(columns))]
pub fn columnar(input: TokenStream) -> TokenStream {
    expand(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Freeze`. Documented at `toft_frozen::Freeze`.
#[proc_macro_derive(Freeze)]
pub fn freeze(input: TokenStream) -> TokenStream {
    syn::parse(input).and_then(|input| freeze::write(&input)).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn expand(tokens: proc_macro2::TokenStream) -> syn::Result<proc_macro2::TokenStream> {
    let input = input::Input::parse(tokens)?;
    let columns = columns::Columns::of(&input)?;
    let names = names::Names::of(&input);
    let (views, traits) = (views::write(&input, &columns, &names), traits::write(&input, &columns, &names));
    Ok(quote::quote!(#views #traits))
}
