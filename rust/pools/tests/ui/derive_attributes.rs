//! Attributes that the derive refuses, and types that it is not for.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft_pools::Columnar;

fn no_alignment() {
    #[derive(Columnar)]
    struct Aligned {
        #[columns(align = 48)]
        a: u8,
        #[columns(align = 0)]
        b: u8,
        #[columns(align = 1073741824)]
        c: u8,
        #[columns(align = "64")]
        d: u8,
        #[columns(align)]
        e: u8,
        #[columns(align = -64)]
        f: u8,
    }
}

fn duplicate_attribute() {
    #[derive(Columnar)]
    #[columns(crate = "toft", crate = "toft")]
    struct Twice {
        #[columns(align = 64, align = 128)]
        a: u8,
        #[columns(group = "hot")]
        #[columns(group = "cold")]
        b: u8,
        #[columns(nested, nested)]
        c: u8,
    }
}

fn unknown_attribute() {
    #[derive(Columnar)]
    #[columns(aligned)]
    struct Struct {
        #[columns(hot)]
        x: f32,
        #[columns(derive(Hash))]
        y: f32,
        #[columns]
        z: f32,
    }

    #[derive(Columnar)]
    #[columns(align = 64)]
    struct Misplaced {
        #[columns(crate = "toft")]
        x: f32,
    }
}

fn derives_what_rows_have() {
    #[derive(Columnar)]
    #[columns(derive(Hash, Clone))]
    struct Point {
        x: u8,
    }
}

fn no_struct() {
    #[derive(Columnar)]
    enum Shape {
        Dot,
        Circle { radius: f32 },
    }

    #[derive(Columnar)]
    union Bits {
        float: f32,
        int: u32,
    }
}

fn packed_struct() {
    #[derive(Columnar)]
    #[repr(C, packed(2))]
    struct Packed {
        a: u8,
        b: u32,
    }
}

fn main() {}
