//! The methods of the views, which call `ColumnarViews`, and the code that clones a value from a view.
// SPDX-License-Identifier: MIT OR Apache-2.0

use proc_macro2::TokenStream;
use quote::{format_ident, quote, ToTokens};

use crate::input::{Field, Input};
use crate::names::Names;
use crate::views::{allowances, pairs};

pub fn write(input: &Input, names: &Names) -> TokenStream {
    let (row_ref, row_mut) = (row_ref(input, names), row_mut(input, names));
    let (slices, slices_mut) = (slices(input, names), slices_mut(input, names));
    quote!(#row_ref #row_mut #slices #slices_mut)
}

fn row_ref(input: &Input, names: &Names) -> TokenStream {
    let (this, ty, allowances) = (names.this_type(), names.view_type(&names.row_ref, &names.a), allowances());
    let (impl_generics, _, _) = names.view_generics.split_for_impl();
    let bounds = names.bounds(clone_bounds(input, names));
    let cloned = cloned(input, names, quote!(self));
    quote! {
        #[automatically_derived]
        #allowances
        impl #impl_generics #ty #bounds {
            /// A value of clones of these fields.
            #[inline]
            pub fn to_value(self) -> #this {
                #cloned
            }
        }
    }
}

fn row_mut(input: &Input, names: &Names) -> TokenStream {
    let (this, pool, allowances) = (names.this_type(), &names.pool, allowances());
    let ty = names.view_type(&names.row_mut, &names.a);
    let anonymous = syn::Lifetime::new("'_", proc_macro2::Span::call_site());
    let (ref_type, mut_type) =
        (names.view_type(&names.row_ref, &anonymous), names.view_type(&names.row_mut, &anonymous));
    let (impl_generics, _, _) = names.view_generics.split_for_impl();
    let bounds = names.bounds(names.nested_views(input));
    let views = quote!(<#this as #pool::ColumnarViews>);
    quote! {
        #[automatically_derived]
        #allowances
        impl #impl_generics #ty #bounds {
            /// The same fields, shared.
            #[inline(always)]
            pub fn as_ref(&self) -> #ref_type {
                #views::as_ref(self)
            }

            /// The same fields with a shorter lifetime, to pass them to a function and use them afterwards.
            #[inline(always)]
            pub fn reborrow(&mut self) -> #mut_type {
                #views::reborrow(self)
            }

            /// Replaces the value. The old one is dropped after the new one is written.
            #[inline]
            pub fn set(&mut self, value: #this) {
                ::core::mem::drop(#views::replace(self, value));
            }

            /// Replaces the value and returns the old one.
            #[inline]
            pub fn replace(&mut self, value: #this) -> #this {
                #views::replace(self, value)
            }
        }
    }
}

fn slices(input: &Input, names: &Names) -> TokenStream {
    let (this, pool, a, allowances) = (names.this_type(), &names.pool, &names.a, allowances());
    let (ty, ref_type) = (names.view_type(&names.slices, a), names.view_type(&names.row_ref, a));
    let (impl_generics, _, _) = names.view_generics.split_for_impl();
    let bounds = names.bounds(names.nested_views(input));
    let views = quote!(<#this as #pool::ColumnarViews>);
    quote! {
        #[automatically_derived]
        #allowances
        impl #impl_generics #ty #bounds {
            /// The number of rows: the length of the shortest slice.
            #[inline(always)]
            pub fn len(&self) -> ::core::primitive::usize {
                #views::len(self)
            }

            /// Whether there are no rows.
            #[inline(always)]
            pub fn is_empty(&self) -> ::core::primitive::bool {
                #views::len(self) == 0
            }

            /// The row at an index, or `None` if there are fewer.
            #[inline]
            pub fn get(self, index: ::core::primitive::usize) -> ::core::option::Option<#ref_type> {
                #views::row(self, index)
            }

            /// The rows, in order.
            #[inline]
            pub fn iter(self) -> #pool::ColumnsIter<#a, #this> {
                #pool::ColumnsIter::new(self)
            }

            /// The rows before `mid`, and those from `mid` on. Panics if there are fewer than `mid`.
            #[inline]
            #[track_caller]
            pub fn split_at(self, mid: ::core::primitive::usize) -> (Self, Self) {
                #views::split_at(self, mid)
            }
        }
        #[automatically_derived]
        #allowances
        impl #impl_generics ::core::iter::IntoIterator for #ty #bounds {
            type Item = #ref_type;
            type IntoIter = #pool::ColumnsIter<#a, #this>;
            #[inline]
            fn into_iter(self) -> Self::IntoIter {
                #pool::ColumnsIter::new(self)
            }
        }
    }
}

