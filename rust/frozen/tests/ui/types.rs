//! Types that cannot be frozen.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cell::Cell;
use std::sync::atomic::AtomicU32;

use toft_frozen::Freeze;

fn with_memory_of_its_own() {
    #[derive(Freeze)]
    struct Text {
        text: String,
    }
    #[derive(Freeze)]
    struct List(Vec<u8>);
    #[derive(Freeze)]
    struct Boxed<'a> {
        value: Box<&'a u8>,
    }
}

fn with_a_cell() {
    #[derive(Freeze)]
    struct Counter(Cell<u32>);
    #[derive(Freeze)]
    struct Shared<'a>(&'a AtomicU32);
}

fn with_a_function() {
    #[derive(Freeze)]
    struct Callback(fn());
}

fn with_an_exclusive_reference() {
    #[derive(Freeze)]
    struct Exclusive<'a>(&'a mut u8);
}

fn with_a_layout_that_the_compiler_chooses() {
    #[derive(Freeze)]
    struct Maybe(Option<u32>);
    #[derive(Freeze)]
    enum Untagged {
        A(u8),
        B,
    }
}

fn with_a_type_parameter() {
    #[derive(Freeze)]
    struct Pair<T>(T, T);
}

fn a_union() {
    #[derive(Freeze)]
    union Either {
        a: u8,
        b: i8,
    }
}

fn main() {}
