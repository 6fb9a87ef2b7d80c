//! `Columnar`, `ColumnarClone` and `ColumnarViews` of the struct.
// SPDX-License-Identifier: MIT OR Apache-2.0

use proc_macro2::TokenStream;
use quote::{quote, ToTokens};
use syn::Index;

use crate::columns::{Column, Columns, Group};
use crate::finished;
use crate::input::{Field, Input};
use crate::methods::{self, clone_bounds, cloned};
use crate::names::Names;
use crate::views::{allowances, group_marker};

/// In a scope of its own, so that the name of the struct of addresses is not visible.
pub fn write(input: &Input, columns: &Columns, names: &Names) -> TokenStream {
    let raw = write_raw(columns, names);
    let columnar = write_columnar(input, columns, names);
    let clone = write_clone(input, names);
    let views = write_views(input, columns, names);
    let methods = methods::write(input, names);
    let required = write_required(input, names);
    quote! {
        const _: () = {
            #required
            #raw
            #columnar
            #clone
            #views
            #methods
        };
    }
}

/// A function that compiles if the struct has the fields that the other code assumes.
fn write_required(input: &Input, names: &Names) -> TokenStream {
    let (this, allowances) = (names.this_type(), allowances());
    let (impl_generics, _, bounds) = names.generics.split_for_impl();
    let (members, types): (Vec<_>, Vec<_>) = input.fields.iter().map(|Field { member, ty, .. }| (member, ty)).unzip();
    let arm = finished::arm(names.this.to_token_stream(), &members, &types);
    quote! {
        #allowances
        fn __fields_of_the_struct #impl_generics(__struct: &mut #this) #bounds {
            match __struct { #arm }
        }
    }
}

