//! Groups and nested fields that the derive refuses.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft_pools::Columnar;

fn no_name_of_a_group() {
    #[derive(Columnar)]
    struct NamedLikeAField {
        #[columns(group = "x")] //~ a group and a field cannot have the same name
        a: u8,
        x: u8,
    }

    #[derive(Columnar)]
    struct NoName {
        #[columns(group = "Hot")] //~ the name of a group must be a lower-case identifier
        a: u8,
        #[columns(group = "not a name")] //~ the name of a group must be a lower-case identifier
        b: u8,
        #[columns(group = "type")] //~ the name of a group must be a lower-case identifier
        c: u8,
        #[columns(group = 1)] //~ expected string literal
        d: u8,
    }

    #[derive(Columnar)]
    struct NamedLikeAView {
        #[columns(group = "slices_mut")] //~ the struct of the group would have the name of another generated struct:
        a: u8,
        #[columns(group = "hot")]
        b: u8,
        #[columns(group = "hot_")] //~ the struct of the group would have the name of another generated struct
        c: u8,
    }

    #[derive(Columnar)]
    struct Tuple(#[columns(group = "hot")] u8, u8); //~ a tuple struct cannot have groups: the slices have a field wi
}

fn group_of_two_visibilities() {
    #[derive(Columnar)]
    pub struct Half {
        #[columns(group = "hot")]
        pub open: u8,
        #[columns(group = "hot")]
        private: u8, //~ the fields of a group must have the same visibility
    }
}

fn nested_field_with_more() {
    #[derive(Columnar)]
    struct Inner(u8);

    #[derive(Columnar)]
    struct Outer {
        #[columns(nested, align = 64)] //~ a nested field cannot have `align` or `group`: put them on the fields of i
        a: Inner,
        #[columns(group = "hot", nested)] //~ a nested field cannot have `align` or `group`: put them on the fields o
        b: Inner,
    }
}

fn main() {}
