//! The names and generics of the generated code.
// SPDX-License-Identifier: MIT OR Apache-2.0

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, ToTokens};
use syn::ext::IdentExt;
use syn::{GenericParam, Generics, Lifetime, LifetimeParam, Type, WhereClause};

use crate::input::{mentions, Field, Input};

pub struct Names {
    pub this: Ident,
    /// The name of the struct for documentation.
    pub text: String,
    pub row_ref: Ident,
    pub row_mut: Ident,
    pub slices: Ident,
    pub slices_mut: Ident,
    /// The struct of column addresses, in a scope of its own.
    pub raw: Ident,
    /// The struct of the types of the fields, likewise.
    pub fields: Ident,
    /// The lifetime of a view.
    pub a: Lifetime,
    /// A second lifetime, for functions.
    pub b: Lifetime,
    /// The lifetime in `for<'t> (&'t F, ...): Trait`. If such a bound is false for fields of known types, the impl does
    /// not apply; without the lifetime the compiler would reject the impl.
    pub trivial: Lifetime,
    /// The path of the crate.
    pub pool: TokenStream,
    /// The generics of the struct, with the bounds that nested fields require.
    pub generics: Generics,
    /// The same with `'a` as the first parameter.
    pub view_generics: Generics,
}

impl Names {
    pub fn of(input: &Input) -> Names {
        let taken = lifetimes(input.tokens.clone());
        let (a, b) = (fresh("a", &taken), fresh("b", &taken));
        let text = input.ident.unraw().to_string();
        let toft = &input.toft;
        let pool = quote!(#toft);
        let mut generics = input.generics.clone();
        for field in &input.fields {
            if field.nested && depends(input, &field.ty) {
                let ty = &field.ty;
                generics.make_where_clause().predicates.push(syn::parse_quote!(#ty: #pool::Columnar));
            }
        }
        let mut view_generics = generics.clone();
        view_generics.params.insert(0, GenericParam::Lifetime(LifetimeParam::new(a.clone())));
        Names {
            this: input.ident.clone(),
            row_ref: format_ident!("{}Ref", text, span = input.ident.span()),
            row_mut: format_ident!("{}Mut", text, span = input.ident.span()),
            slices: format_ident!("{}Slices", text, span = input.ident.span()),
            slices_mut: format_ident!("{}SlicesMut", text, span = input.ident.span()),
            raw: format_ident!("__{}Raw", text),
            fields: format_ident!("__{}Fields", text),
            text,
            a,
            b,
            trivial: fresh("t", &taken),
            pool,
            generics,
            view_generics,
        }
    }

    /// The struct with its arguments.
    pub fn this_type(&self) -> TokenStream {
        let (this, (_, arguments, _)) = (&self.this, self.generics.split_for_impl());
        quote!(#this #arguments)
    }

    /// A view with its arguments and this lifetime.
    pub fn view_type(&self, view: &Ident, borrowed: &Lifetime) -> TokenStream {
        let mut generics = self.generics.clone();
        generics.params.insert(0, GenericParam::Lifetime(LifetimeParam::new(borrowed.clone())));
        let (_, arguments, _) = generics.split_for_impl();
        quote!(#view #arguments)
    }

    /// The `where` clause of the struct with further bounds.
    pub fn bounds(&self, more: impl IntoIterator<Item = TokenStream>) -> WhereClause {
        let mut clause = self
            .generics
            .where_clause
            .clone()
            .unwrap_or(WhereClause { where_token: Default::default(), predicates: Default::default() });
        clause.predicates.extend(more.into_iter().map(|bound| -> syn::WherePredicate { syn::parse_quote!(#bound) }));
        clause
    }

    /// The bound of [`trivial`](Names::trivial).
    pub fn bound(&self, ty: impl ToTokens, of: impl ToTokens) -> TokenStream {
        let trivial = &self.trivial;
        quote!(for<#trivial> #ty: #of)
    }

    /// The bounds that nested fields require for views.
    pub fn nested_views(&self, input: &Input) -> Vec<TokenStream> {
        let pool = &self.pool;
        let nested = input.fields.iter().filter(|field| field.nested && depends(input, &field.ty));
        nested.map(|Field { ty, .. }| quote!(#ty: #pool::ColumnarViews)).collect()
    }
}

/// Whether the type contains a generic parameter of the struct.
pub fn depends(input: &Input, ty: &Type) -> bool {
    let parameters: Vec<&Ident> = input.generics.params.iter().filter_map(parameter).collect();
    mentions(ty.to_token_stream(), &parameters)
}

pub fn parameter(parameter: &GenericParam) -> Option<&Ident> {
    match parameter {
        GenericParam::Type(ty) => Some(&ty.ident),
        GenericParam::Const(constant) => Some(&constant.ident),
        GenericParam::Lifetime(_) => None,
    }
}

pub fn has_lifetimes(tokens: TokenStream) -> bool {
    !lifetimes(tokens).is_empty()
}

fn lifetimes(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        match (token, rest.peek()) {
            (TokenTree::Punct(punct), Some(TokenTree::Ident(name))) if punct.as_char() == '\'' => {
                found.push(name.to_string())
            }
            (TokenTree::Group(group), _) => found.extend(lifetimes(group.stream())),
            _ => {}
        }
    }
    found
}

fn fresh(letter: &str, taken: &[String]) -> Lifetime {
    let mut name = letter.to_string();
    while taken.contains(&name) {
        name.insert_str(0, "columns_");
    }
    Lifetime::new(&format!("'{name}"), Span::call_site())
}
