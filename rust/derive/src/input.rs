//! Parses the struct and its `#[columns(...)]` attributes, and reports errors in them.
// SPDX-License-Identifier: MIT OR Apache-2.0

use proc_macro2::{Group, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::{quote, ToTokens};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::{
    Attribute, Data, DeriveInput, Error, Fields, Generics, LitInt, LitStr, Member, Path, Result, Type, Visibility,
};

pub struct Input {
    pub vis: Visibility,
    pub ident: Ident,
    pub generics: Generics,
    pub fields: Vec<Field>,
    /// A tuple struct; false for a struct without fields.
    pub tuple: bool,
    /// The path of the crate toft-pools.
    pub toft: TokenStream,
    /// Further derives of the struct of references.
    pub derives: Vec<Path>,
    /// The tokens of the whole item, to choose names that do not occur in it.
    pub tokens: TokenStream,
}

pub struct Field {
    pub member: Member,
    pub vis: Visibility,
    pub ty: Type,
    pub docs: Vec<Attribute>,
    pub nested: bool,
    pub align: Option<usize>,
    pub group: Option<Ident>,
}

impl Input {
    pub fn parse(tokens: TokenStream) -> Result<Input> {
        let parsed: DeriveInput = syn::parse2(tokens.clone())?;
        let fields = match &parsed.data {
            Data::Struct(data) => &data.fields,
            Data::Enum(data) => return Err(only_structs(data.enum_token.span)),
            Data::Union(data) => return Err(only_structs(data.union_token.span)),
        };
        if let Some(packed) = parsed.attrs.iter().find(|attribute| is_packed(attribute)) {
            return Err(Error::new_spanned(
                packed,
                "Columnar cannot be derived for a packed struct: the elements of a column are aligned",
            ));
        }
        // Generated structs contain the types of fields, in which `Self` must be the original struct.
        let (_, arguments, _) = parsed.generics.split_for_impl();
        let ident = &parsed.ident;
        let this = quote!(#ident #arguments);
        let (generics, where_clause) = (&parsed.generics, &parsed.generics.where_clause);
        let mut without_self: Generics = syn::parse2(replace_self(quote!(#generics), &this))?;
        without_self.where_clause = syn::parse2(replace_self(quote!(#where_clause), &this))?;

        let mut errors = Errors::default();
        let mut read = Vec::new();
        for (index, field) in fields.iter().enumerate() {
            let member = match &field.ident {
                Some(ident) => Member::Named(ident.clone()),
                None => Member::Unnamed(index.into()),
            };
            let ty = syn::parse2(replace_self(field.ty.to_token_stream(), &this))?;
            let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect();
            let vis = field.vis.clone();
            let mut field_read = Field { member, vis, ty, docs, nested: false, align: None, group: None };
            errors.note(field_read.attributes(&field.attrs));
            read.push(field_read);
        }
        let mut input = Input {
            vis: parsed.vis.clone(),
            ident: parsed.ident.clone(),
            generics: without_self,
            fields: read,
            tuple: matches!(fields, Fields::Unnamed(list) if !list.unnamed.is_empty()),
            toft: quote!(::toft_pools),
            derives: Vec::new(),
            tokens,
        };
        errors.note(input.attributes(&parsed.attrs));
        errors.end()?;
        Ok(input)
    }

    /// Parses the attributes of the struct.
    fn attributes(&mut self, attributes: &[Attribute]) -> Result<()> {
        let (mut crate_seen, mut derive_seen) = (false, false);
        each(attributes, |meta| {
            if meta.path.is_ident("crate") {
                once(&mut crate_seen, &meta)?;
                let path: Path = meta.value()?.parse::<LitStr>()?.parse()?;
                self.toft = path.to_token_stream();
            } else if meta.path.is_ident("derive") {
                once(&mut derive_seen, &meta)?;
                meta.parse_nested_meta(|derive| {
                    let name = derive.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
                    if ["Clone", "Copy", "Debug", "PartialEq", "Eq"].contains(&&*name) {
                        return Err(derive.error(format!("the generated references already implement {name}")));
                    }
                    self.derives.push(derive.path);
                    Ok(())
                })?;
            } else if ["nested", "align", "group"].iter().any(|name| meta.path.is_ident(name)) {
                return Err(meta.error("this attribute belongs on a field, not on the struct"));
            } else {
                return Err(meta.error("unknown attribute: a struct can have `crate = \"...\"` or `derive(...)`"));
            }
            Ok(())
        })
    }
}

impl Field {
    fn attributes(&mut self, attributes: &[Attribute]) -> Result<()> {
        let (mut nested, mut align, mut group) = (false, false, false);
        each(attributes, |meta| {
            if meta.path.is_ident("nested") {
                once(&mut nested, &meta)?;
                if align || group {
                    return Err(meta.error(NESTED_ALONE));
                }
                self.nested = true;
            } else if meta.path.is_ident("align") {
                once(&mut align, &meta)?;
                if nested {
                    return Err(meta.error(NESTED_ALONE));
                }
                self.align = Some(alignment(&meta.value()?.parse()?)?);
            } else if meta.path.is_ident("group") {
                once(&mut group, &meta)?;
                if nested {
                    return Err(meta.error(NESTED_ALONE));
                }
                self.group = Some(group_name(&meta.value()?.parse()?)?);
            } else if ["crate", "derive"].iter().any(|name| meta.path.is_ident(name)) {
                return Err(meta.error("this attribute belongs on the struct, not on a field"));
            } else {
                return Err(
                    meta.error("unknown attribute: a field can have `nested`, `align = N` or `group = \"...\"`")
                );
            }
            Ok(())
        })
    }

    /// The name of the field for documentation.
    pub fn name(&self) -> String {
        match &self.member {
            Member::Named(ident) => ident.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        }
    }
}

const NESTED_ALONE: &str = "a nested field cannot have `align` or `group`: put them on the fields of its type";

fn only_structs(span: Span) -> Error {
    Error::new(span, "Columnar can be derived only for structs")
}

fn is_packed(attribute: &Attribute) -> bool {
    let mut packed = false;
    if attribute.path().is_ident("repr") {
        let _ = attribute.parse_nested_meta(|meta| {
            packed |= meta.path.is_ident("packed");
            if meta.input.peek(syn::token::Paren) {
                meta.input.parse::<TokenTree>()?; // packed(2), align(16)
            }
            Ok(())
        });
    }
    packed
}

/// Calls `read` for each entry of each `#[columns(...)]`, and combines all errors.
fn each(attributes: &[Attribute], mut read: impl FnMut(ParseNestedMeta) -> Result<()>) -> Result<()> {
    let mut errors = Errors::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("columns")) {
        errors.note(attribute.parse_nested_meta(&mut read));
    }
    errors.end()
}

fn once(seen: &mut bool, meta: &ParseNestedMeta) -> Result<()> {
    if std::mem::replace(seen, true) {
        let name = meta.path.to_token_stream();
        return Err(meta.error(format!("duplicate attribute `{name}`")));
    }
    Ok(())
}

fn alignment(literal: &LitInt) -> Result<usize> {
    match literal.base10_parse::<u32>() {
        // The largest alignment of `repr(align)`.
        Ok(align) if align.is_power_of_two() && align <= 1 << 29 => Ok(align as usize),
        _ => Err(Error::new(literal.span(), "an alignment must be a power of two, at most 2^29")),
    }
}

fn group_name(literal: &LitStr) -> Result<Ident> {
    let name: Ident = literal
        .parse()
        .map_err(|_| Error::new(literal.span(), "the name of a group must be a lower-case identifier"))?;
    if name.to_string().chars().any(char::is_uppercase) || name.unraw().to_string().trim_matches('_').is_empty() {
        return Err(Error::new(literal.span(), "the name of a group must be a lower-case identifier"));
    }
    Ok(name)
}

/// Replaces `Self` by the type.
fn replace_self(tokens: TokenStream, this: &TokenStream) -> TokenStream {
    let mut replaced = TokenStream::new();
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        match token {
            TokenTree::Ident(ident) if ident == "Self" => {
                // `Self::Item`, not `Self: Bound`
                let path = matches!(rest.peek(), Some(TokenTree::Punct(punct))
                    if punct.as_char() == ':' && punct.spacing() == Spacing::Joint);
                replaced.extend(if path { quote!(<#this>) } else { this.clone() });
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replace_self(group.stream(), this));
                inner.set_span(group.span());
                replaced.extend([TokenTree::Group(inner)]);
            }
            other => replaced.extend([other]),
        }
    }
    replaced
}

/// Whether the tokens contain one of the names.
pub fn mentions(tokens: TokenStream, names: &[&Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => names.contains(&&ident),
        TokenTree::Group(group) => mentions(group.stream(), names),
        _ => false,
    })
}

/// Collects errors, so that all of them are reported.
#[derive(Default)]
pub struct Errors(Option<Error>);

impl Errors {
    pub fn note(&mut self, result: Result<()>) {
        let Err(error) = result else { return };
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            none => *none = Some(error),
        }
    }

    pub fn end(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