fn slices_mut(input: &Input, names: &Names) -> TokenStream {
    let (this, pool, a, allowances) = (names.this_type(), &names.pool, &names.a, allowances());
    let anonymous = syn::Lifetime::new("'_", proc_macro2::Span::call_site());
    let ty = names.view_type(&names.slices_mut, a);
    let mut_type = names.view_type(&names.row_mut, a);
    let [slices_short, slices_mut_short] =
        [&names.slices, &names.slices_mut].map(|view| names.view_type(view, &anonymous));
    let (impl_generics, _, _) = names.view_generics.split_for_impl();
    let bounds = names.bounds(names.nested_views(input));
    let views = quote!(<#this as #pool::ColumnarViews>);
    let rows = rows_of_slices_mut(names, &views);
    quote! {
        #[automatically_derived]
        #allowances
        impl #impl_generics #ty #bounds {
            /// The number of rows: the length of the shortest slice.
            #[inline(always)]
            pub fn len(&self) -> ::core::primitive::usize {
                #views::len_mut(self)
            }

            /// Whether there are no rows.
            #[inline(always)]
            pub fn is_empty(&self) -> ::core::primitive::bool {
                #views::len_mut(self) == 0
            }

            /// The same slices, shared.
            #[inline]
            pub fn as_slices(&self) -> #slices_short {
                #views::as_slices(self)
            }

            /// The same slices with a shorter lifetime, to pass them to a function and use them afterwards.
            #[inline]
            pub fn reborrow(&mut self) -> #slices_mut_short {
                #views::reborrow_slices(self)
            }

            #rows
        }
        #[automatically_derived]
        #allowances
        impl #impl_generics ::core::iter::IntoIterator for #ty #bounds {
            type Item = #mut_type;
            type IntoIter = #pool::ColumnsIterMut<#a, #this>;
            #[inline]
            fn into_iter(self) -> Self::IntoIter {
                #pool::ColumnsIterMut::new(self)
            }
        }
    }
}

/// The methods of mutable slices that return rows, or the slices of some rows.
fn rows_of_slices_mut(names: &Names, views: &TokenStream) -> TokenStream {
    let (this, pool) = (names.this_type(), &names.pool);
    let anonymous = syn::Lifetime::new("'_", proc_macro2::Span::call_site());
    let [ref_short, mut_short] = [&names.row_ref, &names.row_mut].map(|view| names.view_type(view, &anonymous));
    quote! {
        /// The row at an index, or `None` if there are fewer.
        #[inline]
        pub fn get(&self, index: ::core::primitive::usize) -> ::core::option::Option<#ref_short> {
            #views::row(#views::as_slices(self), index)
        }

        /// The row at an index, mutable, or `None` if there are fewer.
        #[inline]
        pub fn get_mut(&mut self, index: ::core::primitive::usize) -> ::core::option::Option<#mut_short> {
            #views::row_mut(#views::reborrow_slices(self), index)
        }

        /// The rows, in order.
        #[inline]
        pub fn iter(&self) -> #pool::ColumnsIter<'_, #this> {
            #pool::ColumnsIter::new(#views::as_slices(self))
        }

        /// The rows, in order, mutable.
        #[inline]
        pub fn iter_mut(&mut self) -> #pool::ColumnsIterMut<'_, #this> {
            #pool::ColumnsIterMut::new(#views::reborrow_slices(self))
        }

        /// The rows before `mid`, and those from `mid` on. Panics if there are fewer than `mid`.
        #[inline]
        #[track_caller]
        pub fn split_at_mut(self, mid: ::core::primitive::usize) -> (Self, Self) {
            #views::split_at_mut(self, mid)
        }
    }
}

/// Clones a value, field by field, from a view.
pub fn cloned(input: &Input, names: &Names, view: TokenStream) -> TokenStream {
    let (this, pool) = (&names.this, &names.pool);
    let plain = || input.fields.iter().filter(|field| !field.nested);
    let locals = (0..plain().count()).map(|i| format_ident!("__field_{i}")).collect::<Vec<_>>();
    let bound = pairs(locals.iter().map(|local| quote!(#local)));
    let types = pairs(plain().map(|Field { ty, .. }| ty.to_token_stream()));
    let refs = pairs(plain().map(|Field { member, .. }| quote!(#view.#member)));
    let members = plain().map(|field| &field.member);
    let nested = input
        .fields
        .iter()
        .filter(|field| field.nested)
        .map(|Field { member, ty, .. }| quote!(#member: <#ty as #pool::ColumnarClone>::clone_ref(#view.#member),));
    quote! {
        let #bound = <_ as #pool::derive_support::CloneFields<#types>>::clone_fields(#refs);
        #this { #(#members: #locals,)* #(#nested)* }
    }
}

/// The bounds of the fields for that.
pub fn clone_bounds<'i>(input: &'i Input, names: &'i Names) -> impl Iterator<Item = TokenStream> + 'i {
    let (pool, trivial) = (&names.pool, &names.trivial);
    let plain = || input.fields.iter().filter(|field| !field.nested).map(|field| &field.ty);
    let (refs, types) = (pairs(plain().map(|ty| quote!(&#trivial #ty))), pairs(plain().map(|ty| quote!(#ty))));
    let nested = input.fields.iter().filter(|field| field.nested);
    let nested = nested.map(move |field| names.bound(&field.ty, quote!(#pool::ColumnarClone)));
    nested.chain([names.bound(refs, quote!(#pool::derive_support::CloneFields<#types>))])
}
