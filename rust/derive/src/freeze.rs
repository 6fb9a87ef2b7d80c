//! `#[derive(Freeze)]`: writes each field, and describes it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use proc_macro2::TokenStream;
use quote::{format_ident, quote, ToTokens};
use syn::{
    parse_quote, ConstParam, Data, DataEnum, DeriveInput, Error, Fields, GenericParam, Generics, Ident, Member,
    PredicateType, Result, Type, TypeParam, TypeParamBound, Variant, WherePredicate,
};

use crate::finished;

pub fn write(input: &DeriveInput) -> Result<TokenStream> {
    let Code { shape, freeze, describe, check } = match &input.data {
        Data::Struct(data) => of_struct(&data.fields),
        Data::Enum(data) => of_enum(input, data)?,
        Data::Union(data) => return Err(Error::new(data.union_token.span, "a union cannot be frozen")),
    };
    let (name, text) = (&input.ident, input.ident.to_string());
    let types = check_type(input)?;
    let generics = with_bounds(&input.generics);
    let (implementation, arguments, where_clause) = generics.split_for_impl();
    let at = arguments_at(&input.generics, &quote!('toft_x));
    Ok(quote! {
        // SAFETY: each field is written, described and checked; a type with a destructor does not compile.
        unsafe impl #implementation ::toft_frozen::Freeze for #name #arguments #where_clause {
            type At<'toft_x> = #name #at;
            const SHAPE: ::toft_frozen::Shape = #shape;
            fn freeze(&self, image: &mut ::toft_frozen::Image, at: usize) {
                #freeze
            }
            fn describe(layout: &mut ::toft_frozen::Layout) {
                const { assert!(!::core::mem::needs_drop::<Self>(), "a type with a destructor cannot be frozen") };
                if layout.begin::<Self>(#text) {
                    #describe
                }
            }
            #[inline]
            fn check(content: &mut ::toft_frozen::Content<'_>, at: usize) -> bool {
                #check
            }
        }
        #types
    })
}

/// The code that is generated from the fields.
struct Code {
    shape: TokenStream,
    freeze: TokenStream,
    describe: TokenStream,
    check: TokenStream,
}

/// The generics, where each type may be frozen, and has its bounds also for the time that a file is open.
fn with_bounds(generics: &Generics) -> Generics {
    let mut all = generics.clone();
    let inline = generics.type_params().map(|parameter| (&parameter.ident, &parameter.bounds));
    let in_clause = generics.where_clause.iter().flat_map(|clause| &clause.predicates).filter_map(|predicate| {
        let WherePredicate::Type(PredicateType { bounded_ty: Type::Path(path), bounds, .. }) = predicate else {
            return None;
        };
        let name = generics.type_params().find(|parameter| path.path.is_ident(&parameter.ident));
        name.map(|parameter| (&parameter.ident, bounds))
    });
    for (name, bounds) in inline.chain(in_clause) {
        // Not of a lifetime, nor `for<'x> ...`, which has no place below another `for`.
        let is_simple = |bound: &&TypeParamBound| matches!(bound, TypeParamBound::Trait(of) if of.lifetimes.is_none());
        let bounds: Vec<_> = bounds.iter().filter(is_simple).collect();
        if !bounds.is_empty() {
            let clause = all.make_where_clause();
            clause
                .predicates
                .push(parse_quote!(for<'toft_y> <#name as ::toft_frozen::Freeze>::At<'toft_y>: #(#bounds)+*));
        }
    }
    all.type_params_mut().for_each(|parameter| parameter.bounds.push(parse_quote!(::toft_frozen::Freeze)));
    all
}

/// The arguments of the type for a lifetime.
fn arguments_at(generics: &Generics, lifetime: &TokenStream) -> TokenStream {
    let arguments = generics.params.iter().map(|parameter| match parameter {
        GenericParam::Lifetime(_) => lifetime.clone(),
        GenericParam::Type(TypeParam { ident, .. }) => quote!(<#ident as ::toft_frozen::Freeze>::At<#lifetime>),
        GenericParam::Const(ConstParam { ident, .. }) => ident.to_token_stream(),
    });
    quote!(<#(#arguments),*>)
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
    let (name, generics) = (&input.ident, with_bounds(&input.generics));
    let (implementation, arguments, clause) = generics.split_for_impl();
    let open = arguments_at(&input.generics, &quote!('toft_x));
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
    let is_generic = generics.params.iter().any(|p| !matches!(p, GenericParam::Lifetime(_)));
    let forever = arguments_at(&input.generics, &quote!('static));
    let no_destructor = (!is_generic).then(
        || quote!(assert!(!::core::mem::needs_drop::<#name #forever>(), "a type with a destructor cannot be frozen");),
    );
    let same_tag = (!is_generic)
        .then(|| quote!(const _: ::toft_frozen::Shape = <#name #forever as ::toft_frozen::Freeze>::SHAPE;));
    Ok(quote! {
        const _: () = {
            #[allow(dead_code)]
            trait ToftFields: ::toft_frozen::Freeze {
                fn have_the_lifetimes_of_the_type<'toft_x>(value: &mut Self::At<'toft_x>);
            }
            impl #implementation ToftFields for #name #arguments #clause {
                fn have_the_lifetimes_of_the_type<'toft_x>(value: &mut #name #open) {
                    match value { #(#arms)* }
                }
            }
            #no_destructor
            #same_tag
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

fn of_struct(fields: &Fields) -> Code {
    let (members, types): (Vec<_>, Vec<_>) = members(fields).unzip();
    let texts: Vec<_> = members.iter().map(text_of).collect();
    let offsets: Vec<_> = members.iter().map(|member| quote!(::core::mem::offset_of!(Self, #member))).collect();
    Code {
        shape: quote! {
            ::toft_frozen::Shape::PLAIN #(.with(#offsets, <#types as ::toft_frozen::Freeze>::SHAPE))*
        },
        freeze: quote!(#(<#types as ::toft_frozen::Freeze>::freeze(&self.#members, image, at + #offsets);)*),
        describe: quote!(#(layout.field::<#types>(#texts, #offsets);)*),
        check: quote!(true #(&& <#types as ::toft_frozen::Freeze>::check(content, at + #offsets))*),
    }
}

/// The integer of `#[repr(...)]`, which the tag of an enum has. Without one its place is the compiler's choice, unless no
/// variant has fields: then it is the whole value, unless that is aligned further.
fn tag_of(input: &DeriveInput, data: &DataEnum) -> Result<Option<Ident>> {
    let (mut tag, mut has_align) = (None, false);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.require_ident()?.clone();
            let integers = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];
            if integers.iter().any(|integer| name == integer) {
                tag = Some(name);
            }
            if meta.input.peek(syn::token::Paren) {
                meta.input.parse::<proc_macro2::Group>()?; // align(8)
                has_align = true;
            }
            Ok(())
        })?;
    }
    match tag {
        None if has_fields(data) || has_align || data.variants.is_empty() => {
            Err(Error::new(input.ident.span(), "an enum that is frozen needs the type of its tag: #[repr(u8)]"))
        }
        tag => Ok(tag),
    }
}

/// The discriminant of each variant. Without fields the enum itself has them; with fields the declaration gives them, and
/// `places` compares.
fn discriminants_of(data: &DataEnum, tag: Option<&Ident>) -> Vec<TokenStream> {
    let Some(tag) = tag.filter(|_| has_fields(data)) else {
        return data.variants.iter().map(|Variant { ident, .. }| quote!((Self::#ident {} as i128))).collect();
    };
    let (mut last, mut more) = (quote!(0i128), 0i128);
    let of = data.variants.iter().map(|variant| {
        if let Some((_, value)) = &variant.discriminant {
            (last, more) = (quote!({ let value: #tag = #value; value as i128 }), 0);
        }
        more += 1;
        let before = more - 1;
        quote!((#last + #before))
    });
    of.collect()
}

fn has_fields(data: &DataEnum) -> bool {
    data.variants.iter().any(|variant| !variant.fields.is_empty())
}

/// Declares the offsets of a variant's fields. The compiler finds them in bytes that are initialized for the variant's tag
/// only: an enum that an attribute macro has given another tag, or none, does not compile.
fn places_of(
    tag: &Ident,
    discriminant: &TokenStream,
    name: &Ident,
    members: &[Member],
    values: &[Ident],
) -> TokenStream {
    let count = members.len();
    quote! {
        let places: [usize; #count] = const {
            let mut bytes = ::core::mem::MaybeUninit::<Self>::uninit();
            // SAFETY: with this representation a value starts with its tag, and only that is read.
            match unsafe {
                bytes.as_mut_ptr().cast::<#tag>().write(#discriminant as #tag);
                &*bytes.as_ptr()
            } {
                // SAFETY: the fields lie in the value.
                Self::#name { #(#members: #values),* } => [#({
                    let offset = unsafe {
                        ::core::ptr::from_ref(#values).cast::<u8>().offset_from(bytes.as_ptr().cast::<u8>()) as usize
                    };
                    assert!(offset >= ::core::mem::size_of::<#tag>(), "the enum no longer has the type of its tag: #[repr]");
                    offset
                }),*],
                #[allow(unreachable_patterns)]
                _ => panic!("the enum no longer has the tags of its declaration"),
            }
        };
    }
}

/// With a representation the tag is at the start of the value.
fn of_enum(input: &DeriveInput, data: &DataEnum) -> Result<Code> {
    let tag = tag_of(input, data)?;
    let size =
        tag.as_ref().map_or(quote!(::core::mem::size_of::<Self>()), |tag| quote!(::core::mem::size_of::<#tag>()));
    let discriminants = discriminants_of(data, tag.as_ref());
    let (mut shapes, mut arms, mut descriptions, mut checks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut all_places = Vec::new();
    for (variant, discriminant) in data.variants.iter().zip(&discriminants) {
        let (name, text) = (&variant.ident, variant.ident.to_string());
        let (members, types): (Vec<_>, Vec<_>) = members(&variant.fields).unzip();
        let texts = members.iter().map(text_of);
        let values: Vec<_> = (0..members.len()).map(|i| format_ident!("value_{i}")).collect();
        let indices: Vec<_> = (0..members.len()).collect();
        let places = tag.as_ref().map(|tag| places_of(tag, discriminant, name, &members, &values));
        shapes.push(quote!(#(.also(<#types as ::toft_frozen::Freeze>::SHAPE))*));
        arms.push(quote! {
            Self::#name { #(#members: #values),* } => {
                #places
                #(<#types as ::toft_frozen::Freeze>::freeze(#values, image, at + places[#indices]);)*
                #discriminant
            }
        });
        descriptions.push(quote! {
            layout.name(#text);
            layout.number(#discriminant as usize);
            #places
            #(layout.field::<#types>(#texts, places[#indices]);)*
        });
        all_places.push(quote!({ #places }));
        checks.push(quote! {
            tag if tag == const { ::toft_frozen::Shape::bits(#size, #discriminant) } => {
                #places
                true #(&& <#types as ::toft_frozen::Freeze>::check(content, at + places[#indices]))*
            }
        });
    }
    let same_tag = tag.as_ref().map(|tag| {
        quote! {
            let is_same = ::core::mem::size_of::<::core::mem::Discriminant<Self>>() == ::core::mem::size_of::<#tag>();
            assert!(is_same, "the enum no longer has the type of its tag: #[repr]");
        }
    });
    let text = tag.map_or("tag".to_string(), |tag| tag.to_string());
    Ok(Code {
        shape: quote!({
            #same_tag
            #(#all_places)*
            ::toft_frozen::Shape::tag::<Self>(#size, &[#(#discriminants),*])#(#shapes)*
        }),
        freeze: quote! {
            let tag: i128 = match self { #(#arms)* };
            image.write_integer(at, #size, tag as u128);
        },
        describe: quote!(layout.name(#text); #(#descriptions)*),
        check: quote! {
            match content.integer(at, #size) {
                #(#checks)*
                _ => content.refuse(at),
            }
        },
    })
}
