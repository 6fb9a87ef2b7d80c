//! A value that may be sent and shared for the lifetime 'static only is borrowed for a shorter one in all three owners.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::{cell::Cell, marker::PhantomData};

struct Token<'a>(&'a Cell<u8>, PhantomData<*const ()>);
// SAFETY: the program is not run.
unsafe impl Send for Token<'static> {}
// SAFETY: as above.
unsafe impl Sync for Token<'static> {}

toft::root!(struct Tokens => Token<'a>);

fn sent<T: Send>() {}
fn shared<T: Sync>() {}

fn main() {
    sent::<toft::Buffered<Tokens>>();
    shared::<toft::Buffered<Tokens>>();
    sent::<toft::Owner<Tokens>>();
    sent::<toft::Parcel<'static, Tokens>>();
}
