//! `#[derive(Freeze)]`: writes each field, and describes it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DeriveInput, Error, Fields, GenericParam, Ident, Lifetime, Member, Result, Type};

use crate::finished;

pub fn write(input: &DeriveInput) -> Result<TokenStream> {
    if let Some(parameter) = input.generics.params.iter().find(|p| !matches!(p, GenericParam::Lifetime(_))) {
        return Err(Error::new(parameter.span(), "Freeze is derived for types without type parameters"));
    }
    let (freeze, describe) = match &input.data {
        Data::Struct(data) => (write_struct(&data.fields), describe_struct(&data.fields)),
        Data::Enum(data) => write_enum(input, data)?,
        Data::Union(data) => return Err(Error::new(data.union_token.span, "a union cannot be frozen")),
    };
    let (name, text) = (&input.ident, input.ident.to_string());
    let check = check_type(input)?;
    let (implementation, arguments, where_clause) = input.generics.split_for_impl();
    let at = input.generics.lifetimes().map(|_| Lifetime::new("'toft_x", proc_macro2::Span::mixed_site()));
    let at = if input.generics.params.is_empty() { quote!() } else { quote!(<#(#at),*>) };
    Ok(quote! {
        // SAFETY: each field is written and described; a type with a destructor does not compile.
        unsafe impl #implementation ::toft_frozen::Freeze for #name #arguments #where_clause {
            type At<'toft_x> = #name #at;
            fn freeze(&self, image: &mut ::toft_frozen::Image, at: usize) {
                #freeze
            }
            fn describe(layout: &mut ::toft_frozen::Layout) {
                if layout.begin::<Self>(#text) {
                    #describe
                }
            }
        }
        #check
    })
}

/// A field with a lifetime that is none of the type's parameters, as `&'static str`, would outlive the open file: then
/// its type is not that of the field for the time that the file is open, which the generated function requires. An enum
/// whose representation an attribute macro has removed has a discriminant of another size, that of a pointer.
fn check_type(input: &DeriveInput) -> Result<TokenStream> {
    let fields: Vec<&Fields> = match &input.data {
        Data::Struct(data) => vec![&data.fields],
        Data::Enum(data) => data.variants.iter().map(|variant| &variant.fields).collect(),
        Data::Union(_) => Vec::new(),
    };
    let (name, generics) = (&input.ident, &input.generics);
    let parameters = generics.lifetimes();
    let with = |lifetime: TokenStream| {
        let lifetimes = generics.lifetimes().map(|_| &lifetime);
        if generics.params.is_empty() {
            quote!()
        } else {
            quote!(<#(#lifetimes),*>)
        }
    };
    let (open, forever) = (with(quote!('toft_x)), with(quote!('static)));
    let arms = fields.iter().enumerate().map(|(i, fields)| {
        let path = match &input.data {
            Data::Enum(data) => {
                let variant = &data.variants[i].ident;
                quote!(#name::#variant)
            }
            _ => quote!(#name),
        };
        let (members, types): (Vec<_>, Vec<_>) =
            members(fields).map(|(member, ty)| (member, quote!(<#ty as ::toft_frozen::Freeze>::At<'toft_x>))).unzip();
        finished::arm(path, &members, &types)
    });
    let discriminant = match &input.data {
        Data::Enum(_) => {
            let tag = tag_of(input)?;
            quote! {
                let size = ::core::mem::size_of::<::core::mem::Discriminant<#name #forever>>();
                assert!(size == ::core::mem::size_of::<#tag>(), "the enum no longer has the type of its tag: #[repr]");
            }
        }
        _ => quote!(),
    };
    Ok(quote! {
        const _: () = {
            #[allow(dead_code, clippy::extra_unused_lifetimes)]
            fn fields_have_the_lifetimes_of_the_type<'toft_x, #(#parameters),*>(value: &mut #name #open) {
                match value { #(#arms)* }
            }
            assert!(!::core::mem::needs_drop::<#name #forever>(), "a type with a destructor cannot be frozen");
            #discriminant
        };
    })
}

fn members(fields: &Fields) -> impl Iterator<Item = (Member, &Type)> {
    fields.iter().enumerate().map(|(i, field)| {
        let member = field.ident.clone().map_or_else(|| Member::Unnamed(i.into()), Member::Named);
        (member, &field.ty)
    })
}

fn text_of(member: &Member) -> String {
    match member {
        Member::Named(name) => name.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

fn write_struct(fields: &Fields) -> TokenStream {
    let fields = members(fields).map(|(member, ty)| {
        quote! {
            <#ty as ::toft_frozen::Freeze>::freeze(&self.#member, image, at + ::core::mem::offset_of!(Self, #member));
        }
    });
    quote!(#(#fields)*)
}

fn describe_struct(fields: &Fields) -> TokenStream {
    let fields = members(fields).map(|(member, ty)| {
        let text = text_of(&member);
        quote!(layout.field::<#ty>(#text, ::core::mem::offset_of!(Self, #member));)
    });
    quote!(#(#fields)*)
}

/// The integer of `#[repr(...)]`, which the tag of an enum has: without one its place is the compiler's choice.
fn tag_of(input: &DeriveInput) -> Result<Ident> {
    let mut tag = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.require_ident()?.clone();
            let integers = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];
            if integers.iter().any(|integer| name == integer) {
                tag = Some(name);
            }
            if meta.input.peek(syn::token::Paren) {
                meta.input.parse::<proc_macro2::Group>()?; // align(8)
            }
            Ok(())
        })?;
    }
    tag.ok_or_else(|| Error::new(input.ident.span(), "an enum that is frozen needs the type of its tag: #[repr(u8)]"))
}

/// With such a representation the tag is at the start of the value.
fn write_enum(input: &DeriveInput, data: &DataEnum) -> Result<(TokenStream, TokenStream)> {
    let tag = tag_of(input)?;
    let (mut arms, mut descriptions) = (Vec::new(), Vec::new());
    for variant in &data.variants {
        let (name, text) = (&variant.ident, variant.ident.to_string());
        let members: Vec<_> = members(&variant.fields).collect();
        let values: Vec<_> = (0..members.len()).map(|i| format_ident!("value_{i}")).collect();
        let patterns = members.iter().zip(&values).map(|((member, _), value)| quote!(#member: #value));
        let fields = members.iter().zip(&values).map(|((_, ty), value)| {
            quote! {
                let offset = ::core::ptr::from_ref(#value).addr() - ::core::ptr::from_ref(self).addr();
                <#ty as ::toft_frozen::Freeze>::freeze(#value, image, at + offset);
            }
        });
        arms.push(quote!(Self::#name { #(#patterns),* } => { #(#fields)* }));
        let fields = members.iter().map(|(member, ty)| {
            let text = text_of(member);
            quote!(layout.name(#text); <#ty as ::toft_frozen::Freeze>::describe(layout);)
        });
        descriptions.push(quote!(layout.name(#text); #(#fields)*));
    }
    let tag_text = tag.to_string();
    let freeze = quote! {
        // SAFETY: with this representation a value starts with its tag.
        let tag = unsafe { *::core::ptr::from_ref(self).cast::<#tag>() };
        image.write(at, &tag.to_ne_bytes());
        match self { #(#arms)* }
    };
    Ok((freeze, quote!(layout.name(#tag_text); #(#descriptions)*)))
}
