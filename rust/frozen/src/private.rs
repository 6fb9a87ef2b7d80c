//! Types of the standard library whose fields are private: durations and addresses.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::mem::transmute;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};
use std::time::Duration;

use crate::shape::Scalar;
use crate::{Content, Freeze, Image, Layout, Shape};

/// The offset of a field, whose bytes are an expression of the value. The compiler evaluates that for the value of the bytes 1, 2, 3,
/// ..., which are valid in each field.
macro_rules! place {
    ($t:ty, $v:ident, $bytes:expr) => {
        const {
            // SAFETY: these bytes are a value, or the compilation fails.
            let $v: $t = unsafe { transmute(numbered::<{ size_of::<$t>() }>()) };
            place_of(&$bytes)
        }
    };
}

const fn numbered<const N: usize>() -> [u8; N] {
    let (mut bytes, mut i) = ([0; N], 0);
    while i < N {
        bytes[i] = i as u8 + 1;
        i += 1;
    }
    bytes
}

const fn place_of(bytes: &[u8]) -> usize {
    let mut i = 1;
    while i < bytes.len() {
        assert!(bytes[i] == bytes[0] + i as u8, "the bytes of a field do not follow each other");
        i += 1;
    }
    bytes[0] as usize - 1
}

macro_rules! private_structs {
    ($($t:ident, $shape:expr, |$v:ident| $($bytes:expr),*; |$content:ident, $at:ident| $check:expr;)*) => {$(
        // SAFETY: its fields, at their places.
        unsafe impl Freeze for $t {
            type At<'x> = $t;
            const SHAPE: Shape = $shape;
            fn freeze(&self, image: &mut Image, at: usize) {
                let $v = self;
                $(image.write(at + place!($t, $v, $bytes), &$bytes);)*
            }
            fn describe(layout: &mut Layout) {
                if layout.begin::<Self>(stringify!($t)) {
                    $(layout.number(place!($t, $v, $bytes));)*
                }
            }
            fn check($content: &mut Content<'_>, $at: usize) -> bool {
                $check
            }
        }
    )*};
}

const NANOS: usize = place!(Duration, time, time.subsec_nanos().to_ne_bytes());
const NANOS_MAX: u32 = 999_999_999;

private_structs! {
    Duration, Shape::of(Scalar::of::<Duration>(NANOS, 4, 1, (u32::MAX - NANOS_MAX) as u128),),
        |time| time.as_secs().to_ne_bytes(), time.subsec_nanos().to_ne_bytes();
        |content, at| content.integer(at + NANOS, 4) <= NANOS_MAX.into() || content.refuse(at);
    Ipv4Addr, Shape::PLAIN, |address| address.octets(); |_content, _at| true;
    Ipv6Addr, Shape::PLAIN, |address| address.octets(); |_content, _at| true;
    SocketAddrV4, Shape::PLAIN, |address| address.ip().octets(), address.port().to_ne_bytes(); |_content, _at| true;
    SocketAddrV6, Shape::PLAIN, |address| address.ip().octets(), address.port().to_ne_bytes(),
        address.flowinfo().to_ne_bytes(), address.scope_id().to_ne_bytes(); |_content, _at| true;
}
