//! Groups and nested fields that the derive refuses.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft_pools::Columnar;

fn no_name_of_a_group() {
    #[derive(Columnar)]
    struct NamedLikeAField {
        #[columns(group = "x")]
        a: u8,
        x: u8,
    }

    #[derive(Columnar)]
    struct NoName {
        #[columns(group = "Hot")]
        a: u8,
        #[columns(group = "not a name")]
        b: u8,
        #[columns(group = "type")]
        c: u8,
        #[columns(group = 1)]
        d: u8,
    }

    #[derive(Columnar)]
    struct NamedLikeAView {
        #[columns(group = "slices_mut")]
        a: u8,
        #[columns(group = "hot")]
        b: u8,
        #[columns(group = "hot_")]
        c: u8,
    }

    #[derive(Columnar)]
    struct Tuple(#[columns(group = "hot")] u8, u8);
}

fn group_of_two_visibilities() {
    #[derive(Columnar)]
    pub struct Half {
        #[columns(group = "hot")]
        pub open: u8,
        #[columns(group = "hot")]
        private: u8,
    }
}

fn nested_field_with_more() {
    #[derive(Columnar)]
    struct Inner(u8);

    #[derive(Columnar)]
    struct Outer {
        #[columns(nested, align = 64)]
        a: Inner,
        #[columns(group = "hot", nested)]
        b: Inner,
    }
}

fn main() {}
