//! `Option`, `Result`, and addresses of two kinds, whose layout the compiler chooses. It is found and verified while the
//! program is compiled: integers are written to uninitialized bytes, and a match on them shows which variant they are. So no byte is
//! read that the compiler may leave uninitialized, and another layout is an error of compilation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::shape::{Choice, Payload, Scalar, Shape};
use crate::{Content, Freeze, Image, Layout};

/// Bytes to be read as a value.
struct Bytes<E>(MaybeUninit<E>);

impl<E> Bytes<E> {
    const fn uninit() -> Bytes<E> {
        Bytes(MaybeUninit::uninit())
    }

    /// Uninitialized bytes, and these integers with values that occur.
    const fn valid(integers: &[Scalar; 2]) -> Bytes<E> {
        Bytes::uninit().with(integers[0], integers[0].valid).with(integers[1], integers[1].valid)
    }

    /// Writes an integer. Precondition: it lies inside.
    const fn with(mut self, scalar: Scalar, value: u128) -> Bytes<E> {
        let bytes = self.0.as_mut_ptr().cast::<u8>();
        let mut i = 0;
        while i < scalar.size {
            let shift = 8 * if cfg!(target_endian = "big") { scalar.size - 1 - i } else { i };
            // SAFETY: the byte lies in the value, by the precondition.
            unsafe { bytes.add(scalar.offset + i).write((value >> shift) as u8) };
            i += 1;
        }
        self
    }

    /// The offset of a value in the bytes. Precondition: it lies there, or has no bytes.
    const fn offset_of<T>(&self, value: &T) -> usize {
        if size_of::<T>() == 0 {
            return 0;
        }
        // SAFETY: the value lies in the bytes, by the precondition.
        unsafe { std::ptr::from_ref(value).cast::<u8>().offset_from(self.0.as_ptr().cast::<u8>()) as usize }
    }
}

const fn payload<T: Freeze>() -> Payload {
    Payload { size: size_of::<T>(), align: align_of::<T>(), shape: T::SHAPE }
}

struct Probe<E>(PhantomData<E>);

macro_rules! choices {
    ($([$($generics:tt)*] $t:ty, $at:ty, $name:literal,
        $a:ty, $($a_path:ident)::+ $(($a_value:ident))?, $b:ty, $($b_path:ident)::+ ($b_value:ident);)*) => {$(
        impl<$($generics)*> Probe<$t> {
            const VALUES: [Payload; 2] = [payload::<$a>(), payload::<$b>()];

            /// The variant of such bytes, and the offset of its value.
            const fn read(bytes: Bytes<$t>) -> (usize, usize) {
                // SAFETY: only the integer that distinguishes the variants is read. If it is another one than that which was
                // written, or an integer of no variant, that is an error of compilation.
                match unsafe { &*bytes.0.as_ptr() } {
                    $($a_path)::+ $(($a_value))? => (0, 0 $(+ bytes.offset_of($a_value))?),
                    $($b_path)::+ ($b_value) => (1, bytes.offset_of($b_value)),
                }
            }

            const fn with_tag() -> Option<Choice> {
                let tag = Choice::tag(&Self::VALUES);
                let first = Self::read(Bytes::uninit().with(tag, 0));
                let second = Self::read(Bytes::uninit().with(tag, 1));
                match (first.0, second.0) {
                    (0, 1) => Some(Choice::with_tag(tag, [first.1, second.1], &Self::VALUES)),
                    _ => None,
                }
            }

            /// One variant's value has an integer, the first of such or the last one, that marks the other variant.
            const fn without_tag() -> Option<Choice> {
                let (holder, mut i) = (Choice::holder(&Self::VALUES), 0);
                let integers = Self::VALUES[holder].shape.scalars;
                while i < 2 {
                    if let Some(mark) = integers[i].mark() {
                        let there = Self::read(Bytes::valid(&integers));
                        let other = Self::read(Bytes::valid(&integers).with(integers[i], mark));
                        if there.0 == holder && there.1 == 0 && other.0 != holder {
                            return Some(Choice::without_tag(integers[i], mark, holder, other.1, &Self::VALUES));
                        }
                    }
                    i += 1;
                }
                None
            }

            const CHOICE: Choice = match Choice::has_tag(size_of::<$t>(), align_of::<$t>(), &Self::VALUES) {
                Some(true) => Self::with_tag(),
                Some(false) => Self::without_tag(),
                None => None,
            }
            .expect("this compiler's layout of the type is not known: an enum with #[repr(u8)] can take its place");
        }

        // SAFETY: the tag, and the value of the variant that it means, which the compiler has confirmed.
        unsafe impl<$($generics)*> Freeze for $t {
            type At<'x> = $at;
            const SHAPE: Shape = Probe::<$t>::CHOICE.shape;
            fn freeze(&self, image: &mut Image, at: usize) {
                let choice = const { Probe::<$t>::CHOICE };
                let variant = match self {
                    $($a_path)::+ $(($a_value))? => {
                        $($a_value.freeze(image, at + choice.offsets[0]);)?
                        0
                    }
                    $($b_path)::+ ($b_value) => {
                        $b_value.freeze(image, at + choice.offsets[1]);
                        1
                    }
                };
                let tag = if variant == choice.marked { Some(choice.mark) } else { choice.other };
                if let Some(tag) = tag {
                    image.write_integer(at + choice.tag.offset, choice.tag.size, tag);
                }
            }
            fn describe(layout: &mut Layout) {
                let choice = const { Probe::<$t>::CHOICE };
                layout.name($name);
                for number in [choice.tag.offset, choice.tag.size, choice.marked, choice.offsets[0], choice.offsets[1]] {
                    layout.number(number);
                }
                layout.number(choice.mark as usize);
                <$a>::describe(layout);
                <$b>::describe(layout);
            }
            fn check(content: &mut Content<'_>, at: usize) -> bool {
                let choice = const { Probe::<$t>::CHOICE };
                match choice.variant(content.integer(at + choice.tag.offset, choice.tag.size)) {
                    Some(0) => <$a>::check(content, at + choice.offsets[0]),
                    Some(_) => <$b>::check(content, at + choice.offsets[1]),
                    None => content.refuse(at),
                }
            }
        }
    )*};
}
choices! {
    [T: Freeze] Option<T>, Option<T::At<'x>>, "Option", (), None, T, Some(value);
    [T: Freeze, E: Freeze] Result<T, E>, Result<T::At<'x>, E::At<'x>>, "Result", T, Ok(value), E, Err(value);
    [] IpAddr, IpAddr, "IpAddr", Ipv4Addr, IpAddr::V4(value), Ipv6Addr, IpAddr::V6(value);
    [] SocketAddr, SocketAddr, "SocketAddr", SocketAddrV4, SocketAddr::V4(value), SocketAddrV6, SocketAddr::V6(value);
}
