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
    struct Maybe(Option<u32>); //~ E0277 | E0277
    #[derive(Freeze)]
    enum Untagged { //~ an enum that is frozen needs the type of its tag: #[repr(u8)]
        A(u8),
        B,
    }
}

fn with_a_type_parameter() {
    #[derive(Freeze)]
    struct Pair<T>(T, T); //~ Freeze is derived for types without type parameters
}

fn a_union() {
    #[derive(Freeze)]
    union Either { //~ a union cannot be frozen
        a: u8,
        b: i8,
    }
}

fn main() {}
