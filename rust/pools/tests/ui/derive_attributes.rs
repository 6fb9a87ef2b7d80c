//! Attributes that the derive refuses, and types that it is not for.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft_pools::Columnar;

fn no_alignment() {
    #[derive(Columnar)]
    struct Aligned {
        #[columns(align = 48)] //~ an alignment must be a power of two, at most 2^29
        a: u8,
        #[columns(align = 0)] //~ an alignment must be a power of two, at most 2^29
        b: u8,
        #[columns(align = 1073741824)] //~ an alignment must be a power of two, at most 2^29
        c: u8,
        #[columns(align = "64")] //~ expected integer literal
        d: u8,
        #[columns(align)] //~ expected `=`
        e: u8,
        #[columns(align = -64)] //~ an alignment must be a power of two, at most 2^29
        f: u8,
    }
}

fn duplicate_attribute() {
    #[derive(Columnar)]
    #[columns(crate = "toft", crate = "toft")] //~ duplicate attribute `crate`
    struct Twice {
        #[columns(align = 64, align = 128)] //~ duplicate attribute `align`
        a: u8,
        #[columns(group = "hot")]
        #[columns(group = "cold")] //~ duplicate attribute `group`
        b: u8,
        #[columns(nested, nested)] //~ duplicate attribute `nested`
        c: u8,
    }
}

fn unknown_attribute() {
    #[derive(Columnar)]
    #[columns(aligned)] //~ unknown attribute: a struct can have `crate = "..."` or `derive(...)`
    struct Struct {
        #[columns(hot)] //~ unknown attribute: a field can have `nested`, `align = N` or `group = "..."`
        x: f32,
        #[columns(derive(Hash))] //~ this attribute belongs on the struct, not on a field
        y: f32,
        #[columns] //~ expected attribute arguments in parentheses: #[columns(...)]
        z: f32,
    }

    #[derive(Columnar)]
    #[columns(align = 64)] //~ this attribute belongs on a field, not on the struct
    struct Misplaced {
        #[columns(crate = "toft")] //~ this attribute belongs on the struct, not on a field
        x: f32,
    }
}

fn derives_what_rows_have() {
    #[derive(Columnar)]
    #[columns(derive(Hash, Clone))] //~ the generated references already implement Clone
    struct Point {
        x: u8,
    }
}

fn no_struct() {
    #[derive(Columnar)]
    enum Shape { //~ Columnar can be derived only for structs
        Dot,
        Circle { radius: f32 },
    }

    #[derive(Columnar)]
    union Bits { //~ Columnar can be derived only for structs
        float: f32,
        int: u32,
    }
}

fn packed_struct() {
    #[derive(Columnar)]
    #[repr(C, packed(2))] //~ Columnar cannot be derived for a packed struct: the elements of a column are aligned
    struct Packed {
        a: u8,
        b: u32,
    }
}

fn main() {}
