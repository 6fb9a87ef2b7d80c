//! References that would outlive the open file, values with a destructor, and an enum whose tag is not known.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft_frozen::{Freeze, Frozen};

#[derive(Freeze)]
struct Name<'a> {
    text: &'a str,
}

fn a_reference_outlives_the_file(file: Frozen<Name<'static>>) {
    let text = file.get().text;
    drop(file);
    assert_eq!(text, "");
}

fn a_field_lives_forever() {
    #[derive(Freeze)]
    struct Forever {
        text: &'static str,
    }
}

fn with_a_destructor() {
    #[derive(Freeze)]
    struct Guard(u8);
    impl Drop for Guard {
        fn drop(&mut self) {}
    }
}

fn an_attribute_removes_the_representation() {
    #[derive(Freeze)]
    #[toft_becomes::becomes(enum Sound { Vowel(bool, u16), None })]
    #[repr(u8)]
    enum Sound {
        Vowel(bool, u16),
        None,
    }
}

fn main() {}
