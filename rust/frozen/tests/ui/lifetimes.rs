//! References that would outlive the open file, values with a destructor, and an enum whose tag is not known.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft_frozen::{Freeze, Frozen};

#[derive(Freeze)]
struct Name<'a> {
    text: &'a str,
}

fn a_reference_outlives_the_file(file: Frozen<Name<'static>>) {
    let text = file.get().text;
    drop(file); //~ E0505
    assert_eq!(text, "");
}

fn a_field_lives_forever() {
    #[derive(Freeze)] //~ lifetime may not live long enough
    struct Forever {
        text: &'static str,
    }
}

fn with_a_destructor() {
    #[derive(Freeze)] //~ E0080
    struct Guard(u8);
    impl Drop for Guard {
        fn drop(&mut self) {}
    }
}

fn an_attribute_removes_the_representation() {
    #[derive(Freeze)] //~ E0080
    #[toft_becomes::becomes(enum Sound { Vowel(bool, u16), None })]
    #[repr(u8)]
    enum Sound {
        Vowel(bool, u16),
        None,
    }
}

fn main() {}
