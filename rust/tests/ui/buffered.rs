//! Values of several frames.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::{cell::Cell, marker::PhantomData};
use toft::{Buffered, Owner, Parcel};

toft::root!(struct Text => &'a str);

fn frame_data_kept_from_the_past() {
    let mut frames = Buffered::<Text>::new(2);
    frames.frame(|now, _| now.here().alloc_str("first"));
    let kept: &str = frames.with(0, |text| *text).unwrap();
    for _ in 0..2 {
        frames.frame(|now, _| now.here().alloc_str("next"));
    }
    assert_eq!(kept, "first");
}

fn frame_escapes_into_a_variable() {
    let mut frames = Buffered::<Text>::new(2);
    let mut escaped = "";
    frames.frame(|now, _| {
        escaped = now.here().alloc_str("of the frame");
        escaped
    });
    assert_eq!(escaped, "of the frame");
}

fn frame_publishes_the_past() {
    let mut frames = Buffered::<Text>::new(2);
    frames.frame(|_, past| past.with(1, |text| *text).unwrap_or(""));
}

fn frame_publishes_what_lives_shorter() {
    let mut frames = Buffered::<Text>::new(2);
    {
        let text = String::from("shorter");
        frames.frame(|_, _| &text);
    }
    frames.with(0, |text| assert_eq!(*text, "shorter"));
}

/// A value that may be sent and shared for the lifetime 'static only is borrowed for a shorter one in all three owners.
fn buffered_of_what_is_send_for_static() {
    struct Token<'a>(&'a Cell<u8>, PhantomData<*const ()>);
    // SAFETY: the program is not run.
    unsafe impl Send for Token<'static> {}
    // SAFETY: as above.
    unsafe impl Sync for Token<'static> {}
    toft::root!(struct Tokens => Token<'a>);
    fn sent<T: Send>() {}
    fn shared<T: Sync>() {}
    sent::<Buffered<Tokens>>();
    shared::<Buffered<Tokens>>();
    sent::<Owner<Tokens>>();
    sent::<Parcel<'static, Tokens>>();
}

fn main() {}
