//! Attribute macros that change a struct after the derive has read it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft_becomes::becomes;
use toft_pools::Columnar;

fn a_field_is_added() {
    #[derive(Columnar)] //~ E0063 | pattern requires `..` due to inaccessible fields
    #[becomes(struct Row { x: u8, y: u32, cache: Box<u32> })]
    struct Row { //~ E0063
        x: u8,
        y: u32,
    }
}

fn a_field_is_removed() {
    #[derive(Columnar)]
    #[becomes(struct Row { x: u8 })]
    struct Row {
        x: u8,
        y: u32, //~ E0026 | E0560 | E0609 | E0609
    }
}

fn a_field_has_another_type() {
    #[derive(Columnar)] //~ E0308 | E0308 | E0308 | E0308
    #[becomes(struct Row { x: u8, y: Box<u32> })]
    struct Row {
        x: u8,
        y: u32,
    }
}

fn a_field_of_a_group_has_another_type() {
    #[derive(Columnar)] //~ E0308 | E0308 | E0308 | E0308
    #[becomes(struct Row<T> { x: u8, y: Box<T> })]
    struct Row<T> {
        #[columns(group = "both")]
        x: u8,
        #[columns(group = "both")]
        y: T,
    }
}

fn a_struct_is_packed() {
    #[derive(Columnar)] //~ E0793
    #[becomes(#[repr(packed)] struct Row { x: u8, y: u32 })]
    struct Row {
        x: u8,
        y: u32,
    }
}

fn main() {}
