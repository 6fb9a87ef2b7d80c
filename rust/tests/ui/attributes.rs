//! Attribute macros that change a struct after `restorable!` has read its fields.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft_becomes::becomes;

fn a_field_is_added() {
    toft::restorable! { //~ pattern requires `..` due to inaccessible fields
        #[becomes(struct State { step: u32, cache: Option<Box<u64>> })]
        struct State {
            step: u32,
        }
    }
}

fn a_field_is_removed() {
    toft::restorable! {
        #[becomes(struct State { step: u32 })]
        struct State {
            step: u32,
            other: u32, //~ E0026 | E0609
        }
    }
}

fn a_field_has_another_type() {
    toft::restorable! { //~ E0308
        #[becomes(struct State { step: Box<u32> })]
        struct State {
            step: u32,
        }
    }
}

fn a_field_of_a_struct_with_a_lifetime_has_another_type() {
    toft::restorable! { //~ E0308
        #[becomes(struct State<'r> { names: toft::collections::Vec<'r, u32> })]
        struct State<'r> {
            names: toft::collections::Vec<'r, u32, toft::RegionMemory<'r>>,
        }
    }
}

fn main() {}