/// The addresses of the columns.
fn write_raw(columns: &Columns, names: &Names) -> TokenStream {
    let (raw, fields, pool, allowances) = (&names.raw, &names.fields, &names.pool, allowances());
    let generics = &names.generics;
    let (impl_generics, arguments, bounds) = generics.split_for_impl();
    let types = columns.0.iter().map(|column| match column {
        Column::Field(Field { ty, nested: true, .. }) => quote!(<#ty as #pool::Columnar>::Raw),
        Column::Field(Field { ty, .. }) => quote!(::core::ptr::NonNull<#ty>),
        Column::Group(Group { row, .. }) => quote!(::core::ptr::NonNull<#row #arguments>),
    });
    let head = match columns.0.is_empty() {
        true => quote!(pub struct #raw #generics (()) #bounds;),
        false => quote!(pub struct #raw #generics (#(#types),*) #bounds;),
    };
    // A private type may occur in the fields of a struct, but not in a public tuple.
    let each = columns.0.iter().flat_map(|column| match column {
        Column::Field(Field { ty, nested: true, .. }) => vec![quote!((#ty, <#ty as #pool::Columnar>::Fields))],
        Column::Field(Field { ty, .. }) => vec![ty.to_token_stream()],
        Column::Group(group) => group.fields.iter().map(|field| field.ty.to_token_stream()).collect(),
    });
    quote! {
        /// `Send` and `Sync` if each field is.
        #[doc(hidden)]
        #allowances
        pub struct #fields #generics (#(#each),*) #bounds;

        /// The addresses of the columns.
        #[doc(hidden)]
        #allowances
        #head
        #[automatically_derived]
        #allowances
        impl #impl_generics ::core::clone::Clone for #raw #arguments #bounds {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        #[automatically_derived]
        #allowances
        impl #impl_generics ::core::marker::Copy for #raw #arguments #bounds {}
    }
}

fn write_columnar(input: &Input, columns: &Columns, names: &Names) -> TokenStream {
    let Names { row_ref, row_mut, slices, slices_mut, raw, fields, pool, a, .. } = names;
    let (this, allowances) = (names.this_type(), allowances());
    let (impl_generics, arguments, bounds) = names.generics.split_for_impl();
    let [ref_type, mut_type, slices_type, slices_mut_type] =
        [row_ref, row_mut, slices, slices_mut].map(|view| names.view_type(view, a));

    let each: Vec<Code> =
        columns.0.iter().enumerate().map(|(i, column)| Code::of(input, column, Index::from(i), names)).collect();
    let plan = if each.is_empty() { quote!(()) } else { all(&each, |code| &code.plan) };
    let (elements, columns) = (element_functions(input, &each, names), column_functions(input, &each, names));
    quote! {
        // Each function accesses the elements of its index, one of each column.
        #[automatically_derived]
        #allowances
        unsafe impl #impl_generics #pool::Columnar for #this #bounds {
            type Fields = #fields #arguments;
            type Raw = #raw #arguments;
            type Ref<#a> = #ref_type where Self: #a;
            type Mut<#a> = #mut_type where Self: #a;
            type Slices<#a> = #slices_type where Self: #a;
            type SlicesMut<#a> = #slices_mut_type where Self: #a;

            #[inline]
            fn plan(__planner: &mut #pool::Planner) -> Self::Raw {
                #raw(#plan)
            }

            #elements
            #columns
        }
    }
}

fn all(each: &[Code], part: fn(&Code) -> &TokenStream) -> TokenStream {
    each.iter().map(part).cloned().collect()
}

/// The functions of one element of each column.
fn element_functions(input: &Input, each: &[Code], names: &Names) -> TokenStream {
    let Names { row_ref, row_mut, a, .. } = names;
    let (write, read) = (all(each, |code| &code.write), all(each, |code| &code.read));
    let (get, get_mut) = (all(each, |code| &code.get), all(each, |code| &code.get_mut));
    let (of, _) = empty(input);
    quote! {
        #[inline(always)]
        unsafe fn write(__raw: Self::Raw, __i: ::core::primitive::usize, __value: Self) {
            // Not destructured: a struct with a destructor cannot be, and the destructor must not run.
            let __value = ::core::mem::ManuallyDrop::new(__value);
            let __value: *const Self = &raw const *__value;
            unsafe { #write }
        }

        #[inline(always)]
        unsafe fn read(__raw: Self::Raw, __i: ::core::primitive::usize) -> Self {
            unsafe { Self { #read } }
        }

        #[inline(always)]
        unsafe fn get<#a>(__raw: Self::Raw, __i: ::core::primitive::usize) -> Self::Ref<#a>
        where
            Self: #a,
        {
            unsafe { #row_ref { #get #of } }
        }

        #[inline(always)]
        unsafe fn get_mut<#a>(__raw: Self::Raw, __i: ::core::primitive::usize) -> Self::Mut<#a>
        where
            Self: #a,
        {
            unsafe { #row_mut { #get_mut #of } }
        }
    }
}

/// The functions of several elements of each column.
fn column_functions(input: &Input, each: &[Code], names: &Names) -> TokenStream {
    let Names { slices, slices_mut, a, .. } = names;
    let (shared, exclusive) = (all(each, |code| &code.slices), all(each, |code| &code.slices_mut));
    let copy = all(each, |code| &code.copy);
    let (_, of_slices) = empty(input);
    quote! {
        #[inline(always)]
        unsafe fn slices<#a>(
            __raw: Self::Raw,
            __start: ::core::primitive::usize,
            __len: ::core::primitive::usize,
        ) -> Self::Slices<#a>
        where
            Self: #a,
        {
            unsafe { #slices { #shared #of_slices } }
        }

        #[inline(always)]
        unsafe fn slices_mut<#a>(
            __raw: Self::Raw,
            __start: ::core::primitive::usize,
            __len: ::core::primitive::usize,
        ) -> Self::SlicesMut<#a>
        where
            Self: #a,
        {
            unsafe { #slices_mut { #exclusive #of_slices } }
        }

        #[inline(always)]
        unsafe fn copy(
            __raw: Self::Raw,
            __i: ::core::primitive::usize,
            __to: Self::Raw,
            __j: ::core::primitive::usize,
            __n: ::core::primitive::usize,
        ) {
            unsafe { #copy }
        }
    }
}

/// The members of the views of a struct without fields: for rows, and for slices.
fn empty(input: &Input) -> (TokenStream, TokenStream) {
    match input.fields.is_empty() {
        true => (quote!(__of: ::core::marker::PhantomData), quote!(__len, __of: ::core::marker::PhantomData)),
        false => (quote!(), quote!()),
    }
}

/// The code of each function for one column.
struct Code {
    plan: TokenStream,
    write: TokenStream,
    read: TokenStream,
    get: TokenStream,
    get_mut: TokenStream,
    slices: TokenStream,
    slices_mut: TokenStream,
    copy: TokenStream,
}

impl Code {
    fn of(input: &Input, column: &Column, i: Index, names: &Names) -> Code {
        match column {
            Column::Field(field) if field.nested => Code::nested(field, i, names),
            Column::Field(field) => Code::plain(field, i),
            Column::Group(group) => Code::group(input, group, i, names),
        }
    }

    fn plain(Field { member, align, .. }: &Field, i: Index) -> Code {
        let align = align.unwrap_or(1);
        Code {
            plan: quote!(__planner.column(#align),),
            write: quote!(__raw.#i.add(__i).as_ptr().copy_from_nonoverlapping(&raw const (*__value).#member, 1);),
            read: quote!(#member: __raw.#i.add(__i).read(),),
            get: quote!(#member: __raw.#i.add(__i).as_ref(),),
            get_mut: quote!(#member: __raw.#i.add(__i).as_mut(),),
            ..Code::array(member.to_token_stream(), i)
        }
    }

    /// Slices and copies of a column.
    fn array(member: TokenStream, i: Index) -> Code {
        let none = TokenStream::new;
        Code {
            slices: quote!(#member: ::core::slice::from_raw_parts(__raw.#i.add(__start).as_ptr(), __len),),
            slices_mut: quote!(#member: ::core::slice::from_raw_parts_mut(__raw.#i.add(__start).as_ptr(), __len),),
            copy: quote!(__to.#i.add(__j).copy_from_nonoverlapping(__raw.#i.add(__i), __n);),
            plan: none(),
            write: none(),
            read: none(),
            get: none(),
            get_mut: none(),
        }
    }

    fn nested(Field { member, ty, .. }: &Field, i: Index, names: &Names) -> Code {
        let pool = &names.pool;
        let of = quote!(<#ty as #pool::Columnar>);
        Code {
            plan: quote!(#of::plan(__planner),),
            write: quote!(#of::write(__raw.#i, __i, (&raw const (*__value).#member).read());),
            read: quote!(#member: #of::read(__raw.#i, __i),),
            get: quote!(#member: #of::get(__raw.#i, __i),),
            get_mut: quote!(#member: #of::get_mut(__raw.#i, __i),),
            slices: quote!(#member: #of::slices(__raw.#i, __start, __len),),
            slices_mut: quote!(#member: #of::slices_mut(__raw.#i, __start, __len),),
            copy: quote!(#of::copy(__raw.#i, __i, __to.#i, __j, __n);),
        }
    }

    fn group(input: &Input, group: &Group, i: Index, names: &Names) -> Code {
        let (row, align) = (&group.row, group.align);
        let members: Vec<_> = group.fields.iter().map(|field| &field.member).collect();
        let marker = group_marker(input, group, names).map(|_| quote!(__of: ::core::marker::PhantomData,));
        Code {
            plan: quote!(__planner.column(#align),),
            write: quote! {
                __raw.#i.add(__i).write(#row { #(#members: (&raw const (*__value).#members).read(),)* #marker });
            },
            read: quote!(#(#members: (&raw const (*__raw.#i.add(__i).as_ptr()).#members).read(),)*),
            get: quote!(#(#members: &(*__raw.#i.add(__i).as_ptr()).#members,)*),
            get_mut: quote!(#(#members: &mut (*__raw.#i.add(__i).as_ptr()).#members,)*),
            ..Code::array(group.name.to_token_stream(), i)
        }
    }
}

fn write_clone(input: &Input, names: &Names) -> TokenStream {
    let (this, pool, allowances) = (names.this_type(), &names.pool, allowances());
    let (impl_generics, _, _) = names.generics.split_for_impl();
    let bounds = names.bounds(clone_bounds(input, names));
    let cloned = cloned(input, names, quote!(__fields));
    quote! {
        #[automatically_derived]
        #allowances
        impl #impl_generics #pool::ColumnarClone for #this #bounds {
            #[inline]
            fn clone_ref(__fields: Self::Ref<'_>) -> Self {
                #cloned
            }
        }
    }
}

fn write_views(input: &Input, columns: &Columns, names: &Names) -> TokenStream {
    let (this_type, pool, allowances) = (names.this_type(), &names.pool, allowances());
    let (impl_generics, _, _) = names.generics.split_for_impl();
    let bounds = names.bounds(names.nested_views(input));
    let (rows, slices) = (views_of_rows(input, names), views_of_slices(input, columns, names));
    quote! {
        // The number of rows is the length of the shortest column. Addresses are those of the slices.
        #[automatically_derived]
        #allowances
        unsafe impl #impl_generics #pool::ColumnarViews for #this_type #bounds {
            #rows
            #slices
        }
    }
}

/// The functions of the views of one row.
fn views_of_rows(input: &Input, names: &Names) -> TokenStream {
    let Names { this, row_ref, row_mut, pool, b, .. } = names;
    let of = |ty: &syn::Type| quote!(<#ty as #pool::ColumnarViews>);

    let fields = |plain: &dyn Fn(&Field) -> TokenStream, nested: &dyn Fn(&Field, TokenStream) -> TokenStream| {
        let each = input.fields.iter().map(|field| {
            let code = if field.nested { nested(field, of(&field.ty)) } else { plain(field) };
            let member = &field.member;
            quote!(#member: #code,)
        });
        each.collect::<TokenStream>()
    };
    let as_ref = fields(
        &|Field { member, .. }| quote!(&*__row.#member),
        &|Field { member, .. }, of| quote!(#of::as_ref(&__row.#member)),
    );
    let reborrow = fields(
        &|Field { member, .. }| quote!(&mut *__row.#member),
        &|Field { member, .. }, of| quote!(#of::reborrow(&mut __row.#member)),
    );
    let taken = |field: &Field| {
        let member = &field.member;
        quote!(unsafe { (&raw const (*__value).#member).read() })
    };
    let replace = fields(
        &|field| {
            let (member, taken) = (&field.member, taken(field));
            quote!(::core::mem::replace(&mut *__row.#member, #taken))
        },
        &|field, of| {
            let (member, taken) = (&field.member, taken(field));
            quote!(#of::replace(&mut __row.#member, #taken))
        },
    );
    let (empty_row, _) = empty(input);
    quote! {
        #[inline(always)]
        fn as_ref<#b>(__row: &#b Self::Mut<'_>) -> Self::Ref<#b>
        where
            Self: #b,
        {
            #row_ref { #as_ref #empty_row }
        }

        #[inline(always)]
        fn reborrow<#b>(__row: &#b mut Self::Mut<'_>) -> Self::Mut<#b>
        where
            Self: #b,
        {
            #row_mut { #reborrow #empty_row }
        }

        #[inline]
        fn replace(__row: &mut Self::Mut<'_>, __value: Self) -> Self {
            // Not destructured: a struct with a destructor cannot be, and the destructor must not run.
            let __value = ::core::mem::ManuallyDrop::new(__value);
            let __value: *const Self = &raw const *__value;
            #this { #replace }
        }
    }
}

/// The functions of the views of slices.
fn views_of_slices(input: &Input, columns: &Columns, names: &Names) -> TokenStream {
    let Names { slices, raw, pool, b, .. } = names;
    let of = |ty: &syn::Type| quote!(<#ty as #pool::ColumnarViews>);
    // For each column: its length, its length as a mutable slice, its address, and so on.
    let parts: Vec<[TokenStream; 5]> = columns.0.iter().map(|column| column_views(column, &of)).collect();
    let part = |i: usize| parts.iter().map(move |codes| codes[i].clone());
    let addresses = |i: usize| match columns.0.is_empty() {
        true => quote!(()),
        false => part(i).map(|code| quote!(#code,)).collect(),
    };
    let (raws, raws_mut) = (addresses(2), addresses(3));
    let as_slices: TokenStream = part(4).collect();
    let (len, len_mut) = (shortest(part(0)), shortest(part(1)));
    let empty_slices = match input.fields.is_empty() {
        true => quote!(__len: __slices.__len, __of: ::core::marker::PhantomData),
        false => quote!(),
    };
    quote! {
        #[inline(always)]
        fn len(__slices: &Self::Slices<'_>) -> ::core::primitive::usize {
            #len
        }

        #[inline(always)]
        fn raw(__slices: &Self::Slices<'_>) -> Self::Raw {
            #raw(#raws)
        }

        #[inline(always)]
        fn len_mut(__slices: &Self::SlicesMut<'_>) -> ::core::primitive::usize {
            #len_mut
        }

        #[inline(always)]
        fn raw_mut(__slices: &mut Self::SlicesMut<'_>) -> Self::Raw {
            #raw(#raws_mut)
        }

        #[inline(always)]
        fn as_slices<#b>(__slices: &#b Self::SlicesMut<'_>) -> Self::Slices<#b>
        where
            Self: #b,
        {
            #slices { #as_slices #empty_slices }
        }
    }
}

/// For one column: its length, its length as a mutable slice, its address, the same mutable, and the shared slice.
fn column_views(column: &Column, of: &dyn Fn(&syn::Type) -> TokenStream) -> [TokenStream; 5] {
    let member = match column {
        Column::Field(Field { member, ty, nested: true, .. }) => {
            let of = of(ty);
            return [
                quote!(#of::len(&__slices.#member)),
                quote!(#of::len_mut(&__slices.#member)),
                quote!(#of::raw(&__slices.#member)),
                quote!(#of::raw_mut(&mut __slices.#member)),
                quote!(#member: #of::as_slices(&__slices.#member),),
            ];
        }
        Column::Field(field) => field.member.to_token_stream(),
        Column::Group(group) => group.name.to_token_stream(),
    };
    // A slice is never at the address 0.
    let address = |start: TokenStream| quote!(unsafe { ::core::ptr::NonNull::new_unchecked(#start) });
    [
        quote!(<[_]>::len(__slices.#member)),
        quote!(<[_]>::len(&*__slices.#member)),
        address(quote!(<[_]>::as_ptr(__slices.#member).cast_mut())),
        address(quote!(<[_]>::as_mut_ptr(&mut *__slices.#member))),
        quote!(#member: &*__slices.#member,),
    ]
}

fn shortest(mut lengths: impl Iterator<Item = TokenStream>) -> TokenStream {
    match lengths.next() {
        Some(first) => lengths.fold(first, |shortest, len| quote!(::core::cmp::min(#shortest, #len))),
        None => quote!(__slices.__len),
    }
}
