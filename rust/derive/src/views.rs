//! The structs of references and slices with their traits, and the structs of groups.
// SPDX-License-Identifier: MIT OR Apache-2.0

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned, ToTokens};
use syn::spanned::Spanned;
use syn::{GenericParam, Generics, Lifetime};

use crate::columns::{Column, Columns, Group};
use crate::input::{mentions, Field, Input};
use crate::names::{depends, has_lifetimes, parameter, Names};

/// The lints that are allowed in generated code.
pub fn allowances() -> TokenStream {
    quote!(#[allow(
        dead_code, deprecated, elided_lifetimes_in_paths, explicit_outlives_requirements, missing_debug_implementations,
        non_camel_case_types, non_snake_case, private_bounds, private_interfaces, single_use_lifetimes, unreachable_pub,
        unused_lifetimes, unused_qualifications, unused_variables,
        clippy::all, clippy::nursery, clippy::pedantic
    )])
}

/// One field of a view.
struct Part<'i> {
    member: TokenStream,
    vis: &'i syn::Visibility,
    docs: TokenStream,
    of: PartOf<'i>,
}

enum PartOf<'i> {
    Plain(&'i Field),
    Nested(&'i Field),
    Group(&'i Group<'i>),
}

#[derive(Clone, Copy, PartialEq)]
enum View {
    Ref,
    Mut,
    Slices,
    SlicesMut,
}

impl View {
    fn name(self, names: &Names) -> &Ident {
        match self {
            View::Ref => &names.row_ref,
            View::Mut => &names.row_mut,
            View::Slices => &names.slices,
            View::SlicesMut => &names.slices_mut,
        }
    }

    /// Of a nested field.
    fn assoc(self) -> TokenStream {
        match self {
            View::Ref => quote!(Ref),
            View::Mut => quote!(Mut),
            View::Slices => quote!(Slices),
            View::SlicesMut => quote!(SlicesMut),
        }
    }

    fn is_rows(self) -> bool {
        matches!(self, View::Ref | View::Mut)
    }

    fn is_shared(self) -> bool {
        matches!(self, View::Ref | View::Slices)
    }

    /// The type that a member refers to; a view if it is nested.
    fn target(self, of: &PartOf, names: &Names, a: &Lifetime) -> TokenStream {
        let pool = &names.pool;
        let (_, arguments, _) = names.generics.split_for_impl();
        let element = match of {
            PartOf::Plain(field) => field.ty.to_token_stream(),
            PartOf::Group(Group { row, .. }) => quote!(#row #arguments),
            PartOf::Nested(Field { ty, .. }) => {
                let view = self.assoc();
                return quote!(<#ty as #pool::Columnar>::#view<#a>);
            }
        };
        match self.is_rows() {
            true => element,
            false => quote!([#element]),
        }
    }

    /// The type of a member.
    fn part(self, of: &PartOf, names: &Names, a: &Lifetime) -> TokenStream {
        let target = self.target(of, names, a);
        match of {
            PartOf::Nested(_) => target,
            _ if self.is_shared() => quote!(&#a #target),
            _ => quote!(&#a mut #target),
        }
    }
}

pub fn write(input: &Input, columns: &Columns, names: &Names) -> TokenStream {
    let rows: Vec<Part> = input.fields.iter().map(|field| field_part(field, "of the row")).collect();
    let slices: Vec<Part> = columns.0.iter().map(column_part).collect();
    let groups = columns.0.iter().filter_map(|column| match column {
        Column::Group(group) => Some(write_group(input, group, names)),
        Column::Field(_) => None,
    });
    let views = [View::Ref, View::Mut, View::Slices, View::SlicesMut].map(|view| {
        let parts = if view.is_rows() { &rows } else { &slices };
        let (structure, traits) = (write_view(input, view, parts, names), write_traits(view, parts, input, names));
        quote!(#structure #traits)
    });
    let nested = check_nested(input, names);
    quote!(#nested #(#groups)* #(#views)*)
}

/// Checks that the types of nested fields are `Columnar`. It comes first, so that the first error is at the field.
fn check_nested(input: &Input, names: &Names) -> TokenStream {
    let (pool, allowances) = (&names.pool, allowances());
    let known = |field: &&Field| !depends(input, &field.ty) && !has_lifetimes(field.ty.to_token_stream());
    let fields = input.fields.iter().filter(|field| field.nested).filter(known);
    let checks = fields.map(|Field { ty, .. }| {
        let raw = quote_spanned!(ty.span()=> <#ty as #pool::Columnar>::Raw);
        quote! {
            const _: () = {
                #allowances
                struct __Nested(#raw);
            };
        }
    });
    checks.collect()
}

fn field_part<'i>(field: &'i Field, of: &str) -> Part<'i> {
    let docs = if field.docs.is_empty() {
        let text = format!("`{}` {of}.", field.name());
        quote!(#[doc = #text])
    } else {
        let docs = &field.docs;
        quote!(#(#docs)*)
    };
    let of = if field.nested { PartOf::Nested(field) } else { PartOf::Plain(field) };
    Part { member: field.member.to_token_stream(), vis: &field.vis, docs, of }
}

fn column_part<'i>(column: &'i Column<'i>) -> Part<'i> {
    match column {
        Column::Field(field) => field_part(field, "of each row"),
        Column::Group(group) => {
            let fields = group.fields.iter().map(|field| format!("`{}`", field.name())).collect::<Vec<_>>().join(", ");
            let text = format!("{fields} of each row.");
            Part {
                member: group.name.to_token_stream(),
                vis: group.vis,
                docs: quote!(#[doc = #text]),
                of: PartOf::Group(group),
            }
        }
    }
}

/// The struct of a view.
fn write_view(input: &Input, view: View, parts: &[Part], names: &Names) -> TokenStream {
    let (name, vis, a, allowances) = (view.name(names), &input.vis, &names.a, allowances());
    let text = match view {
        View::Ref => format!("The fields of a [`{}`] that is stored in columns.", names.text),
        View::Mut => format!("The fields of a [`{}`] that is stored in columns, mutable.", names.text),
        View::Slices => format!("Columns of [`{}`]: a slice of each.", names.text),
        View::SlicesMut => format!("Columns of [`{}`]: a mutable slice of each.", names.text),
    };
    let derives = match (view, &input.derives[..]) {
        (View::Ref, paths @ [_, ..]) => quote!(#[derive(#(#paths),*)]),
        _ => quote!(),
    };
    // The generic parameters of the struct outlive its views.
    let outlives = input.generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(ty) => Some(&ty.ident).map(|ident| quote!(#ident: #a)),
        GenericParam::Lifetime(lifetime) => Some(&lifetime.lifetime).map(|lifetime| quote!(#lifetime: #a)),
        GenericParam::Const(_) => None,
    });
    let (generics, bounds) = (&names.view_generics, names.bounds(outlives));
    let types = parts.iter().map(|part| view.part(&part.of, names, a));
    let head = quote!(#[doc = #text] #allowances #derives #vis struct #name #generics);
    let (viss, docs) = (parts.iter().map(|part| part.vis), parts.iter().map(|part| &part.docs));
    if parts.is_empty() {
        let marker = if view.is_shared() { quote!(&#a ()) } else { quote!(&#a mut ()) };
        let len = (!view.is_rows()).then(|| quote!(__len: ::core::primitive::usize,));
        return quote!(#head #bounds { #len __of: ::core::marker::PhantomData<#marker> });
    }
    if input.tuple {
        return quote!(#head (#(#docs #viss #types),*) #bounds;);
    }
    let members = parts.iter().map(|part| &part.member);
    quote!(#head #bounds { #(#docs #viss #members: #types),* })
}

/// Clone, Copy, Debug and equality of a view.
fn write_traits(view: View, parts: &[Part], input: &Input, names: &Names) -> TokenStream {
    let name = view.name(names);
    let ty = names.view_type(name, &names.a);
    let (impl_generics, _, bounds) = names.view_generics.split_for_impl();
    let label = if view.is_rows() { names.text.clone() } else { name.to_string() };
    let members = parts.iter().map(|part| match part.of {
        PartOf::Nested(_) => (part.member.clone(), Reach::Itself),
        _ => (part.member.clone(), Reach::Behind),
    });
    let listed = Listed {
        tuple: input.tuple && !parts.is_empty(),
        members: members.collect(),
        types: parts.iter().map(|part| view.target(&part.of, names, &names.a)).collect(),
    };
    let shared = compare_and_show(names, &names.view_generics, &ty, &label, &listed);
    let copy = view.is_shared().then(|| {
        let allowances = allowances();
        quote! {
            #[automatically_derived]
            #allowances
            impl #impl_generics ::core::clone::Clone for #ty #bounds {
                #[inline(always)]
                fn clone(&self) -> Self {
                    *self
                }
            }
            #[automatically_derived]
            #allowances
            impl #impl_generics ::core::marker::Copy for #ty #bounds {}
        }
    });
    let with_value = (view == View::Ref).then(|| compare_with_value(input, names, &ty, &listed));
    quote!(#copy #shared #with_value)
}

/// The members of a struct, for a bound on all of them.
struct Listed {
    tuple: bool,
    members: Vec<(TokenStream, Reach)>,
    /// Their types, or the types that they refer to.
    types: Vec<TokenStream>,
}

#[derive(Clone, Copy, PartialEq)]
enum Reach {
    Itself,
    Behind,
}

impl Listed {
    /// `(&'t A, (&'t B, ()))`
    fn refs(&self, names: &Names) -> TokenStream {
        let trivial = &names.trivial;
        pairs(self.types.iter().map(|ty| quote!(&#trivial #ty)))
    }

    /// A value of that type, of a struct.
    fn of(&self, value: TokenStream) -> TokenStream {
        pairs(self.members.iter().map(|(member, reach)| match reach {
            Reach::Itself => quote!(&#value.#member),
            Reach::Behind => quote!(&*#value.#member),
        }))
    }
}

/// `(a, (b, ()))`
pub fn pairs(items: impl DoubleEndedIterator<Item = TokenStream>) -> TokenStream {
    items.rev().fold(quote!(()), |rest, item| quote!((#item, #rest)))
}

/// Debug, PartialEq and Eq if all members have them.
fn compare_and_show(names: &Names, generics: &Generics, ty: &TokenStream, label: &str, listed: &Listed) -> TokenStream {
    let (impl_generics, allowances, pool) = (generics.split_for_impl().0, allowances(), &names.pool);
    let refs = listed.refs(names);
    let asks = |of: TokenStream| names.bounds([names.bound(&refs, of)]);
    let debug = asks(quote!(#pool::derive_support::ShowFields));
    let (partial_eq, eq) = (asks(quote!(::core::cmp::PartialEq)), asks(quote!(::core::cmp::Eq)));
    let (parts, others) = (listed.of(quote!(self)), listed.of(quote!(__other)));
    let texts = listed.members.iter().map(|(member, _)| member.to_string().trim_start_matches("r#").to_string());
    let show = if listed.tuple {
        quote! {
            let mut __shown = ::core::fmt::Formatter::debug_tuple(__f, #label);
            #pool::derive_support::ShowFields::show(&#parts, &mut |__field| {
                __shown.field(__field);
            });
            __shown.finish()
        }
    } else {
        quote! {
            let mut __shown = ::core::fmt::Formatter::debug_struct(__f, #label);
            let __names: &[&::core::primitive::str] = &[#(#texts),*];
            let mut __i = 0;
            #pool::derive_support::ShowFields::show(&#parts, &mut |__field| {
                __shown.field(__names[__i], __field);
                __i += 1;
            });
            __shown.finish()
        }
    };
    quote! {
        #[automatically_derived]
        #allowances
        impl #impl_generics ::core::fmt::Debug for #ty #debug {
            fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                #show
            }
        }
        #[automatically_derived]
        #allowances
        impl #impl_generics ::core::cmp::PartialEq for #ty #partial_eq {
            #[inline]
            fn eq(&self, __other: &Self) -> ::core::primitive::bool {
                ::core::cmp::PartialEq::eq(&#parts, &#others)
            }
        }
        #[automatically_derived]
        #allowances
        impl #impl_generics ::core::cmp::Eq for #ty #eq {}
    }
}

/// Comparison of a row with a value.
fn compare_with_value(input: &Input, names: &Names, ty: &TokenStream, listed: &Listed) -> TokenStream {
    let (this, allowances, trivial) = (names.this_type(), allowances(), &names.trivial);
    let (impl_generics, _, _) = names.view_generics.split_for_impl();
    let (nested, plain): (Vec<_>, Vec<_>) = input.fields.iter().zip(&listed.types).partition(|(field, _)| field.nested);
    let of_nested =
        nested.iter().map(|(Field { ty, .. }, view)| names.bound(view, quote!(::core::cmp::PartialEq<#ty>)));
    let refs = pairs(plain.iter().map(|(_, ty)| quote!(&#trivial #ty)));
    let bounds = names.bounds(of_nested.chain([names.bound(refs, quote!(::core::cmp::PartialEq))]));
    let (ours, theirs) = (
        pairs(plain.iter().map(|(Field { member, .. }, _)| quote!(&*self.#member))),
        pairs(plain.iter().map(|(Field { member, .. }, _)| quote!(&__other.#member))),
    );
    let members = nested.iter().map(|(field, _)| &field.member);
    quote! {
        #[automatically_derived]
        #allowances
        impl #impl_generics ::core::cmp::PartialEq<#this> for #ty #bounds {
            #[inline]
            fn eq(&self, __other: &#this) -> ::core::primitive::bool {
                ::core::cmp::PartialEq::eq(&#ours, &#theirs)
                    #(&& ::core::cmp::PartialEq::eq(&self.#members, &__other.#members))*
            }
        }
    }
}

/// The struct of a group.
fn write_group(input: &Input, group: &Group, names: &Names) -> TokenStream {
    let (row, vis, generics, allowances, pool) = (&group.row, &input.vis, &names.generics, allowances(), &names.pool);
    let (impl_generics, arguments, bounds) = generics.split_for_impl();
    let parts: Vec<Part> = group.fields.iter().map(|field| field_part(field, "of the row")).collect();
    let types: Vec<TokenStream> = group.fields.iter().map(|field| field.ty.to_token_stream()).collect();
    let text = format!("The fields of a [`{}`] in the column `{}`.", names.text, group.name);
    let (docs, viss) = (parts.iter().map(|part| &part.docs), parts.iter().map(|part| part.vis));
    let members: Vec<&TokenStream> = parts.iter().map(|part| &part.member).collect();
    let marker = group_marker(input, group, names).map(|ty| quote!(#[doc(hidden)] __of: #ty));
    let marker_copied = marker.as_ref().map(|_| quote!(__of: self.__of));
    let ty = quote!(#row #arguments);
    let listed = Listed {
        tuple: false,
        members: members.iter().map(|&member| (member.clone(), Reach::Itself)).collect(),
        types: types.clone(),
    };
    let traits = compare_and_show(names, generics, &ty, &row.to_string(), &listed);
    let (list, refs) = (listed.of(quote!(self)), listed.refs(names));
    let locals: Vec<Ident> = (0..members.len()).map(|i| format_ident!("__field_{i}")).collect();
    let bound = pairs(locals.iter().map(|local| quote!(#local)));
    let cloned_types = pairs(types.iter().cloned());
    let clone = names.bounds([names.bound(refs, quote!(#pool::derive_support::CloneFields<#cloned_types>))]);
    // `Copy` is a bound on each field: see the crate's `derive_support` for the reason, which is lifetimes.
    let copy = (!has_lifetimes(quote!(#(#types)*))).then(|| {
        let copy = names.bounds(types.iter().map(|ty| names.bound(ty, quote!(::core::marker::Copy))));
        quote! {
            #[automatically_derived]
            #allowances
            impl #impl_generics ::core::marker::Copy for #ty #copy {}
        }
    });
    quote! {
        #[doc = #text]
        #allowances
        #vis struct #row #generics #bounds { #(#docs #viss #members: #types,)* #marker }
        #[automatically_derived]
        #allowances
        impl #impl_generics ::core::clone::Clone for #ty #clone {
            fn clone(&self) -> Self {
                let #bound = <_ as #pool::derive_support::CloneFields<#cloned_types>>::clone_fields(#list);
                #row { #(#members: #locals,)* #marker_copied }
            }
        }
        #copy
        #traits
    }
}

/// The struct of a group has the generic parameters of the struct; if its fields do not use all of them, it needs a
/// marker.
pub fn group_marker(input: &Input, group: &Group, names: &Names) -> Option<TokenStream> {
    let types: TokenStream = group.fields.iter().map(|field| field.ty.to_token_stream()).collect();
    let mentioned = |parameter_: &GenericParam| match parameter_ {
        GenericParam::Lifetime(lifetime) => mentions(types.clone(), &[&lifetime.lifetime.ident]),
        GenericParam::Type(_) => mentions(types.clone(), &parameter(parameter_).into_iter().collect::<Vec<_>>()),
        GenericParam::Const(_) => true,
    };
    let this = names.this_type();
    let all = input.generics.params.iter().all(mentioned);
    (!all).then(|| quote!(::core::marker::PhantomData<fn() -> #this>))
}
