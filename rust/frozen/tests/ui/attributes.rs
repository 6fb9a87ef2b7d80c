//! Attribute macros that change a type after the derive has read it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft_becomes::becomes;
use toft_frozen::Freeze;

fn a_field_is_added() {
    #[derive(Freeze)] //~ pattern requires `..` due to inaccessible fields
    #[becomes(struct Word<'a> { text: &'a str, cache: &'a u32 })]
    struct Word<'a> {
        text: &'a str,
    }
}

fn a_field_is_removed() {
    #[derive(Freeze)]
    #[becomes(struct Word<'a> { text: &'a str })]
    struct Word<'a> {
        text: &'a str,
        count: u32, //~ E0026 | E0609 | E0609
    }
}

fn a_field_has_another_type() {
    #[derive(Freeze)] //~ E0308
    #[becomes(struct Word<'a> { text: &'a str, count: &'a u32 })]
    struct Word<'a> {
        text: &'a str,
        count: u32,
    }
}

fn a_struct_is_packed() {
    #[derive(Freeze)] //~ E0793
    #[becomes(#[repr(packed)] struct Word { count: u32 })]
    struct Word {
        count: u32,
    }
}

fn a_variant_is_added() {
    #[derive(Freeze)] //~ E0004 | E0004
    #[becomes(#[repr(u8)] enum Sound { Letter(u8), Word(u8) })]
    #[repr(u8)]
    enum Sound {
        Letter(u8),
    }
}

fn a_field_of_a_variant_is_added() {
    #[derive(Freeze)] //~ pattern requires `..` due to inaccessible fields
    #[becomes(#[repr(u8)] enum Sound { Letter(u8, u8) })]
    #[repr(u8)]
    enum Sound {
        Letter(u8),
    }
}

fn a_field_of_a_variant_has_another_type() {
    #[derive(Freeze)] //~ E0308 | E0308
    #[becomes(#[repr(u8)] enum Sound<'a> { Letter(&'a u32), None })]
    #[repr(u8)]
    enum Sound<'a> {
        Letter(&'a u8),
        None,
    }
}

fn a_tag_is_another() {
    #[derive(Freeze)] //~ E0080
    #[becomes(#[repr(u32)] enum Sound<T> { Letter(T), None })]
    #[repr(u8)]
    enum Sound<T> {
        Letter(T),
        None,
    }
    const _: toft_frozen::Shape = Sound::<u32>::SHAPE;
}

fn a_tag_is_one_that_the_compiler_chooses() {
    #[derive(Freeze)] //~ E0080 * 2
    #[becomes(enum Wide { Number(u128), None })]
    #[repr(u64)]
    enum Wide {
        Number(u128),
        None,
    }
    #[derive(Freeze)] //~ E0080
    #[becomes(enum Word<'a> { None, Text(&'a u8) })]
    #[repr(usize)]
    enum Word<'a> {
        None,
        Text(&'a u8),
    }
    #[derive(Freeze)] //~ E0080 * 2
    #[becomes(enum Level { Low, High })]
    #[repr(i64)]
    enum Level {
        Low,
        High,
    }
}

fn main() {}
