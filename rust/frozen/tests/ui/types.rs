//! Types that cannot be frozen.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cell::Cell;
use std::sync::atomic::AtomicU32;

use toft_frozen::Freeze;

fn with_memory_of_its_own() {
    #[derive(Freeze)] //~ E0080
    struct Text {
        text: String, //~ E0277 | E0277
    }
    #[derive(Freeze)] //~ E0080
    struct List(Vec<u8>); //~ E0277 | E0277
    #[derive(Freeze)] //~ E0080
    struct Boxed<'a> {
        value: Box<&'a u8>, //~ E0277 | E0277
    }
}

fn with_a_cell() {
    #[derive(Freeze)]
    struct Counter(Cell<u32>); //~ E0277 | E0277
    #[derive(Freeze)] //~ E0277
    struct Shared<'a>(&'a AtomicU32); //~ E0277 | E0277
}

fn with_a_function() {
    #[derive(Freeze)]
    struct Callback(fn()); //~ E0277 | E0277
}

fn with_an_exclusive_reference() {
    #[derive(Freeze)]
    struct Exclusive<'a>(&'a mut u8); //~ E0277 | E0277
}

fn with_a_layout_that_the_compiler_chooses() {
    #[derive(Freeze)]
    enum Untagged { //~ an enum that is frozen needs the type of its tag: #[repr(u8)]
        A(u8),
        B,
    }
    #[derive(Freeze)]
    #[repr(align(4))]
    enum Aligned { //~ an enum that is frozen needs the type of its tag: #[repr(u8)]
        A,
        B,
    }
}

fn with_a_type_argument_that_has_memory_of_its_own() {
    #[derive(Freeze)]
    struct Pair<T>(T, T);
    _ = toft_frozen::freeze_to_vec(&Pair(String::new(), String::new()), ""); //~ E0277
}

fn with_a_private_field_that_is_not_known() {
    #[derive(Freeze)]
    struct Span(std::ops::RangeInclusive<u8>); //~ E0277 | E0277
}

fn a_union() {
    #[derive(Freeze)]
    union Either { //~ a union cannot be frozen
        a: u8,
        b: i8,
    }
}

fn main() {}
